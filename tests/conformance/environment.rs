//! The environment of both children.

use super::{DIRECTORY, ID, Machine};
use std::ffi::OsString;

const CONTAINER: &str = "MESOS_EXECUTOR_CONTAINER_UUID";
const DEFAULT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environments of proxy and executor.
fn both(machine: &Machine<'_>, args: &[&str]) -> [Vec<(String, String)>; 2] {
    let tasks = machine.tasks(args);
    let text = |value: &OsString| value.to_str().unwrap().to_owned();
    [0, 1].map(|at: usize| tasks[at].env.iter().map(|(name, value)| (text(name), text(value))).collect())
}

fn path(env: &[(&str, &str)], cwd: Option<&str>, args: &[&str]) -> String {
    let machine = Machine { cwd, ..Machine::with_env(env) };
    let [proxy, executor] = both(&machine, args);
    let of = |env: Vec<(String, String)>| env.into_iter().filter(|(name, _)| name == "PATH").collect::<Vec<_>>();
    let (proxy, executor) = (of(proxy), of(executor));
    assert_eq!(proxy, executor);
    assert_eq!(proxy.len(), 1);
    proxy[0].1.clone()
}

#[test]
fn the_whole_environment_is_passed_on_in_order_and_path_changes_in_place() {
    let [proxy, _] = both(&Machine::with_env(&[("A", "1"), ("PATH", "/bin"), ("B", "")]), &[]);
    let expected = [("A", "1"), ("PATH", "/bin:/sandbox/bin"), ("B", "")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    assert_eq!(proxy, expected);
}

#[test]
fn the_first_of_two_entries_counts() {
    let [proxy, _] = both(&Machine::with_env(&[("PATH", "/a"), ("A", "1"), ("PATH", "/b"), ("A", "2")]), &[]);
    assert_eq!(proxy, [("PATH", "/a:/sandbox/bin"), ("A", "1")].map(|(k, v)| (k.to_owned(), v.to_owned())));
}

#[test]
fn path_override_takes_the_place_of_path() {
    assert_eq!(path(&[("PATH", "/bin")], Some("/s"), &["--path-override=/o:/p"]), "/o:/p:/s/bin");
    assert_eq!(path(&[("PATH", "/bin")], Some("/s"), &["--path-override="]), "/bin:/s/bin");
}

#[test]
fn path_override_works_without_path() {
    assert_eq!(path(&[], Some("/s"), &["--path-override=/o"]), "/o:/s/bin");
}

#[test]
fn without_path_the_agents_default_stands_in() {
    assert_eq!(path(&[], Some("/s"), &[]), format!("{DEFAULT}:/s/bin"));
    assert_eq!(path(&[("PATH", "")], Some("/s"), &[]), format!("{DEFAULT}:/s/bin"));
}

#[test]
fn path_never_has_an_empty_element() {
    assert_eq!(path(&[("PATH", ":/a::/b:")], Some("/s"), &[]), "/a:/b:/s/bin");
    assert_eq!(path(&[("PATH", ":")], None, &[]), DEFAULT);
}

#[test]
fn a_working_directory_that_is_gone_is_left_out() {
    assert_eq!(path(&[("PATH", "/bin")], None, &[]), "/bin");
}

#[test]
fn a_working_directory_with_a_colon_is_left_out() {
    assert_eq!(path(&[("PATH", "/bin")], Some("/s:t"), &[]), "/bin");
}

#[test]
fn the_executor_alone_is_told_the_containers_id() {
    let [proxy, executor] = both(&Machine::agent(), &[]);
    assert_eq!(executor.last().unwrap(), &(CONTAINER.to_owned(), ID.to_owned()));
    assert!(proxy.iter().all(|(name, _)| name != CONTAINER));
}

#[test]
fn an_inherited_id_is_replaced_for_the_executor_and_kept_for_the_proxy() {
    let machine = Machine::with_env(&[(CONTAINER, "old"), ("PATH", "/bin"), ("MESOS_DIRECTORY", DIRECTORY)]);
    let [proxy, executor] = both(&machine, &[]);
    assert_eq!(proxy[0], (CONTAINER.to_owned(), "old".to_owned()));
    let ids: Vec<_> = executor.iter().filter(|(name, _)| name == CONTAINER).collect();
    assert_eq!(ids, [&(CONTAINER.to_owned(), ID.to_owned())]);
}

#[test]
fn without_a_container_the_id_is_set_but_empty() {
    let [_, executor] = both(&Machine::with_env(&[("PATH", "/bin")]), &[]);
    assert_eq!(executor.last().unwrap(), &(CONTAINER.to_owned(), String::new()));
}
