//! Names of types: one word stands for few ideas.

use std::collections::BTreeMap;

use super::{none, sources};

/// Most types of one crate that may share a name.
const SAME_NAME_MAX: usize = 3;

/// Name of the type that a line of code defines. Types inside `impl` blocks belong to a trait.
fn defined(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub").map_or(line, |rest| rest.split_once(' ').map_or(rest, |(_, rest)| rest));
    let (kind, rest) = line.split_once(' ')?;
    let name = rest.split(|character: char| !character.is_alphanumeric()).next()?;
    (["struct", "enum", "trait"].contains(&kind) && !name.is_empty()).then_some(name)
}

#[test]
fn no_type_name_of_a_crate_stands_for_more_than_three_ideas() {
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for source in sources("rs").iter().filter(|source| !source.is_test()) {
        let Some((crate_folder, _)) = source.path.split_once("/src/") else { continue };
        for (number, line) in source.code() {
            if let Some(name) = defined(line) {
                let key = (crate_folder.to_owned(), name.to_owned());
                places.entry(key).or_default().push(format!("{}:{number}", source.path));
            }
        }
    }
    let crowded = places.into_iter().filter(|(_, places)| places.len() > SAME_NAME_MAX);
    none(crowded.map(|((_, name), places)| format!("`{name}` in {}", places.join(", "))).collect());
}

#[test]
fn definitions_of_types_are_found() {
    assert_eq!(defined("pub(crate) struct State<T> {"), Some("State"));
    assert_eq!(defined("enum Entry {"), Some("Entry"));
    assert_eq!(defined("pub trait Lists: Send {"), Some("Lists"));
    assert_eq!(defined("struct;"), None);
    assert_eq!(defined("impl State {"), None);
}
