//! The `_geo` and `_geojson` fields of a document.

use lamina_segment::document::{GeoJsonError, Shape};
use serde::Deserialize;
use serde_json::Value;

use super::super::error::{GeoCoordinates, GeoError, ShapeError};

/// The latitude and longitude in `json`, the value of `_geo`; `None` when it is null. `document_id` gives the id for
/// an error, as JSON.
pub(super) fn parse_geo(json: &str, document_id: impl FnOnce() -> String) -> Result<Option<(f64, f64)>, GeoError> {
    // As nearly all are. (An array would be read as well.)
    if json.starts_with('{')
        && let Ok(Numbers { lat, lng }) = serde_json::from_str(json)
    {
        return Ok(Some((lat, lng)));
    }
    let mut fields = match serde_json::from_str(json) {
        Ok(Value::Null) => return Ok(None),
        Ok(Value::Object(fields)) => fields,
        Ok(other) => return Err(GeoError::NotAnObject { document_id: document_id(), value: other.to_string() }),
        Err(_) => return Err(GeoError::NotAnObject { document_id: document_id(), value: json.to_owned() }),
    };
    let (lat, lng) = match (fields.shift_remove("lat"), fields.shift_remove("lng")) {
        (Some(lat), Some(lng)) => (lat, lng),
        (lat, lng) => {
            let missing = match (lat, lng) {
                (None, None) => GeoCoordinates::Both,
                (None, _) => GeoCoordinates::Latitude,
                _ => GeoCoordinates::Longitude,
            };
            return Err(GeoError::Missing { document_id: document_id(), missing });
        }
    };
    if !fields.is_empty() {
        return Err(GeoError::UnexpectedFields {
            document_id: document_id(),
            fields: Value::Object(fields).to_string(),
        });
    }
    match (coordinate(&lat), coordinate(&lng)) {
        (Some(lat), Some(lng)) => Ok(Some((lat, lng))),
        (None, None) => Err(GeoError::BadNumber {
            document_id: document_id(),
            bad: GeoCoordinates::Both,
            values: vec![lat.to_string(), lng.to_string()],
        }),
        (None, _) => Err(GeoError::BadNumber {
            document_id: document_id(),
            bad: GeoCoordinates::Latitude,
            values: vec![lat.to_string()],
        }),
        _ => Err(GeoError::BadNumber {
            document_id: document_id(),
            bad: GeoCoordinates::Longitude,
            values: vec![lng.to_string()],
        }),
    }
}

/// A position of two numbers and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    lat: f64,
    lng: f64,
}

/// The shape in `json`, the value of `_geojson`; `None` when there is none. `document_id` as for [`parse_geo`].
pub(super) fn parse_shape(json: &str, document_id: impl FnOnce() -> String) -> Result<Option<Shape>, ShapeError> {
    let shape = match serde_json::from_str::<Value>(json) {
        Ok(value) => Shape::from_geojson(&value),
        // A number beyond all floats.
        Err(_) => Err(GeoJsonError::NotAnObject { found: json.to_owned() }),
    };
    shape.map_err(|reason| ShapeError { document_id: document_id(), reason })
}

/// A finite number, or a string that reads as one.
fn coordinate(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// The id of a document as JSON, for messages.
pub(super) fn document_id_json(json: &[u8], primary_key: &str) -> String {
    let Ok(document) = serde_json::from_slice::<Value>(json) else { return String::new() };
    let id =
        document.get(primary_key).or_else(|| primary_key.split('.').try_fold(&document, |value, name| value.get(name)));
    id.map(Value::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Option<(f64, f64)>, GeoError> {
        parse_geo(json, || "7".to_owned())
    }

    #[test]
    fn numbers_strings_and_null_are_positions() {
        assert_eq!(parse(r#"{"lat":1,"lng":-2.5}"#), Ok(Some((1.0, -2.5))));
        assert_eq!(parse(r#"{"lng":"3","lat":"1e1"}"#), Ok(Some((10.0, 3.0))));
        assert_eq!(parse(r#"{"lat":1,"lng":2,"lat":3}"#), Ok(Some((3.0, 2.0))), "the last value wins");
        assert_eq!(parse("null"), Ok(None));
        parse(r#"{"lat":" 1","lng":2}"#).expect_err("space is no part of a number");
    }

    #[test]
    fn each_mistake_is_distinguished() {
        let document_id = || "7".to_owned();
        assert_eq!(
            parse("[1,2]"),
            Err(GeoError::NotAnObject { document_id: document_id(), value: "[1,2]".to_owned() })
        );
        assert_eq!(
            parse(r#"{"lat":1,"lng":2,"alt":3}"#),
            Err(GeoError::UnexpectedFields { document_id: document_id(), fields: r#"{"alt":3}"#.to_owned() })
        );
        for (json, missing) in [
            ("{}", GeoCoordinates::Both),
            (r#"{"lng":1}"#, GeoCoordinates::Latitude),
            (r#"{"lat":1}"#, GeoCoordinates::Longitude),
        ] {
            assert_eq!(parse(json), Err(GeoError::Missing { document_id: document_id(), missing }));
        }
        for (json, bad, values) in [
            (r#"{"lat":"a","lng":null}"#, GeoCoordinates::Both, vec![r#""a""#, "null"]),
            (r#"{"lat":"inf","lng":1}"#, GeoCoordinates::Latitude, vec![r#""inf""#]),
            (r#"{"lat":1,"lng":[2]}"#, GeoCoordinates::Longitude, vec!["[2]"]),
        ] {
            let values = values.into_iter().map(str::to_owned).collect();
            assert_eq!(parse(json), Err(GeoError::BadNumber { document_id: document_id(), bad, values }));
        }
    }

    #[test]
    fn ids_are_found_for_messages() {
        assert_eq!(document_id_json(br#"{"id":"a"}"#, "id"), r#""a""#);
        assert_eq!(document_id_json(br#"{"doc":{"id":5}}"#, "doc.id"), "5");
    }
}
