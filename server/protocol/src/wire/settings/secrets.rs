//! Secrets in the configurations of embedders and rerankers: their keys, the values of their headers, passwords in their addresses.

use lamina_base::secret::{bare_url, redacted, shown_url};
use serde_json::Value;

/// Embedders that are configurations of their own inside another one.
const NESTED: [&str; 2] = ["searchEmbedder", "indexingEmbedder"];

/// Replaces the secrets of a configuration by something that shows which ones they are without giving them away. Any header
/// may be one, whatever its name.
pub(super) fn redact(configuration: &mut Value) {
    if let Some(Value::String(key)) = configuration.get_mut("apiKey") {
        *key = redacted(key);
    }
    if let Some(Value::String(url)) = configuration.get_mut("url") {
        *url = shown_url(url);
    }
    if let Some(Value::Object(headers)) = configuration.get_mut("headers") {
        for value in headers.values_mut() {
            if let Value::String(text) = value {
                *text = redacted(text);
            }
        }
    }
    for nested in NESTED {
        if let Some(nested) = configuration.get_mut(nested) {
            redact(nested);
        }
    }
}

/// A change of configurations by name, without their secrets.
pub(super) fn redacted_entries(mut change: Value) -> Value {
    if let Value::Object(configurations) = &mut change {
        configurations.values_mut().for_each(redact);
    }
    change
}

/// Takes the secrets out of settings, as they are stored, that go to another server.
pub fn remove_secrets(settings: &mut Value) {
    for setting in ["embedders", "rerankers"] {
        if let Some(Value::Object(configurations)) = settings.get_mut(setting) {
            configurations.values_mut().for_each(remove);
        }
    }
}

fn remove(configuration: &mut Value) {
    let Value::Object(fields) = configuration else { return };
    fields.remove("apiKey");
    fields.remove("headers");
    if let Some(Value::String(url)) = fields.get_mut("url") {
        *url = bare_url(url);
    }
    for nested in NESTED {
        if let Some(nested) = fields.get_mut(nested) {
            remove(nested);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn configuration() -> Value {
        json!({
            "source": "composite",
            "searchEmbedder": {
                "source": "rest", "url": "https://user:s3cret@h/x?token=s3cret", "apiKey": "s3cret of the search",
                "headers": {"X-Any": "s3cret in a header", "Authorization": "Bearer s3cret in a header"}
            },
            "indexingEmbedder": {"source": "openAi", "apiKey": "s3cret", "url": "https://h/", "model": "m"}
        })
    }

    #[test]
    fn secrets_are_not_shown_at_any_depth() {
        let mut shown = configuration();
        redact(&mut shown);
        assert!(!shown.to_string().contains("s3cret"), "{shown}");
        assert_eq!(shown["searchEmbedder"]["headers"]["Authorization"], "Bearer s3XXXX...");
        assert_eq!(shown["searchEmbedder"]["url"], "https://user:XXX...@h/x?token=XXX...");
        assert_eq!(shown["indexingEmbedder"]["url"], "https://h/");
    }

    #[test]
    fn secrets_stay_here() {
        let reranker = json!({"url": "https://user:s3cret@h/r", "apiKey": "s3cret"});
        let mut settings = json!({
            "embedders": {"a": configuration()}, "rerankers": {"r": reranker}, "synonyms": {"a": ["b"]}
        });
        remove_secrets(&mut settings);
        assert!(!settings.to_string().contains("s3cret"), "{settings}");
        assert_eq!(settings["embedders"]["a"]["indexingEmbedder"]["model"], "m");
        assert_eq!(settings["embedders"]["a"]["searchEmbedder"]["url"], "https://h/x");
        assert_eq!(settings["rerankers"], json!({"r": {"url": "https://h/r"}}));
        remove_secrets(&mut json!({"embedders": null}));
    }
}
