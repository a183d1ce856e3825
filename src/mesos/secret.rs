//! What of arguments, variables and texts may be shown. The one place that decides it: whatever prints words of others asks here.
//!
//! A secret is told by its name (`--token=…`, `DB_PASS=…`, `Authorization: …`) or by its place in an address
//! (`scheme://user:password@host`, `mysql -phunter2`). One that is neither is seen by nobody.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What stands in the place of a secret.
pub const MARK: &str = "<secret>";

/// What makes a name one of a secret wherever it stands in it.
const ANYWHERE: [&str; 14] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "AUTHKEY",
    "SIGNINGKEY",
    "CREDENTIAL",
    "APIKEY",
    "ACCESSKEY",
    "PRIVATEKEY",
    "BEARER",
    "COOKIE",
];
/// What does at the end of a part: `REDIS_AUTH`, `PGPASS`.
const ENDS: [&str; 2] = ["PASS", "AUTH"];
/// What does as a whole part.
const PARTS: [&str; 3] = ["CRED", "CREDS", "PW"];
/// What does behind another part: `SSH_KEY` and `GITHUB_PAT` are secrets, `KEY` and `PAT` need not be.
const BEHIND: [&str; 4] = ["KEY", "KEYS", "PWD", "PAT"];
/// What does as the last part: `JWT_ISSUER` is none.
const LAST: [&str; 2] = ["AUTHORIZATION", "JWT"];
/// Directories, and no `userPwd`.
const DIRECTORIES: [&str; 2] = ["PWD", "OLDPWD"];
/// The last part of a name whose value is a place: it may be shown, what lies there may not.
const PLACES: [&str; 4] = ["FILE", "PATH", "DIR", "SOCK"];
/// Flags whose names do not tell. Of the kubelet: its values are `Name:Value` for HTTP.
const KNOWN: [&str; 1] = ["MANIFEST_URL_HEADER"];
/// How programs are called that take a password behind `-p` without a blank: `mysqldump`, `mariadb-admin`.
const JOINED: [&str; 3] = ["mysql", "mariadb", "sshpass"];
/// Those that take it with a blank too. For the others `-p` alone asks, and what follows is no password.
const APART: [&str; 1] = ["sshpass"];

/// Whether the value of this variable or flag must never be printed, logged or sent.
///
/// `MESOS_EXECUTOR_AUTHENTICATION_TOKEN` lets its holder act as the executor; the rest is told by its name, in any case and
/// with `-` or `.` for `_`. [ME-04]
pub fn is_secret(name: impl AsRef<OsStr>) -> bool {
    is_secret_name(name.as_ref().as_bytes())
}

fn is_secret_name(name: &[u8]) -> bool {
    let upper = |byte: &u8| if matches!(byte, b'-' | b'.') { b'_' } else { byte.to_ascii_uppercase() };
    let name: Vec<u8> = name.iter().skip_while(|byte| **byte == b'-').map(upper).collect();
    let parts = || name.split(|byte| *byte == b'_');
    let is_one_of = |part: &[u8], known: &[&str]| known.iter().any(|known| known.as_bytes() == part);
    if parts().next_back().is_some_and(|last| is_one_of(last, &PLACES)) {
        return false;
    }
    ANYWHERE.iter().any(|known| name.windows(known.len()).any(|window| window == known.as_bytes()))
        || parts().any(|part| ENDS.iter().any(|end| part.ends_with(end.as_bytes())))
        || parts().any(|part| part.ends_with(b"PWD") && !is_one_of(part, &DIRECTORIES))
        || parts().any(|part| is_one_of(part, &PARTS))
        || parts().skip(1).any(|part| is_one_of(part, &BEHIND))
        || parts().next_back().is_some_and(|last| is_one_of(last, &LAST))
        || is_one_of(&name, &KNOWN)
}

/// The words of a command as they may be shown: as many as there are, those without a secret unchanged.
///
/// The word behind a flag that is a secret by its name is its value, unless it begins as a long flag does.
pub fn shown(words: &[impl AsRef<OsStr>]) -> Vec<OsString> {
    let (mut is_value, mut joined, mut apart) = (false, false, false);
    let show = |word: &OsStr| {
        let bytes = word.as_bytes();
        let is_flag = bytes.starts_with(b"-");
        let hidden = std::mem::take(&mut is_value) && may_be_value(bytes);
        let is_joined = joined && is_short(bytes);
        let shown = match (hidden, is_joined) {
            (true, _) => MARK.into(),
            (false, true) => OsString::from(format!("-p{MARK}")),
            (false, false) => shown_word(word),
        };
        // A flag that holds its value, or had one that is hidden already, says nothing of the next word.
        let has_mark = |text: &[u8]| text.windows(MARK.len()).any(|part| part == MARK.as_bytes());
        let hid = !hidden && !is_joined && has_mark(shown.as_bytes());
        let holds = bytes.contains(&b'=') || has_mark(bytes) || hid;
        is_value = (is_flag && is_secret(word) && !holds) || (apart && bytes == b"-p");
        joined |= runs(bytes, &JOINED);
        apart |= runs(bytes, &APART);
        shown
    };
    words.iter().map(AsRef::as_ref).map(show).collect()
}

/// Not a long flag, and not the `-` that stands for standard input. A secret may begin with a dash.
fn may_be_value(text: &[u8]) -> bool {
    let is_alone = text.get(1).is_none_or(u8::is_ascii_whitespace);
    !text.starts_with(b"-") || !(is_alone || text.starts_with(b"--"))
}

/// `-phunter2`
fn is_short(text: &[u8]) -> bool {
    text.starts_with(b"-p") && text.get(2).is_some_and(|byte| !byte.is_ascii_whitespace())
}

/// Whether a word of a command is a program that is called so, wherever it lies.
fn runs(word: &[u8], programs: &[&str]) -> bool {
    // A script is none, and neither is what stands behind something hidden.
    let is_plain = !word.iter().any(|byte| byte.is_ascii_whitespace() || *byte == b'<');
    is_plain && programs.iter().any(|program| name_at_end(word).starts_with(program.as_bytes()))
}

/// Where the first word ends that is such a program. A script is looked through once, however often it says `-p`.
fn first(script: &[u8], programs: &[&str]) -> usize {
    let mut end = 0;
    let mut words = script.split(u8::is_ascii_whitespace).map(|word| {
        let end_of_word = end + word.len();
        end = end_of_word + 1;
        (end_of_word, word)
    });
    words.find(|(_, word)| runs(word, programs)).map_or(usize::MAX, |(end, _)| end)
}

/// The value of a variable or of a flag as it may be shown.
pub fn shown_variable(name: impl AsRef<OsStr>, value: &OsStr) -> OsString {
    if is_secret(name) && !is_harmless(value.as_bytes()) { MARK.into() } else { shown_word(value) }
}

/// One word, which may be a whole script, as it may be shown. Behind what assigns a secret in it all is hidden: where the
/// value ends is known to whoever reads the word.
pub fn shown_word(word: &OsStr) -> OsString {
    // What is cut off at a name may be what hid that an address stands before it: so until nothing more is found. No word needs
    // as many rounds.
    let mut shown = shown_once(word.as_bytes());
    for _ in 0..8 {
        let again = shown_once(&shown);
        if again == shown {
            break;
        }
        shown = again;
    }
    OsString::from_vec(shown)
}

fn shown_once(word: &[u8]) -> Vec<u8> {
    let mut shown = without_users(word);
    if let Some(at) = assigned(&shown) {
        shown.truncate(at);
        shown.extend_from_slice(MARK.as_bytes());
    }
    shown
}

/// A text with no user and no password in the addresses that it holds. Names do not count in it: for whole messages.
pub fn without_userinfo(text: &str) -> String {
    String::from_utf8_lossy(&without_users(text.as_bytes())).into_owned()
}

/// What follows user and password in a text that is known to be an address.
pub fn host(address: &str) -> &str {
    address.rsplit_once('@').map_or(address, |(_, host)| host)
}

/// Where the value of the first secret that is told by a name begins.
fn assigned(word: &[u8]) -> Option<usize> {
    let (joined, apart) = (first(word, &JOINED), first(word, &APART));
    let begins = |(at, byte): (usize, &u8)| {
        let (before, after) = (&word[..at], &word[at + 1..]);
        let takes = (at >= joined && is_short(after)) || (at >= apart && after.starts_with(b"-p "));
        if byte.is_ascii_whitespace() && takes {
            return Some(at + b" -p".len());
        }
        let assigns = match byte {
            b'=' => true,
            // `/run/secrets:/x` is two paths.
            b':' => after.first() != Some(&b'/'),
            b' ' | b'\t' | b'\n' => name_at_end(before).starts_with(b"-") && may_be_value(after),
            _ => false,
        };
        let name = || name_at_end(if byte.is_ascii_whitespace() { before } else { unquoted(before) });
        let is_secret = || is_secret_name(name()) || (*byte == b'=' && is_pwd(name(), before));
        (assigns && is_secret() && !is_harmless(after)).then_some(at + 1)
    };
    word.iter().enumerate().find_map(begins)
}

/// `Server=h;Pwd=x`: as a variable it is a directory, and then of capitals.
fn is_pwd(name: &[u8], before: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"PWD") && (name != b"PWD" || before.ends_with(b";PWD"))
}

/// What a switch is set to, or nothing at all.
fn is_harmless(value: &[u8]) -> bool {
    [&b""[..], b"true", b"false"].contains(&value)
}

/// Without the quotes and blanks between a name and its `:` or `=`.
fn unquoted(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !matches!(byte, b'"' | b'\'' | b'\\') && !byte.is_ascii_whitespace());
    &text[..end.map_or(0, |last| last + 1)]
}

fn name_at_end(text: &[u8]) -> &[u8] {
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    &text[text.iter().rposition(|byte| !in_name(byte)).map_or(0, |before| before + 1)..]
}

/// What stands before the `@` of each address goes: a password may hold any byte, so the last `@` of an address counts.
fn without_users(text: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (address, behind) = rest.split_at(end_of_address(rest));
        let at = address.iter().rposition(|byte| *byte == b'@');
        match at.and_then(|at| Some((user_begins(&address[..at], &address[at..])?, at))) {
            Some((begins, at)) => {
                shown.extend_from_slice(&address[..begins]);
                shown.extend_from_slice(MARK.as_bytes());
                shown.extend_from_slice(&address[at..]);
            }
            None => shown.extend_from_slice(address),
        }
        rest = behind;
    }
    shown
}

const SCHEME_END: &[u8] = b"://";

/// Up to the next address of a list or a script: a comma, blank or quote with `scheme://` behind it.
fn end_of_address(text: &[u8]) -> usize {
    let begins = |at: &usize| {
        text[*at..].starts_with(SCHEME_END) && {
            let name = name_at_end(&text[..*at]);
            let before = *at - name.len();
            before > 0 && !name.is_empty() && is_between(text[before - 1])
        }
    };
    (1..text.len()).find(begins).map_or(text.len(), |at| at - name_at_end(&text[..at]).len())
}

fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b',' | b'"' | b'\'')
}

/// Where the user begins in what stands before an `@`: behind `scheme://`, or a `user:password` alone, as databases have it. The
/// digest of an image has neither.
fn user_begins(before: &[u8], from_at: &[u8]) -> Option<usize> {
    if let Some(scheme) = before.windows(3).position(|window| window == SCHEME_END) {
        return Some(scheme + SCHEME_END.len());
    }
    let colon = before.iter().position(|byte| *byte == b':')?;
    let name = name_at_end(&before[..colon]);
    let word = colon - name.len();
    let begins_a_value = word == 0 || before[word - 1] == b'=' || is_between(before[word - 1]);
    // A flag stays one, so that it is not taken for the value of the flag before it.
    let user = word + name.iter().take_while(|byte| **byte == b'-').count();
    (user < colon && begins_a_value && !from_at.starts_with(b"@sha256:")).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown_as(words: &[&str]) -> Vec<String> {
        shown(words).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn secrets_are_told_by_name() {
        let names = "MESOS_EXECUTOR_AUTHENTICATION_TOKEN db_password --auth-token AWS_SECRET_ACCESS_KEY GPG_PASSPHRASE \
                     DB_PASS PGPASS REDIS_AUTH SSH_KEY MYSQL_PWD spring.datasource.password apiKey Proxy-Authorization \
                     --manifest-url-header --ir-password --google-json-key CREDS --cred REGISTRY_CREDS_JSON APP_JWT \
                     GITHUB_PAT PW db.pw --passcode userPwd TS_AUTHKEY";
        for name in names.split(' ') {
            assert!(is_secret(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_sound_like_a_secret_are_shown() {
        let names = "MESOS_DIRECTORY PATH PWD LIBPROCESS_IP KEYBOARD --private-mountns --authorization-mode \
                     --tls-private-key-file --auth-path SSH_AUTH_SOCK DB_PASSWORD_FILE AUTHOR PASSENGERS OLDPWD \
                     JWT_ISSUER --pat CREDS_FILE ";
        for name in names.split(' ') {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn no_form_of_a_secret_is_shown() {
        for (words, expected) in [
            (&["--token=abc", "--v=2"][..], &["--token=<secret>", "--v=2"][..]),
            (&["--x-key:=x", "TOKEN=y", "plain"], &["--x-key:<secret>", "TOKEN=<secret>", "plain"]),
            (&["--secret", "--u:p@h"], &["--secret", "--<secret>@h"]),
            (&["--auth-token", "def", "x"], &["--auth-token", "<secret>", "x"]),
            (&["DB_PASS=ghi", "-p"], &["DB_PASS=<secret>", "-p"]),
            (&["--manifest-url-header=X: y"], &["--manifest-url-header=<secret>"]),
            (&["--manifest-url", "http://u:pw@h/x?node=1"], &["--manifest-url", "http://<secret>@h/x?node=1"]),
            (&["http://u:p=w/t@h/x?token=1"], &["http://<secret>@h/x?token=<secret>"]),
            (&["--url=http://h/?a=1&api_key=zz&b"], &["--url=http://h/?a=1&api_key=<secret>"]),
            (&["a,https://T0KEN@h,http://u:p,w@i"], &["a,https://<secret>@h,http://<secret>@i"]),
            (&["--dsn=u:p/w@tcp(h)/db"], &["--dsn=<secret>@tcp(h)/db"]),
            (&["sh", "-c", "A=1 DB_PASSWORD=x y z"], &["sh", "-c", "A=1 DB_PASSWORD=<secret>"]),
            (&["sh", "-c", "run --password 'a b'"], &["sh", "-c", "run --password <secret>"]),
            (&["-H", "Authorization: Bearer x"], &["-H", "Authorization:<secret>"]),
            (&["-H", "X-Auth-Token:x"], &["-H", "X-Auth-Token:<secret>"]),
            (&["--client-secret", "-X", "y"], &["--client-secret", "<secret>", "y"]),
            (&["--secret", "-token", "x"], &["--secret", "<secret>", "<secret>"]),
            (&["run --password -x"], &["run --password <secret>"]),
            (&["Server=h;Uid=u;Pwd=x;A=1"], &["Server=h;Uid=u;Pwd=<secret>"]),
            (&["Server=h;PWD=x"], &["Server=h;PWD=<secret>"]),
            (&["pwd=x;Server=h"], &["pwd=<secret>"]),
            (&["env", "/usr/bin/mysqldump", "-ppw", "db"], &["env", "/usr/bin/mysqldump", "-p<secret>", "db"]),
            (&["mysql", "-password", "pw"], &["mysql", "-p<secret>", "<secret>"]),
            (&["sshpass", "-p", "pw", "ssh"], &["sshpass", "-p", "<secret>", "ssh"]),
            (&["sh", "-c", "exec mysql -uroot -ppw db"], &["sh", "-c", "exec mysql -uroot -p<secret>"]),
            (&["sshpass -p pw ssh h"], &["sshpass -p<secret>"]),
            (&["bash -c 'mysql -ppw'"], &["bash -c 'mysql -p<secret>"]),
            (&["{\"user\":\"a\",\"password\" : \"x\"}"], &["{\"user\":\"a\",\"password\" :<secret>"]),
        ] {
            assert_eq!(shown_as(words), expected, "{words:?}");
            assert_eq!(shown_as(expected), expected, "what is shown is shown again as it is");
        }
    }

    #[test]
    fn what_holds_no_secret_is_shown_as_it_is() {
        let words = [
            "--private-mountns",
            "4711",
            "--use-token",
            "--v=2",
            "--api-token",
            "-",
            "PWD=/a",
            "mkdir -p /mysql; docker run -p80:80 mysql",
            "-p80:80",
            "mysql",
            "-p",
            "db",
            "--anonymous-auth=false",
            "--image=registry:5000/pause:1@sha256:ab",
            "--slave=slave(1)@10.0.0.1:5051",
            "git@host:x",
            "/run/secrets:/run/secrets",
            "--auth-path=/a",
            "http://10.0.0.1:8888",
            "",
            "-",
        ];
        assert_eq!(shown_as(&words), words);
    }

    #[test]
    fn bytes_that_are_no_text_hide_nothing_of_an_address() {
        let word = OsStr::from_bytes(b"http://u:pw@h:1\xff");
        assert_eq!(shown_word(word).as_bytes(), b"http://<secret>@h:1\xff");
        assert_eq!(without_userinfo("no URL: \"http://u:pw@h\""), "no URL: \"http://<secret>@h\"");
    }

    #[test]
    fn a_variable_is_shown_by_its_name_and_by_its_value() {
        let shown = |name, value| shown_variable(name, OsStr::new(value)).into_string().unwrap();
        assert_eq!(shown("REDIS_AUTH", "x"), MARK);
        assert_eq!(shown("DATABASE_URL", "postgres://u:pw@h"), "postgres://<secret>@h");
        assert_eq!(shown("A", "1"), "1");
    }

    /// What the rules look for, in any order.
    const PIECES: &str =
        "mysql|/bin/sshpass|-p|-px|-|--token|TOKEN|pwd|;PWD|=|:| |,|'|/|://|@|u:p@|true|<secret>|x|-pass";

    proptest! {
        #[test]
        fn whatever_is_shown_is_shown_again_as_it_is(
            words in prop::collection::vec(prop::collection::vec(prop::sample::select(PIECES.split('|').collect::<Vec<_>>()), 0..7), 1..5)
        ) {
            let words: Vec<String> = words.iter().map(|pieces| pieces.concat()).collect();
            let shown = super::shown(&words);
            prop_assert_eq!(super::shown(&shown), shown, "{:?}", words);
        }

        #[test]
        fn a_password_of_any_bytes_is_hidden_and_what_is_shown_stays_so(password in "[ -~&&[^@]]{1,20}") {
            for word in [format!("x=http://u:9{password}9@h"), format!("--token=9{password}9")] {
                let shown = shown_as(&[&word]);
                prop_assert!(!shown[0].contains(&format!("9{password}9")), "{word} {shown:?}");
                prop_assert_eq!(shown_as(&[&shown[0]]), shown);
            }
        }
    }
}
