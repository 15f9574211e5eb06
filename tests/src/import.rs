//! `lamina import`: every format, compression and failure, against a running server.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::receiver::{Behaviour, Receiver};
use crate::server::{Server, UNREACHABLE, binary};

fn import(server: &Server, arguments: &[&str], input: &[u8]) -> Output {
    let mut process = Command::new(binary())
        .args(["import", "--url", &server.url, "--index", "films"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // It may end before it has read everything.
    let _ = process.stdin.take().expect("a pipe").write_all(input);
    process.wait_with_output().expect("it ends")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn failed(output: &Output, reason: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it succeeded");
    assert!(said.contains(reason), "no `{reason}` in: {said}");
}

fn file(folder: &Path, name: &str, content: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("a file can be written");
    path.to_str().expect("a plain path").to_owned()
}

fn lines(ids: std::ops::Range<u32>) -> Vec<u8> {
    ids.flat_map(|id| format!("{{\"id\":{id},\"title\":\"film {id}\"}}\n").into_bytes()).collect()
}

#[test]
fn files_of_every_format() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&lines(1000..2000)).unwrap();
    let files = [
        file(folder.path(), "a.ndjson", &lines(0..1000)),
        file(folder.path(), "b.ndjson.gz", &gzip.finish().unwrap()),
        file(folder.path(), "c.jsonl.zst", &zstd::encode_all(&lines(2000..3000)[..], 1).unwrap()),
        file(folder.path(), "d.json", b"[{\"id\": 3000, \"title\": \"[an array]\"},\n {\"id\": 3001}]"),
        file(folder.path(), "e.csv", b"id,title,year:number\n3002,\"two\nlines\",1999\n3003,x,2000\n"),
    ];
    let arguments: Vec<&str> = files.iter().map(String::as_str).chain(["--batch-bytes", "5000"]).collect();
    let said = succeeded(&import(&server, &arguments, b""));
    assert!(said.contains("3,004 documents"), "{said}");
    assert_eq!(server.document_count("films"), 3004);
    let document = server.get("/indexes/films/documents/3002").ok();
    assert_eq!(document, json!({"id": "3002", "title": "two\nlines", "year": 1999}));
    assert_eq!(server.get("/indexes/films/documents/2999").ok()["title"], "film 2999");
    assert_eq!(server.get("/tasks?statuses=failed").ok()["total"], 0);
}

#[test]
fn standard_input_updates_and_keys() {
    let server = Server::with_options(&["--master-key", "0123456789abcdef"]).with_key("0123456789abcdef");
    server.add("films", json!([{"id": 1, "year": 1979}]));
    let key = ["--api-key", "0123456789abcdef"];
    succeeded(&import(&server, &[&key[..], &["--update"]].concat(), &lines(0..3)));
    assert_eq!(server.get("/indexes/films/documents/1").ok(), json!({"id": 1, "year": 1979, "title": "film 1"}));
    let csv = b"id;title\n7;seven\n";
    succeeded(&import(&server, &[&key[..], &["--format", "csv", "--csv-delimiter", ";", "-"]].concat(), csv));
    assert_eq!(server.get("/indexes/films/documents/7").ok()["title"], "seven");
    failed(&import(&server, &["--api-key", "wrong"], &lines(0..3)), "403");
    failed(&import(&server, &[], &lines(0..3)), "401");
}

#[test]
fn failures_are_reported_and_the_rest_is_loaded() {
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    let mut input = lines(10..20);
    input.extend(b"{\"id\":\"not an id\"}\n");
    input.extend(lines(20..30));
    // One document per request, so that one of 21 fails.
    let output = import(&server, &["--batch-bytes", "1"], &input);
    failed(&output, "standard input: document 11 (line 11) failed: task ");
    failed(&output, "invalid_document_id");
    assert_eq!(server.document_count("films"), 21);

    let mut input = lines(30..40);
    input.extend(b"{\"id\":}\n");
    failed(
        &import(&server, &["--batch-bytes", "1"], &input),
        "standard input: document 11 (line 11) failed: The `ndjson`",
    );
    assert_eq!(server.document_count("films"), 31);
}

fn for_programs(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output.stdout)))
}

#[test]
fn programs_read_what_became_of_an_import() {
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    let output = import(&server, &["--json"], &lines(10..20));
    let done = for_programs(&output);
    assert!(output.status.success(), "{}", said(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", said(&output.stderr));
    assert_eq!((&done["succeeded"], &done["isWhole"], &done["failures"]), (&json!(true), &json!(true), &json!([])));
    assert_eq!((&done["indexUid"], &done["searchableDocuments"]), (&json!("films"), &json!(10)));
    assert_eq!((&done["acceptedDocuments"], &done["endedAfter"]), (&json!(10), &Value::Null));
    let output = import(&server, &["--json", "--quiet", "--no-wait"], &lines(10..12));
    assert_eq!(for_programs(&output)["searchableDocuments"], 0);
    // Of a document that fails its place is there; the others are loaded, and nothing is said elsewhere.
    let input = [lines(20..22), b"{\"id\":\"not an id\"}\n".to_vec(), lines(22..24)].concat();
    let output = import(&server, &["--json"], &input);
    let done = for_programs(&output);
    assert!(!output.status.success(), "{}", said(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", said(&output.stderr));
    let failure = &done["failures"][0];
    assert_eq!((&failure["firstDocument"], &failure["lastLine"]), (&json!(3), &json!(3)));
    assert!(failure["message"].as_str().unwrap().contains("invalid_document_id"), "{done}");
    assert_eq!((&done["succeeded"], &done["isWhole"]), (&json!(false), &json!(true)));
    assert_eq!(done["searchableDocuments"], 4);
    // What ends an import is an error as well.
    let output = import(&server, &["--json", "absent.ndjson"], b"");
    let complaint: Value = serde_json::from_slice(&output.stderr).expect("one object");
    assert_eq!((&complaint["command"], &for_programs(&output)["isWhole"]), (&json!("import"), &json!(false)));
    assert!(complaint["error"]["message"].as_str().unwrap().starts_with("absent.ndjson: "), "{complaint}");
    let address = ["import", "--index", "films", "--json", "--url", "ftp://x"];
    let output = Command::new(binary()).args(address).stdin(Stdio::null()).output().expect("the binary starts");
    assert_eq!(output.stdout, b"");
    assert!(said(&output.stderr).starts_with(r#"{"command":"import","error":{"message":"the address `ftp://x` "#));
}

#[test]
fn every_failure_is_reported_with_its_place_in_the_file() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    // One document per request: 25 wrong ones, and a right one between them.
    let wrong = "{\"id\":}\n";
    let input =
        file(folder.path(), "a.ndjson", format!("{}{{\"id\":1}}\n\n{}", wrong.repeat(22), wrong.repeat(3)).as_bytes());
    let output = import(&server, &["--batch-bytes", "1", "--in-flight", "1", &input], b"");
    assert!(said(&output.stdout).starts_with("1 document imported"), "{}", said(&output.stdout));
    let lines = said(&output.stderr);
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 22, "{lines:?}");
    assert!(lines[0].starts_with(&format!("lamina import: {input}: document 1 (line 1) failed: ")), "{lines:?}");
    assert!(lines[19].contains("document 20 (line 20) failed: "), "{lines:?}");
    assert!(lines[19].contains("at line 20 column 7"), "{lines:?}");
    let rest = ["documents 21 to 22 (lines 21 to 22)", "documents 24 to 26 (lines 25 to 27)"];
    assert_eq!(lines[20..], rest.map(|place| format!("lamina import: {input}: {place} failed too")));

    // Requests of several documents: the server counts from the start of each.
    let rows = |format: &str, name: &str, text: &str, bytes: &str, place: &str, reason: &str| {
        let input = file(folder.path(), name, text.as_bytes());
        let output = import(&server, &["--batch-bytes", bytes, "--format", format, &input], b"");
        failed(&output, &format!("{input}: {place} failed: "));
        failed(&output, reason);
    };
    let text = "{\"id\":1}\n\n{\n \"id\":2\n}\n{\"id\":3}\n{\"id\":}\n";
    rows("ndjson", "b.ndjson", text, "18", "document 4 (line 7)", "expected value at line 7 column 7");
    let text = "[{\"id\":1},{\"id\":2},{\"id\":}]";
    rows("json", "c.json", text, "10", "document 3 (line 1)", "expected value at line 1 column 26");
    let text = "[\n {\"id\":1},\n {\"id\":2},\n {\"id\":3},\n {\"id\":}]";
    rows("json", "d.json", text, "22", "document 4 (line 5)", "expected value at line 5 column 8");
    for (name, end) in [("e.csv", "\n"), ("f.csv", "\r\n")] {
        let text = ["id,a:number", "1,2", "2,3", "3,4,5", "4,x"].join(end);
        rows(
            "csv",
            name,
            &text,
            "12",
            "document 3 (line 4)",
            "CSV error: document 3 (line 4): found record with 3 fields",
        );
        rows("csv", name, &text, "12", "document 4 (line 5)", "Error parsing number \"x\" at document 4: ");
    }
}

/// Lines with a number, of which some are replaced.
fn lines_with(count: u64, replaced: &[(u64, &str)]) -> Vec<u8> {
    let line = |id: u64| match replaced.iter().find(|(at, _)| *at == id) {
        Some((_, line)) => (*line).to_owned(),
        None => format!("{{\"id\":{id},\"title\":\"film {id}\"}}"),
    };
    (1..=count).map(|id| line(id) + "\n").collect::<String>().into_bytes()
}

#[track_caller]
fn lines_of_failures(output: &Output) -> Vec<String> {
    let lines = said(&output.stderr);
    lines.lines().map(|line| line.strip_prefix("lamina import: ").expect("a line of the import").to_owned()).collect()
}

#[test]
fn a_broken_line_costs_that_line() {
    let folder = tempfile::tempdir().unwrap();
    let replaced = [
        (2, "{\"id\":2,\"title\":"),
        (700, "{\"id\":700,\"title\":\"x"),
        (2000, "{\"id\":2000,\"a\":\"b\","),
        (2100, "nonsense"),
        (2500, "{\"id\":2500,\"a\":[1}"),
        (3000, "{\"id\":3000"),
    ];
    let path = file(folder.path(), "a.ndjson", &lines_with(3000, &replaced));
    for from_file in [true, false] {
        let server = Server::start();
        let output = match from_file {
            true => import(&server, &[&path], b""),
            false => import(&server, &[], &lines_with(3000, &replaced)),
        };
        let name = if from_file { &path } else { "standard input" };
        assert!(said(&output.stdout).starts_with("2,994 documents imported"), "{}", said(&output.stdout));
        let lines = lines_of_failures(&output);
        assert_eq!(lines.len(), 6, "{lines:?}");
        for (line, (at, _)) in lines.iter().zip(replaced) {
            assert!(line.starts_with(&format!("{name}: document {at} (line {at}) failed: The `ndjson`")), "{line}");
        }
        assert!(lines[0].contains(" at the end of line 2`"), "{lines:?}");
        assert!(lines[1].contains(" at line 700 column 20"), "{lines:?}");
        assert_eq!(server.document_count("films"), 2994);
        let found = server.get("/indexes/films/documents/2002").ok();
        assert_eq!(found["title"], "film 2002");
    }
}

#[test]
fn a_cell_that_is_no_number_costs_its_row() {
    let server = Server::start();
    let cell = |id: u64| match id {
        150 => "x".to_owned(),
        151 => "5,6".to_owned(),
        id => id.to_string(),
    };
    let rows: String = (1..=300).map(|id| format!("{id},{}\n", cell(id))).collect();
    let output = import(&server, &["--format", "csv"], format!("id,n:number\n{rows}").as_bytes());
    assert!(said(&output.stdout).starts_with("298 documents imported"), "{}", said(&output.stdout));
    let lines = lines_of_failures(&output);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("standard input: document 150 (line 151) failed: The `csv`"), "{lines:?}");
    assert!(lines[0].contains("Error parsing number \"x\" at document 150: "), "{lines:?}");
    assert!(lines[1].starts_with("standard input: document 151 (line 152) failed: The `csv`"), "{lines:?}");
    assert_eq!(server.document_count("films"), 298);
}

#[test]
fn a_document_that_fails_its_task_costs_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let replaced = [(70, "{\"id\":\"not an id\"}"), (71, "{\"title\":\"none\"}"), (250, "{\"id\":[]}")];
    let path = file(folder.path(), "a.ndjson", &lines_with(300, &replaced));
    for arguments in [&[path.as_str()][..], &[path.as_str(), "--batch-bytes", "3000"], &[]] {
        let server = Server::start();
        server.add("films", json!([{"id": 1}]));
        let input = if arguments.is_empty() { lines_with(300, &replaced) } else { Vec::new() };
        let output = import(&server, arguments, &input);
        assert!(said(&output.stdout).starts_with("297 documents imported"), "{}", said(&output.stdout));
        let lines = lines_of_failures(&output);
        let places = [70, 71, 250].map(|at| format!(": document {at} (line {at}) failed: task "));
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().zip(places).all(|(line, place)| line.contains(&place)), "{lines:?}");
        assert_eq!(server.document_count("films"), 297);
    }
}

#[test]
fn an_input_of_another_format_ends_soon() {
    let server = Server::start();
    let rows: String = (1..=5000).map(|id| format!("{id},film {id}\n")).collect();
    let start = Instant::now();
    let output = import(&server, &["--format", "ndjson"], rows.as_bytes());
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    let lines = lines_of_failures(&output);
    assert!(lines[0].starts_with("standard input: documents 1 to 20 (lines 1 to 20) failed: "), "{lines:?}");
    assert_eq!(server.get("/tasks").ok()["total"], 0);
}

#[test]
fn what_was_read_before_an_error_is_sent_and_followed_to_its_end() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let bad = file(folder.path(), "bad.ndjson", b"{\"id\":}\n{\"id\":1}\n");
    let cut = file(folder.path(), "cut.json", b"[{\"id\":5},{\"id\":");
    let output = import(&server, &["--batch-bytes", "1", &bad, &cut, "never-read.ndjson"], b"");
    assert!(said(&output.stdout).starts_with("2 documents imported"), "{}", said(&output.stdout));
    failed(&output, &format!("{bad}: document 1 (line 1) failed: "));
    failed(&output, &format!("{cut}: the JSON text ends inside document 2, which starts at line 1 column 11\n"));
    failed(&output, &format!("nothing after document 1 of {cut} was sent\n"));
    // Requests in flight may arrive in any order.
    let mut ids: Vec<u64> = server.ids("films", json!({})).iter().filter_map(Value::as_u64).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 5]);

    let output = import(&server, &["--format", "json"], b"[{\"id\":6},{\"id\":7},");
    assert!(said(&output.stdout).starts_with("2 documents imported"), "{}", said(&output.stdout));
    failed(
        &output,
        "standard input: expected a JSON object at line 1 column 20, after document 2, found the end of the input",
    );
    assert_eq!(server.document_count("films"), 4);
}

#[test]
fn a_document_above_the_limit_of_the_server_does_not_end_the_rest() {
    let server = Server::with_options(&["--http-payload-size-limit", "1 KB"]);
    let input =
        [lines(0..3), format!("{{\"id\":3,\"text\":\"{}\"}}\n", "x".repeat(2000)).into_bytes(), lines(4..6)].concat();
    let output = import(&server, &["--batch-bytes", "500"], &input);
    assert!(said(&output.stdout).starts_with("5 documents imported"), "{}", said(&output.stdout));
    failed(&output, "standard input: document 4 (line 4) failed: The provided payload reached the size limit.");
    assert_eq!(server.document_count("films"), 5);
    // All other requests would be as large.
    failed(&import(&server, &[], &input), "set a smaller --batch-bytes: The provided payload reached the size limit.");
}

#[test]
fn a_quote_inside_of_a_cell_ends_no_batch_later() {
    let server = Server::start();
    let mut input = b"id,size\n0,27 \" wide\n".to_vec();
    (1..200).for_each(|id| input.extend(format!("{id},\"two\nlines of {id}\"\n").into_bytes()));
    let said = succeeded(&import(&server, &["--format", "csv", "--batch-bytes", "500"], &input));
    assert!(said.starts_with("200 documents imported"), "{said}");
    assert_eq!(server.document_count("films"), 200);
    assert_eq!(server.get("/indexes/films/documents/0").ok()["size"], "27 \" wide");
    assert_eq!(server.get("/indexes/films/documents/7").ok()["size"], "two\nlines of 7");
    assert!(server.get("/tasks?limit=1").ok()["total"].as_u64() > Some(5), "one request for all");
}

#[test]
fn documents_are_counted_and_not_lines() {
    let server = Server::start();
    let input = b"{\n \"id\": 1\n}\n{\n \"id\": 2\n}\n";
    let said = succeeded(&import(&server, &["--batch-bytes", "1"], input));
    assert!(said.starts_with("2 documents imported"), "{said}");
    assert_eq!(server.document_count("films"), 2);
}

/// Runs an import against a server with this behavior. Returns the received requests, and the output.
fn import_into(script: Vec<Behaviour>, arguments: &[&str]) -> (Receiver, Output) {
    let receiver = Receiver::start(script);
    let mut command = Command::new(binary());
    command.args(["import", "--url", &receiver.url, "--index", "films"]).args(arguments).stdin(Stdio::piped());
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    process.stdin.take().expect("a pipe").write_all(&lines(0..2)).expect("it reads");
    let output = process.wait_with_output().expect("it ends");
    (receiver, output)
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    let busy =
        |headers| Behaviour::Say(503, headers, "{\"message\":\"busy\",\"code\":\"too_many_search_requests\"}".into());
    let (accepted, ended) = (json!({"taskUid": 7}), json!({"results": [{"uid": 7, "status": "succeeded"}]}));
    let script = vec![
        busy("Retry-After: 1\r\n"),
        busy("Retry-After: 0\r\n"),
        busy("Retry-After: soon\r\n"),
        Behaviour::Say(202, "", accepted.to_string()),
        busy(""),
        Behaviour::Say(200, "", ended.to_string()),
    ];
    let start = Instant::now();
    let (receiver, output) = import_into(script, &[]);
    assert!(succeeded(&output).starts_with("2 documents imported"));
    assert!(start.elapsed() >= Duration::from_secs(1), "it did not wait for as long as it was asked to");
    for _ in 0..4 {
        let received = receiver.next();
        assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", "/hook/indexes/films/documents"));
        assert_eq!(received.body, lines(0..2));
    }
    for _ in 0..2 {
        assert!(receiver.next().path.starts_with("/hook/tasks?uids=7&"));
    }
    receiver.nothing_more();

    let script = (0..100).map(|_| busy("Retry-After: 1\r\n")).collect();
    let (_receiver, output) = import_into(script, &["--patience", "1"]);
    failed(&output, "did not answer for 1 s: it responded with 503");
    failed(&output, "documents 1 to 2 (lines 1 to 2) failed");
}

#[test]
fn tasks_that_cannot_be_asked_for_are_named() {
    let refused = json!({"message": "The provided API key is invalid.", "code": "invalid_api_key"}).to_string();
    let script = vec![Behaviour::Say(202, "", json!({"taskUid": 7}).to_string()), Behaviour::Say(403, "", refused)];
    let (_receiver, output) = import_into(script, &[]);
    failed(&output, "documents 1 to 2 (lines 1 to 2) failed: they are in task 7, whose outcome is unknown");
    failed(&output, "the server did not report the outcome of the tasks: 403 The provided API key is invalid.");
}

#[test]
fn what_cannot_work_is_said_at_once() {
    let server = Server::start();
    failed(&import(&server, &["absent.ndjson"], b""), "absent.ndjson");
    failed(&import(&server, &["--primary-key", "isbn"], b"{\"title\": \"x\"}"), "isbn");
    failed(&import(&server, &["--format", "json"], b"[{\"id\": 1}, 2]"), "expected a JSON object at line 1 column 13");
    failed(&import(&server, &["--format", "json"], b"[{\"id\": 1}, {\"id\""), "ends inside document 2");
}

#[test]
fn a_server_that_is_not_there_is_waited_for_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let input = file(folder.path(), "a.ndjson", b"{\"id\":1}");
    let run = |more: &[&str]| {
        let mut command = Command::new(binary());
        command.args(["import", "--url", UNREACHABLE, "--index", "films", &input]).args(more);
        command.output().expect("the binary starts")
    };
    let output = run(&[]);
    failed(&output, "cannot connect to http://127.0.0.1:1/ (");
    failed(&output, "Start a server with `lamina serve`, or choose another one with --url");
    assert!(output.stdout.is_empty(), "a rate of nothing: {}", said(&output.stdout));
    // No place in the file is at fault.
    let lines: Vec<String> = said(&output.stderr).lines().map(str::to_owned).collect();
    assert!(lines[0].starts_with("lamina import: cannot connect to "), "{lines:?}");
    assert_eq!((lines.len(), lines[2].as_str()), (3, "lamina import: nothing was sent"), "{lines:?}");
    let output = run(&["--json"]);
    let (complaint, done) = (said(&output.stderr), for_programs(&output));
    assert!(complaint.starts_with(r#"{"command":"import","error":{"message":"cannot connect to "#), "{complaint}");
    assert_eq!((&done["failures"], &done["isWhole"], &done["endedAfter"]), (&json!([]), &json!(false), &Value::Null));
    failed(&run(&["--wait", "--patience", "1"]), "http://127.0.0.1:1/ did not answer for 1 s: ");
}

#[test]
fn the_content_says_the_format_and_the_delimiter() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let files = [
        file(folder.path(), "array.txt", b"\n [{\"id\": 1},\n {\"id\": 2}]"),
        file(folder.path(), "array.ndjson", b"[{\"id\": 3}]"),
        file(folder.path(), "lines.txt", b"{\"id\": 4}\n"),
        file(folder.path(), "tabs.tsv", b"id\ttitle\n5\ta,b\n"),
        file(folder.path(), "semicolons.csv", b"id;title\n6;c\n"),
    ];
    let arguments: Vec<&str> = files.iter().map(String::as_str).collect();
    assert!(succeeded(&import(&server, &arguments, b"")).starts_with("6 documents imported"));
    assert_eq!(server.get("/indexes/films/documents/5").ok(), json!({"id": "5", "title": "a,b"}));
    assert_eq!(server.get("/indexes/films/documents/6").ok(), json!({"id": "6", "title": "c"}));
    succeeded(&import(&server, &[], b"[{\"id\": 7}]"));
    succeeded(&import(&server, &["--format", "csv", "--csv-delimiter", "tab"], b"id\tx\n8\t1\n"));
    assert_eq!(server.document_count("films"), 8);
    let unknown = file(folder.path(), "table.txt", b"id,title\n1,x\n");
    let output = import(&server, &[&unknown], b"");
    failed(&output, "cannot detect the format from the name or the content; set it with --format");
    let output = import(&server, &["--csv-delimiter", "::"], b"");
    assert_eq!(output.status.code(), Some(2));
    failed(&output, "`::` is not a delimiter: expected one ASCII character");
}

#[test]
fn messages_name_the_option_that_helps() {
    let server = Server::start();
    let output = import(&server, &[], b"{\"name\": \"x\"}\n");
    failed(&output, "index_primary_key_no_candidate_found");
    failed(&output, "Name the field that identifies documents with --primary-key");
    assert!(output.stdout.is_empty(), "{}", said(&output.stdout));
    let server = Server::with_options(&["--master-key", "0123456789abcdef"]);
    failed(&import(&server, &[], &lines(0..3)), "Give a key with --api-key, or in the variable SVC_API_KEY");
    let output = import(&server, &["--api-key", "wrong", "--json"], &lines(0..3));
    failed(&output, "The key of --api-key (SVC_API_KEY) is unknown");
    let complaint: Value = serde_json::from_slice(&output.stderr).expect("one object");
    assert_eq!(complaint["error"]["code"], "invalid_api_key");
}
