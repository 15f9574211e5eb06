//! Settings for a server that may not know all of them: what it refuses is left out, the rest is sent again.

use lamina_protocol::wire::settings::{keep_portable, key_of_code};
use serde_json::{Map, Value};

/// Bytes of a reason.
const REASON_BYTES_MAX: usize = 300;

/// Reason why the other server refuses settings.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
}

/// Sends settings with `send`, which says why they are refused, until the other server takes the rest. Returns what was left out, with the
/// reasons. At most three requests for each setting.
///
/// # Errors
/// The first of `send`.
pub(super) fn negotiate<E>(
    mut settings: Map<String, Value>,
    mut send: impl FnMut(Value) -> Result<Option<Refusal>, E>,
) -> Result<Map<String, Value>, E> {
    let mut left_out = Map::new();
    // Every round sends less than the one before.
    while !settings.is_empty() {
        let Some(refusal) = send(Value::Object(settings.clone()))? else { return Ok(left_out) };
        let Some(key) = culprit(&settings, &refusal) else { return send_each(settings, left_out, send) };
        reduce(&mut settings, &key, &refusal, &mut left_out);
    }
    Ok(left_out)
}

/// One after the other: the other server does not say which one it means.
fn send_each<E>(
    settings: Map<String, Value>,
    mut left_out: Map<String, Value>,
    mut send: impl FnMut(Value) -> Result<Option<Refusal>, E>,
) -> Result<Map<String, Value>, E> {
    for (key, value) in settings {
        let mut one = Map::from_iter([(key.clone(), value)]);
        while !one.is_empty() {
            let Some(refusal) = send(Value::Object(one.clone()))? else { break };
            reduce(&mut one, &key, &refusal, &mut left_out);
        }
    }
    Ok(left_out)
}

/// Leaves a setting out, or at first only what not every server knows of it, or the one embedder that is named.
fn reduce(settings: &mut Map<String, Value>, key: &str, refusal: &Refusal, left_out: &mut Map<String, Value>) {
    let reason: Value = reason(&refusal.message).into();
    let mut portable = settings.clone();
    keep_portable(&mut portable);
    if let Some(less) = portable.get(key).filter(|less| Some(*less) != settings.get(key)) {
        left_out.insert(key.to_owned(), reason);
        settings.insert(key.to_owned(), less.clone());
        return;
    }
    if let Some(Value::Object(parts)) = settings.get_mut(key)
        && ["embedders", "rerankers"].contains(&key)
        && parts.len() > 1
        && let Some(part) = named(parts, &refusal.message)
    {
        left_out.insert(format!("{key}.{part}"), reason);
        parts.shift_remove(&part);
        return;
    }
    left_out.insert(key.to_owned(), reason);
    settings.shift_remove(key);
}

/// The setting that a refusal is about, if it says so: by its code, as the field that is unknown, or as the one that has it.
fn culprit(settings: &Map<String, Value>, refusal: &Refusal) -> Option<String> {
    if let Some(key) = key_of_code(&refusal.code).filter(|key| settings.contains_key(*key)) {
        return Some(key.to_owned());
    }
    named(settings, &refusal.message)
}

/// The field that the first name between backticks means: it, or the only one that has this name inside.
fn named(fields: &Map<String, Value>, message: &str) -> Option<String> {
    // A list of what would be accepted names others.
    let message = message.split(": expected one of").next().unwrap_or(message);
    let names = message.split('`').skip(1).step_by(2).flat_map(|name| {
        let name = name.trim_matches(|c: char| c == '"' || c == '.');
        std::iter::once(name).chain(name.split(['.', '[']))
    });
    for name in names.filter(|name| !name.is_empty()) {
        if fields.contains_key(name) {
            return Some(name.to_owned());
        }
        let quoted = Value::from(name).to_string();
        let mut having = fields.iter().filter(|(_, value)| value.to_string().contains(&quoted));
        if let (Some((key, _)), None) = (having.next(), having.next()) {
            return Some(key.clone());
        }
    }
    None
}

fn reason(message: &str) -> String {
    let mut end = message.len().min(REASON_BYTES_MAX);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    if end < message.len() { format!("{}…", &message[..end]) } else { message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A server that knows these settings and none of our values; what it was left with, what was left out, and after how many requests.
    fn sent(
        settings: Value,
        refuse: impl Fn(&Map<String, Value>) -> Option<(&'static str, String)>,
    ) -> (Value, Value, usize) {
        let (mut taken, mut count) = (Map::new(), 0);
        let Value::Object(settings) = settings else { panic!() };
        let left_out = negotiate(settings, |body| {
            count += 1;
            let Value::Object(body) = body else { panic!() };
            if let Some((code, message)) = refuse(&body) {
                return Ok::<_, ()>(Some(Refusal { code: code.to_owned(), message }));
            }
            taken.extend(body);
            Ok(None)
        });
        (Value::Object(taken), Value::Object(left_out.unwrap()), count)
    }

    #[test]
    fn everything_goes_to_a_server_that_knows_it() {
        let settings = json!({"stopWords": ["the"], "matchingStrategy": "any"});
        assert_eq!(sent(settings.clone(), |_| None), (settings, json!({}), 1));
    }

    #[test]
    fn unknown_fields_and_values_are_left_out() {
        let settings = json!({
            "stopWords": ["the"], "matchingStrategy": "any", "bm25": {"b": 1},
            "rankingRules": ["words", {"boostIf": "a = 1"}, "typo"], "foreignKeys": [{"foreignIndexUid": "a", "fieldName": "b"}],
        });
        let (taken, left_out, _) = sent(settings, |body| {
            let unknown = body.keys().find(|key| ["matchingStrategy", "bm25"].contains(&key.as_str()));
            if let Some(unknown) = unknown {
                let message = format!("Unknown field `{unknown}`: expected one of `displayedAttributes`, `stopWords`");
                return Some(("bad_request", message));
            }
            if body.contains_key("foreignKeys") {
                return Some((
                    "feature_not_enabled",
                    "setting `foreignKeys` requires enabling the `foreign_keys`".to_owned(),
                ));
            }
            let has_boost = body["rankingRules"].as_array().unwrap().iter().any(Value::is_object);
            has_boost.then(|| ("invalid_settings_ranking_rules", "Invalid value type at `.rankingRules[1]`".to_owned()))
        });
        assert_eq!(taken, json!({"stopWords": ["the"], "rankingRules": ["words", "typo"]}));
        let keys: Vec<&String> = left_out.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["matchingStrategy", "bm25", "foreignKeys", "rankingRules"]);
    }

    #[test]
    fn one_embedder_of_several() {
        let embedder = |source: &str| json!({"source": source});
        let settings =
            json!({"embedders": {"a": embedder("userProvided"), "b": embedder("composite")}, "stopWords": []});
        let (taken, left_out, count) = sent(settings, |body| {
            let has = body["embedders"].as_object().unwrap().values().any(|one| one["source"] == "composite");
            let message = "using `\"composite\"` as source requires enabling the `composite embedders` feature";
            has.then(|| ("feature_not_enabled", message.to_owned()))
        });
        assert_eq!(taken, json!({"embedders": {"a": embedder("userProvided")}, "stopWords": []}));
        assert_eq!((left_out.as_object().unwrap().keys().next().unwrap().as_str(), count), ("embedders.b", 2));
    }

    #[test]
    fn a_server_that_names_nothing_gets_one_after_the_other() {
        let settings = json!({"stopWords": ["the"], "bm25": {}, "synonyms": {}});
        let (taken, left_out, count) =
            sent(settings, |body| body.contains_key("bm25").then(|| ("bad_request", "No.".to_owned())));
        assert_eq!(taken, json!({"stopWords": ["the"], "synonyms": {}}));
        assert_eq!((left_out, count), (json!({"bm25": "No."}), 4));
        let (taken, _, count) = sent(json!({"a": 1, "b": 2}), |_| Some(("bad_request", "No.".to_owned())));
        assert_eq!((taken, count), (json!({}), 3), "it ends");
    }
}
