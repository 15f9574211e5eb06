//! States of an index before the present one: which is meant, and lists of them.

use std::time::{Duration, SystemTime};

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_engine::index::At as State;
use lamina_engine::text::{Date, Precision};
use serde_json::Value;

use super::json::{At, Kind, required};
use super::query_string::{Parameter, QueryString};

/// The number of a state, or a time.
///
/// # Errors
/// Other forms, with the code of the value.
pub fn state(at: At<'_>) -> ApiResult<State> {
    match at.value() {
        Value::Number(number) if number.is_u64() => Ok(State::Generation(number.as_u64().unwrap_or(u64::MAX))),
        Value::String(text) => time(text).ok_or_else(|| at.invalid(not_a_state(text))),
        _ => Err(at.wrong_type(&[Kind::PositiveInteger, Kind::String])),
    }
}

/// The state as [`state`] reads it.
pub(super) fn written_state(state: State) -> Value {
    match state {
        State::Generation(number) => number.into(),
        State::Time(time) => Timestamp::from(time).to_string().into(),
    }
}

/// Reads a state like [`state`], from a query string.
///
/// # Errors
/// Same as [`state`].
pub(super) fn state_parameter(parameter: &Parameter<'_>) -> ApiResult<State> {
    let text = parameter.text()?;
    let number = text.parse().ok().map(State::Generation);
    number.or_else(|| time(text)).ok_or_else(|| parameter.invalid(not_a_state(text)))
}

fn time(text: &str) -> Option<State> {
    let date = Date::parse(text).filter(|date| matches!(date.precision, Precision::Instant { .. }))?;
    let since_epoch = u64::try_from(date.moment.nanos().max(0)).unwrap_or(u64::MAX);
    Some(State::Time(SystemTime::UNIX_EPOCH + Duration::from_nanos(since_epoch)))
}

fn not_a_state(text: &str) -> String {
    format!("`{text}` is neither the number of a generation nor a time like `2024-02-03T04:05:06Z`.")
}

/// The body of POST `/indexes/{uid}/restore`: the state, as it was written.
///
/// # Errors
/// The first problem in the order of the text.
pub fn restoration(body: &Value) -> ApiResult<Value> {
    let mut at = None;
    let root = At::root(body);
    root.fields(&["at"], |_, field| {
        let field = field.code(Code::InvalidRestoreAt);
        state(field)?;
        at = Some(field.value().clone());
        Ok(())
    })?;
    required(at, &root, "at", Code::MissingRestoreAt)
}

/// `since` of GET `/indexes/{uid}/changes`: the number of a state. `came_back` is what a client of events has seen last, which
/// counts for more.
///
/// # Errors
/// The first problem in the order of the text.
pub fn since(query: &QueryString, came_back: Option<&str>) -> ApiResult<u64> {
    let mut since = None;
    query.parameters(&["since"], |_, parameter| {
        since = Some(parameter.code(Code::InvalidChangesSince).positive_integer()?);
        Ok(())
    })?;
    let seen = came_back.map(|text| {
        let refused = || format!("`{text}` in the header `Last-Event-ID` is not the number of a generation.");
        text.parse().map_err(|_| ApiError::new(Code::InvalidChangesSince, refused()))
    });
    let missing = || ApiError::new(Code::MissingChangesSince, "Missing parameter `since`: the number of a generation.");
    seen.transpose()?.or(since).ok_or_else(missing)
}

/// `offset` and `limit` of GET `/indexes/{uid}/generations`.
///
/// # Errors
/// The first problem in the order of the text.
pub fn list_parameters(query: &QueryString) -> ApiResult<(usize, usize)> {
    let (mut offset, mut limit) = (0, 20);
    query.parameters(&["offset", "limit"], |name, parameter| {
        match name {
            "offset" => offset = parameter.code(Code::InvalidGenerationOffset).positive_integer()?,
            _ => limit = parameter.code(Code::InvalidGenerationLimit).positive_integer()?,
        }
        Ok(())
    })?;
    let clamp = |number| usize::try_from(number).unwrap_or(usize::MAX);
    Ok((clamp(offset), clamp(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::documents::ListQuery;
    use crate::wire::search::SearchQuery;
    use serde_json::json;

    fn seconds(seconds: u64) -> State {
        State::Time(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
    }

    #[test]
    fn bodies_and_query_strings_name_a_state_alike() {
        let last = State::Time(SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::MAX));
        for (body, query, expected) in [
            (json!({"at": null}), "", None),
            (json!({"at": 0}), "at=0", Some(State::Generation(0))),
            (json!({"at": u64::MAX}), "at=18446744073709551615", Some(State::Generation(u64::MAX))),
            (json!({"at": "1970-01-01T01:00:05+01:00"}), "at=1970-01-01T01:00:05%2B01:00", Some(seconds(5))),
            (json!({"at": "9999-12-31T23:59:59-12:00"}), "at=9999-12-31T23:59:59-12:00", Some(last)),
            (json!({"at": "1960-01-01T00:00:00Z"}), "at=1960-01-01T00:00:00Z", Some(seconds(0))),
        ] {
            assert_eq!(SearchQuery::from_body(&body).map(|query| query.at), Ok(expected));
            assert_eq!(ListQuery::from_body(&body).map(|query| query.at), Ok(expected));
            let query = QueryString::parse(query);
            assert_eq!(SearchQuery::from_parameters(&query).map(|query| query.at), Ok(expected));
            assert_eq!(ListQuery::from_query(&query).map(|query| query.at), Ok(expected));
        }
    }

    #[test]
    fn other_forms_are_refused_with_their_codes() {
        for value in [
            json!(-1),
            json!(1.5),
            json!(""),
            json!("yesterday"),
            json!("2024-02-03"),
            json!("2024-02-03T04:05:06"),
            json!([]),
            json!({}),
        ] {
            let body = json!({ "at": value });
            assert_eq!(SearchQuery::from_body(&body).unwrap_err().code, Code::InvalidSearchAt, "{value}");
            assert_eq!(ListQuery::from_body(&body).unwrap_err().code, Code::InvalidDocumentAt, "{value}");
            assert_eq!(restoration(&body).unwrap_err().code, Code::InvalidRestoreAt, "{value}");
        }
        for text in ["at=", "at=-1", "at=soon"] {
            let query = QueryString::parse(text);
            assert_eq!(SearchQuery::from_parameters(&query).unwrap_err().code, Code::InvalidSearchAt);
            assert_eq!(ListQuery::from_query(&query).unwrap_err().code, Code::InvalidDocumentAt);
        }
        assert_eq!(restoration(&json!({"at": null})).unwrap_err().code, Code::InvalidRestoreAt);
        assert_eq!(restoration(&json!({})).unwrap_err().code, Code::MissingRestoreAt);
        assert_eq!(restoration(&json!({"at": 3, "x": 1})).unwrap_err().code, Code::BadRequest);
        assert_eq!(restoration(&json!({"at": 3})), Ok(json!(3)));
        let since = |text: &str, seen| super::since(&QueryString::parse(text), seen).map_err(|error| error.code);
        assert_eq!((since("since=3", None), since("since=3", Some("5"))), (Ok(3), Ok(5)));
        assert_eq!(since("", Some("5")), Ok(5));
        assert_eq!(since("", None), Err(Code::MissingChangesSince));
        assert_eq!(since("since=x", None), Err(Code::InvalidChangesSince));
        assert_eq!(since("since=3", Some("x")), Err(Code::InvalidChangesSince));
        assert_eq!(since("until=3", None), Err(Code::BadRequest));
        let page = |text: &str| list_parameters(&QueryString::parse(text)).map_err(|error| error.code);
        assert_eq!(page("offset=2&limit=3"), Ok((2, 3)));
        assert_eq!(page("offset=x"), Err(Code::InvalidGenerationOffset));
        assert_eq!(page("limit=x"), Err(Code::InvalidGenerationLimit));
    }
}
