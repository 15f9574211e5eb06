//! Damaged files under a running server: what is whole goes on, and nothing damaged passes for sound.

use std::path::PathBuf;

use serde_json::json;

use crate::server::{Server, soon_as};

/// The segment files of the database, the largest last.
fn segments(server: &Server) -> Vec<PathBuf> {
    let indexes = std::fs::read_dir(server.data_folder().join("indexes")).expect("a folder of indexes");
    let files = indexes.flat_map(|index| std::fs::read_dir(index.unwrap().path()).expect("a folder of an index"));
    let is_segment = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("seg-");
    let mut segments: Vec<PathBuf> = files.map(|file| file.unwrap().path()).filter(is_segment).collect();
    segments.sort_by_key(|path| std::fs::metadata(path).unwrap().len());
    segments
}

fn films() -> serde_json::Value {
    (0..500).map(|id| json!({"id": id, "title": format!("Film number {id}"), "year": 1900 + id % 90})).collect()
}

#[test]
fn an_index_that_cannot_be_opened_leaves_the_others_alone() {
    let mut server = Server::start();
    server.add("books", json!([{"id": 1, "title": "Moby Dick"}]));
    server.add("films", films());
    assert!(server.terminate().success());
    let largest = segments(&server).pop().expect("a segment");
    let whole = std::fs::read(&largest).unwrap();
    std::fs::write(&largest, &whole[..whole.len() / 2]).unwrap();
    server.start_again();

    let list = server.get("/indexes").ok();
    assert_eq!((&list["total"], list["results"].as_array().unwrap().len()), (&json!(2), 1));
    assert_eq!(list["results"][0]["uid"], "books");
    let stats = server.get("/stats").ok();
    assert_eq!(stats["indexes"].as_object().unwrap().keys().collect::<Vec<_>>(), ["books"]);
    for shown in [&list, &stats] {
        assert_eq!(shown["unreadable"].as_object().unwrap().len(), 1);
        let error = &shown["unreadable"]["films"];
        assert_eq!(error["code"], "invalid_store_file");
        assert!(error["message"].as_str().unwrap().starts_with("Index `films`: a segment is damaged: "), "{error}");
    }
    assert_eq!(server.ids("books", json!({"q": "moby"})), [1]);
    server.get("/indexes/films").refused(500, "invalid_store_file");
    server.post("/indexes/films/search", json!({"q": "film"})).refused(500, "invalid_store_file");
    server.fails(&server.post("/indexes/films/documents", json!([{"id": 1}])), "invalid_store_file");
    // A backup without it would look whole.
    server.fails(&server.post("/dumps", json!({})), "invalid_store_file");
    server.done(&server.delete("/indexes/films"));
    let list = server.get("/indexes").ok();
    assert_eq!((&list["total"], list.get("unreadable")), (&json!(1), None));
}

#[test]
fn what_is_damaged_is_not_compacted_into_something_sound() {
    for place in 1..12 {
        let mut server = Server::start();
        server.add("films", films());
        server.done(&server.delete("/indexes/films/documents/7"));
        assert!(server.terminate().success());
        let largest = segments(&server).pop().expect("a segment");
        let mut bytes = std::fs::read(&largest).unwrap();
        let at = bytes.len() * place / 12;
        bytes[at] ^= 8;
        std::fs::write(&largest, bytes).unwrap();
        server.start_again();
        server.fails(&server.post("/indexes/films/compact", json!({})), "invalid_store_file");
        assert!(server.terminate().success());
        let (is_sound, said) = server.verify();
        assert!(!is_sound, "{place}: {said}");
        assert!(said.contains("DAMAGED"), "{place}: {said}");
    }
}

/// An index of a large segment and a small one, which is damaged; its file.
fn with_a_damaged_small_segment() -> (Server, String) {
    let mut server = Server::start();
    server.set("films", json!({"filterableAttributes": ["year"]}));
    server.add("films", films());
    server.add("films", json!([{"id": 9001, "title": "Film of the small segment", "year": 1999}, {"id": 9002}]));
    assert!(server.terminate().success());
    let smallest = segments(&server).remove(0);
    let whole = std::fs::read(&smallest).unwrap();
    std::fs::write(&smallest, &whole[..whole.len() / 2]).unwrap();
    server.start_again();
    (server, smallest.file_name().unwrap().to_string_lossy().into_owned())
}

#[test]
fn an_index_with_a_small_damaged_segment_answers_from_the_others() {
    let (mut server, file) = with_a_damaged_small_segment();
    let reasons = json!(["damagedSegment"]);
    let found = server.search("films", json!({"q": "film", "filter": "year = 1999 OR year < 1950", "limit": 1}));
    assert_eq!((&found["degraded"], &found["degradedReasons"]), (&json!(true), &reasons));
    let again = server.search("films", json!({"q": "film", "filter": "year = 1999 OR year < 1950", "limit": 1}));
    assert_eq!(again["degradedReasons"], reasons, "also when it was asked before");
    let both = server.post("/multi-search", json!({"queries": [{"indexUid": "films", "q": "film"}]})).ok();
    assert_eq!(both["results"][0]["degradedReasons"], reasons);
    let federated = json!({"federation": {}, "queries": [{"indexUid": "films", "q": "film"}]});
    assert_eq!(server.post("/multi-search", federated).ok()["degradedReasons"], reasons);
    let facets = server.post("/indexes/films/facet-search", json!({"facetName": "year"})).ok();
    assert_eq!(facets["degradedReasons"], reasons);

    // What may be in the damaged segment is an error that names it, what is not is answered.
    assert_eq!(server.get("/indexes/films/documents/7").ok()["id"], 7);
    for path in ["/indexes/films/documents/9001", "/indexes/films/documents", "/indexes/films/documents?ids=7"] {
        let refused = server.get(path);
        refused.refused(500, "invalid_store_file");
        assert!(refused.body["message"].as_str().unwrap().contains(&file), "{path}: {refused:?}");
    }
    let listed = server.get("/indexes").ok()["results"][0].clone();
    assert_eq!((&listed["uid"], &listed["degraded"]), (&json!("films"), &json!(true)));
    server.get("/indexes/films/settings").ok();
    let stats = server.get("/stats").ok()["indexes"]["films"].clone();
    let damaged = &stats["damagedSegments"][0];
    assert_eq!((&damaged["file"], &damaged["numberOfDocuments"]), (&json!(file), &json!(2)));
    assert_eq!(stats["numberOfDocuments"], 502);

    // Nothing is written that might be there twice.
    let task = server.fails(&server.post("/indexes/films/documents", json!([{"id": 9001}])), "invalid_store_file");
    assert!(task["error"]["message"].as_str().unwrap().contains("`lamina repair`"), "{task}");
    server.fails(&server.patch("/indexes/films/settings", json!({"stopWords": ["a"]})), "invalid_store_file");
    server.fails(&server.post("/indexes/films/compact", json!({})), "invalid_store_file");
    server.fails(&server.post("/snapshots", json!({})), "invalid_store_file");
    server.fails(&server.post("/dumps", json!({})), "invalid_store_file");
    server.post("/dumps?skipDamaged=maybe", json!({})).refused(400, "bad_request");
    let dump = server.done(&server.post("/dumps?skipDamaged=true", json!({})));
    assert_eq!(dump["details"]["skippedDocuments"], json!({"films": 2}));
    let uid = dump["details"]["dumpUid"].as_str().unwrap();
    let path = server.folder().join("dumps").join(format!("{uid}.dump"));
    let imported = Server::with_options(&["--import-dump", path.to_str().unwrap()]);
    assert_eq!(imported.document_count("films"), 500);
    drop(imported);

    // A restart finds the same; clearing makes the index whole.
    assert!(server.terminate().success());
    server.start_again();
    assert_eq!(server.search("films", json!({"q": "film"}))["degradedReasons"], reasons);
    let cleared = server.done(&server.delete("/indexes/films/documents"));
    assert_eq!(cleared["details"]["deletedDocuments"], 502);
    server.add("films", json!([{"id": 1, "title": "Film"}]));
    assert_eq!(server.search("films", json!({"q": "film"})).get("degraded"), None);
    assert!(server.terminate().success());
    let (is_sound, said) = server.verify();
    assert!(is_sound, "{said}");
}

#[test]
fn a_damaged_index_can_be_deleted() {
    let (server, _) = with_a_damaged_small_segment();
    server.done(&server.delete("/indexes/films"));
    assert_eq!(server.get("/indexes").ok()["total"], 0);
}

/// Another process cuts a segment that the server has mapped: the process ends, and says why.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_is_cut_while_it_is_mapped_is_named() {
    let (line, mut server, name) = line_of_a_bus_error(&[]);
    assert!(line.starts_with(&format!("error: the file {} became shorter", name.display())), "{line}");

    server.start_again();
    let list = server.get("/indexes").ok();
    assert_eq!(list["unreadable"]["films"]["code"], "invalid_store_file", "{list}");
    assert_eq!(server.ids("books", json!({"q": "moby"})), [1]);

    let (line, _, name) = line_of_a_bus_error(&["--experimental-logs-mode", "json"]);
    let line: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(line["level"], "ERROR");
    let named = format!("error: the file {} became shorter", name.display());
    assert!(line["message"].as_str().unwrap().starts_with(&named), "{line}");
}

/// Truncates a segment under a server with `options`. Returns its log line, the server, and the file.
#[cfg(target_os = "linux")]
fn line_of_a_bus_error(options: &[&str]) -> (String, Server, std::path::PathBuf) {
    use std::os::unix::process::ExitStatusExt;

    let mut server = Server::with_options(options);
    server.add("books", json!([{"id": 1, "title": "Moby Dick"}]));
    server.add("films", large_films());
    let largest = segments(&server).pop().expect("a segment");
    cut(&largest, 100);
    let search = server.request(reqwest::Method::POST, "/indexes/films/search").json(&json!({"q": "film"}));
    assert!(server.try_send(search).is_err(), "what is left of the page was read");
    let status = server.ended();
    assert_eq!(status.signal(), Some(7), "SIGBUS: {status:?}");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("(SIGBUS)")).unwrap_or_else(|| panic!("no line in:\n{log}"));
    (line.to_owned(), server, largest.canonicalize().unwrap())
}

/// Makes a file shorter that a server has open.
#[cfg(target_os = "linux")]
fn cut(file: &std::path::Path, bytes: u64) {
    std::fs::File::options().write(true).open(file).unwrap().set_len(bytes).unwrap();
}

/// Checks a truncation inside the last page, whose rest reads as zeros: no signal arrives.
#[cfg(target_os = "linux")]
#[test]
fn a_segment_that_is_cut_inside_its_last_page_is_named() {
    let queries = [json!({"q": "moby"}), json!({}), json!({"q": "nothing"})];
    for kept in [0.3, 0.9] {
        let mut server = Server::start();
        server.add("books", json!([{"id": 1, "title": "Moby Dick"}]));
        let segment = segments(&server).pop().expect("a segment");
        let bytes = std::fs::metadata(&segment).unwrap().len();
        assert!(bytes < 4096, "{bytes} bytes are more than a page");
        cut(&segment, (bytes as f64 * kept) as u64);
        for query in &queries {
            server.post("/indexes/books/search", query.clone()).refused(500, "invalid_store_file");
        }
        server.get("/indexes/books/documents").refused(500, "invalid_store_file");
        // A document that is there has its checksum.
        let one = server.get("/indexes/books/documents/1");
        assert!(one.status == 500 || one.body["title"] == "Moby Dick", "{}", one.body);
        let file = segment.file_name().unwrap().to_string_lossy().into_owned();
        let refused = server.post("/indexes/books/search", queries[0].clone());
        assert!(refused.body["message"].as_str().unwrap().contains(&file), "{}", refused.body);
        server.kill();
        server.start_again();
        assert_eq!(server.get("/indexes").ok()["unreadable"]["books"]["code"], "invalid_store_file");
    }
}

/// So many bytes that hardly any section is compared when the file is opened.
fn large_films() -> serde_json::Value {
    let mut state = 7u64;
    let mut text = || {
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{:016x}", state.rotate_left(31) ^ state)
        };
        (0..60).map(|_| word()).collect::<String>()
    };
    (0..2500).map(|id| json!({"id": id, "title": format!("Film number {id}"), "text": text()})).collect()
}

/// Returns the sections of a segment file by their kind, as the table at its end lists them.
pub(crate) fn sections(bytes: &[u8]) -> Vec<(u16, std::ops::Range<usize>)> {
    let number = |at: usize, length: usize| {
        let mut number = [0; 8];
        number[..length].copy_from_slice(&bytes[at..at + length]);
        u64::from_le_bytes(number) as usize
    };
    let footer = bytes.len() - 24;
    let entries = (0..number(footer + 8, 4)).map(|entry| number(footer, 8) + 24 * entry);
    entries.map(|at| (number(at, 2) as u16, number(at + 8, 8)..number(at + 8, 8) + number(at + 16, 8))).collect()
}

/// The kind of the section with the documents.
const STORE: u16 = 20;

/// Flips a bit of the largest segment, at `place` (from 0.0 to 1.0) of its section of this kind.
fn flip(server: &Server, kind: u16, place: f64) {
    let largest = segments(server).pop().expect("a segment");
    let mut bytes = std::fs::read(&largest).unwrap();
    let (_, section) = sections(&bytes).into_iter().find(|section| section.0 == kind).expect("the section is there");
    bytes[section.start + (section.len() as f64 * place) as usize] ^= 1;
    std::fs::remove_file(&largest).unwrap();
    std::fs::write(&largest, bytes).unwrap();
}

#[test]
fn damaged_documents_are_not_written_anew() {
    for place in [0.01, 0.99] {
        let mut server = Server::start();
        server.patch("/experimental-features", json!({"editDocumentsByFunction": true})).ok();
        let films = large_films();
        server.add("films", films.clone());
        // A deleted document gives the compaction something to do, however many segments the load left.
        let films = films.as_array().unwrap();
        server.done(&server.delete(&format!("/indexes/films/documents/{}", films[0]["id"])));
        assert!(server.terminate().success());
        flip(&server, STORE, place);
        server.start_again();

        // Whatever is answered is right: one by one, since one damaged block leaves the others alone.
        let mut lost = Vec::new();
        for film in &films[1..] {
            let answer = server.get(&format!("/indexes/films/documents/{}", film["id"]));
            match answer.status {
                200 if answer.body == *film => {}
                200 => panic!("a wrong document: {}", answer.text),
                _ => {
                    answer.refused(500, "invalid_store_file");
                    assert!(answer.text.contains("seg-"), "{}", answer.text);
                    assert!(answer.text.contains("store"), "{}", answer.text);
                    lost.push(&film["id"]);
                }
            }
        }
        // A list that is sent while it is read says so before it begins.
        assert!(films.iter().map(|film| film.to_string().len()).sum::<usize>() > 300_000, "longer than one piece");
        for path in
            ["/indexes/films/documents?limit=100000", "/indexes/films/documents?limit=100000&retrieveVectors=true"]
        {
            server.get(path).refused(500, "invalid_store_file");
        }
        let fails = |answer| {
            let task = server.fails(&answer, "invalid_store_file");
            assert!(task["error"]["message"].as_str().unwrap().contains("seg-"), "{task}");
        };
        fails(server.post("/dumps", json!({})));
        for id in lost {
            fails(server.put("/indexes/films/documents", json!([{"id": id, "extra": 1}])));
        }
        fails(server.post("/indexes/films/documents/edit", json!({"function": "doc.extra = 1"})));
        fails(server.patch("/indexes/films/settings", json!({"filterableAttributes": ["title"]})));
        fails(server.post("/indexes/films/compact", json!({})));
        // Nothing of them is half applied.
        assert_eq!(server.get("/indexes/films/settings").ok()["filterableAttributes"], json!([]));
    }
}

/// Waits until `GET /stats` is as wanted.
fn wait_until(server: &Server, is_wanted: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
    soon_as(|| server.get("/stats").ok(), is_wanted)
}

/// The kind of the section with the values of a field.
const COLUMN: u16 = 16;

#[test]
fn the_scrubber_finds_what_no_request_compares() {
    let mut server = Server::with_options(&["--scrub-rate", "1 GiB"]);
    server.patch("/experimental-features", json!({"metrics": true})).ok();
    server.add("books", json!([{"id": 1, "title": "Moby Dick"}]));
    server.set("films", json!({"filterableAttributes": ["text"]}));
    server.add("films", large_films());
    assert!(server.terminate().success());
    flip(&server, COLUMN, 0.3);
    server.start_again();

    let stats = wait_until(&server, |stats| stats["scrubber"]["damages"] != json!([]));
    let damages = stats["scrubber"]["damages"].as_array().unwrap();
    assert_eq!(
        (damages.len(), &damages[0]["indexUid"], &damages[0]["section"]),
        (1, &json!("films"), &json!("column"))
    );
    assert!(damages[0]["file"].as_str().unwrap().starts_with("seg-"), "{stats}");
    assert!(damages[0]["foundAt"].is_string(), "{stats}");
    let line = server.log().lines().find(|line| line.contains("found damage")).unwrap_or_default().to_owned();
    assert!(line.contains("ERROR"), "{line}");
    assert!(line.contains("films"), "{line}");
    assert!(line.contains("column"), "{line}");
    assert!(line.contains("seg-"), "{line}");
    let metrics = server.get("/metrics").text;
    assert!(metrics.contains("lamina_index_damaged_sections{index=\"films\"} 1"), "{metrics}");
    assert!(metrics.contains("lamina_index_damaged_sections{index=\"books\"} 0"), "{metrics}");

    for body in [json!({"q": "film"}), json!({"facets": ["text"]}), json!({"q": "", "filter": "text = a"})] {
        let answer = server.post("/indexes/films/search", body);
        answer.refused(500, "invalid_store_file");
        assert!(answer.text.contains("seg-"), "{}", answer.text);
        assert!(answer.text.contains("column"), "{}", answer.text);
    }
    server.get("/indexes/films/documents").refused(500, "invalid_store_file");
    server.post("/indexes/films/facet-search", json!({"facetName": "text"})).refused(500, "invalid_store_file");
    server.fails(&server.post("/dumps", json!({})), "invalid_store_file");
    assert_eq!(server.ids("books", json!({"q": "moby"})), [1]);
    server.done(&server.delete("/indexes/films"));
    wait_until(&server, |stats| stats["scrubber"]["damages"] == json!([]));
}

#[test]
fn an_index_that_no_request_opens_is_compared_too_and_its_damage_is_not_forgotten() {
    let mut server = Server::with_options(&["--scrub-rate", "1 GiB", "--max-open-indexes", "1"]);
    for uid in ["books", "plays"] {
        server.add(uid, json!([{"id": 1, "title": "Moby Dick"}]));
    }
    server.set("films", json!({"filterableAttributes": ["text"]}));
    server.add("films", large_films());
    assert!(server.terminate().success());
    flip(&server, COLUMN, 0.3);
    server.start_again();

    let stats = wait_until(&server, |stats| stats["scrubber"]["damages"] != json!([]));
    assert_eq!(stats["scrubber"]["damages"][0]["indexUid"], "films");
    // Each of these closes what lies idle.
    for uid in ["books", "plays", "books", "plays"] {
        assert_eq!(server.ids(uid, json!({"q": "moby"})), [1]);
        server.post("/indexes/films/search", json!({"facets": ["text"]})).refused(500, "invalid_store_file");
    }
}
