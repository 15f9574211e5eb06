//! Requests about aliases.

use std::collections::BTreeMap;

use lamina_base::error::{ApiError, ApiResult, Code};
use serde_json::Value;

use super::identifier::{check_index_uid, decode_path_segment};
use super::json::{At, required};
use super::query_string::QueryString;

/// `offset` and `limit` of GET `/aliases`.
///
/// # Errors
/// The first problem in the order of the text.
pub fn list_parameters(query: &QueryString) -> ApiResult<(usize, usize)> {
    let (mut offset, mut limit) = (0, 20);
    query.parameters(&["offset", "limit"], |name, parameter| {
        match name {
            "offset" => offset = parameter.code(Code::InvalidAliasOffset).positive_integer()?,
            _ => limit = parameter.code(Code::InvalidAliasLimit).positive_integer()?,
        }
        Ok(())
    })?;
    let clamp = |number| usize::try_from(number).unwrap_or(usize::MAX);
    Ok((clamp(offset), clamp(limit)))
}

/// Refuses what no alias can be called: their names are uids that indexes could have.
fn check_alias(name: &str) -> Result<(), String> {
    check_index_uid(name).map_err(|_| {
        format!("`{name}` is not a valid alias. Aliases are 1 to 400 characters: letters, digits, hyphens (-) and underscores \
             (_).")
    })
}

/// The alias in a path.
///
/// # Errors
/// `invalid_alias`
pub fn alias_in_path(segment: &str) -> ApiResult<String> {
    let name = decode_path_segment(segment);
    check_alias(&name).map_err(|reason| ApiError::new(Code::InvalidAlias, reason))?;
    Ok(name)
}

/// The body of PUT `/aliases/{alias}`: the index.
///
/// # Errors
/// The first problem in the order of the text.
pub fn target(body: &Value) -> ApiResult<String> {
    let mut index_uid = None;
    let root = At::root(body);
    root.fields(&["indexUid"], |_, field| {
        index_uid = Some(field.code(Code::InvalidAliasIndexUid).index_uid()?);
        Ok(())
    })?;
    required(index_uid, &root, "indexUid", Code::MissingAliasIndexUid)
}

/// The body of PATCH `/aliases`: index by alias; null removes the alias.
///
/// # Errors
/// The first problem in the order of the text.
pub fn moves(body: &Value) -> ApiResult<BTreeMap<String, Option<String>>> {
    let mut moves = BTreeMap::new();
    At::root(body).entries(|name, field| {
        check_alias(name).map_err(|reason| field.code(Code::InvalidAlias).invalid(reason))?;
        let target = field.code(Code::InvalidAliasIndexUid).optional(|field| field.index_uid())?;
        moves.insert(name.to_owned(), target);
        Ok(())
    })?;
    Ok(moves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bodies_are_read_or_refused_with_their_codes() {
        assert_eq!(target(&json!({"indexUid": "films-2"})), Ok("films-2".to_owned()));
        let code = |body: Value| target(&body).unwrap_err().code;
        assert_eq!(code(json!({})), Code::MissingAliasIndexUid);
        assert_eq!(code(json!({"indexUid": null})), Code::InvalidAliasIndexUid);
        assert_eq!(code(json!({"indexUid": "a b"})), Code::InvalidAliasIndexUid);
        assert_eq!(code(json!({"collection_name": "a"})), Code::BadRequest);
        assert_eq!(code(json!([])), Code::BadRequest);
        let read = moves(&json!({"a": "x", "b": null})).unwrap();
        assert_eq!(read, BTreeMap::from([("a".to_owned(), Some("x".to_owned())), ("b".to_owned(), None)]));
        let code = |body: Value| moves(&body).unwrap_err().code;
        assert_eq!(code(json!({"a b": "x"})), Code::InvalidAlias);
        assert_eq!(code(json!({"a": "x y"})), Code::InvalidAliasIndexUid);
        assert_eq!(code(json!({"a": 1})), Code::InvalidAliasIndexUid);
        assert_eq!(code(json!("a")), Code::BadRequest);
    }

    #[test]
    fn paths_and_parameters_are_checked() {
        assert_eq!(alias_in_path("films"), Ok("films".to_owned()));
        assert_eq!(alias_in_path("a%20b").unwrap_err().code, Code::InvalidAlias);
        assert_eq!(alias_in_path(&"a".repeat(401)).unwrap_err().code, Code::InvalidAlias);
        let page = |text: &str| list_parameters(&QueryString::parse(text)).map_err(|error| error.code);
        assert_eq!(page("offset=2&limit=3"), Ok((2, 3)));
        assert_eq!(page(""), Ok((0, 20)));
        assert_eq!(page("offset=x"), Err(Code::InvalidAliasOffset));
        assert_eq!(page("limit=-1"), Err(Code::InvalidAliasLimit));
    }
}
