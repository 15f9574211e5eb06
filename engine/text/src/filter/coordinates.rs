//! A point on the globe, as filters and sort expressions write it.

use thiserror::Error;

/// Latitude in -90..=90 and longitude in -180..=180 degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinates {
    latitude: f64,
    longitude: f64,
}

/// A coordinate outside the globe.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CoordinatesError {
    #[error("latitude {0} is not from -90 to 90 degrees")]
    Latitude(f64),
    #[error("longitude {0} is not from -180 to 180 degrees")]
    Longitude(f64),
}

impl Coordinates {
    /// Degrees. Latitude is checked first.
    pub fn new(latitude: f64, longitude: f64) -> Result<Self, CoordinatesError> {
        if !(-90.0..=90.0).contains(&latitude) {
            return Err(CoordinatesError::Latitude(latitude));
        }
        if !(-180.0..=180.0).contains(&longitude) {
            return Err(CoordinatesError::Longitude(longitude));
        }
        Ok(Coordinates { latitude, longitude })
    }

    /// Degrees, -90..=90.
    pub fn latitude(self) -> f64 {
        self.latitude
    }

    /// Degrees, -180..=180.
    pub fn longitude(self) -> f64 {
        self.longitude
    }
}
