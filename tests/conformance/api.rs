//! Where the API is: the rules by which kube-proxy gets its `--master`.

use super::Machine;

const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: c
contexts:
- name: other
  context: {cluster: none}
- name: c
  context: {cluster: k, user: u}
clusters:
- name: k
  cluster:
    server: https://from-kubeconfig:6443
    certificate-authority: ca.crt
users:
- name: u
  user: {token: SECRET}
";

fn master(machine: &Machine<'_>, args: &[&str]) -> Option<String> {
    let profile = machine.profile(args).unwrap();
    let args = super::text(&profile.tasks[0]);
    args.iter().find_map(|arg| arg.strip_prefix("--master=").map(str::to_owned))
}

fn error(machine: &Machine<'_>, args: &[&str]) -> String {
    machine.profile(args).unwrap_err().to_string()
}

fn with_kubeconfig() -> Machine<'static> {
    Machine::agent().file("/k/node.kc", KUBECONFIG).file("/k/ca.crt", "CA")
}

#[test]
fn no_api_servers_is_an_error_even_with_a_kubeconfig() {
    let expected = "find the API: no --api-servers (hint: --api-servers=http://HOST:PORT names it)";
    assert_eq!(error(&Machine::agent(), &["run"]), expected);
    assert_eq!(error(&with_kubeconfig(), &["--kubeconfig=/k/node.kc"]), expected);
}

#[test]
fn one_empty_api_server_is_accepted() {
    assert_eq!(master(&Machine::agent(), &["--api-servers="]), None);
}

#[test]
fn the_first_of_several_api_servers_is_the_proxys_and_the_log_says_so() {
    let machine = Machine::agent();
    assert_eq!(master(&machine, &["--api-servers=http://a,http://b"]).as_deref(), Some("http://a"));
    assert_eq!(master(&machine, &["--api-servers=a:1", "--api-servers=b:1"]).as_deref(), Some("a:1"));
    let notices = machine.profile(&["--api-servers=a,b"]).unwrap().notices;
    assert!(
        notices.iter().any(|notice| !notice.warn && notice.text == "several API servers: kube-proxy gets the first, a")
    );
}

#[test]
fn hosts_and_urls_are_passed_as_written() {
    for server in ["host", "10.0.0.1:8080", "https://[fd00::1]:6443/base"] {
        assert_eq!(master(&Machine::agent(), &["--api-servers", server]).as_deref(), Some(server));
    }
}

#[test]
fn an_api_server_that_is_neither_url_nor_host_is_refused() {
    assert_eq!(
        error(&Machine::agent(), &["--api-servers=:::"]),
        "find the API --api-servers=\":::\": neither a URL nor host[:port] (hint: write it as http://HOST:PORT, several \
         with commas and without spaces)"
    );
    for bad in ["--api-servers= http://a:1 ", "--api-servers=a,", "--api-servers=a, b"] {
        assert!(error(&Machine::agent(), &[bad]).contains("neither a URL nor host[:port]"), "{bad}");
    }
}

#[test]
fn a_password_in_a_url_is_never_told() {
    let refused = error(&Machine::agent(), &["--api-servers=http://u:SECRET@a b"]);
    let notices = Machine::agent().profile(&["--api-servers=http://u:SECRET@a,b"]).unwrap().notices;
    assert!(!refused.contains("SECRET") && !format!("{notices:?}").contains("SECRET"));
    let master = master(&Machine::agent(), &["--api-servers=http://u:SECRET@a"]);
    assert_eq!(master.as_deref(), Some("http://u:SECRET@a"));
}

#[test]
fn kubeconfig_and_auth_path_exclude_each_other() {
    assert_eq!(
        error(&Machine::agent(), &["--api-servers=a", "--kubeconfig=x", "--auth-path=y"]),
        "find the API: --kubeconfig and --auth-path are both given (hint: leave one of them out)"
    );
}

#[test]
fn the_kubeconfigs_server_counts_when_no_api_server_is_named() {
    let machine = with_kubeconfig();
    let args = ["--kubeconfig=/k/node.kc", "--api-servers="];
    assert_eq!(master(&machine, &args).as_deref(), Some("https://from-kubeconfig:6443"));
    assert_eq!(master(&machine, &[args[0], "--api-servers=b"]).as_deref(), Some("b"));
}

#[test]
fn a_kubeconfig_may_be_json() {
    let json = r#"{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k"}}],
        "clusters":[{"name":"k","cluster":{"server":"https://j"}}]}"#;
    let machine = Machine::agent().file("j", json);
    assert_eq!(master(&machine, &["--kubeconfig=j", "--api-servers="]).as_deref(), Some("https://j"));
}

#[test]
fn the_first_document_and_the_last_of_two_equal_keys_count() {
    let twice = KUBECONFIG.replace("    server:", "    server: https://first\n    server:");
    for text in [format!("---{KUBECONFIG}"), format!("{KUBECONFIG}---\nother: 1\n"), twice] {
        let machine = Machine::agent().file("/k/node.kc", &text).file("/k/ca.crt", "CA");
        let master = master(&machine, &["--kubeconfig=/k/node.kc", "--api-servers="]);
        assert_eq!(master.as_deref(), Some("https://from-kubeconfig:6443"), "{text}");
    }
}

#[test]
fn a_kubeconfig_that_cannot_be_read_is_an_error_that_names_flag_and_file() {
    assert_eq!(
        error(&Machine::agent(), &["--api-servers=a", "--kubeconfig=/nowhere"]),
        "--kubeconfig: read \"/nowhere\": No such file or directory (hint: is it among the URIs of the \
         command?)"
    );
}

#[test]
fn garbage_for_a_kubeconfig_is_an_error_that_quotes_nothing_of_it() {
    for garbage in ["SECRET", "- SECRET", "clusters: SECRET", "a: [SECRET", "\t\u{1}SECRET"] {
        let error = error(&Machine::agent().file("k", garbage), &["--api-servers=a", "--kubeconfig=k"]);
        assert!(error.starts_with("--kubeconfig: read \"k\": not a kubeconfig"), "{garbage}: {error}");
        assert!(!error.contains("SECRET") && !error.contains('\n'), "{garbage}: {error}");
    }
}

#[test]
fn a_certificate_authority_that_is_missing_is_an_error() {
    let machine = Machine::agent().file("/k/node.kc", KUBECONFIG);
    let error = error(&machine, &["--api-servers=a", "--kubeconfig=/k/node.kc"]);
    let expected =
        "--kubeconfig: read certificate-authority \"/k/ca.crt\" of \"/k/node.kc\": No such file or directory";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn an_empty_certificate_authority_is_none() {
    let without = Machine::agent();
    let text = KUBECONFIG.replace("ca.crt", "\"\"");
    let master_of = |machine| master(&machine, &["--api-servers=", "--kubeconfig=/k/node.kc"]);
    assert_eq!(master_of(without.file("/k/node.kc", &text)).as_deref(), Some("https://from-kubeconfig:6443"));
}

#[test]
fn empty_data_does_not_stand_for_a_certificate_authority() {
    let text = KUBECONFIG.replace("ca.crt", "ca.crt\n    certificate-authority-data: \"\"");
    let machine = Machine::agent().file("/k/node.kc", &text);
    let told = error(&machine, &["--api-servers=a", "--kubeconfig=/k/node.kc"]);
    assert!(told.starts_with("--kubeconfig: read certificate-authority \"/k/ca.crt\""), "{told}");
    let text = KUBECONFIG.replace("ca.crt", "ca.crt\n    certificate-authority-data: QQ==");
    let machine = Machine::agent().file("/k/node.kc", &text);
    assert_eq!(master(&machine, &["--api-servers=a", "--kubeconfig=/k/node.kc"]).as_deref(), Some("a"));
}

#[test]
fn a_kubeconfig_without_content_or_context_is_fine() {
    for text in ["", "# nothing\n", "{}", "current-context: gone\n", "current-context: c\ncontexts: null\n"] {
        let machine = Machine::agent().file("k", text);
        assert_eq!(master(&machine, &["--kubeconfig=k", "--api-servers="]), None, "{text:?}");
    }
    assert_eq!(master(&Machine::agent(), &["--kubeconfig=", "--api-servers=b"]).as_deref(), Some("b"));
}

#[test]
fn an_auth_file_must_be_readable_json() {
    let args = ["--api-servers=a", "--auth-path=f"];
    assert_eq!(
        error(&Machine::agent(), &args),
        "--auth-path: read \"f\": No such file or directory (hint: is it among the URIs of the command?)"
    );
    let broken = error(&Machine::agent().file("f", "{\"Password\": SECRET"), &args);
    assert!(broken.starts_with("--auth-path: read \"f\": not JSON: line 1") && !broken.contains("SECRET"), "{broken}");
    assert_eq!(master(&Machine::agent().file("f", "{}"), &args).as_deref(), Some("a"));
}

#[test]
fn without_either_file_the_default_places_are_tried_and_told() {
    let missing = Machine::agent().profile(&["--api-servers=a"]).unwrap();
    let warnings: Vec<_> = missing.notices.iter().filter(|notice| notice.warn).map(|notice| &notice.text).collect();
    assert_eq!(
        warnings,
        ["no --kubeconfig: read \"/var/lib/kubelet/kubeconfig\": No such file or directory; read \
             \"/var/lib/kubelet/kubernetes_auth\": No such file or directory; going on with --api-servers"]
    );
    let auth = Machine::agent().file("/var/lib/kubelet/kubernetes_auth", "{}").profile(&["--api-servers=a"]).unwrap();
    assert!(auth.notices.iter().any(|notice| notice.warn && notice.text.ends_with("kubernetes_auth stands in")));
    let text = KUBECONFIG.replace("ca.crt", "/k/ca.crt");
    let there = Machine::agent().file("/var/lib/kubelet/kubeconfig", &text).file("/k/ca.crt", "CA");
    assert_eq!(master(&there, &["--api-servers="]).as_deref(), Some("https://from-kubeconfig:6443"));
}

#[test]
fn the_api_is_settled_even_when_there_is_no_proxy() {
    assert!(error(&Machine::agent(), &["--run-proxy=false"]).contains("no --api-servers"));
}
