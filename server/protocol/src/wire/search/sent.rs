//! A search as text again: for other servers, and as the key of its answer.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::SearchQuery;
use super::parameters::SearchParameter;

impl SearchQuery {
    /// The body of a query of a federated search: everything but pages, facets and `useNetwork`, which belong to the
    /// merged list.
    pub fn as_federated_query(&self) -> Map<String, Value> {
        let sent = SearchParameter::all().filter(|parameter| parameter.is_of_query());
        let fields = sent.map(|parameter| (parameter.name.to_owned(), parameter.written(self)));
        fields.filter(|(_, value)| !value.is_null()).collect()
    }

    /// Puts all that the answer depends on, beside the state of the index, behind `key`. Most of some forty parameters are what they
    /// are by default and take no room. Returns whether the answer depends on nothing else.
    pub fn put_key(&self, key: &mut String) -> bool {
        let set = SearchParameter::all().filter(|parameter| parameter.is_set(self));
        for parameter in set {
            if !parameter.is_of_key() {
                return false;
            }
            write!(key, " {} {}", parameter.name, parameter.written(self)).expect("texts take everything");
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fields;
    use super::*;

    #[test]
    fn a_written_query_is_read_as_the_same() {
        let body = json!({
            "q": "a \"b\"", "hybrid": {"embedder": "e", "semanticRatio": 0.25, "thresholds": {"vectors": 0.5}}, "attributesToRetrieve": ["a"],
            "attributesToCrop": ["b:3"], "cropLength": 7, "showMatchesPosition": true, "filter": ["x = 1", ["y = 2"]],
            "sort": ["z:asc"], "highlightPreTag": "<b>", "matchingStrategy": "frequency", "locales": ["fra"],
            "rankingScoreThreshold": 0.5, "vector": [0.5, 1.0], "explain": {"documentId": 7},
            "boosts": [{"boost": {"field": "n", "weight": 0.5}}, {"boostIf": {"filter": "a = 1", "weight": 2}}],
        });
        let query = SearchQuery::from_body(&body).unwrap();
        let written = Value::Object(query.as_federated_query());
        assert_eq!(SearchQuery::from_body(&written).unwrap(), query);
        // No field is forgotten.
        assert!(fields().iter().all(|name| written.get(name).is_none_or(|value| !value.is_null())));
        let paged = SearchQuery::from_body(&json!({"limit": 3, "facets": ["a"], "useNetwork": true})).unwrap();
        let written = paged.as_federated_query();
        assert!(["limit", "facets", "useNetwork"].iter().all(|name| !written.contains_key(*name)), "{written:?}");
    }
}
