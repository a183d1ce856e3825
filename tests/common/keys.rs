//! The keys of the file of `minion supervise`, as a tree that was walked.

use ::minion::config::{self, About, Takes};

/// A key and the way to it: `sidecar.health.tcp`.
pub struct Key {
    pub path: String,
    pub about: &'static About,
}

impl Key {
    /// Whether it takes a value; otherwise more keys.
    pub fn is_leaf(&self) -> bool {
        below(self.about).is_empty()
    }
}

/// The rows of the table that a key takes; none of any other key.
pub fn below(about: &About) -> Vec<&'static About> {
    if let Takes::Table(keys) | Takes::Tables(keys) = about.takes { keys() } else { Vec::new() }
}

/// Every key, a table before what is in it.
pub fn every_key() -> Vec<Key> {
    walk("", config::keys())
}

fn walk(before: &str, keys: Vec<&'static About>) -> Vec<Key> {
    let with_below = |about: &'static About| {
        let path = format!("{before}{}", about.name);
        let inner = walk(&format!("{path}."), below(about));
        std::iter::once(Key { path, about }).chain(inner)
    };
    keys.into_iter().flat_map(with_below).collect()
}
