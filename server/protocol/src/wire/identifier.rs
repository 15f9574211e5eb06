//! The legal shapes of names that clients choose: index uids, index patterns, document ids.

use lamina_base::error::{ApiError, ApiResult, Code};
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Longest index uid, in bytes. (The public message says 512; the limit is this one.)
pub const INDEX_UID_BYTES_MAX: usize = 400;
/// Longest document id, in bytes.
pub const DOCUMENT_ID_BYTES_MAX: usize = 511;

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Refuses what is not an index uid, with the public reason.
pub fn check_index_uid(uid: &str) -> Result<(), String> {
    if is_name(uid) && uid.len() <= INDEX_UID_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "`{uid}` is not a valid index uid. Index uid can be an integer or a string containing only alphanumeric \
         characters, hyphens (-) and underscores (_), and can not be more than 512 bytes."
    ))
}

/// Percent-decodes one segment of a path (`+` stays itself).
pub fn decode_path_segment(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

/// The index uid in a path.
///
/// # Errors
/// `invalid_index_uid` with the bare reason.
pub fn index_uid_in_path(segment: &str) -> ApiResult<String> {
    let uid = decode_path_segment(segment);
    check_index_uid(&uid).map_err(|reason| ApiError::new(Code::InvalidIndexUid, reason))?;
    Ok(uid)
}

/// Refuses what is neither an index uid nor one followed by `*`.
pub fn check_index_pattern(pattern: &str) -> Result<(), String> {
    let name = pattern.strip_suffix('*').unwrap_or(pattern);
    if (pattern.ends_with('*') && name.is_empty()) || (is_name(name) && name.len() <= INDEX_UID_BYTES_MAX) {
        return Ok(());
    }
    Err(format!(
        "`{pattern}` is not a valid index uid pattern. Index uid patterns can be an integer or a string containing \
         only alphanumeric characters, hyphens (-), underscores (_), and optionally end with a star (*)."
    ))
}

/// The text of a document id given as a JSON string or integer, or the public reason of its refusal.
pub fn document_id(value: &Value) -> Result<String, String> {
    let text = match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    };
    text.filter(|text| is_name(text) && text.len() <= DOCUMENT_ID_BYTES_MAX).ok_or_else(|| {
        format!(
            "Document identifier `{value}` is invalid. A document identifier can be of type integer or string, only \
             composed of alphanumeric characters (a-z A-Z 0-9), hyphens (-) and underscores (_), and can not be more \
             than 511 bytes."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn index_uids() {
        for good in ["movies", "1", "a-b_C", &"x".repeat(400)] {
            assert_eq!(check_index_uid(good), Ok(()));
        }
        for bad in ["", "a b", "é", "a*", "a/b", &"x".repeat(401)] {
            assert!(check_index_uid(bad).unwrap_err().starts_with(&format!("`{bad}` is not a valid index uid. ")));
        }
    }

    #[test]
    fn index_uids_in_paths_are_decoded_first() {
        assert_eq!(decode_path_segment("a+b%2Fc"), "a+b/c");
        assert_eq!(index_uid_in_path("a%2Db"), Ok("a-b".into()));
        let error = index_uid_in_path("bad%20uid").unwrap_err();
        assert_eq!(error.code, Code::InvalidIndexUid);
        assert!(error.message.starts_with("`bad uid` is not a valid index uid. "), "{}", error.message);
    }

    #[test]
    fn index_patterns() {
        for good in ["*", "movies*", "movies"] {
            assert_eq!(check_index_pattern(good), Ok(()));
        }
        for bad in ["", "**", "*a", "a b*"] {
            assert!(check_index_pattern(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn document_ids() {
        assert_eq!(document_id(&json!(12)), Ok("12".into()));
        assert_eq!(document_id(&json!(-3)), Ok("-3".into()));
        assert_eq!(document_id(&json!("a-b")), Ok("a-b".into()));
        for bad in
            [json!("x/y"), json!(1.5), json!(""), json!(" a "), json!(null), json!(["a"]), json!("x".repeat(512))]
        {
            let reason = document_id(&bad).unwrap_err();
            assert!(reason.starts_with(&format!("Document identifier `{bad}` is invalid. A document")), "{reason}");
        }
    }
}
