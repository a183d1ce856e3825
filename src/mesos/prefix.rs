//! The agent's root in each hierarchy.

/// An agent's `--cgroups_root` as the original's `path.Join` has it below `/`: without the leading `/`, without empty and `.`
/// components, and without `..`, which stops at the root: it cannot lead out of its hierarchy. [GO-12]
pub fn clean_prefix(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::clean_prefix;

    #[test]
    fn no_prefix_leads_out_of_its_hierarchy() {
        for (given, clean) in
            [("/a/b/../c/", "a/c"), ("mesos", "mesos"), ("../../x", "x"), ("//a/./b", "a/b"), ("/", "")]
        {
            assert_eq!(clean_prefix(given), clean, "{given}");
        }
    }
}
