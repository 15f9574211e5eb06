//! The answers to bodies with something wrong in one place.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Lines;
use super::answers::Recorder;
use super::files::Files;
use super::nested::{multi_search, own_route};
use super::probes::probes;
use super::routes::Route;

/// The answers of a route to all bodies of its schema, by what is special in each.
fn lines(recorder: &Recorder, route: &Route, document: &Value) -> Lines {
    let mut lines = Lines::new();
    for (name, body) in probes(route, document) {
        lines.insert(name, recorder.send_json(&route.method, &route.path, &body));
        // The log has one reader.
        if route.name() == "POST /logs/stream" {
            recorder.send(recorder.request("DELETE", "/logs/stream"));
        }
    }
    lines
}

/// Reports whether bodies are documents, which tasks read.
fn has_documents(route: &Route) -> bool {
    route.pattern.ends_with("/documents") && route.method != "PATCH"
}

/// The file of a route of an index, or of several.
fn file_of(route: &Route) -> Option<&'static str> {
    if has_documents(route) {
        return None;
    }
    let below = route.pattern.strip_prefix("/indexes/{indexUid}/");
    match below.map(|below| below.split('/').next().unwrap_or_default()) {
        Some("search") => Some("search"),
        Some("facet-search" | "completions" | "similar") => Some("other-searches"),
        Some("documents") => Some("documents"),
        Some("settings") if !route.is_of_setting() => Some("settings"),
        _ => None,
    }
}

/// Adds the lines of routes that register a task or change nothing.
pub(super) fn of_indexes(recorder: &Recorder, routes: &[Route], document: &Value, files: &Files) {
    let mut by_file: BTreeMap<&str, BTreeMap<String, Lines>> = BTreeMap::new();
    for route in routes {
        let Some(file) = file_of(route).filter(|_| route.schema().is_some()) else { continue };
        by_file.entry(file).or_default().insert(route.name(), lines(recorder, route, document));
    }
    let search = &by_file["search"]["POST /indexes/{indexUid}/search"];
    let several = routes.iter().find(|route| route.pattern == "/multi-search").expect("a route");
    files.add("errors/multi-search.json", json!(multi_search(recorder, several, document, search)));
    let settings = &by_file["settings"]["PATCH /indexes/{indexUid}/settings"];
    let one_by_one = routes.iter().filter(|route| route.is_of_setting() && route.schema().is_some());
    let of_one = |route: &Route| own_route(recorder, route, document, settings);
    let one_by_one = one_by_one.map(|route| (route.name(), of_one(route))).filter(|(_, lines)| !lines.is_empty());
    let one_by_one: BTreeMap<String, Lines> = one_by_one.collect();
    files.add("errors/settings-one-by-one.json", json!(one_by_one));
    for (file, lines) in by_file {
        files.add(&format!("errors/{file}.json"), json!(lines));
    }
}

/// The lines of the routes of the server, some of which change it.
pub(super) fn of_server(recorder: &Recorder, routes: &[Route], document: &Value) -> BTreeMap<String, Lines> {
    let is_elsewhere =
        |route: &Route| has_documents(route) || route.is_of_setting() || route.pattern == "/multi-search";
    let own = routes.iter().filter(|route| file_of(route).is_none() && !is_elsewhere(route));
    let lines = own.map(|route| (route.name(), lines(recorder, route, document)));
    lines.filter(|(_, lines)| !lines.is_empty()).collect()
}
