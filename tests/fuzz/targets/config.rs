//! The file of `minion supervise`.

use minion::config::{self, Context, Loaded, Problem};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// A text is refused with places that it has, or gives tasks that are printed and read again.
pub fn file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match load(&text, |context, loaded| config::plan(loaded, context)) {
        Err(problems) => refused(&text, &problems),
        Ok((loaded, plan)) => {
            assert_eq!(plan.matches("\n   starts  ").count(), loaded.tasks.len(), "{plan}");
            printed(&loaded);
        }
    }
}

/// The file that a task's variables come from: each line that counts is a variable of the task, or the error names the line.
pub fn environment_file(data: &[u8]) {
    const TEXT: &str = "[executor]\ncommand = [\"/x\"]\nenvironment-file = \"e\"\n";
    match load_with(TEXT, data, |_, _| ()) {
        Err(problems) => {
            refused(TEXT, &problems);
            assert!(problems.iter().all(|problem| problem.line == Some(3)), "{}", problems[0]);
        }
        Ok((loaded, ())) => {
            for (name, value) in loaded.tasks.iter().flat_map(|task| &task.env) {
                let odd = |byte: &u8| *byte == b'=' || byte.is_ascii_whitespace();
                assert!(!name.is_empty() && !name.as_bytes().iter().any(odd), "{name:?}");
                assert!(!value.as_bytes().contains(&0) && !value.as_bytes().contains(&b'\n'), "{value:?}");
            }
        }
    }
}

/// On a machine that has every program, and the same text in every file.
fn load<R>(text: &str, then: impl FnOnce(&Context<'_>, &Loaded) -> R) -> Result<(Loaded, R), Vec<Problem>> {
    load_with(text, b"kube:x:7:8:\n# A=1\n", then)
}

fn load_with<R>(
    text: &str,
    file: &[u8],
    then: impl FnOnce(&Context<'_>, &Loaded) -> R,
) -> Result<(Loaded, R), Vec<Problem>> {
    let environment: Vec<(OsString, OsString)> = vec![("PATH".into(), "/bin".into())];
    let context = Context {
        environment: &environment,
        directory: Some("/w".into()),
        command: &[],
        restart_delay: Duration::from_secs(5),
        restart_delay_max: Duration::from_secs(60),
        read: &|_| Ok(file.to_vec()),
        is_executable: &|_| true,
        is_directory: &|_| true,
    };
    let loaded = config::load(text, Path::new("f"), &context)?;
    let result = then(&context, &loaded);
    Ok((loaded, result))
}

fn refused(text: &str, problems: &[Problem]) {
    assert!(!problems.is_empty());
    let lines: Vec<&str> = text.split('\n').collect();
    for problem in problems {
        let line = problem.line.map_or("", |line| lines[line - 1]);
        assert!(problem.column > 0 && problem.column <= line.chars().count() + 1, "{problem}");
        assert_eq!(problem.to_string().lines().count(), 1, "{problem}");
    }
}

/// Secrets are left out of what is printed, everything else of a command is in it.
fn printed(loaded: &Loaded) {
    let printed = config::print(loaded, &[]).expect("text of a file is UTF-8");
    let again = load(&printed.text, |_, _| ()).unwrap_or_else(|problems| panic!("{problems:?}\n{}", printed.text)).0;
    for (task, again) in loaded.tasks.iter().zip(&again.tasks) {
        assert_eq!((&again.name, again.restart, again.role), (&task.name, task.restart, task.role));
        assert!(again.args == task.args || !printed.left_out.is_empty(), "{}", printed.text);
    }
}
