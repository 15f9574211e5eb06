//! A search parameter stands in three files at most: its row, the field behind it, and the code that acts on it.

use super::{none, sources};

const ROWS: &str = "server/protocol/src/wire/search/parameters/";
const FILES_MAX: usize = 3;
/// Code that sends parameters, or describes answers with fields of the same names, and defines none.
const NO_DEFINITIONS: [&str; 3] = ["server/client/", "server/protocol/src/mcp/", "server/src/api/openapi/"];

/// Files in which a name stands for something else.
const ELSEWHERE: [(&str, &[&str]); 4] = [
    // A setting has the same name.
    ("matchingStrategy", &["engine/index/src/index/settings/list.rs", "server/protocol/src/wire/settings/list.rs"]),
    // Requests for documents have the same parameter.
    (
        "retrieveVectors",
        &[
            "server/data/src/telemetry/facts.rs",
            "server/protocol/src/wire/documents/mod.rs",
            "server/src/api/documents/mod.rs",
            "server/src/api/documents/shapes.rs",
        ],
    ),
    (
        "useNetwork",
        &[
            "server/protocol/src/wire/documents/mod.rs",
            "server/src/api/documents/mod.rs",
            "server/src/api/documents/shapes.rs",
        ],
    ),
    // Several searches have it for all of them, and answers have it.
    (
        "pointInTime",
        &[
            "server/protocol/src/wire/multi_search.rs",
            "server/src/answer/points_in_time.rs",
            "server/src/answer/search/multi.rs",
            "server/src/api/multi_search/mod.rs",
        ],
    ),
];

/// Reports whether a name is of two words or more. Words as `filter` or `limit` are fields of many requests.
fn is_of_several_words(name: &str) -> bool {
    name.chars().any(|letter| letter.is_ascii_uppercase())
}

#[test]
fn a_search_parameter_stands_in_three_files() {
    let sources = sources("rs");
    let production: Vec<_> = sources.iter().filter(|source| !source.is_test()).collect();
    let rows = production.iter().filter(|source| source.path.starts_with(ROWS));
    // A row has its name behind `SearchParameter::new(`, or in the line after that.
    let mut names = Vec::new();
    for row in rows {
        let mut is_next = false;
        for (_, line) in row.code() {
            let behind = line.split_once("SearchParameter::new(").map(|cut| cut.1);
            let text = behind.or_else(|| is_next.then_some(line.trim_start())).unwrap_or_default();
            names.extend(text.strip_prefix('"').and_then(|text| text.split_once('"')).map(|cut| cut.0.to_owned()));
            is_next = behind.is_some_and(str::is_empty);
        }
    }
    assert!(names.len() > 30, "the rows have names: {names:?}");
    let mut wrong = Vec::new();
    for name in names.iter().filter(|name| is_of_several_words(name)) {
        let quoted = format!("\"{name}\"");
        let elsewhere = ELSEWHERE.iter().find(|(known, _)| known == name).map_or(&[][..], |(_, files)| *files);
        let files: Vec<&str> = production
            .iter()
            .filter(|source| source.path.starts_with("engine/") || source.path.starts_with("server/"))
            .filter(|source| !NO_DEFINITIONS.iter().any(|place| source.path.starts_with(place)))
            .filter(|source| source.code().any(|(_, line)| line.contains(&quoted)))
            .map(|source| source.path.as_str())
            .filter(|path| !elsewhere.contains(path))
            .collect();
        if files.len() > FILES_MAX {
            wrong.push(format!("`{name}` stands in {files:?}"));
        }
    }
    none(wrong);
}
