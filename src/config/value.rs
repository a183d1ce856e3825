//! Values of the file: spans, sizes, signals, limits, accounts, addresses.

use super::draft::Account;
use super::node::{Node, in_order};
use super::placed::{Placed, Wrong};
use crate::hyperkube::value;
use crate::mesos::secret;
use crate::task::spec::{Probe, ResourceLimit};
use signal_hook::low_level::signal_name;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// A span of time, as Go or as Mesos writes it.
pub(super) fn span(node: Node<'_>) -> Result<Duration, Wrong> {
    let text = node.text()?;
    value::span(OsStr::new(text)).map_err(|refusal| Wrong::new(format!("{}: {text:?}", refusal.wrong)))
}

/// A span that is longer than nothing.
pub(super) fn pause(node: Node<'_>) -> Result<Duration, Wrong> {
    match span(node)? {
        Duration::ZERO => Err(Wrong::new("no time at all")),
        span => Ok(span),
    }
}

/// A quantity, or a number of bytes.
pub(super) fn size(node: Node<'_>) -> Result<u64, Wrong> {
    if let Some(number) = node.maybe_integer(0..=i64::MAX) {
        return number.map(i64::unsigned_abs);
    }
    let text = node.text()?;
    value::bytes(OsStr::new(text)).map_err(|refusal| Wrong::new(format!("{}: {text:?}", refusal.wrong)))
}

/// A number that fits where it goes.
pub(super) fn number<N: TryFrom<i64>>(node: Node<'_>, least: i64, most: i64) -> Result<N, Wrong> {
    let number = node.integer(least..=most)?;
    N::try_from(number).map_err(|_| Wrong::new(format!("out of range: {number}")))
}

/// One of some words, by its place among them.
pub(super) fn choice(node: Node<'_>, words: &[&str]) -> Result<usize, Wrong> {
    let text = node.text()?;
    words.iter().position(|word| *word == text).ok_or_else(|| Wrong::new(format!("no such choice: {text:?}")))
}

/// A signal that ends something: `TERM`, `SIGTERM` or a number. SIGSTOP and SIGCONT end nothing.
pub(super) fn signal(node: Node<'_>) -> Result<i32, Wrong> {
    const ALL: std::ops::RangeInclusive<i32> = 1..=64;
    let found = if let Some(written) = node.maybe_integer(1..=64) {
        let written = written?;
        ALL.into_iter().find(|number| i64::from(*number) == written)
    } else {
        let upper = node.text()?.to_ascii_uppercase();
        let name = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
        ALL.into_iter().find(|number| signal_name(*number) == Some(name.as_str()))
    };
    match found.ok_or_else(|| Wrong::new(format!("no such signal: {:?}", node.text().unwrap_or_default())))? {
        libc::SIGSTOP | libc::SIGCONT => Err(Wrong::new("a signal that ends nothing")),
        number => Ok(number),
    }
}

/// A name of the passwd or group file, or a number.
pub(super) fn account(node: Node<'_>) -> Result<Placed<Account>, Wrong> {
    let account = match node.maybe_integer(0..=i64::from(u32::MAX - 1)) {
        Some(number) => {
            let number = number?;
            Account::Number(u32::try_from(number).map_err(|_| Wrong::new(format!("out of range: {number}")))?)
        }
        None => Account::Name(node.filled()?.to_owned()),
    };
    Ok(Placed::new(node.at(), account))
}

/// A program and its arguments.
pub(super) fn command(node: Node<'_>) -> Result<Placed<Vec<String>>, Wrong> {
    let words = node.words()?;
    if words.first().is_none_or(|word| word.value.is_empty()) {
        return Err(Wrong::new("no program"));
    }
    Ok(Placed::new(node.at(), words.into_iter().map(|word| word.value).collect()))
}

/// Names and values, in the order of the text.
pub(super) fn variables(node: Node<'_>) -> Result<Vec<(String, String)>, Wrong> {
    let mut variables = Vec::new();
    for (name, node) in in_order(node.table()?) {
        if name.value.is_empty() || name.value.contains(['=', '\0']) {
            let name_shown = secret::shown_word(OsStr::new(name.value));
            return Err(Wrong::new(format!("no name of a variable: {name_shown:?}")).at(name.at));
        }
        let value = node.text().map_err(|wrong| wrong.at(node.at()))?;
        variables.push((name.value.to_owned(), value.to_owned()));
    }
    Ok(variables)
}

/// The resources by the names of getrlimit(2), in lower case.
pub(super) const RESOURCES: [(&str, u32); 16] = [
    ("as", libc::RLIMIT_AS),
    ("core", libc::RLIMIT_CORE),
    ("cpu", libc::RLIMIT_CPU),
    ("data", libc::RLIMIT_DATA),
    ("fsize", libc::RLIMIT_FSIZE),
    ("locks", libc::RLIMIT_LOCKS),
    ("memlock", libc::RLIMIT_MEMLOCK),
    ("msgqueue", libc::RLIMIT_MSGQUEUE),
    ("nice", libc::RLIMIT_NICE),
    ("nofile", libc::RLIMIT_NOFILE),
    ("nproc", libc::RLIMIT_NPROC),
    ("rss", libc::RLIMIT_RSS),
    ("rtprio", libc::RLIMIT_RTPRIO),
    ("rttime", libc::RLIMIT_RTTIME),
    ("sigpending", libc::RLIMIT_SIGPENDING),
    ("stack", libc::RLIMIT_STACK),
];

/// The name of a resource by its number.
pub fn resource_name(resource: u32) -> &'static str {
    RESOURCES.iter().find(|(_, number)| *number == resource).map_or("?", |(name, _)| name)
}

/// The limits of a table: a number for both, or `soft:hard`, with `unlimited` for none.
pub(super) fn limits(node: Node<'_>) -> Result<Vec<ResourceLimit>, Wrong> {
    let mut limits = Vec::new();
    for (name, node) in in_order(node.table()?) {
        let found = RESOURCES.iter().find(|(known, _)| *known == name.value);
        let (_, resource) = *found.ok_or_else(|| unknown_resource(&name))?;
        let (soft, hard) = limit(node).map_err(|wrong| wrong.at(node.at()))?;
        limits.push(ResourceLimit { resource, soft, hard });
    }
    Ok(limits)
}

fn unknown_resource(name: &Placed<&str>) -> Wrong {
    let known = RESOURCES.map(|(name, _)| name).join(", ");
    Wrong::new(format!("no such resource: {:?}", name.value)).at(name.at).hint(format!("known here: {known}"))
}

type SoftAndHard = (Option<u64>, Option<u64>);

fn limit(node: Node<'_>) -> Result<SoftAndHard, Wrong> {
    if let Some(number) = node.maybe_integer(0..=i64::MAX) {
        let number = number?.unsigned_abs();
        return Ok((Some(number), Some(number)));
    }
    let text = node.text()?;
    let wrong = || Wrong::new(format!("no limit: {text:?}"));
    let one = |text: &str| match text {
        "unlimited" => Ok(None),
        text => value::bytes(OsStr::new(text)).map(Some).map_err(|_| wrong()),
    };
    let (soft, hard) = text.split_once(':').unwrap_or((text, text));
    let (soft, hard) = (one(soft)?, one(hard)?);
    if soft.unwrap_or(u64::MAX) > hard.unwrap_or(u64::MAX) {
        return Err(Wrong::new(format!("the soft limit is above the hard one: {text:?}")));
    }
    Ok((soft, hard))
}

/// `IP:PORT` or `localhost:PORT`. No other name: a look-up could take longer than a probe may.
pub(super) fn address(node: Node<'_>) -> Result<SocketAddr, Wrong> {
    let text = node.text()?;
    socket(text).ok_or_else(|| Wrong::new(format!("no address: {text:?}")))
}

fn socket(text: &str) -> Option<SocketAddr> {
    let address = match text.strip_prefix("localhost:") {
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().ok()?)
        }
        _ => text.parse().ok()?,
    };
    (address.port() > 0).then_some(address)
}

/// `http://IP[:PORT]/PATH`.
pub(super) fn http(node: Node<'_>) -> Result<Probe, Wrong> {
    let text = node.text()?;
    let wrong = || Wrong::new(format!("no URL of this machine: {text:?}"));
    let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
    if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#' || !c.is_ascii()) {
        return Err(wrong());
    }
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let address = socket(host).or_else(|| socket(&format!("{host}:80"))).ok_or_else(wrong)?;
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(Probe::Http { address, path })
}
