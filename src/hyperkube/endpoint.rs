//! What an entry of `--api-servers` may be.

use std::net::{IpAddr, Ipv6Addr};

/// Whether `entry` is a URL or `host[:port]`, as kubectl and the API client take it. A bare host has no path.
pub(super) fn is_valid(entry: &str) -> bool {
    if entry.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return false;
    }
    match entry.split_once("://") {
        Some((scheme, rest)) => {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            is_scheme(scheme) && is_host_port(host)
        }
        None => is_host_port(entry),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn is_host_port(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix('[') {
        return rest.split_once(']').is_some_and(|(address, port)| {
            address.parse::<Ipv6Addr>().is_ok() && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
        });
    }
    if text.parse::<IpAddr>().is_ok() {
        return true;
    }
    match text.split_once(':') {
        Some((host, port)) => is_host(host) && is_port(port),
        None => is_host(text),
    }
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn takes_urls_and_hosts() {
        for entry in [
            "http://10.0.0.1:8888",
            "https://api.example/path?x=1",
            "https://user:pw@api",
            "HTTPS://api",
            "http://[fd00::1]:8080/",
            "host",
            "my_host-1.example",
            "10.0.0.1:8080",
            "fd00::1",
            "[fd00::1]:443",
        ] {
            assert!(is_valid(entry), "{entry}");
        }
    }

    #[test]
    fn refuses_what_no_client_could_reach() {
        for entry in [
            "",
            ":::",
            " http://a:1",
            "http://a:1 ",
            "http://",
            "://a",
            "1http://a",
            "a:b",
            "a:0",
            "a:99999",
            "a:+1",
            "a:",
            "host/path",
            "[fd00::1",
            "[fd00::1]8080",
            "a\nb",
        ] {
            assert!(!is_valid(entry), "{entry:?}");
        }
    }
}
