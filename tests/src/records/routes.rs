//! The list of routes.

use serde_json::Value;

use super::KEY;

/// A route, and where it is found.
pub(super) struct Route {
    pub(super) method: String,
    /// With names in braces.
    pub(super) pattern: String,
    /// With something that is there in the place of each name, unless the route would remove it.
    pub(super) path: String,
    /// From `/openapi.json`.
    pub(super) operation: Value,
}

impl Route {
    /// All routes, as the description lists them, and the one that it leaves out.
    pub(super) fn all(document: &Value, webhook: &str) -> Vec<Route> {
        let paths = document["paths"].as_object().expect("paths").iter();
        let described = paths.flat_map(|(pattern, operations)| {
            let operations = operations.as_object().expect("operations").iter();
            operations
                .map(move |(method, operation)| Route::new(&method.to_ascii_uppercase(), pattern, operation, webhook))
        });
        described.chain([Route::new("POST", "/network/control", &Value::Null, webhook)]).collect()
    }

    fn new(method: &str, pattern: &str, operation: &Value, webhook: &str) -> Route {
        // Tasks are not registered, what else deletes does so at once. A conversation would ask another server.
        let is_kept = method != "DELETE" && !pattern.ends_with("/completions");
        let there = |name: &'static str, absent: &'static str| if is_kept { name } else { absent };
        let path = pattern
            .replace("{indexUid}", "films")
            .replace("{alias}", "pictures")
            .replace("{documentId}", "1")
            .replace("{taskUid}", "0")
            .replace("{batchUid}", "0")
            .replace("{ruleUid}", "rule")
            .replace("{experimentId}", there("trial", "absent"))
            .replace("{kind}", "how-to")
            .replace("{page}", "synonyms")
            .replace("{chatUid}", there("talk", "absent"))
            .replace("{key}", there(KEY, "absent"))
            .replace("{uuid}", if is_kept { webhook } else { "00000000-0000-4000-8000-000000000000" });
        let (method, pattern, operation) = (method.to_owned(), pattern.to_owned(), operation.clone());
        Route { method, pattern, path, operation }
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method, self.pattern)
    }

    /// Reports whether it is the route of one setting. There are many, which have much in common.
    pub(super) fn is_of_setting(&self) -> bool {
        self.pattern.starts_with("/indexes/{indexUid}/settings/")
    }

    /// The schema of its JSON body, if it takes one.
    pub(super) fn schema(&self) -> Option<&Value> {
        self.operation.pointer("/requestBody/content/application~1json/schema")
    }

    /// The names of its query parameters.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        let all = self.operation["parameters"].as_array().into_iter().flatten();
        all.filter(|parameter| parameter["in"] == "query").map(|one| one["name"].as_str().expect("a name"))
    }
}
