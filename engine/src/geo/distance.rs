//! Great-circle distance.

/// Radius of the sphere that stands for the earth, in metres.
pub(crate) const EARTH_RADIUS_M: f64 = 6_371_000.0;

/// Metres between two points given as (latitude, longitude) in degrees, by the haversine formula. Any finite degrees
/// are accepted: documents are not held to the usual ranges.
pub fn distance_m(a: (f64, f64), b: (f64, f64)) -> f64 {
    let (lat_a, lat_b) = (a.0.to_radians(), b.0.to_radians());
    let half_lat = ((b.0 - a.0).to_radians() / 2.0).sin();
    let half_lng = ((b.1 - a.1).to_radians() / 2.0).sin();
    let h = half_lat * half_lat + lat_a.cos() * lat_b.cos() * half_lng * half_lng;
    2.0 * EARTH_RADIUS_M * h.clamp(0.0, 1.0).sqrt().asin()
}
