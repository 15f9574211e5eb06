//! A number in a text of the server has the noun that goes with it: `counted` writes `1 document`.

use regex::Regex;

use super::{none, sources};

const NOUNS: &str = "batches|columns|documents|fields|files|frames|hits|indexes|lines|names|objects|queries|records|replicas|\
                     requests|rows|searches|segments|servers|slots|states|tables|tasks|terms|texts|tokens|transactions|\
                     vectors|words";

/// Numbers that are never 1 where the text is made, and texts of the protocol.
const NEVER_ONE: [&str; 9] = [
    "the engine found {} fields",
    "batch limit of {limit} tasks",
    "contains {} indexes",
    "has {found} names",
    "there are {count} indexes",
    "stands for {count} documents",
    "its key {} columns",
    "`.queries`: {} queries",
    "below {:>10} batches",
];

/// Characters before and after a place that are looked at with it.
const CONTEXT: usize = 40;

/// Numbers with a fixed plural in a text, as they stand in code, with what is around them.
fn fixed_plurals(code: &str) -> Vec<&str> {
    let fixed = Regex::new(&format!(r"\{{[a-z_.0-9]*(:[^{{}}]*)?\}} ({NOUNS})\b")).expect("a pattern");
    let with_context = |place: regex::Match<'_>| {
        let start = code[..place.start()].char_indices().rev().nth(CONTEXT).map_or(0, |(at, _)| at);
        let end = code[place.end()..].char_indices().nth(CONTEXT).map_or(code.len(), |(at, _)| place.end() + at);
        &code[start..end]
    };
    let of_a_bound = |place: &regex::Match<'_>| code[..place.start()].ends_with("more than ");
    let found = fixed.find_iter(code).filter(|place| !of_a_bound(place)).map(with_context);
    found.filter(|text| !NEVER_ONE.iter().any(|known| text.contains(known))).collect()
}

#[test]
fn numbers_have_the_noun_that_goes_with_them() {
    let mut violations = Vec::new();
    for source in sources("rs").iter().filter(|source| source.path.starts_with("server/") && !source.is_test()) {
        let code: Vec<&str> = source.code().map(|(_, line)| line).collect();
        // A text that goes on in the next line is one.
        let code = code.join("\n").replace("\\\n", "");
        violations.extend(fixed_plurals(&code).iter().map(|text| format!("{}: {text}", source.path)));
    }
    none(violations);
}

#[test]
fn fixed_plurals_are_found() {
    let found = |code: &str| fixed_plurals(code).len();
    assert_eq!(found(r#"format!("{count} documents"); format!("in {:>3} segments")"#), 2);
    assert_eq!(found(r#"format!("{uid}: {}", counted(count, "document")); format!("more than {most} names")"#), 0);
}
