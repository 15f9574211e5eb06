//! The binary without a server: help, version, wrong options.

use std::process::{Command, Output};

use crate::server::binary;

fn run(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Command::new(binary()).args(arguments).current_dir(folder.path()).output().expect("the binary starts")
}

#[test]
fn help_and_version() {
    let help = run(&["--help"]);
    assert!(help.status.success());
    let text = String::from_utf8(help.stdout).unwrap();
    for option in ["--db-path", "--http-addr", "--master-key", "--max-indexing-memory", "import"] {
        assert!(text.contains(option), "no {option} in:\n{text}");
    }
    let version = run(&["--version"]);
    assert!(version.status.success());
    assert_eq!(String::from_utf8(version.stdout).unwrap().trim(), concat!("lamina ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_options_are_explained() {
    for (arguments, word) in [
        (&["--colour", "red"][..], "--colour"),
        (&["--env", "staging"], "production"),
        (&["--log-level", "LOUD"], "LOUD"),
        (&["--http-payload-size-limit", "heavy"], "heavy"),
        (&["--max-indexing-threads", "many"], "many"),
        (&["--config-file-path", "absent.toml"], "absent.toml"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?} was accepted");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}
