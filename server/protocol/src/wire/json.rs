//! Reading a JSON body field by field, with the public wording of every refusal.
//!
//! A [`At`] is a value together with its place in the body and the code with which to refuse it. Fields are visited in
//! the order of the request, so the first thing wrong in the text is the one reported:
//!
//! ```
//! use lamina_base::error::{ApiResult, Code};
//! use lamina_protocol::wire::json::{At, required};
//!
//! fn create(body: &serde_json::Value) -> ApiResult<(String, Option<String>)> {
//!     let (mut uid, mut primary_key) = (None, None);
//!     let root = At::root(body);
//!     root.fields(&["uid", "primaryKey"], |name, field| {
//!         match name {
//!             "uid" => uid = Some(field.code(Code::InvalidIndexUid).index_uid()?),
//!             _ => primary_key = field.code(Code::InvalidIndexPrimaryKey).optional(|field| field.string())?,
//!         }
//!         Ok(())
//!     })?;
//!     Ok((required(uid, &root, "uid", Code::MissingIndexUid)?, primary_key))
//! }
//! # let error = create(&serde_json::json!({"uid": 1})).unwrap_err();
//! # assert_eq!(error.message, "Invalid value type at `.uid`: expected a string, but found a positive integer: `1`");
//! ```

use std::fmt;

use lamina_base::error::{ApiError, ApiResult, Code, excerpt};
use lamina_engine::text::Language;
use serde_json::{Map, Value};

use super::{identifier, locale, suggest};

/// The kinds of JSON values that messages speak of, in the order in which a list of them is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `null`
    Null,
    /// `a boolean`
    Boolean,
    /// `a positive integer`; zero is one.
    PositiveInteger,
    /// `a negative integer`
    NegativeInteger,
    /// `a number`: with a fraction or an exponent, or too large for an integer.
    Number,
    /// `a string`
    String,
    /// `an array`
    Array,
    /// `an object`
    Object,
}

impl Kind {
    /// The kind of `value`.
    pub fn of(value: &Value) -> Kind {
        match value {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Boolean,
            Value::Number(number) if number.is_u64() => Kind::PositiveInteger,
            Value::Number(number) if number.is_i64() => Kind::NegativeInteger,
            Value::Number(_) => Kind::Number,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::Array,
            Value::Object(_) => Kind::Object,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Boolean => "a boolean",
            Kind::PositiveInteger => "a positive integer",
            Kind::NegativeInteger => "a negative integer",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        }
    }
}

/// "a string", "a string or an array", "null, a boolean, or a string".
fn kinds_text(kinds: &[Kind]) -> String {
    let mut kinds = kinds.to_vec();
    kinds.sort_unstable();
    let has = |kind| kinds.contains(&kind);
    let (positive, negative, number) = (has(Kind::PositiveInteger), has(Kind::NegativeInteger), has(Kind::Number));
    let mut words = Vec::new();
    for &kind in &kinds {
        match kind {
            Kind::PositiveInteger | Kind::NegativeInteger if number => {}
            Kind::PositiveInteger if negative => words.push("an integer"),
            Kind::NegativeInteger if positive => {}
            _ => words.push(kind.text()),
        }
    }
    match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, two] => format!("{one} or {two}"),
        [init @ .., last] => format!("{}, or {last}", init.join(", ")),
    }
}

/// Place of a value in the body: nothing at the root, else `.a.b[2].c`. Or the parameter of a query string that it is of.
#[derive(Clone, Copy, Debug)]
enum Path<'a> {
    Root,
    Parameter(&'a str),
    Field(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Parameter(name) => f.write_str(name),
            Path::Field(parent, name) => write!(f, "{parent}.{name}"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// A value of a body, its place, and the code of the error if it is not what it should be.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    value: &'a Value,
    path: Path<'a>,
    code: Code,
}

impl<'a> At<'a> {
    /// The whole body. Errors have the code `bad_request` until [`At::code`] changes it.
    pub fn root(value: &'a Value) -> At<'a> {
        At { value, path: Path::Root, code: Code::BadRequest }
    }

    /// The value that the text of a parameter of a query string stands for: messages name the parameter.
    pub(super) fn of_parameter(name: &'a str, value: &'a Value) -> At<'a> {
        At { value, path: Path::Parameter(name), code: Code::BadRequest }
    }

    /// The same value, refused with `code`; what is inside inherits it.
    #[must_use]
    pub fn code(self, code: Code) -> At<'a> {
        At { code, ..self }
    }

    /// The value itself.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The place of the value: empty at the root, else like `.a.b[2].c`.
    pub fn path(&self) -> String {
        self.path.to_string()
    }

    /// The name of the field or of the parameter whose value this is; empty for others.
    pub(super) fn name(&self) -> &'a str {
        match self.path {
            Path::Field(_, name) | Path::Parameter(name) => name,
            Path::Root | Path::Index(..) => "",
        }
    }

    /// Calls `visit` with each field in the order of the text; one that is not in `accepted` is refused on sight.
    pub fn fields(&self, accepted: &[&str], mut visit: impl FnMut(&str, At<'_>) -> ApiResult<()>) -> ApiResult<()> {
        self.fields_by_place(accepted, |place, field| visit(accepted[place], field))
    }

    /// Works like [`At::fields`], but `visit` gets the place of the name in `accepted`.
    pub(super) fn fields_by_place(
        &self,
        accepted: &[&str],
        mut visit: impl FnMut(usize, At<'_>) -> ApiResult<()>,
    ) -> ApiResult<()> {
        for (name, value) in self.object()? {
            let Some(place) = accepted.iter().position(|accepted| accepted == name) else {
                return Err(self.unknown_field(name, accepted));
            };
            visit(place, At { value, path: Path::Field(&self.path, name), code: self.code })?;
        }
        Ok(())
    }

    /// Visits fields like [`At::fields`], but treats a null field as absent, unless it is one of the `required` ones.
    pub fn given(
        &self,
        accepted: &[&str],
        required: &[&str],
        mut visit: impl FnMut(&str, At<'_>) -> ApiResult<()>,
    ) -> ApiResult<()> {
        self.fields(accepted, |name, field| {
            if field.value.is_null() && !required.contains(&name) { Ok(()) } else { visit(name, field) }
        })
    }

    /// Calls `visit` with each entry of an object whose keys are free.
    pub fn entries(&self, mut visit: impl FnMut(&str, At<'_>) -> ApiResult<()>) -> ApiResult<()> {
        for (name, value) in self.object()? {
            visit(name, At { value, path: Path::Field(&self.path, name), code: self.code })?;
        }
        Ok(())
    }

    /// Reads each element of an array.
    pub fn list<T>(&self, mut read: impl FnMut(At<'_>) -> ApiResult<T>) -> ApiResult<Vec<T>> {
        let Value::Array(values) = self.value else { return Err(self.wrong_type(&[Kind::Array])) };
        let elements = values.iter().enumerate();
        elements
            .map(|(index, value)| read(At { value, path: Path::Index(&self.path, index), code: self.code }))
            .collect()
    }

    /// Returns the value, an array of at most `most` entries.
    ///
    /// # Errors
    /// More entries, with the code of the value. What is no array is for the reader to refuse.
    pub fn at_most(self, most: usize) -> ApiResult<At<'a>> {
        match self.value.as_array().map_or(0, Vec::len) {
            found if found > most => Err(self.invalid(format_args!("{found} entries; at most {most} are allowed."))),
            _ => Ok(self),
        }
    }

    /// `None` for null, else what `read` makes of the value.
    pub fn optional<T>(&self, read: impl FnOnce(At<'a>) -> ApiResult<T>) -> ApiResult<Option<T>> {
        if self.value.is_null() { Ok(None) } else { read(*self).map(Some) }
    }

    /// An object, untouched.
    pub fn object(&self) -> ApiResult<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.wrong_type(&[Kind::Object]))
    }

    /// The text; any other value is refused.
    pub fn string(&self) -> ApiResult<String> {
        self.value.as_str().map(str::to_owned).ok_or_else(|| self.wrong_type(&[Kind::String]))
    }

    /// An array of strings.
    pub fn strings(&self) -> ApiResult<Vec<String>> {
        self.list(|element| element.string())
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> ApiResult<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong_type(&[Kind::Boolean]))
    }

    /// An integer >= 0.
    pub fn positive_integer(&self) -> ApiResult<u64> {
        self.value.as_u64().ok_or_else(|| self.wrong_type(&[Kind::PositiveInteger]))
    }

    /// An integer from 0 to 255.
    pub fn byte(&self) -> ApiResult<u8> {
        let number = self.positive_integer()?;
        u8::try_from(number).map_err(|_| {
            self.invalid(format!(
                "value: `{number}` is too large to be deserialized, maximum value authorized is `255`"
            ))
        })
    }

    /// Any number, as a float.
    pub fn number(&self) -> ApiResult<f64> {
        let kinds = [Kind::PositiveInteger, Kind::NegativeInteger, Kind::Number];
        self.value.as_f64().ok_or_else(|| self.wrong_type(&kinds))
    }

    /// A string out of a closed list.
    pub fn one_of<T: Copy>(&self, accepted: &[(&str, T)]) -> ApiResult<T> {
        let text = self.value.as_str().ok_or_else(|| self.wrong_type(&[Kind::String]))?;
        if let Some((_, value)) = accepted.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let words: Vec<&str> = accepted.iter().map(|(word, _)| *word).collect();
        Err(self.unknown_value(text, &words))
    }

    /// A language by its code of two or three letters.
    pub fn language(&self) -> ApiResult<Language> {
        let code = self.string()?;
        Language::parse(&code).ok_or_else(|| self.unknown_value(&code, &locale::accepted()))
    }

    /// An index uid (a string of the legal shape).
    pub fn index_uid(&self) -> ApiResult<String> {
        let uid = self.string()?;
        identifier::check_index_uid(&uid).map_err(|reason| self.invalid(reason))?;
        Ok(uid)
    }

    /// An error with the value's code and a free message.
    pub fn error(&self, message: impl Into<String>) -> ApiError {
        ApiError::new(self.code, message)
    }

    /// ``Invalid value at `.x`: <reason>``
    pub fn invalid(&self, reason: impl fmt::Display) -> ApiError {
        self.error(format!("Invalid value{}: {reason}", self.located("at", "in")))
    }

    /// ``Invalid value type at `.x`: expected <kinds>, but found <kind>: `<json>` ``
    pub fn wrong_type(&self, expected: &[Kind]) -> ApiError {
        let found = match self.value {
            Value::Null => "null".to_owned(),
            value => format!("{}: `{}`", Kind::of(value).text(), excerpt(value)),
        };
        self.error(format!(
            "Invalid value type{}: expected {}, but found {found}",
            self.located("at", "for"),
            kinds_text(expected)
        ))
    }

    /// ``Unknown value `x` at `.y`: expected one of …``
    pub fn unknown_value(&self, text: &str, accepted: &[&str]) -> ApiError {
        self.error(format!(
            "Unknown value `{text}`{}: {}expected one of {}",
            self.located("at", "for"),
            suggest::did_you_mean(text, accepted),
            suggest::list(accepted)
        ))
    }

    /// ``Unknown field `x` inside `.y`: expected one of …``
    pub fn unknown_field(&self, name: &str, accepted: &[&str]) -> ApiError {
        self.error(format!(
            "Unknown field `{name}`{}: {}expected one of {}",
            self.located("inside", "inside"),
            suggest::did_you_mean(name, accepted),
            suggest::list(accepted)
        ))
    }

    /// ``Missing field `x` inside `.y` ``
    pub fn missing_field(&self, name: &str) -> ApiError {
        self.error(format!("Missing field `{name}`{}", self.located("inside", "inside")))
    }

    /// ``Immutable field `x`: expected one of …``
    pub fn immutable_field(&self, name: &str, accepted: &[&str]) -> ApiError {
        self.error(format!(
            "Immutable field `{name}`{}: expected one of {}",
            self.located("inside", "inside"),
            suggest::list(accepted)
        ))
    }

    /// The place in a message: behind `body` a place in a body, behind `query` a parameter of a query string.
    fn located(&self, body: &str, query: &str) -> String {
        match self.path {
            Path::Root => String::new(),
            Path::Parameter(name) => format!(" {query} parameter `{name}`"),
            path => format!(" {body} `{path}`"),
        }
    }
}

/// The value of a mandatory field, or its absence with `code`. Ask after all fields were read, in declaration order.
pub fn required<T>(value: Option<T>, parent: &At<'_>, name: &str, code: Code) -> ApiResult<T> {
    value.ok_or_else(|| parent.code(code).missing_field(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message<T: fmt::Debug>(result: ApiResult<T>) -> String {
        result.unwrap_err().message
    }

    #[test]
    fn kinds_are_joined_in_order() {
        use Kind::*;
        assert_eq!(kinds_text(&[String]), "a string");
        assert_eq!(kinds_text(&[Array, String]), "a string or an array");
        assert_eq!(kinds_text(&[NegativeInteger, PositiveInteger]), "an integer");
        assert_eq!(kinds_text(&[PositiveInteger, NegativeInteger, Number]), "a number");
        assert_eq!(kinds_text(&[PositiveInteger, Number, Null, Object]), "null, a number, or an object");
    }

    #[test]
    fn wrong_types_name_the_place_and_the_value() {
        let body = json!({"uid": 1, "list": ["a", null], "deep": {"x": [{"rename": "hello"}]}});
        let root = At::root(&body);
        let mut seen = Vec::new();
        root.entries(|name, field| {
            match name {
                "uid" => seen.push(message(field.string())),
                "list" => seen.push(message(field.strings())),
                _ => field.fields(&["x"], |_, x| {
                    x.list(|element| {
                        element.fields(&["rename"], |_, rename| {
                            seen.push(message(rename.boolean()));
                            Ok(())
                        })
                    })
                    .map(drop)
                })?,
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(
            seen,
            [
                "Invalid value type at `.uid`: expected a string, but found a positive integer: `1`",
                "Invalid value type at `.list[1]`: expected a string, but found null",
                "Invalid value type at `.deep.x[0].rename`: expected a boolean, but found a string: `\"hello\"`",
            ]
        );
        assert_eq!(
            message(root.string()),
            format!("Invalid value type: expected a string, but found an object: `{body}`")
        );
    }

    #[test]
    fn numbers() {
        let check = |value: Value| message(At::root(&value).positive_integer());
        assert_eq!(
            check(json!(-1)),
            "Invalid value type: expected a positive integer, but found a negative integer: `-1`"
        );
        assert_eq!(check(json!(1.5)), "Invalid value type: expected a positive integer, but found a number: `1.5`");
        assert_eq!(At::root(&json!(0)).positive_integer(), Ok(0));
        assert_eq!(At::root(&json!(-2)).number(), Ok(-2.0));
        assert_eq!(
            message(At::root(&json!("a")).number()),
            "Invalid value type: expected a number, but found a string: `\"a\"`"
        );
        assert_eq!(At::root(&json!(255)).byte(), Ok(255));
        assert_eq!(
            message(At::root(&json!(256)).byte()),
            "Invalid value: value: `256` is too large to be deserialized, maximum value authorized is `255`"
        );
    }

    #[test]
    fn unknown_fields_are_refused_on_sight_and_missing_ones_afterwards() {
        let accepted = ["uid", "primaryKey"];
        let read = |body: Value| {
            let root = At::root(&body);
            let mut uid = None;
            root.fields(&accepted, |name, field| {
                match name {
                    "uid" => uid = Some(field.code(Code::InvalidIndexUid).index_uid()?),
                    _ => drop(field.code(Code::InvalidIndexPrimaryKey).optional(|field| field.string())?),
                }
                Ok(())
            })?;
            required(uid, &root, "uid", Code::MissingIndexUid)
        };
        let both = |result: ApiResult<String>| result.map_err(|error| (error.code, error.message)).unwrap_err();
        assert_eq!(
            both(read(json!({"doggo": 1, "uid": 2}))),
            (Code::BadRequest, "Unknown field `doggo`: expected one of `uid`, `primaryKey`".into())
        );
        assert_eq!(
            both(read(json!({"primarykey": 1}))),
            (
                Code::BadRequest,
                "Unknown field `primarykey`: did you mean `primaryKey`? expected one of `uid`, `primaryKey`".into()
            )
        );
        assert_eq!(both(read(json!({"primaryKey": null}))), (Code::MissingIndexUid, "Missing field `uid`".into()));
        assert_eq!(
            both(read(json!({"uid": "bad uid"}))),
            (
                Code::InvalidIndexUid,
                "Invalid value at `.uid`: `bad uid` is not a valid index uid. Index uid can be an integer or a string \
                 containing only alphanumeric characters, hyphens (-) and underscores (_), and can not be more than \
                 512 bytes."
                    .into()
            )
        );
        assert_eq!(read(json!({"uid": "movies", "primaryKey": "id"})), Ok("movies".into()));
    }

    #[test]
    fn closed_lists() {
        let accepted = [("last", 0), ("all", 1), ("frequency", 2)];
        assert_eq!(At::root(&json!("all")).one_of(&accepted), Ok(1));
        assert_eq!(
            message(At::root(&json!("frequenci")).one_of(&accepted)),
            "Unknown value `frequenci`: did you mean `frequency`? expected one of `last`, `all`, `frequency`"
        );
    }

    #[test]
    fn immutable_fields() {
        let body = json!(["a"]);
        let root = At::root(&body);
        assert_eq!(
            root.immutable_field("createdAt", &["primaryKey", "uid"]).message,
            "Immutable field `createdAt`: expected one of `primaryKey`, `uid`"
        );
    }
}
