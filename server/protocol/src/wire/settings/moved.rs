//! Secrets of embedders and rerankers whose address changes: what was given for one server is not sent to another.

use lamina_base::secret::have_same_origin;
use lamina_engine::index::{Setting, Settings, SettingsPatch};
use serde_json::{Map, Value};

/// Fields that are sent to the address and nowhere else.
const SECRETS: [&str; 2] = ["apiKey", "headers"];
/// The nested embedder whose fields are merged; the other one is replaced as a whole.
const INDEXING_EMBEDDER: &str = "indexingEmbedder";

/// Makes `patch` forget the secrets that are stored for another address than the one that it sets, unless it brings them itself.
/// Returns where they were.
pub fn forget_moved_secrets(current: &Settings, patch: &mut SettingsPatch) -> Vec<String> {
    let mut forgotten = Vec::new();
    if let Setting::Set(changes) = &mut patch.embedders {
        for (name, change) in changes {
            let stored = current.embedders.get(name);
            forget(stored, change, &format!("embedders.{name}"), &mut forgotten);
        }
    }
    if let Setting::Set(changes) = &mut patch.rerankers {
        for (name, change) in changes {
            let stored = current.rerankers.get(name);
            if let (Some(Value::Object(stored)), Value::Object(change)) = (stored, change) {
                forget_one(stored, change, "rest", &format!("rerankers.{name}"), &mut forgotten);
            }
        }
    }
    forgotten
}

/// Forgets the secrets of an embedder, and of the one in it that is merged.
fn forget(stored: Option<&Value>, change: &mut Setting<Value>, place: &str, forgotten: &mut Vec<String>) {
    const DEFAULT_SOURCE: &str = "openAi";
    let (Some(Value::Object(stored)), Setting::Set(Value::Object(change))) = (stored, change) else { return };
    forget_one(stored, change, DEFAULT_SOURCE, place, forgotten);
    if let (Some(Value::Object(stored)), Some(Value::Object(change))) =
        (stored.get(INDEXING_EMBEDDER), change.get_mut(INDEXING_EMBEDDER))
    {
        forget_one(stored, change, DEFAULT_SOURCE, &format!("{place}.{INDEXING_EMBEDDER}"), forgotten);
    }
}

fn forget_one(
    stored: &Map<String, Value>,
    change: &mut Map<String, Value>,
    default_source: &str,
    place: &str,
    forgotten: &mut Vec<String>,
) {
    let text = |fields: &Map<String, Value>, name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let source_before = text(stored, "source").unwrap_or_else(|| default_source.to_owned());
    let source_after = match change.get("source") {
        Some(source) => source.as_str().unwrap_or(default_source).to_owned(),
        None => source_before.clone(),
    };
    let url_before = text(stored, "url");
    let url_after = match change.get("url") {
        Some(url) => url.as_str().map(str::to_owned),
        None if source_after == source_before => url_before.clone(),
        None => None,
    };
    let Some(after) = address(&source_after, url_after) else { return };
    if address(&source_before, url_before).is_some_and(|before| have_same_origin(&before, &after)) {
        return;
    }
    for secret in SECRETS {
        if stored.contains_key(secret) && !change.contains_key(secret) {
            change.insert(secret.to_owned(), Value::Null);
            forgotten.push(format!("{place}.{secret}"));
        }
    }
}

/// Returns where a source is reached; `None` for one that asks no server. Without a `url`, it is the source's own.
fn address(source: &str, url: Option<String>) -> Option<String> {
    match (source, url) {
        ("huggingFace" | "static" | "userProvided" | "composite", _) => None,
        (_, Some(url)) => Some(url),
        ("openAi", None) => Some("https://api.openai.com/".to_owned()),
        // Only the same source has the same.
        (source, None) => Some(source.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::settings;
    use serde_json::json;

    fn stored() -> Settings {
        let one = |url: &str| {
            json!({"source": "rest", "url": url, "apiKey": "KEY", "headers": {"X": "HEADER"}, "dimensions": 2,
                "request": "{{text}}", "response": "{{embedding}}"})
        };
        let patch = settings::read(&json!({
            "embedders": {
                "r": one("https://good.org/v1"),
                "o": {"source": "openAi", "apiKey": "KEY"},
                "c": {"source": "composite", "searchEmbedder": one("https://good.org/s"), "indexingEmbedder": one("https://good.org/i")},
            },
            "rerankers": {"cross": {"url": "https://good.org/rerank", "apiKey": "KEY", "headers": {"X": "HEADER"}}},
        }));
        settings::merged(&Settings::default(), &patch.unwrap()).unwrap()
    }

    /// Returns what is forgotten, and the settings afterwards.
    fn after(change: Value) -> (Vec<String>, Settings) {
        let mut patch = settings::read(&change).unwrap();
        let forgotten = forget_moved_secrets(&stored(), &mut patch);
        (forgotten, stored().patched(&patch).unwrap())
    }

    #[test]
    fn another_origin_gets_no_secret() {
        for url in
            ["https://evil.org/v1", "http://good.org/v1", "https://good.org:8443/v1", "https://good.org.evil.org/"]
        {
            let (forgotten, settings) = after(json!({"embedders": {"r": {"url": url}}}));
            assert_eq!(forgotten, ["embedders.r.apiKey", "embedders.r.headers"], "{url}");
            assert_eq!(settings.embedders["r"]["url"], url);
            assert!(settings.embedders["r"].get("apiKey").is_none());
            assert!(settings.embedders["r"].get("headers").is_none());
            let (forgotten, settings) = after(json!({"rerankers": {"cross": {"url": url}}}));
            assert_eq!(forgotten, ["rerankers.cross.apiKey", "rerankers.cross.headers"], "{url}");
            assert_eq!(settings.rerankers["cross"], json!({ "url": url }));
            let (forgotten, settings) = after(
                json!({"embedders": {"c": {"indexingEmbedder": {"source": "rest", "url": url, "request": "{{text}}", "response": "{{embedding}}"}}}}),
            );
            assert_eq!(forgotten.len(), 2, "{forgotten:?}");
            assert!(!settings.embedders["c"]["indexingEmbedder"].to_string().contains("KEY"));
        }
        for change in
            [json!({"url": "http://evil.org/"}), json!({"source": "ollama", "model": "m", "url": "http://evil.org/"})]
        {
            let (forgotten, settings) = after(json!({"embedders": {"o": change}}));
            assert_eq!(forgotten, ["embedders.o.apiKey"]);
            assert!(settings.embedders["o"].get("apiKey").is_none());
        }
        assert_eq!(
            after(json!({"embedders": {"r": {"source": "openAi"}}})).0,
            ["embedders.r.apiKey", "embedders.r.headers"]
        );
    }

    #[test]
    fn the_same_origin_keeps_them_and_so_does_a_change_that_brings_them() {
        for change in [
            json!({"embedders": {"r": {"url": "https://GOOD.org:443/v2"}}}),
            json!({"embedders": {"r": {"dimensions": 3}}}),
            json!({"embedders": {"o": {"url": "https://api.openai.com/v1/embeddings"}}}),
            json!({"rerankers": {"cross": {"url": "https://good.org/other"}}}),
        ] {
            let (forgotten, _) = after(change.clone());
            assert_eq!(forgotten, [""; 0], "{change}");
        }
        let (forgotten, settings) =
            after(json!({"embedders": {"r": {"url": "https://new.org", "apiKey": "NEW", "headers": {"Y": "NEW"}}}}));
        assert_eq!(forgotten, [""; 0]);
        assert_eq!(
            (&settings.embedders["r"]["apiKey"], &settings.embedders["r"]["headers"]),
            (&json!("NEW"), &json!({"Y": "NEW"}))
        );
    }
}
