//! The sections of `docs/reference/search-parameters.md`, made from the table of parameters.

use serde_json::{Value, json};

use super::SearchQuery;
use super::parameters::SearchParameter;
use crate::wire::capitalised;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/search-parameters.md");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
const START: &str = "<!-- made from the table of parameters -->\n";
const END: &str = "<!-- until here -->\n";
/// Read behind a switch, or only refused: an example of theirs is no search of its own.
const WITHOUT_EXAMPLE: [&str; 2] = ["personalize", "pointInTime"];

/// Returns a section for each parameter, whose heading is its name.
fn sections() -> String {
    let mut sections = String::new();
    let default = SearchQuery::default();
    for parameter in SearchParameter::all() {
        let Some(reference) = parameter.reference else { continue };
        sections.push_str(&format!(
            "\n### {}\n\n{}.\n\n| | |\n|---|---|\n| Type | {} |\n| Default | `{}` |\n| Example | `{}` |\n| Cost | {} |\n",
            parameter.name,
            capitalised(reference.purpose),
            parameter.kind(),
            parameter.written(&default),
            reference.example,
            reference.cost,
        ));
    }
    sections
}

/// Run with UPDATE=1 to write the sections again.
#[test]
fn the_page_of_search_parameters_has_all_of_them() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (head, rest) = page.split_once(START).expect("the start of the sections");
    let (_, tail) = rest.split_once(END).expect("the end of the sections");
    let expected = format!("{head}{START}{}{END}{tail}", sections());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, &expected).unwrap();
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    assert!(
        page == expected,
        "run `UPDATE=1 cargo test -p lamina-protocol the_page_of_search_parameters_has_all_of_them`"
    );
}

/// A parameter that has no section is explained on another page.
#[test]
fn every_parameter_is_explained() {
    let pages = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path());
    let pages: String = pages.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    for parameter in SearchParameter::all() {
        let name = parameter.name;
        assert!(pages.contains(&format!("\"{name}\"")) || pages.contains(&format!("`{name}`")), "{name}");
    }
}

fn read(name: &str, value: &Value) -> SearchQuery {
    SearchQuery::from_body(&json!({ name: value })).unwrap_or_else(|error| panic!("{name}: {}", error.message))
}

/// Defaults are what an empty search has. Examples change something, and are written as they were read.
#[test]
fn defaults_and_examples_are_values() {
    for parameter in SearchParameter::all() {
        let (name, default) = (parameter.name, SearchQuery::default());
        let written = parameter.written(&default);
        assert_eq!(read(name, &written), default, "{name}");
        assert!(!parameter.is_set(&default), "{name}");
        let Some(reference) = parameter.reference else { continue };
        assert!(!reference.purpose.is_empty(), "{name}");
        assert!(!reference.cost.is_empty(), "{name}");
        assert!(!parameter.kind().is_empty(), "{name}");
        let example = serde_json::from_str(reference.example).unwrap_or_else(|error| panic!("{name}: {error}"));
        let query = read(name, &example);
        if !WITHOUT_EXAMPLE.contains(&name) {
            assert_ne!(query, default, "{name}");
            assert!(parameter.is_set(&query), "{name}");
            assert_eq!(read(name, &parameter.written(&query)), query, "{name}");
        }
    }
}
