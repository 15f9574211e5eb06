//! What clients say of their users: the body of POST `/events`, in the form of the protocol's hosted edition.

use lamina_base::error::{ApiError, ApiResult, Code};
use serde_json::{Value, json};
use uuid::Uuid;

use super::identifier::decode_path_segment;
use super::json::{At, Kind, required};
use super::schema::{exactly, index_uid, list, one_of, or_null};

/// Events of one request.
pub const EVENTS_MAX: usize = 1000;
/// Bytes of a name, of a user or of an object.
const TEXT_BYTES_MAX: usize = 512;
/// Position in a list of hits.
const POSITION_MAX: u64 = 1_000_000;

const FIELDS: [&str; 8] =
    ["eventType", "eventName", "indexUid", "userId", "queryUid", "objectId", "objectName", "position"];
const KINDS: [(&str, EventKind); 3] =
    [("click", EventKind::Click), ("conversion", EventKind::Conversion), ("view", EventKind::View)];

/// User action that an event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A hit was followed.
    Click,
    /// A purchase, a registration, or whatever else the operator hopes for.
    Conversion,
    /// A hit was seen.
    View,
}

impl EventKind {
    /// Returns the name in the protocol.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// Something that a user did with a document of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Kind of the event.
    pub kind: EventKind,
    /// Name that the client gives to such events.
    pub name: String,
    /// Index or alias.
    pub index_uid: String,
    /// User, as the client knows them.
    pub user_id: String,
    /// Search that led there: `metadata.queryUid` of its answer.
    pub query_uid: Option<Uuid>,
    /// Id of the document.
    pub object_id: Option<String>,
    /// Position in the list of hits, from 0.
    pub position: Option<u32>,
}

/// The events of a body: one, or a list of them. `user` is that of the header, for events that name none.
///
/// # Errors
/// The first problem in the order of the text.
pub fn events(body: &Value, user: Option<&str>) -> ApiResult<Vec<Event>> {
    let root = At::root(body).code(Code::InvalidEvent);
    match body {
        Value::Array(_) => root.at_most(EVENTS_MAX)?.list(|at| event(&at, user)),
        Value::Object(_) => Ok(vec![event(&root, user)?]),
        _ => Err(root.wrong_type(&[Kind::Array, Kind::Object])),
    }
}

fn event(at: &At<'_>, user: Option<&str>) -> ApiResult<Event> {
    let (mut kind, mut name, mut uid) = (None, None, None);
    let mut user_id = user.map(user_text).transpose()?;
    let (mut query_uid, mut object_id, mut position) = (None, None, None);
    at.given(&FIELDS, &FIELDS[..3], |field, value| {
        match field {
            "eventType" => kind = Some(value.one_of(&KINDS)?),
            "eventName" => name = Some(short(&value)?),
            "indexUid" => uid = Some(value.index_uid()?),
            "userId" => user_id = Some(short(&value)?),
            "queryUid" => query_uid = Some(query(&value)?),
            "objectId" => object_id = Some(object(&value)?),
            // For people who read the request: the document has its name.
            "objectName" => drop(short(&value)?),
            _ => position = Some(place(&value)?),
        }
        Ok(())
    })?;
    let code = Code::InvalidEvent;
    Ok(Event {
        kind: required(kind, at, "eventType", code)?,
        name: required(name, at, "eventName", code)?,
        index_uid: required(uid, at, "indexUid", code)?,
        user_id: required(user_id, at, "userId", code)?,
        query_uid,
        object_id,
        position,
    })
}

fn short(at: &At<'_>) -> ApiResult<String> {
    let text = at.string()?;
    check_short(&text).map_err(|reason| at.invalid(reason))?;
    Ok(text)
}

fn check_short(text: &str) -> Result<(), String> {
    match text.len() {
        0 => Err("it is empty.".to_owned()),
        1..=TEXT_BYTES_MAX => Ok(()),
        bytes => Err(format!("{bytes} bytes; at most {TEXT_BYTES_MAX} are allowed.")),
    }
}

/// The user that a header names.
///
/// # Errors
/// `invalid_event` for an empty one and for one that is too long.
pub fn user_text(user: &str) -> ApiResult<String> {
    let refused = |reason| ApiError::new(Code::InvalidEvent, format!("Invalid value of a user: {reason}"));
    check_short(user).map_err(refused)?;
    Ok(user.to_owned())
}

/// The user in a path.
///
/// # Errors
/// Same as [`user_text`].
pub fn user_in_path(segment: &str) -> ApiResult<String> {
    user_text(&decode_path_segment(segment))
}

fn query(at: &At<'_>) -> ApiResult<Uuid> {
    let text = at.string()?;
    Uuid::parse_str(&text).map_err(|_| at.invalid("it is not the `queryUid` of the `metadata` of an answer."))
}

/// The id of a document, which some write as a number.
fn object(at: &At<'_>) -> ApiResult<String> {
    match at.value() {
        Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
        Value::String(_) => short(at),
        _ => Err(at.wrong_type(&[Kind::PositiveInteger, Kind::NegativeInteger, Kind::String])),
    }
}

fn place(at: &At<'_>) -> ApiResult<u32> {
    match at.positive_integer()? {
        position @ ..=POSITION_MAX => Ok(u32::try_from(position).unwrap_or(u32::MAX)),
        position => Err(at.invalid(format_args!("{position}; positions begin at 0 and end at {POSITION_MAX}."))),
    }
}

/// The schema of the body.
pub fn schema() -> Value {
    let short = || json!({ "type": "string", "pattern": format!("^[\\s\\S]{{1,{TEXT_BYTES_MAX}}}$") });
    let event = exactly(
        [
            ("eventType", one_of(&KINDS.map(|(name, _)| name))),
            ("eventName", short()),
            ("indexUid", index_uid()),
            ("userId", or_null(short())),
            ("queryUid", or_null(json!({ "type": "string", "format": "uuid" }))),
            ("objectId", json!({ "anyOf": [short(), { "type": ["integer", "null"] }] })),
            ("objectName", or_null(short())),
            ("position", or_null(json!({ "type": "integer", "minimum": 0, "maximum": POSITION_MAX }))),
        ],
        &FIELDS[..3],
    );
    let mut several = list(event.clone());
    several["maxItems"] = EVENTS_MAX.into();
    json!({ "anyOf": [event, several] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Value {
        json!({
            "eventType": "click", "eventName": "Hit", "indexUid": "films", "userId": "a@example.org",
            "queryUid": "019a01b7-a1c2-7782-a410-bb1274c81393", "objectId": 7, "objectName": "Alien", "position": 0
        })
    }

    fn with(name: &str, value: Value) -> Value {
        let mut event = whole();
        event[name] = value;
        event
    }

    #[test]
    fn one_event_or_several() {
        let one = events(&whole(), None).unwrap().remove(0);
        assert_eq!((one.kind.name(), one.name.as_str(), one.object_id.as_deref()), ("click", "Hit", Some("7")));
        assert_eq!((one.user_id.as_str(), one.position), ("a@example.org", Some(0)));
        let several = json!([whole(), with("eventType", json!("view"))]);
        assert_eq!(events(&several, None).unwrap().len(), 2);
        assert_eq!(events(&json!([]), None).unwrap(), []);
        let of_header = events(&with("userId", Value::Null), Some("b")).unwrap().remove(0);
        assert_eq!(of_header.user_id, "b");
        let little = json!({"eventType": "conversion", "eventName": "Bought", "indexUid": "films", "userId": "b"});
        assert_eq!(events(&little, None).unwrap()[0].query_uid, None);
    }

    #[test]
    fn what_is_no_event_is_refused() {
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        for (name, value) in [
            ("eventType", json!("purchase")),
            ("eventType", json!(null)),
            ("eventType", json!(1)),
            ("eventName", json!("")),
            ("eventName", json!(long)),
            ("indexUid", json!("no index!")),
            ("userId", json!(5)),
            ("userId", json!("")),
            ("userId", json!(long)),
            ("userId", json!(null)),
            ("queryUid", json!("mine")),
            ("objectId", json!(1.5)),
            ("objectId", json!(long)),
            ("objectId", json!({})),
            ("position", json!(-1)),
            ("position", json!(POSITION_MAX + 1)),
            ("position", json!(1.5)),
            ("position", json!("1")),
            ("timestamp", json!(1)),
        ] {
            let error = events(&json!([whole(), with(name, value.clone())]), None).unwrap_err();
            assert!(matches!(error.code, Code::InvalidEvent), "{name} {value}: {}", error.message);
            assert!(error.message.contains("[1]"), "{}", error.message);
        }
        for name in &FIELDS[..3] {
            let mut event = whole();
            event.as_object_mut().unwrap().remove(*name);
            assert!(events(&event, None).unwrap_err().message.contains(name));
        }
        for body in [json!("click"), json!(null), json!([[]]), json!(vec![whole(); EVENTS_MAX + 1])] {
            assert_eq!(events(&body, None).unwrap_err().code, Code::InvalidEvent);
        }
        assert_eq!(events(&whole(), Some("")).unwrap_err().code, Code::InvalidEvent);
        assert_eq!(user_in_path("a%40example.org").unwrap(), "a@example.org");
    }
}
