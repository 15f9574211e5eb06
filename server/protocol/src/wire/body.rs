//! What is checked of a JSON body before its fields are read: content type, presence, syntax.

use lamina_base::error::{ApiError, ApiResult, Code};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Refuses a request whose `Content-Type` is not JSON. Parameters (`; charset=…`) and `+json` suffixes are tolerated.
pub fn check_json_content_type(content_type: Option<&str>) -> ApiResult<()> {
    let Some(content_type) = content_type else {
        return Err(ApiError::new(
            Code::MissingContentType,
            "A Content-Type header is missing. Accepted values for the Content-Type header are: `application/json`",
        ));
    };
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || essence.ends_with("+json") {
        return Ok(());
    }
    Err(ApiError::new(
        Code::InvalidContentType,
        format!(
            "The Content-Type `{content_type}` is invalid. Accepted values for the Content-Type header are: \
             `application/json`"
        ),
    ))
}

/// Parses a JSON body, keeping the order of its keys.
pub fn parse_json(body: &[u8]) -> ApiResult<Value> {
    if body.is_empty() {
        return Err(ApiError::new(Code::MissingPayload, "A json payload is missing."));
    }
    serde_json::from_slice(body).map_err(|error| malformed(&error))
}

/// Refuses what [`parse_json`] can't read, at whatever depth, without making values of it.
///
/// # Errors
/// `missing_payload`, `malformed_payload`
pub fn check_json(body: &[u8]) -> ApiResult<()> {
    if body.is_empty() {
        return Err(ApiError::new(Code::MissingPayload, "A json payload is missing."));
    }
    serde_json::from_slice::<IgnoredAny>(body).map(drop).map_err(|error| malformed(&error))
}

fn malformed(error: &serde_json::Error) -> ApiError {
    ApiError::new(Code::MalformedPayload, format!("The json payload provided is malformed. `{error}`."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types() {
        for good in ["application/json", "application/json; charset=utf-8", "application/vnd.api+json"] {
            assert_eq!(check_json_content_type(Some(good)), Ok(()));
        }
        assert_eq!(check_json_content_type(None).unwrap_err().code, Code::MissingContentType);
        let error = check_json_content_type(Some("text/plain")).unwrap_err();
        assert_eq!((error.code, error.status()), (Code::InvalidContentType, 415));
        assert!(error.message.starts_with("The Content-Type `text/plain` is invalid. Accepted values for"));
    }

    #[test]
    fn bodies() {
        assert_eq!(parse_json(b"").unwrap_err().message, "A json payload is missing.");
        let error = parse_json(br#"{"a": 1, "b": 2,"c"#).unwrap_err();
        assert_eq!(error.code, Code::MalformedPayload);
        assert_eq!(
            error.message,
            "The json payload provided is malformed. `EOF while parsing a string at line 1 column 18`."
        );
        assert_eq!(parse_json(b"null").unwrap(), Value::Null);
    }
}
