//! What of arguments, variables and texts may be shown. The one place that decides it: whatever prints words of others asks here.
//!
//! A secret is told by its name (`--token=…`, `DB_PASS=…`, `Authorization: …`) or by its place in an address
//! (`scheme://user:password@host`). One that is neither, as `mysql -phunter2`, is seen by nobody.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What stands in the place of a secret.
pub const MARK: &str = "<secret>";

/// What makes a name one of a secret wherever it stands in it.
const ANYWHERE: [&str; 11] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "ACCESSKEY",
    "PRIVATEKEY",
    "BEARER",
    "COOKIE",
];
/// What does at the end of a part: `REDIS_AUTH`, `PGPASS`.
const ENDS: [&str; 2] = ["PASS", "AUTH"];
/// What does behind another part: `SSH_KEY` and `MYSQL_PWD` are secrets, `KEY` and `PWD` need not be.
const BEHIND: [&str; 3] = ["KEY", "KEYS", "PWD"];
/// The last part of a name whose value is a place: it may be shown, what lies there may not.
const PLACES: [&str; 4] = ["FILE", "PATH", "DIR", "SOCK"];
/// Flags whose names do not tell. Of the kubelet: its values are `Name:Value` for HTTP.
const KNOWN: [&str; 1] = ["MANIFEST_URL_HEADER"];

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
        || parts().skip(1).any(|part| is_one_of(part, &BEHIND))
        || parts().next_back() == Some(b"AUTHORIZATION")
        || is_one_of(&name, &KNOWN)
}

/// The words of a command as they may be shown: as many as there are, those without a secret unchanged.
///
/// The word behind a flag that is a secret by its name is its value, unless it is a flag itself.
pub fn shown(words: &[impl AsRef<OsStr>]) -> Vec<OsString> {
    let mut is_value = false;
    let show = |word: &OsStr| {
        let is_flag = word.as_bytes().starts_with(b"-");
        if std::mem::take(&mut is_value) && !is_flag {
            return MARK.into();
        }
        let shown = shown_word(word);
        // A flag that holds its value, or had one that is hidden already, says nothing of the next word.
        let holds =
            word.as_bytes().contains(&b'=') || shown.as_bytes().windows(MARK.len()).any(|part| part == MARK.as_bytes());
        is_value = is_flag && is_secret(word) && !holds;
        shown
    };
    words.iter().map(AsRef::as_ref).map(show).collect()
}

/// The value of a variable or of a flag as it may be shown.
pub fn shown_variable(name: impl AsRef<OsStr>, value: &OsStr) -> OsString {
    if is_secret(name) && !is_harmless(value.as_bytes()) { MARK.into() } else { shown_word(value) }
}

/// One word, which may be a whole script, as it may be shown. Behind what assigns a secret in it all is hidden: where the
/// value ends is known to whoever reads the word.
pub fn shown_word(word: &OsStr) -> OsString {
    let mut shown = without_users(word.as_bytes());
    if let Some(at) = assigned(&shown) {
        shown.truncate(at);
        shown.extend_from_slice(MARK.as_bytes());
    }
    OsString::from_vec(shown)
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
    let begins = |(at, byte): (usize, &u8)| {
        let (before, after) = (&word[..at], &word[at + 1..]);
        let assigns = match byte {
            b'=' => true,
            // `/run/secrets:/x` is two paths.
            b':' => after.first() != Some(&b'/'),
            b' ' | b'\t' | b'\n' => name_at_end(before).starts_with(b"-") && !after.starts_with(b"-"),
            _ => false,
        };
        let name = || name_at_end(if byte.is_ascii_whitespace() { before } else { unquoted(before) });
        (assigns && is_secret_name(name()) && !is_harmless(after)).then_some(at + 1)
    };
    word.iter().enumerate().find_map(begins)
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
    let user = colon - name_at_end(&before[..colon]).len();
    let begins_a_value = user == 0 || before[user - 1] == b'=' || is_between(before[user - 1]);
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
    fn what_is_shown_is_shown_again_as_it_is() {
        let once = super::shown(&["--x-key:=x", "TOKEN=y", "plain"]);
        assert_eq!(once, ["--x-key:<secret>", "TOKEN=<secret>", "plain"]);
        assert_eq!(super::shown(&once), once);
    }

    #[test]
    fn secrets_are_told_by_name() {
        for name in [
            "MESOS_EXECUTOR_AUTHENTICATION_TOKEN",
            "db_password",
            "--auth-token",
            "AWS_SECRET_ACCESS_KEY",
            "GPG_PASSPHRASE",
            "DB_PASS",
            "PGPASS",
            "REDIS_AUTH",
            "SSH_KEY",
            "MYSQL_PWD",
            "spring.datasource.password",
            "apiKey",
            "Proxy-Authorization",
            "--manifest-url-header",
            "--ir-password",
            "--google-json-key",
        ] {
            assert!(is_secret(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_sound_like_a_secret_are_shown() {
        for name in [
            "MESOS_DIRECTORY",
            "PATH",
            "PWD",
            "LIBPROCESS_IP",
            "KEYBOARD",
            "",
            "--private-mountns",
            "--authorization-mode",
            "--tls-private-key-file",
            "--auth-path",
            "SSH_AUTH_SOCK",
            "DB_PASSWORD_FILE",
            "AUTHOR",
            "PASSENGERS",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn no_form_of_a_secret_is_shown() {
        for (words, expected) in [
            (&["--token=abc", "--v=2"][..], &["--token=<secret>", "--v=2"][..]),
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
            (&["{\"user\":\"a\",\"password\" : \"x\"}"], &["{\"user\":\"a\",\"password\" :<secret>"]),
        ] {
            assert_eq!(shown_as(words), expected, "{words:?}");
        }
    }

    #[test]
    fn what_holds_no_secret_is_shown_as_it_is() {
        let words = [
            "--private-mountns",
            "4711",
            "--use-token",
            "--v=2",
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

    proptest! {
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
