//! The vectors that codes are made of.

/// Vectors in the order of their numbers.
pub(super) struct RowSource<'r> {
    dimensions: usize,
    rows: &'r [&'r [u8]],
}

impl<'r> RowSource<'r> {
    pub(super) fn new(dimensions: usize, rows: &'r [&'r [u8]]) -> RowSource<'r> {
        RowSource { dimensions, rows }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The bytes of the vector `row`.
    pub(super) fn row(&self, row: usize) -> &'r [u8] {
        self.rows[row]
    }

    /// The vector `row` with the length 1, or zeros.
    pub(super) fn unit(&self, row: usize, out: &mut Vec<f32>) {
        let (values, _) = self.rows[row].as_chunks::<4>();
        out.clear();
        out.extend(values.iter().map(|value| f32::from_le_bytes(*value)));
        let squares: f64 = out.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
        let scale = if squares > 0.0 { (1.0 / squares.sqrt()) as f32 } else { 0.0 };
        out.iter_mut().for_each(|value| *value *= scale);
    }
}
