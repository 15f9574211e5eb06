//! `_geoDistance`: how far a hit is from the point that the request sorts by.

use lamina_engine::geo::distance_m;
use lamina_engine::sort::{SortCriterion, SortTarget};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Positioned {
    #[serde(rename = "_geo")]
    geo: Option<Point>,
}

#[derive(Deserialize)]
struct Point {
    lat: Value,
    lng: Value,
}

/// The first point of a sort.
pub(super) fn sorted_from(sort: &[SortCriterion]) -> Option<(f64, f64)> {
    sort.iter().find_map(|criterion| match criterion.target {
        SortTarget::GeoPoint { lat, lng } => Some((lat, lng)),
        SortTarget::Field(_) | SortTarget::Elements { .. } | SortTarget::Computed { .. } => None,
    })
}

/// Whole metres from `point` to the position of `document` (a JSON object); `None` when it shows no usable one.
pub(super) fn distance(point: (f64, f64), document: &[u8]) -> Option<u64> {
    let Point { lat, lng } = serde_json::from_slice::<Positioned>(document).ok()?.geo?;
    Some(distance_m(point, (degrees(&lat)?, degrees(&lng)?)).round() as u64)
}

fn degrees(value: &Value) -> Option<f64> {
    let degrees = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    degrees.filter(|degrees| degrees.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_documents() {
        let point = (35.70129, 139.98648);
        assert_eq!(distance(point, br#"{"_geo":{"lat":35.67056,"lng":139.88861}}"#), Some(9477));
        assert_eq!(distance(point, br#"{"_geo":{"lat":"35.67056","lng":139.88861}}"#), Some(9477));
        for none in [&br#"{"id":1}"#[..], br#"{"_geo":null}"#, br#"{"_geo":{"lat":"x","lng":1}}"#, br#"{"_geo":1}"#] {
            assert_eq!(distance(point, none), None);
        }
    }
}
