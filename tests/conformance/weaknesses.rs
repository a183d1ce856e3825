//! Faults of the original that have to do with flags and environment, by their number in the list; the others are tested
//! with real processes.

use super::{Machine, has, options, refusal};
use minion::config::Keeping;
use minion::hyperkube::locate_km;
use minion::mesos::ContainerId;
use std::ffi::OsStr;
use std::path::Path;

#[test]
fn weakness_04_values_stay_with_their_flags_and_stray_words_are_refused() {
    let executor = Machine::agent().executor(&["--hostname-override", "n1", "--max-pods", "3"]);
    assert_eq!(executor[2..6], ["--hostname-override", "n1", "--max-pods", "3"]);
    assert_eq!(refusal(&["--max-pods=3", "n1"]), "minion: stray word: \"n1\"");
}

#[test]
fn weakness_10_a_km_that_is_nowhere_is_an_error_that_names_the_places() {
    let nowhere = |_: &Path| false;
    let error = locate_km(None, Some(Path::new("/opt")), Some(Path::new("/s")), Some(OsStr::new("/bin")), &nowhere);
    let text = error.unwrap_err().to_string();
    for place in ["/opt", "/s", "/bin", "--km-binary"] {
        assert!(text.contains(place), "{text}");
    }
}

#[test]
fn weakness_11_the_conntrack_timeout_is_one_that_the_proxy_understands() {
    let proxy = Machine::agent().proxy(&["--conntrack-tcp-timeout-established=6"]);
    assert!(has(&proxy, "--conntrack-tcp-timeout-established=6s"));
}

#[test]
fn weakness_12_no_container_id_leads_out_of_the_cgroup_root() {
    for directory in ["/", ".", "/a/..", "", "/a/x\ny", "/a/x y"] {
        assert!(ContainerId::from_directory(Path::new(directory)).is_err(), "{directory:?}");
        let machine = Machine::with_env(&[("PATH", "/bin"), ("MESOS_DIRECTORY", directory)]);
        let tasks = machine.tasks(&[]);
        assert!(!super::text(&tasks[1]).iter().any(|arg| arg.starts_with("--cgroup-root")), "{directory:?}");
        assert_eq!(tasks[1].env.last().unwrap().1, "", "{directory:?}");
    }
}

#[test]
fn weakness_13_path_is_right_without_path_and_without_a_working_directory() {
    let path = |machine: &Machine<'_>, args: &[&str]| {
        let env = machine.tasks(args)[1].env.clone();
        env.into_iter().find(|(name, _)| name == "PATH").unwrap().1
    };
    assert_eq!(path(&Machine::with_env(&[]), &["--path-override=/o"]), "/o:/sandbox/bin");
    assert_eq!(path(&Machine { cwd: None, ..Machine::with_env(&[("PATH", "/a:")]) }, &[]), "/a");
}

#[test]
fn weakness_14_verbosity_is_minions_own_too() {
    let options = options(&["--v=2"]);
    assert_eq!(options.common.verbosity, 2);
    assert_eq!(options.profile.executor_args, ["--v=2"]);
}

#[test]
fn weakness_15_a_log_size_of_zero_never_rotates_and_a_negative_one_is_refused() {
    assert_eq!(Keeping::of(options(&["--max-log-size=0"]).common.log).max_size, 0);
    assert_eq!(refusal(&["--max-log-size=-1"]), "minion: --max-log-size: negative: \"-1\"");
    // Neither rounded up to a megabyte nor down to one.
    assert_eq!(Keeping::of(options(&["--max-log-size=1"]).common.log).max_size, 1);
    assert_eq!(Keeping::of(options(&["--max-log-size=1500Ki"]).common.log).max_size, 1500 * 1024);
}

#[test]
fn weakness_19_api_servers_are_checked() {
    let error = Machine::agent().profile(&["--api-servers=http://a,:::"]).unwrap_err().to_string();
    assert!(error.contains("--api-servers=\":::\""), "{error}");
}
