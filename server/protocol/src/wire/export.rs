//! The request for an export.

use lamina_base::error::{ApiResult, Code};
use lamina_base::options::ByteSize;
use lamina_base::outbound::parse_url;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::filter::parse_filter;
use super::identifier::check_index_pattern;
use super::json::{At, Kind};

/// Content of a request for an export.
#[derive(Clone, PartialEq)]
pub struct Export {
    /// Base address of the other server; empty when the request named none.
    pub url: String,
    /// Key of the other server, a secret.
    pub api_key: Option<String>,
    /// Most bytes of documents in one request, before compression.
    pub payload_bytes: Option<u64>,
    /// An index is sent as the first pattern says that it matches; all without.
    pub indexes: Option<Vec<ExportedIndex>>,
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Export").field("indexes", &self.indexes).finish_non_exhaustive()
    }
}

/// Export rules for the indexes of a pattern; stored with its task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedIndex {
    /// Uid, or start of uids and `*`.
    pub pattern: String,
    /// Documents to send; JSON value of the request.
    pub filter: Option<Value>,
    /// True if settings of an existing index are overridden.
    pub override_settings: bool,
}

/// Reads a body. Without an address the export has an empty one, and its task will fail: that is how the protocol has it.
///
/// # Errors
/// The first problem in the order of the text, then an address that can't be one.
pub fn export(body: &Value, contains_allowed: bool) -> ApiResult<Export> {
    let (mut url, mut api_key, mut payload_bytes, mut indexes) = (String::new(), None, None, None);
    At::root(body).fields(&["url", "apiKey", "payloadSize", "indexes"], |name, field| {
        match name {
            "url" => {
                let field = field.code(Code::InvalidExportUrl);
                url = field.string()?;
                if !url.is_empty() {
                    parse_url(&url).map_err(|reason| field.invalid(reason))?;
                }
            }
            "apiKey" => {
                let sent = field.code(Code::InvalidExportApiKey).optional(|field| field.string())?;
                api_key = sent.filter(|key| !key.is_empty());
            }
            // As clients send it that always send all fields.
            "payloadSize" if field.value() == "" => {}
            "payloadSize" => {
                payload_bytes = field.code(Code::InvalidExportPayloadSize).optional(|field| size(&field))?;
            }
            _ => {
                indexes = field.code(Code::InvalidExportIndexesPatterns).optional(|f| patterns(&f, contains_allowed))?
            }
        }
        Ok(())
    })?;
    Ok(Export { url, api_key, payload_bytes, indexes })
}

/// Bytes, or a text with a unit.
fn size(field: &At<'_>) -> ApiResult<u64> {
    let bytes = match field.value() {
        Value::String(text) => text.parse::<ByteSize>().map_err(|error| field.invalid(error))?.bytes(),
        Value::Number(_) => field.positive_integer()?,
        _ => return Err(field.wrong_type(&[Kind::PositiveInteger, Kind::String])),
    };
    if bytes == 0 { Err(field.invalid("expected at least 1 byte")) } else { Ok(bytes) }
}

fn patterns(field: &At<'_>, contains_allowed: bool) -> ApiResult<Vec<ExportedIndex>> {
    let mut indexes = Vec::new();
    field.entries(|pattern, entry| {
        check_index_pattern(pattern).map_err(|reason| entry.invalid(reason))?;
        let mut index = ExportedIndex { pattern: pattern.to_owned(), filter: None, override_settings: false };
        entry.optional(|entry| {
            entry.fields(&["filter", "overrideSettings"], |name, field| {
                match name {
                    "filter" => {
                        let filter = field.value();
                        parse_filter(filter, Code::InvalidExportIndexFilter, contains_allowed)?;
                        index.filter = (!filter.is_null()).then(|| filter.clone());
                    }
                    _ => {
                        let field = field.code(Code::InvalidExportIndexOverrideSettings);
                        index.override_settings = field.optional(|field| field.boolean())?.unwrap_or(false);
                    }
                }
                Ok(())
            })
        })?;
        indexes.push(index);
        Ok(())
    })?;
    Ok(indexes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_of_a_request() {
        let asked = export(
            &json!({
                "url": "http://a.b", "apiKey": "k", "payloadSize": "2 MiB",
                "indexes": {"a*": {"filter": "x = 1", "overrideSettings": true}, "b": {}, "c": null}
            }),
            false,
        )
        .unwrap();
        assert_eq!((asked.url.as_str(), asked.api_key.as_deref()), ("http://a.b", Some("k")));
        assert_eq!(asked.payload_bytes, Some(2 << 20));
        let indexes = asked.indexes.unwrap();
        assert_eq!(indexes.len(), 3);
        assert_eq!((&indexes[0].filter, indexes[0].override_settings), (&Some(json!("x = 1")), true));
        let small = export(&json!({"url": "http://a.b"}), false).unwrap();
        assert_eq!((small.payload_bytes, small.indexes), (None, None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (field, value, code) in [
            ("url", json!("nope"), Code::InvalidExportUrl),
            ("url", json!(1), Code::InvalidExportUrl),
            ("apiKey", json!(1), Code::InvalidExportApiKey),
            ("payloadSize", json!("much"), Code::InvalidExportPayloadSize),
            ("payloadSize", json!(0), Code::InvalidExportPayloadSize),
            ("payloadSize", json!([]), Code::InvalidExportPayloadSize),
            ("indexes", json!([]), Code::InvalidExportIndexesPatterns),
            ("indexes", json!({"a b": {}}), Code::InvalidExportIndexesPatterns),
            ("indexes", json!({"a": {"filter": "x ="}}), Code::InvalidExportIndexFilter),
            ("indexes", json!({"a": {"overrideSettings": 1}}), Code::InvalidExportIndexOverrideSettings),
            ("other", json!(1), Code::BadRequest),
        ] {
            let mut body = json!({"url": "http://a.b"});
            body[field] = value;
            assert_eq!(export(&body, false).unwrap_err().code, code, "{body}");
        }
        assert_eq!(export(&json!({}), false).unwrap().url, "");
        let empty = json!({"url": "", "apiKey": "", "payloadSize": "", "indexes": null});
        assert_eq!(export(&empty, false), export(&json!({}), false));
    }
}
