//! Values that are read in one place as in another: searches among several, settings one by one. Only answers that differ
//! are written.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Lines;
use super::answers::Recorder;
use super::probes::probes;
use super::routes::Route;

/// A search among several.
const QUERY: &str = "queries[0]";

/// The lines about a search among several that are not as those of a search alone, and those about the request itself.
/// Searches whose hits are merged come again, where that makes a difference.
pub(super) fn multi_search(
    recorder: &Recorder,
    route: &Route,
    document: &Value,
    search: &Lines,
) -> BTreeMap<String, Lines> {
    let (mut separate, mut merged) = (Lines::new(), Lines::new());
    for (name, mut body) in probes(route, document) {
        let answer = recorder.send_json(&route.method, &route.path, &body);
        // What is refused for its form is so wherever it stands.
        if name.starts_with(QUERY) && answer.starts_with('2') {
            body["federation"] = json!({});
            let of_merged = recorder.send_json(&route.method, &route.path, &body);
            if of_merged != answer {
                merged.insert(name.clone(), of_merged);
            }
        }
        separate.insert(name, answer);
    }
    let is_as_alone = |name: &str, answer: &str| {
        let alone = name.strip_prefix(QUERY).and_then(|name| search.get(name.trim_start_matches('.')));
        alone.is_some_and(|alone| *alone == answer.replace(&format!(".{QUERY}"), ""))
    };
    separate.retain(|name, answer| !is_as_alone(name, answer));
    BTreeMap::from([("separate".to_owned(), separate), ("merged".to_owned(), merged)])
}

/// The lines of a setting's own route that are not as those of all settings. Values and their fields are sent, and nothing
/// deeper.
pub(super) fn own_route(recorder: &Recorder, route: &Route, document: &Value, settings: &Lines) -> Lines {
    let key = key_of(route);
    let places = [(format!(" at `.{key}`"), ""), (format!(" inside `.{key}`"), ""), (format!("`.{key}"), "`")];
    let mut lines = Lines::new();
    for (name, body) in probes(route, document) {
        let separator = if name.starts_with([' ', '[']) { "" } else { "." };
        let is_deep = name.split(" = ").next().is_some_and(|place| place.contains(['.', '[']));
        let Some(there) = settings.get(&format!("{key}{separator}{name}")).filter(|_| !is_deep) else { continue };
        let answer = recorder.send_json(&route.method, &route.path, &body);
        if answer != places.iter().fold(there.clone(), |text, (from, to)| text.replace(from, to)) {
            lines.insert(name, answer);
        }
    }
    lines
}

/// The key of a setting in the object of all settings: `stopWords` of `…/stop-words`.
fn key_of(route: &Route) -> String {
    let mut words = route.pattern.rsplit('/').next().unwrap_or_default().split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |key, word| {
        let (letter, rest) = word.split_at(1);
        format!("{key}{}{rest}", letter.to_ascii_uppercase())
    })
}
