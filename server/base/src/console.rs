//! What commands print, and what the server says beside its logs. A reader that has seen enough (`| head`) is no error.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};

use crate::timestamp::Timestamp;

/// True if console messages are JSON, like the logs.
static SAYS_JSON: AtomicBool = AtomicBool::new(false);

/// Severity of a console message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The server does not start, or ends.
    Error,
    /// Something will not work.
    Warning,
    /// Information about the server.
    Info,
}

/// From now on what the server says, and what a thread says that panics, is a JSON object a line, as its logs are.
pub fn say_json() {
    SAYS_JSON.store(true, Ordering::Relaxed);
    std::panic::set_hook(Box::new(|panic| say(Severity::Error, format_args!("{panic}"))));
}

/// Reports whether console messages are JSON.
pub fn says_json() -> bool {
    SAYS_JSON.load(Ordering::Relaxed)
}

/// Writes `text` to standard output.
///
/// # Errors
/// When it cannot be written, but for a reader that is gone.
pub fn print(text: &str) -> io::Result<()> {
    let printed: Vec<String> =
        text.split(BOLD).map(|part| part.split(PLAIN).map(visible).collect::<Vec<_>>().join(PLAIN)).collect();
    written(&mut io::stdout().lock(), printed.join(BOLD).as_bytes())
}

const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// For terminals only.
pub fn bold(text: &str) -> String {
    format!("{BOLD}{text}{PLAIN}")
}

/// Text of servers, stores and documents as it is printed: what would steer a terminal, or turn the direction of the text around, is written as
/// escapes of JSON. So JSON stays what it is.
fn visible(text: &str) -> String {
    if !text.contains(steers) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if steers(letter) { shown.push_str(&format!("\\u{:04x}", u32::from(letter))) } else { shown.push(letter) }
    }
    shown
}

fn steers(letter: char) -> bool {
    let turns =
        matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}');
    turns || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// Writes a line to standard error. A failure is ignored: there is no other place for it.
pub fn line(line: fmt::Arguments<'_>) {
    let _ = io::stderr().lock().write_all((visible(&line.to_string()) + "\n").as_bytes());
}

/// Says on standard error why a command failed: `lamina COMMAND: REASON`, or for programs an object in a line. `code` is that of
/// the server, if it refused something.
pub fn failed(command: &str, as_json: bool, reason: &dyn fmt::Display, code: Option<&str>) {
    match as_json {
        true => line(format_args!("{}", failure(command, &reason.to_string(), code))),
        false => line(format_args!("lamina {command}: {reason}")),
    }
}

fn failure(command: &str, reason: &str, code: Option<&str>) -> Value {
    let mut error = Map::new();
    error.insert("message".into(), json!(reason));
    error.extend(code.filter(|code| !code.is_empty()).map(|code| ("code".into(), json!(code))));
    json!({"command": command, "error": error})
}

/// Says something about the start or the end of the server on standard error, whatever the level of the logs.
pub fn say(severity: Severity, message: fmt::Arguments<'_>) {
    say_with(severity, message, Map::new());
}

/// Writes a message like [`say`], with additional fields that only JSON output shows.
pub fn say_with(severity: Severity, message: fmt::Arguments<'_>, fields: Map<String, Value>) {
    if says_json() {
        return line(format_args!("{}", json_line(severity, message, fields)));
    }
    match severity {
        Severity::Error => line(format_args!("error: {message}")),
        Severity::Warning => line(format_args!("warning: {message}")),
        Severity::Info => line(message),
    }
}

/// In the shape of the lines of the logs.
fn json_line(severity: Severity, message: fmt::Arguments<'_>, fields: Map<String, Value>) -> String {
    let level = match severity {
        Severity::Error => "ERROR",
        Severity::Warning => "WARN",
        Severity::Info => "INFO",
    };
    let mut line = Map::new();
    line.insert("timestamp".into(), json!(Timestamp::now().to_string()));
    line.insert("level".into(), json!(level));
    line.insert("message".into(), json!(message.to_string().trim()));
    line.extend(fields);
    line.insert("target".into(), json!("lamina"));
    Value::Object(line).to_string()
}

fn written(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_a_reader_that_is_gone_is_no_error() {
        written(&mut Vec::new(), b"text").unwrap();
        written(&mut Broken(io::ErrorKind::BrokenPipe), b"text").unwrap();
        written(&mut Broken(io::ErrorKind::StorageFull), b"text").unwrap_err();
    }

    #[test]
    fn nothing_that_is_printed_steers_a_terminal() {
        let evil = "a\u{1b}]0;title\u{7}b\u{9b}2Jc\r\u{7f}\u{202e}d\te\nf é 日";
        assert_eq!(visible(evil), "a\\u001b]0;title\\u0007b\\u009b2Jc\\u000d\\u007f\\u202ed\te\nf é 日");
        let json = json!({ "a": evil }).to_string();
        let printed = visible(&json);
        assert!(!printed.contains(steers));
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), json!({ "a": evil }));
    }

    #[test]
    fn what_is_said_in_json_is_one_line() {
        let fields = Map::from_iter([("n".to_owned(), json!(1))]);
        let line = json_line(Severity::Warning, format_args!("\"two\"\nlines\n"), fields);
        assert!(!line.contains('\n'));
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&value["level"], &value["message"], &value["n"]),
            (&json!("WARN"), &json!("\"two\"\nlines"), &json!(1))
        );
        assert!(value["timestamp"].as_str().unwrap().ends_with('Z'));
    }

    #[test]
    fn a_failure_for_programs_is_an_object() {
        let refused = failure("search", "No.\nSuch \"index\"", Some("index_not_found"));
        let expected =
            json!({"command": "search", "error": {"message": "No.\nSuch \"index\"", "code": "index_not_found"}});
        assert_eq!(refused, expected);
        assert!(!refused.to_string().contains('\n'));
        for code in [None, Some("")] {
            assert_eq!(failure("build", "x", code), json!({"command": "build", "error": {"message": "x"}}));
        }
    }

    /// Run by [`a_panic_is_said_in_json`] in a process of its own, since the hook and the mode are those of the process.
    #[test]
    #[ignore = "ends with a panic"]
    fn panics() {
        say_json();
        panic!("lines\nand \"quotes\"");
    }

    #[test]
    fn a_panic_is_said_in_json() {
        let test = std::env::current_exe().unwrap();
        let arguments = ["--ignored", "--exact", "--nocapture", "console::tests::panics"];
        let output = std::process::Command::new(test).args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let [line] = &lines[..] else { panic!("no line of JSON in {said}") };
        assert_eq!(line["level"], "ERROR");
        assert!(line["message"].as_str().unwrap().contains("lines\nand \"quotes\""), "{line}");
    }
}
