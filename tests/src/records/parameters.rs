//! Parameters of query strings that are not what they should be.

use std::collections::BTreeMap;

use serde_json::json;

use super::Lines;
use super::answers::Recorder;
use super::files::Files;
use super::routes::Route;

/// Values that few parameters accept.
const VALUES: [&str; 4] = ["", "x y", "-1", "99999999999999999999"];
/// Parameters of all writes, which are sent to each with other malformed requests.
const OF_WRITES: [&str; 3] = ["customMetadata", "wait", "waitMs"];

/// Parameters that `/openapi.json` leaves out.
const UNDESCRIBED: [(&str, &str); 1] = [("GET /indexes/{indexUid}/documents", "useNetwork")];

/// Adds the lines of searches and of other routes.
pub(super) fn record(recorder: &Recorder, routes: &[Route], files: &Files) {
    let (mut searches, mut others) = (BTreeMap::new(), BTreeMap::new());
    for route in routes {
        let is_search = route.pattern.ends_with("/search") || route.pattern.ends_with("/similar");
        let mut lines = Lines::new();
        let undescribed = UNDESCRIBED.iter().filter(|(of, _)| *of == route.name()).map(|(_, name)| *name);
        for name in route.parameters().filter(|name| !OF_WRITES.contains(name)).chain(undescribed) {
            let mut queries: Vec<String> = VALUES.iter().map(|value| format!("{name}={value}")).collect();
            // A name that is long enough leads to a guess at what was meant.
            queries.extend([format!("{name}=1&{name}=2"), format!("{name}z=1")]);
            for query in queries {
                let path = format!("{}?{}{}", route.path, others_of(route, name), query.replace(' ', "%20"));
                let answer = recorder.send(recorder.request(&route.method, &path));
                lines.insert(query, answer);
            }
        }
        if !lines.is_empty() {
            if is_search { &mut searches } else { &mut others }.insert(route.name(), lines);
        }
    }
    files.add("errors/parameters-of-searches.json", json!(searches));
    files.add("errors/parameters.json", json!(others));
}

/// Parameters that must be there beside a parameter.
fn others_of(route: &Route, name: &str) -> &'static str {
    match name {
        _ if !route.pattern.ends_with("/similar") => "",
        "id" => "embedder=films&",
        "embedder" => "id=1&",
        _ => "id=1&embedder=films&",
    }
}
