//! Whose namespaces a process is in, and what it sees mounted.

use super::Words;
use crate::inspect::command;
use crate::inspect::view::mounts::{Difference, Place};
use crate::inspect::view::{Namespace, View};

/// How many differing mounts are named.
const NAMED: usize = 6;

/// In another mount namespace than its minion.
pub(super) fn not_minions(view: &View) -> Option<Words> {
    let mounts = view.namespace("mnt")?;
    let (own, minion) = (mounts.own.known()?, mounts.minion.as_ref()?.known()?);
    (own != minion).then_some(())?;
    let shared = if mounts.host.known() == Some(own) { ", which is the host's" } else { "" };
    Words::new(
        format!("the mount namespace of its minion, mnt:[{minion}]"),
        format!("mnt:[{own}]{shared}"),
        "it called unshare or setns after its start, or was started by a container runtime: volumes of the agent and mounts of \
         its sandbox may be missing there",
        format!("nsenter --mount --target {} findmnt shows what it sees", view.stat.pid),
    )
}

/// Not in the host's mount namespace.
pub(super) fn own(view: &View) -> Option<Words> {
    let mounts = view.namespace("mnt")?;
    let (own, host) = (mounts.own.known()?, mounts.host.known()?);
    (own != host).then_some(())?;
    Words::new(
        format!("the mount namespace of pid 1, mnt:[{host}]"),
        format!("mnt:[{own}]{}", same_as(mounts, *own)),
        "the agent's filesystem/linux isolator, an image, or --private-mountns gives it one of its own",
        "nothing is wrong where that is meant; kubelet volumes of the host need it to receive mounts",
    )
}

/// An own namespace that receives nothing: volumes of the host never come, and what was copied stays busy. [ME-11]
pub(super) fn private(view: &View) -> Option<Words> {
    let host = view.mounts.host.known()?.as_ref()?;
    let root = view.mounts.root()?;
    let deaf = root.shared.is_none() && root.master.is_none();
    (deaf && host.shared.is_some()).then_some(())?;
    Words::new(
        "/ is a slave of the host's / (mounts come in, none go out)",
        format!("/ is private; the host's is shared:{}", host.shared?),
        "somebody made the mounts private (unshare without --propagation slave does): what the agent mounts later does not \
         appear, and what it unmounts stays busy for as long as this process lives",
        "start it with minion --private-mountns, or unshare --mount --propagation slave",
    )
}

/// An own namespace whose mounts go out to the host.
pub(super) fn leak(view: &View) -> Option<Words> {
    let host = view.mounts.host.known()?.as_ref()?;
    let root = view.mounts.root()?;
    (root.shared.is_some() && root.shared == host.shared).then_some(())?;
    Words::new(
        "a private mount namespace keeps its mounts inside",
        format!("/ is in the host's peer group, shared:{}", root.shared?),
        "the namespace was made without changing propagation: each mount in it appears on the host, and stays when the process \
         has ended",
        "start it with minion --private-mountns, or unshare --mount --propagation slave",
    )
}

/// What is mounted differs from the host.
pub(super) fn mounts_differ(view: &View) -> Option<Words> {
    let differences = &view.mounts.differences;
    let named: Vec<String> = differences.iter().take(NAMED).map(in_words).collect();
    let more = differences.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!differences.is_empty()).then_some(())?;
    Words::new(
        "the mounts of the host",
        format!("{}{more}", named.join(", ")),
        "mounts of its own, of the agent for this container, or made on the host after a private namespace was cut off",
        "look at all of them",
    )
    .map(|words| words.run([command::inspect(&view.stat.pid.to_string(), &view.cgroups.prefix)]))
}

/// Other namespaces of its own.
pub(super) fn others(view: &View) -> Option<Words> {
    let differs = |namespace: &&Namespace| match (namespace.own.known(), namespace.host.known()) {
        (Some(own), Some(host)) => own != host && namespace.kind != "mnt",
        _ => false,
    };
    let kinds: Vec<&str> = view.namespaces.iter().filter(differs).map(|namespace| namespace.kind).collect();
    (!kinds.is_empty()).then_some(())?;
    Words::new(
        "the namespaces of pid 1",
        format!("its own: {}", kinds.join(", ")),
        "isolators of the agent (namespaces/pid, network/cni, an image), or unshare",
        "nothing is wrong where that is meant; nsenter needs the same letters to see what it sees",
    )
}

/// One difference in words.
pub(in crate::inspect) fn in_words(difference: &Difference) -> String {
    let words = |place: &Place| format!("{} ({})", place.point, place.kind);
    match difference {
        Difference::Missing(place) => format!("lacks {}", words(place)),
        Difference::Extra(place) => format!("has {}", words(place)),
        Difference::Shadowed { own, host } if own.kind == host.kind => {
            format!("has another {} at {}", own.kind, own.point)
        }
        Difference::Shadowed { own, host } => format!("has {} where the host has {}", words(own), host.kind),
    }
}

fn same_as(mounts: &Namespace, own: u64) -> String {
    let is = |other: &Option<_>| other.as_ref().and_then(crate::inspect::proc::seen::Seen::known) == Some(&own);
    match (is(&mounts.minion), is(&mounts.agent)) {
        (true, _) => ", the same as its minion's".to_owned(),
        (false, true) => ", the same as the agent's".to_owned(),
        (false, false) => String::new(),
    }
}
