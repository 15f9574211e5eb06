//! The numbers of a column.

use crate::bits::little_endian::{read_f64, read_u64};
use crate::bits::monotone::Monotone;
use crate::segment::columns::section::{EXPONENT_MAX, RAW_NUMBERS};

/// Exponent and smallest integer before the distances.
const SCALED_HEADER_BYTES: usize = 1 + 8;

/// The form in which they are stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers {
    Raw,
    Scaled { scale: f64, smallest: i64, distances: Monotone },
}

impl Numbers {
    /// `None` where the bytes are not those of so many.
    pub(super) fn open(bytes: &[u8], count: u32) -> Option<Numbers> {
        let exponent = *bytes.first()?;
        if exponent == RAW_NUMBERS {
            return (bytes.len() == 1 + 8 * count as usize).then_some(Numbers::Raw);
        }
        let smallest = read_u64(bytes, 1)? as i64;
        let distances = Monotone::open(bytes.get(SCALED_HEADER_BYTES..)?)?;
        (exponent <= EXPONENT_MAX && distances.len() == count as usize).then(|| {
            let scale = 10f64.powi(i32::from(exponent));
            Numbers::Scaled { scale, smallest, distances }
        })
    }

    /// The number of an ordinal below their count, in the bytes that were opened.
    #[inline]
    pub(super) fn get(self, bytes: &[u8], ordinal: u32) -> f64 {
        match self {
            Numbers::Raw => read_f64(bytes, 1 + 8 * ordinal as usize).unwrap_or(f64::NAN),
            Numbers::Scaled { scale, smallest, distances } => {
                let distances_bytes = bytes.get(SCALED_HEADER_BYTES..).unwrap_or_default();
                smallest.wrapping_add(distances.get(distances_bytes, ordinal as usize) as i64) as f64 / scale
            }
        }
    }
}
