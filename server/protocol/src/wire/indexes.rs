//! Requests about indexes.

use std::collections::BTreeMap;

use lamina_base::error::{ApiError, ApiResult, Code};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::identifier;
use super::json::{At, required};
use super::query_string::QueryString;

/// `offset` and `limit` of GET `/indexes`.
///
/// # Errors
/// The first problem in the order of the text.
pub fn list_parameters(query: &QueryString) -> ApiResult<(usize, usize)> {
    let (mut offset, mut limit) = (0, 20);
    query.parameters(&["offset", "limit"], |name, parameter| {
        match name {
            "offset" => offset = parameter.code(Code::InvalidIndexOffset).positive_integer()?,
            _ => limit = parameter.code(Code::InvalidIndexLimit).positive_integer()?,
        }
        Ok(())
    })?;
    let clamp = |number| usize::try_from(number).unwrap_or(usize::MAX);
    Ok((clamp(offset), clamp(limit)))
}

/// The body of POST `/indexes`: uid and primary key.
///
/// # Errors
/// The first problem in the order of the text.
pub fn creation(body: &Value) -> ApiResult<(String, Option<String>)> {
    let (mut uid, mut primary_key) = (None, None);
    let root = At::root(body);
    root.fields(&["uid", "primaryKey"], |name, field| {
        match name {
            "uid" => uid = Some(field.code(Code::InvalidIndexUid).index_uid()?),
            _ => primary_key = field.code(Code::InvalidIndexPrimaryKey).optional(|field| field.string())?,
        }
        Ok(())
    })?;
    Ok((required(uid, &root, "uid", Code::MissingIndexUid)?, primary_key))
}

/// The body of POST `/indexes/{uid}/clone`: the uid of the new index.
///
/// # Errors
/// The first problem in the order of the text.
pub fn clone(body: &Value) -> ApiResult<String> {
    let mut uid = None;
    let root = At::root(body);
    root.fields(&["uid"], |_, field| {
        uid = Some(field.code(Code::InvalidIndexUid).index_uid()?);
        Ok(())
    })?;
    required(uid, &root, "uid", Code::MissingIndexUid)
}

/// The body of POST `/indexes/{uid}/attach`: the name of a folder.
///
/// # Errors
/// `missing_index_folder`, `invalid_index_folder`
pub fn attach(body: &Value) -> ApiResult<String> {
    let mut folder = None;
    let root = At::root(body);
    root.fields(&["folder"], |_, field| {
        let field = field.code(Code::InvalidIndexFolder);
        let name = field.string()?;
        if !is_folder_name(&name) {
            let text = "expected the name of a folder in `--attach-dir`, not a path, and not starting with a dot";
            return Err(field.invalid(text));
        }
        folder = Some(name);
        Ok(())
    })?;
    required(folder, &root, "folder", Code::MissingIndexFolder)
}

/// Names of one part, which lead nowhere else.
fn is_folder_name(name: &str) -> bool {
    let is_short = name.chars().count() <= 255;
    !name.is_empty() && is_short && !name.starts_with('.') && !name.contains(['/', '\\'])
}

/// The body of PATCH `/indexes/{uid}`: primary key and new uid.
///
/// # Errors
/// The first problem in the order of the text.
pub fn update(body: &Value) -> ApiResult<(Option<String>, Option<String>)> {
    const ACCEPTED: [&str; 2] = ["primaryKey", "uid"];
    let (mut primary_key, mut uid) = (None, None);
    let root = At::root(body);
    root.entries(|name, field| {
        match name {
            "primaryKey" => primary_key = field.code(Code::InvalidIndexPrimaryKey).optional(|field| field.string())?,
            "uid" => uid = field.code(Code::InvalidIndexUid).optional(|field| field.index_uid())?,
            "createdAt" => return Err(root.code(Code::ImmutableIndexCreatedAt).immutable_field(name, &ACCEPTED)),
            "updatedAt" => return Err(root.code(Code::ImmutableIndexUpdatedAt).immutable_field(name, &ACCEPTED)),
            _ => return Err(root.unknown_field(name, &ACCEPTED)),
        }
        Ok(())
    })?;
    Ok((primary_key, uid))
}

/// One exchange of two indexes; stored with its task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// The two uids.
    pub indexes: [String; 2],
    /// The first becomes the second, which must not exist.
    pub rename: bool,
}

/// The body of POST `/swap-indexes`.
///
/// # Errors
/// The first problem in the order of the text, then an index that is named twice.
pub fn swaps(body: &Value) -> ApiResult<Vec<Swap>> {
    let swaps = At::root(body).list(|entry| {
        let (mut indexes, mut rename) = (None, false);
        entry.fields(&["indexes", "rename"], |name, field| {
            match name {
                "indexes" => indexes = Some(pair(field.code(Code::InvalidSwapIndexes))?),
                _ => rename = field.code(Code::InvalidSwapRename).optional(|field| field.boolean())?.unwrap_or(false),
            }
            Ok(())
        })?;
        Ok(Swap { indexes: required(indexes, &entry, "indexes", Code::MissingSwapIndexes)?, rename })
    })?;
    check_distinct(&swaps)?;
    Ok(swaps)
}

fn pair(field: At<'_>) -> ApiResult<[String; 2]> {
    let uids = field.list(|element| {
        let uid = element.string()?;
        identifier::check_index_uid(&uid).map_err(|reason| element.invalid(reason))?;
        Ok(uid)
    })?;
    <[String; 2]>::try_from(uids).map_err(|uids| {
        field.error(format!(
            "Two indexes must be given for each swap. The list `{}` contains {} indexes.",
            serde_json::to_string(&uids).expect("texts are JSON"),
            uids.len()
        ))
    })
}

fn check_distinct(swaps: &[Swap]) -> ApiResult<()> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for uid in swaps.iter().flat_map(|swap| &swap.indexes) {
        *counts.entry(uid).or_default() += 1;
    }
    let twice: Vec<String> =
        counts.iter().filter(|&(_, &count)| count > 1).map(|(uid, _)| format!("`{uid}`")).collect();
    let verb = match twice.len() {
        0 => return Ok(()),
        1 => "was",
        _ => "were",
    };
    Err(ApiError::new(
        Code::InvalidSwapDuplicateIndexFound,
        format!(
            "Indexes must be declared only once during a swap. {} {verb} specified several times.",
            twice.join(", ")
        ),
    ))
}

/// Format of sizes in statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatsParameters {
    /// True if sections are listed.
    pub internal_sizes: bool,
    /// `1.50 MiB` instead of bytes.
    pub human: bool,
}

impl StatsParameters {
    /// Reads a query string.
    ///
    /// # Errors
    /// The first problem in the order of the text.
    pub fn from_query(query: &QueryString) -> ApiResult<StatsParameters> {
        let mut parameters = StatsParameters::default();
        query.parameters(&["showInternalDatabaseSizes", "sizeFormat"], |name, parameter| {
            match name {
                "sizeFormat" => {
                    let parameter = parameter.code(Code::InvalidStatsSizeFormat);
                    parameters.human = parameter.one_of(&[("raw", false), ("human", true)])?;
                }
                _ => {
                    let parameter = parameter.code(Code::InvalidStatsShowInternalDatabaseSizes);
                    parameters.internal_sizes = parameter.boolean()?;
                }
            }
            Ok(())
        })?;
        Ok(parameters)
    }
}

/// Reads the window of a history: its name, and what it stands for among `windows`, of which the first is the default.
///
/// # Errors
/// `invalid_stats_window`, or an unknown parameter.
pub fn history_window<T: Copy>(query: &QueryString, windows: &[(&'static str, T)]) -> ApiResult<(&'static str, T)> {
    let mut window = windows[0];
    query.parameters(&["window"], |_, parameter| {
        let named: Vec<_> = windows.iter().map(|&(name, of)| (name, (name, of))).collect();
        window = parameter.code(Code::InvalidStatsWindow).one_of(&named)?;
        Ok(())
    })?;
    Ok(window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused<T: std::fmt::Debug>(result: ApiResult<T>) -> (Code, String) {
        let error = result.unwrap_err();
        (error.code, error.message)
    }

    #[test]
    fn creations() {
        assert_eq!(creation(&json!({"uid": "a", "primaryKey": null})), Ok(("a".into(), None)));
        assert_eq!(refused(creation(&json!({}))), (Code::MissingIndexUid, "Missing field `uid`".into()));
        assert_eq!(refused(creation(&json!({"uid": "a", "primaryKey": 3}))).0, Code::InvalidIndexPrimaryKey);
        assert_eq!(refused(creation(&json!({"uid": "a", "createdAt": 3}))).0, Code::BadRequest);
    }

    #[test]
    fn dates_cannot_be_changed() {
        assert_eq!(
            refused(update(&json!({"createdAt": "x"}))),
            (Code::ImmutableIndexCreatedAt, "Immutable field `createdAt`: expected one of `primaryKey`, `uid`".into())
        );
        assert_eq!(
            refused(update(&json!({"other": 1}))),
            (Code::BadRequest, "Unknown field `other`: expected one of `primaryKey`, `uid`".into())
        );
        assert_eq!(update(&json!({})), Ok((None, None)));
    }

    #[test]
    fn swaps_name_two_indexes_once() {
        assert_eq!(swaps(&json!([])), Ok(vec![]));
        assert_eq!(
            refused(swaps(&json!([{"indexes": ["a"]}]))),
            (
                Code::InvalidSwapIndexes,
                "Two indexes must be given for each swap. The list `[\"a\"]` contains 1 indexes.".into()
            )
        );
        assert_eq!(
            refused(swaps(&json!([{}]))),
            (Code::MissingSwapIndexes, "Missing field `indexes` inside `[0]`".into())
        );
        assert_eq!(
            refused(swaps(&json!([{"indexes": ["a", "b"], "rename": "hello"}]))),
            (
                Code::InvalidSwapRename,
                "Invalid value type at `[0].rename`: expected a boolean, but found a string: `\"hello\"`".into()
            )
        );
        assert_eq!(
            refused(swaps(&json!([{"indexes": ["a", "b"]}, {"indexes": ["b", "a"]}]))).1,
            "Indexes must be declared only once during a swap. `a`, `b` were specified several times."
        );
    }
}
