//! The geo functions: `_geoRadius`, `_geoBoundingBox`, `_geoPolygon`.

use super::grammar::Parser;
use super::{Coordinates, Filter, FilterError, FilterErrorKind as Kind};

/// Numbers between two brackets; with more it is no function at all, whose error counts them.
const NUMBERS_MAX: usize = 1000;

/// A number and where it stands.
#[derive(Clone, Copy)]
struct Number {
    value: f64,
    start: usize,
    end: usize,
}

impl Parser {
    /// `_geoRadius(latitude, longitude, metres[, resolution])`
    pub(super) fn geo_radius(&mut self) -> Result<Filter, FilterError> {
        let start = self.function_name("_geoRadius");
        let malformed = |parser: &Self| parser.reader.error_to_end(Kind::GeoRadius, start);
        let arguments = self.numbers("(", ")")?.ok_or_else(|| malformed(self))?;
        let (center, radius_m, resolution) = match arguments[..] {
            [latitude, longitude, radius] => ((latitude, longitude), radius, None),
            [latitude, longitude, radius, sides] => ((latitude, longitude), radius, Some(sides.value)),
            _ => return Err(self.reader.error_to_end(Kind::GeoRadiusArgumentCount(arguments.len()), start)),
        };
        Ok(Filter::GeoRadius {
            center: self.coordinates(center)?,
            radius_m: radius_m.value,
            resolution,
            at: self.located(start),
        })
    }

    /// `_geoBoundingBox([top, right], [bottom, left])`
    pub(super) fn geo_bounding_box(&mut self) -> Result<Filter, FilterError> {
        let start = self.function_name("_geoBoundingBox");
        let malformed = |parser: &Self| parser.reader.error_to_end(Kind::GeoBoundingBox, start);
        let pairs = self.pairs(start)?.ok_or_else(|| malformed(self))?;
        let [top_right, bottom_left] = pairs[..] else { return Err(malformed(self)) };
        let (corner, opposite) = (self.coordinates(top_right)?, self.coordinates(bottom_left)?);
        let (top, bottom) = (corner.latitude(), opposite.latitude());
        if top < bottom {
            let number = top_right.0;
            return Err(self.reader.error(Kind::BoxUpsideDown { top, bottom }, number.start, number.end));
        }
        Ok(Filter::GeoBoundingBox { top_right: corner, bottom_left: opposite, at: self.located(start) })
    }

    /// `_geoPolygon([latitude, longitude], …)`
    pub(super) fn geo_polygon(&mut self) -> Result<Filter, FilterError> {
        let start = self.function_name("_geoPolygon");
        let pairs = self.pairs(start)?.ok_or_else(|| self.reader.error_to_end(Kind::GeoPolygon, start))?;
        if pairs.len() < 3 {
            return Err(self.reader.error_to_end(Kind::GeoPolygonPointCount(pairs.len()), start));
        }
        let points = pairs.into_iter().map(|pair| self.coordinates(pair)).collect::<Result<_, _>>()?;
        Ok(Filter::GeoPolygon { points, at: self.located(start) })
    }

    fn function_name(&mut self, name: &str) -> usize {
        let start = self.reader.position();
        self.reader.eat(name);
        start
    }

    fn coordinates(&self, (latitude, longitude): (Number, Number)) -> Result<Coordinates, FilterError> {
        Coordinates::new(latitude.value, longitude.value).map_err(|error| {
            let number = match error {
                super::CoordinatesError::Latitude(_) => latitude,
                super::CoordinatesError::Longitude(_) => longitude,
            };
            self.reader.error(Kind::Coordinates(error), number.start, number.end)
        })
    }

    /// `([a, b], [c, d], …)`; `None` when the shape is another one. `start` is where the function begins.
    fn pairs(&mut self, start: usize) -> Result<Option<Vec<(Number, Number)>>, FilterError> {
        self.reader.skip_spaces();
        if !self.reader.eat("(") {
            return Ok(None);
        }
        let mut pairs = Vec::new();
        loop {
            let Some(numbers) = self.numbers("[", "]")? else { return Ok(None) };
            self.size.add_value()?;
            match numbers[..] {
                [latitude, longitude] => pairs.push((latitude, longitude)),
                _ => return Err(self.reader.error_to_end(Kind::GeoPairCount(numbers.len()), start)),
            }
            self.reader.skip_spaces();
            if self.reader.eat(")") {
                return Ok(Some(pairs));
            }
            if !self.reader.eat(",") {
                return Ok(None);
            }
        }
    }

    /// At least one number between two brackets; `None` when there is something else.
    fn numbers(&mut self, open: &str, close: &str) -> Result<Option<Vec<Number>>, FilterError> {
        self.reader.skip_spaces();
        if !self.reader.eat(open) {
            return Ok(None);
        }
        let mut numbers = Vec::new();
        loop {
            self.reader.skip_spaces();
            let start = self.reader.position();
            let Some(value) = self.reader.number()? else { return Ok(None) };
            // Neither a radius nor a pair has many.
            if numbers.len() >= NUMBERS_MAX {
                return Ok(None);
            }
            numbers.push(Number { value, start, end: self.reader.position() });
            self.reader.skip_spaces();
            if self.reader.eat(close) {
                return Ok(Some(numbers));
            }
            if !self.reader.eat(",") {
                return Ok(None);
            }
        }
    }
}
