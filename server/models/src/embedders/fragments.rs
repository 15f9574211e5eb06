//! Fragments: documents and queries as JSON instead of text, for models that see more than text.

use lamina_base::engine_errors::Sentence;
use lamina_engine::index::embedding::{
    EmbedFailure, JsonTemplate, RenderFailure, TemplateVariables, check_fragments_size,
};
use lamina_engine::index::settings::{FRAGMENTS_MAX, INDEXING_FRAGMENTS, SEARCH_FRAGMENTS, fragments_of};
use serde_json::{Map, Value, json};

use super::side::{Side, side_of};

/// Fragments are not texts: there is none to try.
pub(super) const CANNOT_INFER_DIMENSIONS: &str = "cannot infer `dimensions` for an embedder using `indexingFragments`.\n  - \
    Note: Specify `dimensions` explicitly or don't use `indexingFragments`.";

/// Input of a query by meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryInput<'q> {
    /// Text of the query.
    pub q: Option<&'q str>,
    /// Whatever the search fragments of the embedder read.
    pub media: Option<&'q Value>,
}

impl QueryInput<'_> {
    /// Distinguishes it from all others.
    pub fn key(&self) -> String {
        match (self.q, self.media) {
            (Some(q), None) => q.to_owned(),
            (q, media) => json!({ "q": q, "media": media }).to_string(),
        }
    }

    /// Returns the text for the embedder of `configuration`: the query text, or the one search fragment that the query
    /// satisfies, as JSON text.
    ///
    /// # Errors
    /// Fails if no fragment or more than one is satisfied, and for `media` without fragments.
    pub(super) fn text(&self, configuration: &Map<String, Value>) -> Result<String, EmbedFailure> {
        let configuration = side_of(configuration, Side::Search);
        if !uses_fragments(configuration) {
            return match (self.media, self.q) {
                (None, q) => Ok(q.unwrap_or_default().to_owned()),
                (Some(_), _) if configuration.get("source").and_then(Value::as_str) != Some("rest") => {
                    Err(EmbedFailure::user("`media` requested but the configuration doesn't have source `rest`"))
                }
                (Some(_), _) => Err(EmbedFailure::user(
                    "`media` requested, and the configuration has source `rest`, but the configuration doesn't have \
                     `searchFragments`.",
                )),
            };
        }
        let q = self.q.map(|q| ("q", Value::from(q)));
        let variables = TemplateVariables::new(q.into_iter().chain(self.media.map(|media| ("media", media.clone()))));
        let query = json!({ "q": self.q, "media": self.media });
        let mut satisfied: Option<(String, Value)> = None;
        for (name, value) in fragments_of(configuration, SEARCH_FRAGMENTS) {
            let template = JsonTemplate::new(&value).map_err(|error| {
                let reason = error.sentence();
                EmbedFailure::user(format!("in `searchFragments.{name}`: cannot parse template: {reason}"))
            })?;
            let rendered = match template.render(&variables) {
                Ok(rendered) => rendered,
                Err(RenderFailure::Missing(_)) => continue,
                Err(RenderFailure::Limit(limit)) => {
                    return Err(EmbedFailure::user(format!(
                        "in `searchFragments.{name}`: cannot be rendered: {}",
                        limit.sentence()
                    )));
                }
            };
            if let Some((first, _)) = satisfied {
                return Err(EmbedFailure::user(format!(
                    "Query matches multiple search fragments.\n  - Note: First matched fragment `{first}`.\n  - Note: \
                     Second matched fragment `{name}`.\n  - Note: {query}"
                )));
            }
            satisfied = Some((name, rendered));
        }
        match satisfied {
            Some((_, fragment)) => Ok(fragment.to_string()),
            None => Err(EmbedFailure::user(format!("Query matches no search fragment.\n  - Note: {query}"))),
        }
    }
}

fn count(configuration: &Map<String, Value>, field: &str) -> usize {
    configuration.get(field).and_then(Value::as_object).map_or(0, Map::len)
}

/// Reports whether an embedder gets fragments instead of texts.
pub(super) fn uses_fragments(configuration: &Map<String, Value>) -> bool {
    count(configuration, INDEXING_FRAGMENTS) + count(configuration, SEARCH_FRAGMENTS) > 0
}

/// Checks the fragments of a whole configuration, pairs included.
///
/// # Errors
/// What can't work, in public words.
pub fn check_fragments(configuration: &Map<String, Value>) -> Result<(), String> {
    let nested = |name: &str| configuration.get(name).and_then(Value::as_object);
    let (indexing, search) = match (nested("indexingEmbedder"), nested("searchEmbedder")) {
        (Some(indexing), Some(search)) => (indexing, search),
        _ => (configuration, configuration),
    };
    let counts = (count(indexing, INDEXING_FRAGMENTS), count(search, SEARCH_FRAGMENTS));
    let is_pair = configuration.contains_key("indexingEmbedder");
    match counts {
        (0, 0) => return Ok(()),
        (0, searching) if !is_pair => {
            return Err(format!(
                "inconsistent fragments: `indexingFragments` is empty, and `searchFragments` declares {searching} \
                 fragments.\n  - Hint: declare both, or none"
            ));
        }
        (indexing, 0) if !is_pair => {
            return Err(format!(
                "inconsistent fragments: `searchFragments` is empty, and `indexingFragments` declares {indexing} \
                 fragments.\n  - Hint: declare both, or none"
            ));
        }
        (indexing, _) if indexing > FRAGMENTS_MAX => {
            return Err(format!(
                "{indexing} fragments declared in `indexingFragments`, at most {FRAGMENTS_MAX} are allowed"
            ));
        }
        _ => {}
    }
    let given = |side: &Map<String, Value>, field: &str| side.get(field).is_some_and(|value| !value.is_null());
    if given(indexing, "documentTemplate") && counts.0 > 0 {
        return Err(format!(
            "cannot pass both fragments and a document template.\n  - Note: {} fragments declared in \
             `indexingFragments` and {} fragments declared in `searchFragments`.\n  - Hint: remove the declared fragments or \
             remove the `documentTemplate`",
            counts.0, counts.1
        ));
    }
    if given(indexing, "chunks") && counts.0 > 0 {
        return Err(
            "cannot pass both fragments and `chunks`.\n  - Hint: remove the fragments or the `chunks`".to_owned()
        );
    }
    for (side, field) in [(indexing, INDEXING_FRAGMENTS), (search, SEARCH_FRAGMENTS)] {
        if uses_fragments(side) && !given(side, "dimensions") {
            return Err(CANNOT_INFER_DIMENSIONS.to_owned());
        }
        let fragments = fragments_of(side, field);
        check_fragments_size(fragments.iter().map(|(_, value)| value))
            .map_err(|limit| format!("in `{field}`: {}", limit.sentence()))?;
        for (name, value) in fragments {
            JsonTemplate::new(&value)
                .map_err(|error| format!("in `{field}.{name}`: cannot parse template: {}", error.sentence()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration() -> Value {
        json!({
            "source": "rest", "url": "u", "dimensions": 3, "request": "{{fragment}}", "response": "{{embedding}}",
            "indexingFragments": {"name": {"value": "{{ doc.name }}"}},
            "searchFragments": {
                "breed": {"value": {"text": "a {{ media.breed }}"}},
                "name": {"value": "{{ media.name }}"},
                "q": {"value": "query: {{ q }}"},
            }
        })
    }

    #[test]
    fn a_query_satisfies_one_fragment() {
        let text = |q: Option<&str>, media: Value| {
            let media = (!media.is_null()).then_some(&media);
            let text = QueryInput { q, media }.text(configuration().as_object().unwrap());
            text.map_err(|failure| failure.to_string())
        };
        assert_eq!(text(Some("dog"), Value::Null).unwrap(), "\"query: dog\"");
        assert_eq!(text(None, json!({"breed": "poodle"})).unwrap(), r#"{"text":"a poodle"}"#);
        assert_eq!(
            text(None, json!({"breed": "a", "name": "b"})).unwrap_err(),
            "user error: Query matches multiple search fragments.\n  - Note: First matched fragment `breed`.\n  - Note: \
             Second matched fragment `name`.\n  - Note: {\"q\":null,\"media\":{\"breed\":\"a\",\"name\":\"b\"}}"
        );
        assert_eq!(
            text(None, json!({"price": 1})).unwrap_err(),
            "user error: Query matches no search fragment.\n  - Note: {\"q\":null,\"media\":{\"price\":1}}"
        );
        assert!(text(Some("dog"), json!({"breed": "a"})).is_err(), "both");
        let media = json!(1);
        let input = QueryInput { q: None, media: Some(&media) };
        for source in ["rest", "ollama"] {
            let plain = json!({"source": source});
            assert!(input.text(plain.as_object().unwrap()).unwrap_err().message.starts_with("`media` requested"));
        }
    }

    #[test]
    fn fragments_have_to_fit_together() {
        let check = |field: &str, value: Value| {
            let mut changed = configuration();
            if value.is_null() {
                changed.as_object_mut().unwrap().remove(field);
            } else {
                changed[field] = value;
            }
            check_fragments(changed.as_object().unwrap()).err().unwrap_or_default()
        };
        assert_eq!(check("url", json!("v")), "");
        assert!(check("searchFragments", Value::Null).starts_with("inconsistent fragments: "));
        assert!(check("indexingFragments", json!({})).starts_with("inconsistent fragments: "));
        assert!(
            check("documentTemplate", json!("x")).starts_with("cannot pass both fragments and a document template.")
        );
        assert!(check("dimensions", Value::Null).starts_with("cannot infer `dimensions`"));
        assert!(
            check("searchFragments", json!({"q": {"value": "{{ q"}})).contains("in `searchFragments.q`: cannot parse")
        );
        let many: Map<String, Value> = (0..25).map(|n| (n.to_string(), json!({"value": "x"}))).collect();
        assert!(check("indexingFragments", Value::Object(many)).contains("at most 24 are allowed"));
        assert_eq!(check_fragments(&Map::new()), Ok(()));
    }
}
