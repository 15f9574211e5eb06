//! Requests about webhooks.

use lamina_base::error::{ApiError, ApiResult, Code};
use serde_json::Value;
use uuid::Uuid;

use super::identifier::decode_path_segment;
use super::json::At;
use super::query_string::QueryString;

/// Values by the name of a header; a null value removes one.
pub type HeaderPatches = Vec<(String, Option<String>)>;

/// Change of a webhook as sent by a client. Outer `None`: unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookPatch {
    /// Inner `None`: null.
    pub url: Option<Option<String>>,
    /// Inner `None`: null, which removes all.
    pub headers: Option<Option<HeaderPatches>>,
}

/// The query string of a list: offset, and limit when given.
///
/// # Errors
/// The first problem in the order of the text.
pub fn list_parameters(query: &QueryString) -> ApiResult<(usize, Option<usize>)> {
    let (mut offset, mut limit) = (0, None);
    query.parameters(&["offset", "limit"], |name, parameter| {
        let number = usize::try_from(parameter.positive_integer()?).unwrap_or(usize::MAX);
        match name {
            "offset" => offset = number,
            _ => limit = Some(number),
        }
        Ok(())
    })?;
    Ok((offset, limit))
}

/// The body of POST and PATCH.
///
/// # Errors
/// The first problem in the order of the text. Whether the values make sense is checked with the webhook.
pub fn patch(body: &Value) -> ApiResult<WebhookPatch> {
    const ACCEPTED: [&str; 2] = ["url", "headers"];
    let mut patch = WebhookPatch::default();
    let root = At::root(body);
    root.entries(|name, field| {
        match name {
            "url" => patch.url = Some(field.code(Code::InvalidWebhookUrl).optional(|field| field.string())?),
            "headers" => {
                patch.headers = Some(field.code(Code::InvalidWebhookHeaders).optional(|field| headers(&field))?);
            }
            "uuid" => return Err(root.code(Code::ImmutableWebhookUuid).immutable_field(name, &ACCEPTED)),
            "isEditable" => return Err(root.code(Code::ImmutableWebhookIsEditable).immutable_field(name, &ACCEPTED)),
            _ => return Err(root.unknown_field(name, &ACCEPTED)),
        }
        Ok(())
    })?;
    Ok(patch)
}

fn headers(field: &At<'_>) -> ApiResult<Vec<(String, Option<String>)>> {
    let mut headers = Vec::new();
    field.entries(|name, value| {
        headers.push((name.to_owned(), value.optional(|value| value.string())?));
        Ok(())
    })?;
    Ok(headers)
}

/// The uuid in a path.
///
/// # Errors
/// `invalid_webhook_uuid`
pub fn uuid_in_path(segment: &str) -> ApiResult<Uuid> {
    let text = decode_path_segment(segment);
    Uuid::parse_str(&text).map_err(|error| ApiError::new(Code::InvalidWebhookUuid, format!("Invalid UUID: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bodies() {
        assert_eq!(patch(&json!({})), Ok(WebhookPatch::default()));
        let read = patch(&json!({"url": null, "headers": {"a": "b", "c": null}}));
        let headers = vec![("a".to_owned(), Some("b".to_owned())), ("c".to_owned(), None)];
        assert_eq!(read, Ok(WebhookPatch { url: Some(None), headers: Some(Some(headers)) }));
        assert_eq!(patch(&json!({"headers": null})).unwrap().headers, Some(None));
        for (body, code) in [
            (json!({"url": 1}), Code::InvalidWebhookUrl),
            (json!({"headers": "x"}), Code::InvalidWebhookHeaders),
            (json!({"headers": {"a": 1}}), Code::InvalidWebhookHeaders),
            (json!({"uuid": "x"}), Code::ImmutableWebhookUuid),
            (json!({"isEditable": true}), Code::ImmutableWebhookIsEditable),
            (json!({"name": "x"}), Code::BadRequest),
        ] {
            assert_eq!(patch(&body).unwrap_err().code, code, "{body}");
        }
        let error = patch(&json!({"uuid": "x"})).unwrap_err();
        assert_eq!(error.message, "Immutable field `uuid`: expected one of `url`, `headers`");
    }

    #[test]
    fn uuids_in_paths() {
        assert_eq!(uuid_in_path("00000000-0000-0000-0000-000000000000"), Ok(Uuid::nil()));
        let error = uuid_in_path("invalid").unwrap_err();
        assert_eq!(error.code, Code::InvalidWebhookUuid);
        assert!(error.message.starts_with("Invalid UUID: invalid "), "{}", error.message);
    }
}
