//! A rotation of all vectors that spreads what each holds evenly over the dimensions.

/// Turns vectors of one size; all of that size, in all segments, alike.
///
/// Four steps: signs of some dimensions are turned, then a fast Walsh-Hadamard transform mixes the first (in the second
/// and fourth step the last) 2^k dimensions, the most there are. Each step keeps lengths and angles. Costs `d log d`.
#[derive(Debug)]
pub(crate) struct Rotation {
    /// By step: 1 or -1.
    signs: [Vec<f32>; STEPS],
    mixed: usize,
}

const STEPS: usize = 4;

impl Rotation {
    pub(crate) fn new(dimensions: usize) -> Rotation {
        let sign = |step: usize, dimension: usize| {
            let place = (step as u64) << 32 | dimension as u64;
            if mix(place) >> 63 == 1 { -1.0 } else { 1.0 }
        };
        let signs = std::array::from_fn(|step| (0..dimensions).map(|dimension| sign(step, dimension)).collect());
        let mixed = if dimensions == 0 { 0 } else { 1 << dimensions.ilog2() };
        Rotation { signs, mixed }
    }

    /// Turns `vector` in place.
    pub(crate) fn apply(&self, vector: &mut [f32]) {
        let scale = 1.0 / (self.mixed.max(1) as f32).sqrt();
        for (step, signs) in self.signs.iter().enumerate() {
            vector.iter_mut().zip(signs).for_each(|(value, sign)| *value *= sign);
            let start = if step % 2 == 0 { 0 } else { vector.len() - self.mixed };
            let part = &mut vector[start..start + self.mixed];
            hadamard(part);
            part.iter_mut().for_each(|value| *value *= scale);
        }
    }
}

/// The finaliser of `splitmix64`.
pub(super) fn mix(place: u64) -> u64 {
    let mut mixed = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// In place; the length is a power of two. Without the scale that would make it keep lengths.
fn hadamard(values: &mut [f32]) {
    let mut width = 1;
    while width < values.len() {
        for pair in values.chunks_exact_mut(2 * width) {
            let (ones, others) = pair.split_at_mut(width);
            for (one, other) in ones.iter_mut().zip(others) {
                (*one, *other) = (*one + *other, *one - *other);
            }
        }
        width *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(vector: &[f32]) -> Vec<f32> {
        let mut turned = vector.to_vec();
        Rotation::new(vector.len()).apply(&mut turned);
        turned
    }

    fn product(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn lengths_and_angles_stay() {
        for dimensions in [1, 2, 3, 31, 32, 33, 100, 384] {
            let a: Vec<f32> = (0..dimensions).map(|i| (i as f32).sin()).collect();
            let b: Vec<f32> = (0..dimensions).map(|i| (i as f32 * 0.7).cos()).collect();
            let (before, after) = (product(&a, &b), product(&turned(&a), &turned(&b)));
            assert!((before - after).abs() < 1e-3, "{dimensions}: {before} {after}");
        }
    }

    #[test]
    fn one_dimension_is_spread_over_all() {
        for dimensions in [64, 100, 384] {
            let mut vector = vec![0.0; dimensions];
            vector[dimensions / 3] = 1.0;
            let largest = turned(&vector).into_iter().map(f32::abs).fold(0.0, f32::max);
            assert!(largest < 6.0 / (dimensions as f32).sqrt(), "{dimensions}: {largest}");
        }
    }
}
