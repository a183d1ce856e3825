//! The part of a kubeconfig that decides where the API is.

use crate::error::{During, Error, Result};
use serde::Deserialize;
use std::io;
use std::path::Path;

/// Reads a file. The caller's effect, so that this module has none.
pub(super) type Read<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Kubeconfig {
    current_context: Option<String>,
    contexts: Option<Vec<Named>>,
    clusters: Option<Vec<Named>>,
}

/// A context or a cluster, with its name. One type for both: the crate's reader is 40 kB larger with two.
#[derive(Deserialize)]
struct Named {
    name: String,
    context: Option<Body>,
    cluster: Option<Body>,
}

/// What is said of a context (its cluster) or of a cluster (the rest).
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Body {
    cluster: Option<String>,
    server: Option<String>,
    certificate_authority: Option<String>,
    certificate_authority_data: Option<String>,
}

/// The server of the current context, or an empty text where the file names none. [GO-13]
///
/// An unreadable file, one that is no kubeconfig, and a certificate authority that cannot be read are errors.
pub(super) fn server(path: &Path, read: Read<'_>) -> Result<String> {
    let bytes = read(path).during("read", format_args!("{path:?}"))?;
    let Some(cluster) = parse(path, &bytes)?.current_cluster() else {
        return Ok(String::new());
    };
    // Data in the file itself wins over the file that it names, and an empty text is neither. [GO-13]
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (authority, data) = (given(&cluster.certificate_authority), given(&cluster.certificate_authority_data));
    if let (Some(authority), None) = (authority, data) {
        let beside = path.parent().unwrap_or(Path::new("")).join(authority);
        read(&beside).during("read certificate-authority", format_args!("{beside:?} of {path:?}"))?;
    }
    Ok(cluster.server.unwrap_or_default())
}

/// The first document of the file, the last of two equal keys: as the YAML library of the original reads it. [GO-13]
///
/// From text and not through the crate's reader, which brings tables of a dozen encodings with it.
fn parse(path: &Path, bytes: &[u8]) -> Result<Kubeconfig> {
    let wrong = |what: String| Error::new("read", format_args!("{path:?}"), what);
    let text = std::str::from_utf8(bytes).map_err(|_| wrong("not a kubeconfig: it is not UTF-8".to_owned()))?;
    let options = serde_saphyr::options! { duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins };
    let parsed = serde_saphyr::from_str_with_options::<Option<Kubeconfig>>(first_document(text), options);
    // The crate's text quotes the lines around the fault, and a kubeconfig holds tokens. [CR-31]
    parsed.map(Option::unwrap_or_default).map_err(|error| {
        wrong(match error.location() {
            Some(at) => format!("not a kubeconfig: line {}, column {}", at.line(), at.column()),
            None => "not a kubeconfig".to_owned(),
        })
    })
}

/// The text up to the marker that ends its first document: `---` or `...` at the beginning of a line, behind some content.
fn first_document(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_marker = |line: &str| {
        let behind = line.strip_prefix("---").or_else(|| line.strip_prefix("..."));
        behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    let mut content = false;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let marker = is_marker(line);
        if marker && content {
            return &text[..end];
        }
        end += line.len();
        // What stands before the first marker is directives and comments, or the document itself.
        content |= marker || !(line.trim().is_empty() || line.starts_with(['%', '#']));
    }
    text
}

impl Kubeconfig {
    fn current_cluster(self) -> Option<Body> {
        let current = self.current_context?;
        let context = self.contexts?.into_iter().find(|context| context.name == current)?.context?;
        let name = context.cluster.unwrap_or_default();
        self.clusters?.into_iter().find(|cluster| cluster.name == name)?.cluster
    }
}
