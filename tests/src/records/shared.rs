//! Answers that many routes have in common.

use std::collections::BTreeMap;

use super::routes::Route;

/// So many routes with one answer are written as the rest.
const REST_MIN: usize = 20;
const REST: &str = "all others";

/// Routes by their answers, to each kind of request.
#[derive(Default)]
pub(super) struct Shared(BTreeMap<String, BTreeMap<String, Vec<String>>>);

/// Form that is written: see [`Shared::folded`].
pub(super) type Folded = BTreeMap<String, BTreeMap<String, Vec<String>>>;

impl Shared {
    pub(super) fn add(&mut self, kind: &str, answer: String, route: String) {
        self.0.entry(kind.to_owned()).or_default().entry(answer).or_default().push(route);
    }

    /// With lists in the order of names. `all others` stands for the longest list of a kind, and `{setting}` for the routes of
    /// all settings.
    pub(super) fn folded(self, routes: &[Route]) -> Folded {
        let mut kinds = self.0;
        for answers in kinds.values_mut() {
            let longest = answers.values().map(Vec::len).max().unwrap_or_default();
            // Of two lists of that length, neither is the rest.
            let is_alone = answers.values().filter(|list| list.len() == longest).count() == 1;
            for list in answers.values_mut() {
                if list.len() == longest && is_alone && longest >= REST_MIN {
                    *list = vec![REST.to_owned()];
                } else {
                    fold_settings(list, routes);
                    list.sort();
                }
            }
        }
        kinds
    }
}

fn fold_settings(list: &mut Vec<String>, routes: &[Route]) {
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        let of_method = routes.iter().filter(|route| route.is_of_setting() && route.method == method);
        let names: Vec<String> = of_method.map(Route::name).collect();
        if names.iter().all(|name| list.contains(name)) {
            list.retain(|name| !names.contains(name));
            list.push(format!("{method} /indexes/{{indexUid}}/settings/{{setting}}"));
        }
    }
}
