//! Requests beside the routes: methods that a path does not have, and the paths next to it.

use std::collections::BTreeMap;

use super::Lines;
use super::answers::Recorder;
use super::routes::Route;

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The lines by the patterns of paths. Requests with the same answer share a line.
pub(super) fn answers(recorder: &Recorder, routes: &[Route]) -> BTreeMap<String, Lines> {
    let mut paths: BTreeMap<&str, Vec<&Route>> = BTreeMap::new();
    for route in routes {
        paths.entry(&route.pattern).or_default().push(route);
    }
    paths.into_iter().map(|(pattern, routes)| (pattern.to_owned(), around(recorder, &routes))).collect()
}

fn around(recorder: &Recorder, routes: &[&Route]) -> Lines {
    let first = routes[0];
    let is_other = |method: &&str| routes.iter().all(|route| route.method != *method);
    let others = METHODS.into_iter().filter(is_other).map(|method| (method.to_owned(), method, first.path.clone()));
    let beside =
        neighbours(first).into_iter().map(|(name, path)| (format!("{} {name}", first.method), &*first.method, path));
    let mut requests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, method, path) in others.chain(beside) {
        requests.entry(recorder.send(recorder.request(method, &path))).or_default().push(name);
    }
    requests.into_iter().map(|(answer, names)| (names.join(", "), answer)).collect()
}

/// Paths that differ from that of a route in one place, by what is different.
fn neighbours(route: &Route) -> Vec<(&'static str, String)> {
    let path = &route.path;
    let mut all = vec![("…/nowhere", format!("{}/nowhere", path.trim_end_matches('/')))];
    let first = path.split('/').nth(1).unwrap_or_default();
    if first.is_empty() || route.is_of_setting() {
        return all;
    }
    all.push(("…/%20", format!("{path}/%20")));
    all.push(("in capitals", path.replacen(first, &first.to_ascii_uppercase(), 1)));
    all.push(("…/", format!("{path}/")));
    all.push(("//…", format!("/{path}")));
    all
}
