//! What each route asks of a key.

use std::collections::BTreeMap;

use serde_json::json;

use super::answers::Recorder;
use super::routes::Route;
use super::shared::{Folded, Shared};
use crate::keys::{PLAIN, make, value};
use crate::tenants::token;

const OF_ALL_READS: &str = "*.get";

/// The answer to a request of which nothing is carried out: it is refused wherever a body or a query string is read.
fn answer(recorder: &Recorder, key: &str, route: &Route) -> String {
    let request = recorder.request_with(key, &route.method, &format!("{}?doggo=1", route.path));
    recorder.send(request.header("Content-Type", "application/json").body("{"))
}

/// The routes by their answers, to each kind of key that is not enough.
pub(super) fn refusals(recorder: &Recorder, routes: &[Route]) -> Folded {
    let new = |actions: &[&str], indexes: &[&str]| make(&recorder.server, actions, indexes);
    let searches = new(&["search"], &["films"]);
    let keys = [
        ("a wrong key", "wrong".to_owned()),
        ("a key without actions", value(&new(&[], &["*"]))),
        ("a key of another index", value(&new(&["*"], &["books*"]))),
        ("a token", token(&searches, json!(["films"]))),
        ("a token of another index", token(&searches, json!(["books"]))),
        ("a token that is broken", format!("{}x", token(&searches, json!(["films"])))),
    ];
    let mut shared = Shared::default();
    for route in routes {
        let anonymous = || recorder.anonymous(&route.method, &route.path);
        shared.add("no key", recorder.send(anonymous()), route.name());
        for (kind, key) in &keys[..if route.is_of_setting() { 3 } else { keys.len() }] {
            let answer = answer(recorder, key, route);
            // What else is wrong with the request is not about keys.
            let is_about_keys = ["401", "403"].iter().any(|status| answer.starts_with(status));
            shared.add(kind, if is_about_keys { answer } else { "accepted".to_owned() }, route.name());
        }
        if !route.is_of_setting() {
            shared.add("another scheme", recorder.send(anonymous().basic_auth("x", Some("y"))), route.name());
            shared.add("a scheme alone", recorder.send(anonymous().header("Authorization", "Bearer")), route.name());
        }
    }
    shared.folded(routes)
}

/// Keys with some actions each, made when they are needed.
struct Keys<'a> {
    recorder: &'a Recorder,
    values: BTreeMap<Vec<&'a str>, String>,
}

impl<'a> Keys<'a> {
    /// Reports whether a key with these actions opens a route.
    fn open(&mut self, route: &Route, actions: Vec<&'a str>) -> bool {
        let Keys { recorder, values } = self;
        let new = |actions: &Vec<&str>| value(&make(&recorder.server, actions, &["*"]));
        let key = values.entry(actions).or_insert_with_key(new);
        !answer(recorder, key, route).starts_with("403 invalid_api_key")
    }

    /// The actions that a route needs, and others that open it.
    fn needed(&mut self, route: &'a Route) -> String {
        let says = route.operation["description"].as_str().and_then(|text| text.split('`').nth(1));
        let group = says.and_then(|action| action.split('.').next());
        assert!(self.open(route, vec!["*"]), "{}: no key is enough", route.name());
        let without = |action: &str| PLAIN.into_iter().filter(|other| *other != action).collect::<Vec<&str>>();
        // Most need what their description says, and nothing besides.
        if let Some(action) = says
            && self.open(route, vec![action])
            && !self.open(route, without(action))
        {
            let wildcards = [group.and_then(wildcard), Some(OF_ALL_READS)].into_iter().flatten();
            let opening = wildcards.filter(|other| *other != action && self.open(route, vec![*other]));
            return [action].into_iter().chain(opening).collect::<Vec<&str>>().join(", or ");
        }
        if self.open(route, Vec::new()) {
            return "none".to_owned();
        }
        PLAIN.into_iter().filter(|action| !self.open(route, without(action))).collect::<Vec<&str>>().join(" and ")
    }
}

/// The action that stands for all of a group, if there is one.
fn wildcard(group: &str) -> Option<&'static str> {
    const GROUPS: [&str; 13] = [
        "documents.*",
        "indexes.*",
        "tasks.*",
        "settings.*",
        "stats.*",
        "metrics.*",
        "dumps.*",
        "snapshots.*",
        "chats.*",
        "chatsSettings.*",
        "webhooks.*",
        "dynamicSearchRules.*",
        "events.*",
    ];
    GROUPS.into_iter().find(|name| name.trim_end_matches(".*") == group)
}

/// The actions that each route needs.
pub(super) fn rights(recorder: &Recorder, routes: &[Route]) -> BTreeMap<String, String> {
    let mut keys = Keys { recorder, values: BTreeMap::new() };
    routes.iter().map(|route| (route.name(), keys.needed(route))).collect()
}
