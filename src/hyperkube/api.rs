//! Where the API is: the rules of the original's `CreateAPIServerClientConfig`. [GO-13]

use super::endpoint;
use super::flags::Flags;
use super::kubeconfig::{self, Read};
use super::profile::Notice;
use crate::error::{During, Error, Result};
use crate::mesos::secret;
use std::path::Path;

const DEFAULT_KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";
const DEFAULT_AUTH: &str = "/var/lib/kubelet/kubernetes_auth";

/// The API host for kube-proxy's `--master`; empty where none of the flags names one.
pub(super) fn host(flags: &Flags, read: Read<'_>, notices: &mut Vec<Notice>) -> Result<String> {
    let first = first_server(flags, notices)?;
    let from_kubeconfig = match (&flags.kubeconfig, &flags.auth_path) {
        (Some(_), Some(_)) => {
            return Err(Error::new("find the API", "", "--kubeconfig and --auth-path are both given")
                .hint("leave one of them out"));
        }
        // An empty path is an empty kubeconfig.
        (Some(path), None) if path.as_os_str().is_empty() => String::new(),
        (Some(path), None) => {
            kubeconfig::server(path, read).map_err(|error| absent(error).while_doing("--kubeconfig"))?
        }
        (None, Some(path)) => {
            auth(path, read).map_err(|error| absent(error).while_doing("--auth-path"))?;
            String::new()
        }
        (None, None) => by_default(read, notices),
    };
    Ok(if first.is_empty() { from_kubeconfig } else { first })
}

/// The first of the API servers. Later ones are the executor's alone.
fn first_server(flags: &Flags, notices: &mut Vec<Notice>) -> Result<String> {
    const OPERATION: &str = "find the API";
    let Some(servers) = &flags.api_servers else {
        return Err(Error::new(OPERATION, "", "no --api-servers").hint("--api-servers=http://HOST:PORT names it"));
    };
    for entry in servers {
        // `--api-servers=` leaves the choice to the kubeconfig; an empty entry beside others is a slip.
        let alone_and_empty = servers.len() == 1 && entry.is_empty();
        if !alone_and_empty && !endpoint::is_valid(entry) {
            return Err(Error::new(
                OPERATION,
                format_args!("--api-servers={:?}", secret::host(entry)),
                "neither a URL nor host[:port]",
            )
            .hint("write it as http://HOST:PORT, several with commas and without spaces"));
        }
    }
    let first = servers.first().map(String::as_str).unwrap_or_default();
    if servers.len() > 1 {
        notices.push(Notice::info(format!("several API servers: kube-proxy gets the first, {}", secret::host(first))));
    }
    Ok(first.to_owned())
}

/// A file that was named and is not there was most likely not fetched.
fn absent(error: Error) -> Error {
    if error.errno() == Some(libc::ENOENT) { error.hint("is it among the URIs of the command?") } else { error }
}

/// Neither file is named: the two default places are tried, and what is wrong with them is only told.
fn by_default(read: Read<'_>, notices: &mut Vec<Notice>) -> String {
    let kubeconfig_error = match kubeconfig::server(Path::new(DEFAULT_KUBECONFIG), read) {
        Ok(server) => return server,
        Err(error) => error,
    };
    let text = match auth(Path::new(DEFAULT_AUTH), read) {
        Ok(()) => format!("no --kubeconfig: {kubeconfig_error}; {DEFAULT_AUTH} stands in"),
        Err(auth_error) => format!("no --kubeconfig: {kubeconfig_error}; {auth_error}; going on with --api-servers"),
    };
    notices.push(Notice::warn(text));
    String::new()
}

/// The auth file has no host: it has to be readable JSON, no more.
fn auth(path: &Path, read: Read<'_>) -> Result<()> {
    let bytes = read(path).during("read", format_args!("{path:?}"))?;
    let parsed: Result<serde::de::IgnoredAny, _> = serde_json::from_slice(&bytes);
    parsed.map(drop).map_err(|error| {
        let place = format!("not JSON: line {}, column {}", error.line(), error.column());
        Error::new("read", format_args!("{path:?}"), place)
    })
}
