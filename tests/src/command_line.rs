//! The binary without a server: help, version, wrong options.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use crate::server::{Server, binary, repository, until};

fn run(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Command::new(binary()).args(arguments).current_dir(folder.path()).output().expect("the binary starts")
}

/// Headings and options of the help: those that the example of a configuration file has. That it has all of them is tested
/// beside them.
fn in_example() -> Vec<String> {
    let example = std::fs::read_to_string(repository().join("packaging/config.toml")).unwrap();
    let mut wanted: Vec<String> = Vec::new();
    for line in example.lines() {
        if let Some(heading) = line.strip_prefix("# ---- ").and_then(|line| line.strip_suffix(" ----")) {
            wanted.push(format!("{heading}:"));
        } else if let Some((name, _)) = line.strip_prefix("# ").and_then(|line| line.split_once(" = "))
            && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
        {
            wanted.push(format!("--{}", name.replace('_', "-")));
        }
    }
    for known in [
        "Main:",
        "Indexing:",
        "Search:",
        "Logs:",
        "TLS:",
        "Dumps and snapshots:",
        "Snapshots in object storage:",
        "Outbound requests:",
        "Experimental features:",
        "--db-path",
        "--http-addr",
        "--env",
        "--master-key",
        "--http-payload-size-limit",
        "--max-indexing-memory",
        "--max-indexing-threads",
        "--import-dump",
        "--schedule-snapshot",
        "--ssl-cert-path",
        "--log-level",
        "--no-analytics",
    ] {
        assert!(wanted.iter().any(|one| one == known), "no {known} in the example of a configuration file");
    }
    wanted
}

#[test]
fn help_and_version() {
    let help = run(&["--help"]);
    assert!(help.status.success());
    let text = String::from_utf8(help.stdout).unwrap();
    let has_line = |start: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.any(|line| line.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
    };
    let mut wanted = in_example();
    wanted.extend(
        [
            "Usage:",
            "Commands:",
            "Options:",
            "serve",
            "import",
            "search",
            "settings",
            "mcp",
            "sync",
            "evaluate",
            "judge",
            "tune",
            "inspect",
            "verify",
            "repair",
            "completions",
        ]
        .map(String::from),
    );
    wanted.extend(["manual", "--config-file-path"].map(String::from));
    for start in &wanted {
        assert!(has_line(start), "no {start} in:\n{text}");
    }
    let key = text.split("--master-key").nth(1).unwrap().split("--env").next().unwrap();
    for open in ["GET /health", "GET /openapi.json", "GET /`"] {
        assert!(key.contains(open), "{open} needs no key, and the help does not say so:{key}");
    }
    let version = run(&["--version"]);
    assert!(version.status.success());
    assert_eq!(String::from_utf8(version.stdout).unwrap().trim(), concat!("lamina ", env!("CARGO_PKG_VERSION")));
}

/// `-h` fits 80 columns for each command, and one screen for the server.
#[test]
fn short_help_fits_a_screen() {
    let help = |arguments: &[&str]| {
        let output = Command::new(binary()).args(arguments).env("COLUMNS", "80").output().expect("the binary starts");
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let all = help(&["-h"]);
    let commands = all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands.map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(commands.len() >= 14, "one line each: {all}");
    assert!(commands.contains(&"serve"), "one line each: {all}");
    for command in commands.into_iter().filter(|command| *command != "help").map(Some).chain([None]) {
        let text = help(&command.into_iter().chain(["-h"]).collect::<Vec<&str>>());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let is_of_server = command.is_none_or(|command| command == "serve");
        assert!(!is_of_server || text.lines().count() <= 48, "{text}");
    }
}

#[test]
fn wrong_options_are_explained() {
    for (arguments, word) in [
        (&["--colour", "red"][..], "--colour"),
        (&["--env", "staging"], "production"),
        (&["--log-level", "LOUD"], "LOUD"),
        (&["--http-payload-size-limit", "heavy"], "heavy"),
        (
            &["--max-indexing-threads", "many"],
            "`many` is not a count: expected an integer of at least 0, or `unlimited`",
        ),
        (&["--experimental-nb-searches-per-core", "0"], "`0` is not a count: expected an integer of at least 1"),
        (&["--experimental-search-queue-size", "-1"], "`-1` is not a count: expected an integer of at least 0"),
        (&["--max-indexing-memory", "99999999999 TiB"], "`99999999999 TiB` is too large: expected at most 8192 TiB"),
        (&["--client-timeout", "9999999999999999999"], "is too long: expected at most 36500 days"),
        (&["import", "-i", "x", "--in-flight", "65"], "`65` is too large: expected an integer from 1 to 64"),
        (&["evaluate", "-i", "x", "-k", "0", "f"], "`0` is not a count: expected an integer of at least 1"),
        (&["evaluate", "-i", "x", "--min-mrr", "2", "f"], "`2` is not a share: expected a number from 0 to 1"),
        (&["--snapshots-kept", "some"], "`some` is not a count: expected an integer of at least 1"),
        (&["--telemetry-url", "nowhere"], "relative URL without a base"),
        (&["--config-file-path", "absent.toml"], "absent.toml"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?} was accepted");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}

#[test]
fn production_insists_on_a_good_master_key() {
    let without = run(&["--env", "production", "--http-addr", "127.0.0.1:0"]);
    let said = String::from_utf8_lossy(&without.stderr).into_owned();
    assert!(!without.status.success(), "{said}");
    assert!(!said.contains("Listening"), "{said}");
    assert!(
        said.contains("You must provide a master key to secure your instance in a production environment."),
        "{said}"
    );
    let short = run(&["--env", "production", "--http-addr", "127.0.0.1:0", "--master-key", "fifteen bytes.."]);
    let said = String::from_utf8_lossy(&short.stderr).into_owned();
    assert!(!short.status.success(), "{said}");
    assert!(!said.contains("Listening"), "{said}");
    assert!(said.contains("The provided key is only 15 bytes."), "{said}");
    // A good one is suggested: 32 random bytes, another time others.
    let suggested = |said: &str| {
        let key = said.split_once(">> --master-key ").expect("a suggestion").1.split_once(" <<").expect("its end").0;
        assert_eq!(key.len(), 43, "{said}");
        key.to_owned()
    };
    assert_ne!(suggested(&said), suggested(&String::from_utf8_lossy(&without.stderr)));
    let key = suggested(&said);
    let server = Server::with_options(&["--env", "production", "--master-key", &key]).with_key(&key);
    assert!(server.get("/keys").ok()["total"].as_u64().unwrap() > 1);
}

#[test]
fn a_folder_can_be_inspected_and_verified() {
    let mut server = Server::start();
    server.add("films", json!([{"id": 7, "title": "Alien: the return. Again", "cast": ["A B", "C"]}]));
    server.add("films", json!([{"id": 8, "title": "Aliens return"}]));
    let folder = server.data_folder();
    let look = |arguments: &[&str]| {
        let output =
            Command::new(binary()).args(arguments).arg("--db-path").arg(&folder).output().expect("the binary starts");
        (output.status.success(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr))
    };
    let (done, said) = look(&["verify"]);
    assert!(!done, "a running server is left alone: {said}");
    assert!(said.contains("in use"), "a running server is left alone: {said}");
    assert!(server.terminate().success());

    for (arguments, words) in [
        (&["inspect"][..], &["films", "2 documents"][..]),
        (
            &["inspect", "--index", "films"],
            &[
                "primary key  id",
                "id, title, cast",
                "postings",
                "tokens",
                ".lam ",
                "checksum",
                "\"rankingRules\":[\"words\"",
            ],
        ),
        (&["inspect", "--index", "films", "--term", "Return"], &["ordinal", "title"]),
        (&["inspect", "--index", "films", "--term", "absent"], &["no document"]),
        (&["inspect", "--index", "films", "--document", "7"], &["alien the return | again", "cast: a b | c"]),
        (&["verify"], &["films", "sound"]),
    ] {
        let (done, said) = look(arguments);
        assert!(done, "{arguments:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{arguments:?}: {said}");
    }
    for (arguments, word) in [
        (&["inspect", "--index", "absent"][..], "not found"),
        (&["inspect", "--index", "films", "--document", "9"], "no document `9`"),
    ] {
        let (done, said) = look(arguments);
        assert!(!done, "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    damage_one_segment(&folder);
    let (done, said) = look(&["verify"]);
    assert!(!done, "{said}");
    assert!(said.contains("DAMAGED"), "{said}");
}

/// Segments, added columns, tombstones, manifest: whatever belongs to an index may be flipped, cut, emptied or lost.
#[test]
fn damage_to_any_file_of_an_index_is_found() {
    let mut server = Server::start();
    let film = |id: u32| json!({"id": id, "title": format!("Film number {id}"), "year": 1900 + id % 90});
    server.add("films", (0..300).map(film).collect());
    server.done(&server.delete("/indexes/films/documents/7"));
    server.set("films", json!({"filterableAttributes": ["year"]}));
    assert!(server.terminate().success());
    let verify = || {
        let (is_sound, said) = server.verify();
        assert!(!said.contains("panicked"), "{said}");
        (is_sound, said)
    };
    let files = files_of_indexes(&server.data_folder());
    let is = |kind: &str| files.iter().any(|path| path.file_name().unwrap().to_str().unwrap().starts_with(kind));
    assert!(is("seg-"), "{files:?}");
    assert!(is("manifest-"), "{files:?}");
    for path in &files {
        let whole = std::fs::read(path).expect("a readable file");
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for damaged in [&flipped[..], &whole[..whole.len() / 2], &whole[..whole.len() - 1], &[]] {
            std::fs::write(path, damaged).expect("a writable file");
            let (is_sound, said) = verify();
            assert!(!is_sound, "{path:?} with {} of {} bytes: {said}", damaged.len(), whole.len());
        }
        std::fs::remove_file(path).expect("a file");
        let (is_sound, said) = verify();
        assert!(!is_sound, "{path:?} lost: {said}");
        std::fs::write(path, whole).expect("a writable folder");
    }
    let (is_sound, said) = verify();
    assert!(is_sound, "{said}");
}

/// `lamina … | head`: who has read enough is no error, and nothing panics.
#[test]
fn a_reader_that_is_gone_is_no_error() {
    let mut server = Server::start();
    server.add("films", json!([{"id": 1}]));
    assert!(server.terminate().success());
    let folder = server.data_folder();
    let folder = folder.to_str().unwrap();
    for arguments in [
        &["inspect", "--db-path", folder][..],
        &["verify", "--db-path", folder],
        &["manual"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = Command::new(binary()).args(arguments).stdout(writer).output().expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        assert!(said.is_empty(), "{arguments:?}: {said}");
        if !arguments.contains(&"--help") {
            let full = std::fs::File::options().write(true).open("/dev/full").expect("a device that is always full");
            let output = Command::new(binary()).args(arguments).stdout(full).output().expect("the binary starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{arguments:?}: {said}");
            assert!(said.contains("No space left"), "{arguments:?}: {said}");
        }
    }
    // Nor is one of the errors.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = Command::new(binary()).args(["inspect", "--db-path", "absent"]).stderr(writer).status();
    assert_eq!(status.expect("the binary starts").code(), Some(1), "not that of a panic");
}

fn files_of_indexes(data_folder: &Path) -> Vec<PathBuf> {
    let indexes = std::fs::read_dir(data_folder.join("indexes")).expect("a folder of indexes");
    let files = indexes.flat_map(|index| std::fs::read_dir(index.unwrap().path()).expect("a folder of an index"));
    files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "lam")).collect()
}

/// Flips one bit in the middle of a segment file.
fn damage_one_segment(data_folder: &Path) {
    let files = files_of_indexes(data_folder);
    let is_segment = |path: &&PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("seg-");
    let segment = files.iter().find(is_segment).expect("a segment");
    let mut bytes = std::fs::read(segment).expect("a readable segment");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(segment, bytes).expect("a writable segment");
}

/// Reports whether a process of this system handles SIGTERM.
fn handles_signals(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the status of a child");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a line");
    let caught = u64::from_str_radix(caught.trim(), 16).expect("a mask");
    caught >> (rustix::process::Signal::TERM.as_raw() - 1) & 1 == 1
}

/// A server that is asked to start in a folder of its own, with these variables, until it ends or listens; what it said.
fn started(arguments: &[&str], variables: &[(&str, &str)]) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(binary());
    command.args(arguments).envs(variables.iter().copied()).current_dir(folder.path());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let mut process = command.spawn().expect("the binary starts");
    let mut said = String::new();
    for line in std::io::BufReader::new(process.stderr.take().expect("a pipe")).lines() {
        let line = line.expect("text");
        said.push_str(&line);
        said.push('\n');
        // The last line of the banner, and the one of JSON.
        if line.starts_with("Help ") || line.contains("\"instance_uid\":") {
            // It handles signals soon after it has said where it listens.
            until(|| handles_signals(process.id()));
            let status = Command::new("kill").args(["-TERM", &process.id().to_string()]).status();
            assert!(status.expect("kill runs").success());
        }
    }
    (process.wait().expect("it ends").success(), said)
}

#[test]
fn variables_of_another_server_are_taken() {
    let address = ("MEILI_HTTP_ADDR", "127.0.0.1:0");
    let (_, said) = started(&["--env", "production"], &[address, ("MEILI_MASTER_KEY", "short")]);
    assert!(said.contains("only 5 bytes"), "{said}");
    let (is_success, said) = started(&[], &[address, ("MEILI_ENV", "production")]);
    assert!(!is_success, "{said}");
    assert!(said.contains("master key"), "{said}");

    let key = "a-master-key-of-enough-bytes";
    let all = [
        address,
        ("MEILI_ENV", "production"),
        ("MEILI_MASTER_KEY", key),
        ("MEILI_NO_ANALYTICS", "true"),
        ("MEILI_DB_PATH", "own.place"),
        ("MEILI_NOTHING", "1"),
        ("SVC_DB_PATH", "mine"),
    ];
    let (is_success, said) = started(&[], &all);
    assert!(is_success, "{said}");
    for wanted in [
        "MEILI_ENV, MEILI_HTTP_ADDR, MEILI_MASTER_KEY, MEILI_NO_ANALYTICS (taken as",
        "MEILI_DB_PATH (passed over, as",
        "MEILI_NOTHING (ignored: there is no such option)",
    ] {
        assert!(said.contains(wanted), "no `{wanted}` in {said}");
    }
    let has =
        |name: &str, value: &str| said.lines().any(|line| line.starts_with(name) && line.trim_end().ends_with(value));
    assert!(has("Environment ", "production"), "{said}");
    assert!(has("Master key ", "set"), "{said}");
    assert!(has("Database path ", "mine"), "{said}");
    assert!(!said.contains(key));
}

#[test]
fn with_json_logs_everything_that_is_said_is_json() {
    #[track_caller]
    fn objects(said: &str) -> Vec<serde_json::Value> {
        let read = |line: &str| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            assert!(value["level"].is_string(), "{line}");
            assert!(value["message"].is_string(), "{line}");
            value
        };
        said.lines().map(read).collect()
    }
    let json = ["--experimental-logs-mode", "json", "--http-addr", "127.0.0.1:0"];
    // A warning, since there is no key.
    let (is_success, said) = started(&json, &[]);
    let lines = objects(&said);
    assert!(is_success, "{said}");
    let banner = lines.iter().find(|line| line["message"] == "Lamina").expect("a banner");
    assert_eq!((&banner["level"], &banner["environment"]), (&json!("INFO"), &json!("development")));
    assert!(banner["listening_on"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{banner}");
    assert!(lines.iter().any(|line| line["level"] == "WARN"), "{said}");

    let not_empty = tempfile::tempdir().unwrap();
    std::fs::write(not_empty.path().join("letter.txt"), "x").unwrap();
    let config = not_empty.path().join("config.toml");
    std::fs::write(&config, "experimental_logs_mode = \"json\"\nbogus = 1\n").unwrap();
    let (place, config) = (not_empty.path().to_str().unwrap(), config.to_str().unwrap());
    for (arguments, variables, word) in [
        (&["--db-path", place][..], &[][..], "is not empty"),
        (&["--env", "production"], &[], "master key"),
        (&["--bogus"], &[], "--bogus"),
        (&["--ssl-cert-path", "x"], &[], "--ssl-key-path"),
        (&["--ssl-cert-path", "absent", "--ssl-key-path", "absent"], &[], "absent"),
    ] {
        let (is_success, said) = started(&[&json, arguments].concat(), variables);
        let lines = objects(&said);
        assert!(!is_success, "{arguments:?}: {said}");
        assert!(lines.iter().any(|line| line["level"] == "ERROR"), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    let (_, said) = started(&["--bogus"], &[("SVC_EXPERIMENTAL_LOGS_MODE", "json")]);
    assert_eq!(objects(&said).len(), 1);
    let (_, said) = started(&["--config-file-path", config], &[]);
    assert!(objects(&said)[0]["message"].as_str().unwrap().contains("unknown option `bogus`"), "{said}");
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "1.50.0").unwrap();
    };
    write("letters/letter.txt");
    for path in ["VERSION", "instance-uid", "auth/data.mdb", "tasks/data.mdb", "indexes/x/data.mdb"] {
        write(&format!("volume/data.ms/{path}"));
    }
    let dump = folder.path().join("letters/letter.txt");
    let entries = |name: &str| {
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path().join(name)).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for (name, word) in [
        ("letters", "is not empty and not a database of this server"),
        ("volume/data.ms", "make a dump"),
        ("volume", "make a dump"),
    ] {
        let (place, before) = (folder.path().join(name), entries(name));
        let here = ["--db-path", place.to_str().unwrap(), "--http-addr", "127.0.0.1:0"];
        for more in [&[][..], &["--import-dump", dump.to_str().unwrap()]] {
            let (is_success, said) = started(&[&here, more].concat(), &[]);
            assert!(!is_success, "{name}: {said}");
            assert!(said.contains(word), "{name}: {said}");
            assert_eq!(entries(name), before, "nothing was written");
        }
    }
}
