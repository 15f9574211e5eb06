//! From vectors to codes, and what a query makes of a code.

use super::rotation::Rotation;

/// Numbers of a block of a code, and its bytes.
const BLOCK: usize = 64;
const BLOCK_BYTES: usize = BLOCK / 2;
/// Width of a step, in standard deviations of a dimension: the width that loses least with sixteen steps when
/// dimensions are normally distributed, as they nearly are after the rotation.
const STEP: f32 = 0.335;
/// The middle of the steps 0 to 15.
const MIDDLE: f32 = 7.5;
/// Standard deviation of what rounding does to a vector, as a part of its length (0.107 for normal distributions).
const ROUNDING: f32 = 0.12;

/// Vectors whose largest number is outside are made larger or smaller first: their squares would not be numbers any more.
const SQUARED: std::ops::RangeInclusive<f32> = 1e-12..=1e12;

/// Four bits a dimension, in whole blocks.
pub(super) fn code_bytes(dimensions: usize) -> usize {
    dimensions.div_ceil(BLOCK) * BLOCK_BYTES
}

/// Makes codes of vectors of one size.
#[derive(Debug)]
pub(super) struct Quantizer {
    rotation: Rotation,
    turned: Vec<f32>,
}

impl Quantizer {
    pub(super) fn new(dimensions: usize) -> Quantizer {
        Quantizer { rotation: Rotation::new(dimensions), turned: Vec::new() }
    }

    /// Appends the code of a row (little-endian `f32`) to `codes`. The answer is what the product of code and query is to
    /// be multiplied with to estimate their cosine; 0 for the vector of zeros.
    pub(super) fn encode(&mut self, row: &[u8], codes: &mut Vec<u8>) -> f32 {
        let (values, _) = row.as_chunks::<4>();
        self.turned.clear();
        self.turned.extend(values.iter().map(|value| f32::from_le_bytes(*value)));
        let largest = self.turned.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        if largest > 0.0 && !SQUARED.contains(&largest) {
            self.turned.iter_mut().for_each(|value| *value /= largest);
        }
        self.rotation.apply(&mut self.turned);
        let squares: f32 = self.turned.iter().map(|value| value * value).sum();
        let start = codes.len();
        codes.resize(start + code_bytes(self.turned.len()), 0);
        if !(squares > 0.0 && squares.is_finite()) {
            return 0.0;
        }
        let scale = (self.turned.len() as f32).sqrt() / (squares.sqrt() * STEP);
        let mut product = 0.0;
        for (place, value) in self.turned.iter().enumerate() {
            let step = (value * scale + 8.0).clamp(0.0, 15.0) as u8;
            product += (f32::from(step) - MIDDLE) * value;
            let (block, within) = (place / BLOCK, place % BLOCK);
            let byte = &mut codes[start + block * BLOCK_BYTES + within % BLOCK_BYTES];
            *byte |= if within < BLOCK_BYTES { step } else { step << 4 };
        }
        // The part of the code that points along the vector becomes 1 long. What points elsewhere is noise.
        let factor = squares.sqrt() / product;
        if factor.is_finite() && factor > 0.0 { factor } else { 0.0 }
    }
}

/// The direction of a query, as codes are multiplied with it.
#[derive(Clone, Debug)]
pub struct CodedQuery {
    numbers: Vec<i8>,
    /// Scale of the numbers: the value of one unit.
    scale: f32,
    /// Half the sum of all that codes can hold: they count from 0.
    offset: f32,
    dimensions: usize,
}

impl CodedQuery {
    /// `unit` has the length 1, or is zeros.
    pub fn new(unit: &[f32]) -> CodedQuery {
        let mut turned = unit.to_vec();
        Rotation::new(unit.len()).apply(&mut turned);
        let largest = turned.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
        let mut numbers: Vec<i8> = turned.iter().map(|value| (value / scale).round() as i8).collect();
        let sum: i32 = numbers.iter().map(|number| i32::from(*number)).sum();
        numbers.resize(code_bytes(unit.len()) * 2, 0);
        CodedQuery { numbers, scale, offset: MIDDLE * sum as f32, dimensions: unit.len() }
    }

    pub(super) fn numbers(&self) -> &[i8] {
        &self.numbers
    }

    /// The cosine that the product with a code estimates.
    #[inline]
    pub(super) fn cosine(&self, product: i32, factor: f32) -> f32 {
        (product as f32 - self.offset) * self.scale * factor
    }

    /// Standard deviation of the estimates for vectors at this cosine.
    pub fn error(&self, cosine: f32) -> f32 {
        ROUNDING * ((1.0 - cosine * cosine).max(0.0) / self.dimensions.max(1) as f32).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_of_directions_however_long_a_vector_is() {
        let code = |length: f32| {
            let row: Vec<u8> = (0..96i16).flat_map(|i| (f32::from(i * 37 % 19 - 9) * length).to_le_bytes()).collect();
            let mut code = Vec::new();
            let factor = Quantizer::new(96).encode(&row, &mut code);
            (code, factor)
        };
        let (usual, factor) = code(1.0);
        assert!(factor > 0.0);
        assert!(usual.iter().any(|byte| *byte != usual[0]));
        for length in [1e-30, 1e-18, 2.0, 1e18, 1e30, 3e37] {
            let (same, close) = code(length);
            let differing = usual.iter().zip(&same).filter(|(one, other)| one != other).count();
            assert!(differing <= 1, "{length}: {differing}, {factor}, {close}");
            assert!((factor - close).abs() < factor * 1e-3, "{length}: {differing}, {factor}, {close}");
        }
        assert_eq!(code(0.0).1, 0.0);
    }
}
