//! Completion scripts.

use super::command::{Row, SHELLS, WordKind, visible};
use super::flag::{About, Value};
use crate::hyperkube::executor;
use crate::hyperkube::value::Kind;
use std::fmt::Write as _;

/// For bash 4 and later, without the bash-completion package.
pub(super) fn bash() -> String {
    let mut flags = String::new();
    let mut values = String::new();
    for row in visible() {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(flags, "        {}) words={:?} ;;", row.name, flag_words(row).join(" "));
        for about in (row.flags)() {
            if let Some(case) = bash_case(row.name, about) {
                let _ = writeln!(values, "        {case} ;;");
            }
        }
        if let Some(words) = choices(row.words) {
            let _ = writeln!(values, "        {}:) words={:?} ;;", row.name, words.join(" "));
        }
    }
    let commands: Vec<&str> = visible().map(|row| row.name).collect();
    BASH.replace("@COMMANDS@", &commands.join(" ")).replace("@FLAGS@\n", &flags).replace("@VALUES@\n", &values)
}

/// `=` is a word break in bash: `--stdout=m` arrives as three words.
const BASH: &str = r#"# bash completion for minion
_minion() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} flag="" words=""
    COMPREPLY=()
    case $command in -*) command=run ;; esac
    if [[ $COMP_CWORD -eq 1 && $current != -* ]]; then
        COMPREPLY=($(compgen -W "@COMMANDS@" -- "$current"))
        return
    fi
    if [[ $current == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD-1]}= current=""
    elif [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD-2]}=
    elif [[ $current != -* && ${COMP_WORDS[COMP_CWORD-1]} == -* ]]; then
        flag=${COMP_WORDS[COMP_CWORD-1]}
    fi
    if [[ $current != -* ]]; then
        case $command:$flag in
@VALUES@
        esac
        [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$current"))
        return
    fi
    case $command in
@FLAGS@
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -F _minion minion
"#;

/// The values of a flag. A boolean takes one behind `=` only, everything else as the next word too.
fn bash_case(command: &str, about: &About) -> Option<String> {
    let flag = format!("{command}:--{}", about.name);
    match about.value {
        Value::Switch => Some(format!("{flag}=) words=\"true false\"")),
        Value::Choice(words) => Some(format!("{flag}|{flag}=) words={:?}", words.join(" "))),
        Value::File => Some(format!("{flag}|{flag}=) COMPREPLY=($(compgen -f -- \"$current\"))")),
        Value::Text(_) => None,
    }
}

/// For zsh: a file `_minion` in `fpath`, or sourced.
pub(super) fn zsh() -> String {
    let mut text = String::from("#compdef minion\n_minion() {\n    local command=$words[2]\n    local -a commands=(\n");
    for row in visible() {
        let _ = writeln!(text, "        '{}:{}'", row.name, zsh_quoted(row.summary));
    }
    text.push_str(
        "    )\n    if (( CURRENT == 2 )) && [[ $command != -* ]]; then\n        _describe command commands\n        \
         return\n    fi\n    if [[ $command == -* ]]; then\n        command=run\n    else\n        shift words\n        \
         (( CURRENT-- ))\n    fi\n    case $command in\n",
    );
    for row in visible() {
        let _ = write!(text, "        {})\n            _arguments", row.name);
        for about in (row.flags)() {
            let _ = write!(text, " \\\n                '{}'", zsh_flag(about));
        }
        if row.name == "run" {
            for (name, kind) in executor_flags() {
                let value = if kind == Kind::Bool { "" } else { "=" };
                let message = if kind == Kind::Bool { "" } else { ":value:" };
                let _ = write!(text, " \\\n                '--{name}{value}[of the executor]{message}'");
            }
        }
        if let Some(words) = choices(row.words) {
            let _ = write!(text, " \\\n                '1:word:({})'", words.join(" "));
        }
        text.push_str(" ;;\n");
    }
    text.push_str("    esac\n}\n");
    // Autoloaded, the file is the function's body; sourced, it registers the function.
    text.push_str(
        "if [ \"$funcstack[1]\" = \"_minion\" ]; then\n    _minion \"$@\"\nelse\n    compdef _minion minion\nfi\n",
    );
    text
}

fn zsh_flag(about: &About) -> String {
    let help = zsh_quoted(about.help);
    let name = about.name;
    match about.value {
        Value::Switch => format!("--{name}[{help}]"),
        Value::Choice(words) => format!("--{name}=[{help}]:choice:({})", words.join(" ")),
        Value::File => format!("--{name}=[{help}]:file:_files"),
        Value::Text(metavar) => format!("--{name}=[{help}]:{}:", metavar.to_lowercase()),
    }
}

/// Inside single quotes and inside an argument specification.
fn zsh_quoted(text: &str) -> String {
    text.replace('\'', "'\\''").replace('[', "\\[").replace(']', "\\]").replace(':', "\\:")
}

/// For fish 3 and later.
pub(super) fn fish() -> String {
    let mut text = String::from(FISH);
    for row in visible() {
        let summary = fish_quoted(row.summary);
        let _ = writeln!(text, "complete -c minion -n __minion_needs_command -a {} -d '{summary}'", row.name);
    }
    for row in visible() {
        let condition = format!("complete -c minion -n '__minion_command_is {}'", row.name);
        for about in (row.flags)() {
            let short = about.short.map(|short| format!(" -s {short}")).unwrap_or_default();
            let value = match about.value {
                Value::Switch => String::new(),
                Value::Choice(words) => format!(" -x -a '{}'", words.join(" ")),
                Value::File => " -r -F".to_owned(),
                Value::Text(_) => " -x".to_owned(),
            };
            let _ = writeln!(text, "{condition}{short} -l {}{value} -d '{}'", about.name, fish_quoted(about.help));
        }
        if row.name == "run" {
            for (name, kind) in executor_flags() {
                let value = if kind == Kind::Bool { "" } else { " -x" };
                let _ = writeln!(text, "{condition} -l {name}{value} -d 'of the executor'");
            }
        }
        if let Some(words) = choices(row.words) {
            let _ = writeln!(text, "{condition} -a '{}'", words.join(" "));
        }
    }
    text
}

const FISH: &str = "# fish completion for minion
function __minion_needs_command
    set -l words (commandline -opc)
    test (count $words) -eq 1
end
function __minion_command_is
    set -l words (commandline -opc) (commandline -ct)
    test (count $words) -gt 1; or return 1
    test \"$words[2]\" = $argv[1]; and return 0
    test $argv[1] = run; and string match -q -- '-*' \"$words[2]\"
end
complete -c minion -f
";

fn fish_quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// `--name=` where a value follows, `--name` for a switch.
fn flag_words(row: &Row) -> Vec<String> {
    let word = |name: &str, switch: bool| if switch { format!("--{name}") } else { format!("--{name}=") };
    let mut words: Vec<String> =
        (row.flags)().iter().map(|about| word(about.name, about.value == Value::Switch)).collect();
    if row.name == "run" {
        words.extend(executor_flags().map(|(name, kind)| word(name, kind == Kind::Bool)));
    }
    words
}

/// The executor's flags that are not minion's too.
fn executor_flags() -> impl Iterator<Item = (&'static str, Kind)> {
    let own = super::command::find("run").map(|row| (row.flags)()).unwrap_or_default();
    executor::names().filter(move |(name, _)| own.iter().all(|about| about.name != *name))
}

fn choices(words: WordKind) -> Option<Vec<&'static str>> {
    match words {
        WordKind::None => None,
        WordKind::Shell => Some(SHELLS.to_vec()),
        WordKind::Command => Some(visible().map(|row| row.name).collect()),
    }
}
