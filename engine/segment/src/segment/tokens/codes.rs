//! Which terms get short codes, and how wide the classes are.

use lamina_text::id::{FIRST_TERM, GAP, TermOrdinal};

use crate::bits::bitpack::bit_width;
use crate::bits::little_endian::{put_u32, read_u32};
use crate::segment::word_pairs::FREQUENT_WORDS_MAX;

/// Classes 0, 1 and 2 have short codes; class 3 holds ordinals.
pub(super) const CLASS_COUNT: usize = 4;
const WIDTH_MAX: [u8; 3] = [8, 12, 16];
const ENTRIES_MAX: usize = (1 << WIDTH_MAX[0]) + (1 << WIDTH_MAX[1]) + (1 << WIDTH_MAX[2]);

/// Code of one ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) class: u8,
    pub(super) value: u32,
}

/// The code table of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenCodes {
    pub(super) widths: [u8; CLASS_COUNT],
    /// Ordinals with a short code, most frequent first.
    pub(super) table: Vec<TermOrdinal>,
    /// The most frequent terms and their numbers of documents, falling.
    pub(super) most_frequent: Vec<(TermOrdinal, u32)>,
}

impl TokenCodes {
    /// Chooses the codes from the document frequency of each term, in order of their ordinals.
    pub(crate) fn for_frequencies(frequencies: impl ExactSizeIterator<Item = u32>, gaps: u64) -> TokenCodes {
        let ordinal_count = FIRST_TERM + frequencies.len() as u32;
        let mut total = gaps;
        let mut by_frequency: Vec<(TermOrdinal, u32)> = (FIRST_TERM..).zip(frequencies).collect();
        by_frequency.iter().for_each(|&(_, frequency)| total += u64::from(frequency));
        let falling = |a: &(u32, u32), b: &(u32, u32)| b.1.cmp(&a.1).then(a.0.cmp(&b.0));
        if by_frequency.len() > ENTRIES_MAX {
            by_frequency.select_nth_unstable_by(ENTRIES_MAX, falling);
            by_frequency.truncate(ENTRIES_MAX);
        }
        by_frequency.sort_unstable_by(falling);
        TokenCodes::choose(&by_frequency, gaps, total, ordinal_count)
    }

    /// `by_frequency`: the most frequent terms, falling; `total`: tokens of all terms, and the gaps.
    fn choose(by_frequency: &[(TermOrdinal, u32)], gaps: u64, total: u64, ordinal_count: u32) -> TokenCodes {
        let full = bit_width(ordinal_count.saturating_sub(1));
        // covered[i]: tokens that the first i entries of the table stand for.
        let mut covered = vec![0, gaps];
        for &(_, frequency) in by_frequency.iter().take(ENTRIES_MAX - 1) {
            covered.push(covered[covered.len() - 1] + u64::from(frequency));
        }
        let entries_max = covered.len() - 1;
        let at = |entries: usize| covered[entries.min(entries_max)];
        let mut best = (u64::MAX, [0; CLASS_COUNT]);
        for w0 in 0..=WIDTH_MAX[0] {
            let end0 = 1usize << w0;
            for w1 in w0..=WIDTH_MAX[1] {
                let end1 = end0 + (1 << w1);
                for w2 in w1..=WIDTH_MAX[2] {
                    let end2 = end1 + (1 << w2);
                    let bits = at(end0) * u64::from(w0)
                        + (at(end1) - at(end0)) * u64::from(w1)
                        + (at(end2) - at(end1)) * u64::from(w2)
                        + (total - at(end2)) * u64::from(full)
                        + 32 * end2.min(entries_max) as u64;
                    if bits < best.0 {
                        best = (bits, [w0, w1, w2, full]);
                    }
                }
            }
        }
        let widths = best.1;
        let entries = (0..3).map(|class| 1usize << widths[class]).sum::<usize>().min(entries_max);
        let mut table = Vec::with_capacity(entries);
        table.push(GAP);
        table.extend(by_frequency.iter().take(entries - 1).map(|&(ordinal, _)| ordinal));
        let most_frequent = by_frequency.iter().take(FREQUENT_WORDS_MAX).copied().collect();
        TokenCodes { widths, table, most_frequent }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.widths);
        put_u32(out, self.table.len() as u32);
        self.table.iter().for_each(|&ordinal| put_u32(out, ordinal));
    }

    /// Class and value of the table's entry `code`.
    fn class_of(&self, code: u32) -> (u8, u32) {
        let mut start = 0;
        for class in 0..2 {
            let end = start + (1 << self.widths[class]);
            if code < end {
                return (class as u8, code - start);
            }
            start = end;
        }
        (2, code - start)
    }

    /// For each ordinal its class (in the low two bits) and value, for writing.
    pub(super) fn encoder(&self, ordinal_count: u32) -> Vec<u32> {
        let mut encoder: Vec<u32> = (0..ordinal_count).map(|ordinal| ordinal << 2 | 3).collect();
        for (code, &ordinal) in self.table.iter().enumerate() {
            let (class, value) = self.class_of(code as u32);
            encoder[ordinal as usize] = value << 2 | u32::from(class);
        }
        encoder
    }
}

/// The shape of a code table in mapped bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeShape {
    pub(super) widths: [u8; CLASS_COUNT],
    /// Added to the value of a class to get an index into the table; for class 3 the length of the table, so that
    /// values at or past the table are ordinals.
    pub(super) starts: [u32; CLASS_COUNT],
    /// Offset of the table.
    pub(super) table_at: usize,
    /// Offset of the bytes after the table.
    pub(super) end: usize,
}

impl CodeShape {
    /// Class and value of an index into the table, or of an ordinal past it.
    pub(super) fn split(&self, code: u32) -> Code {
        let class = match code {
            code if code >= self.starts[3] => 3,
            code if code >= self.starts[2] => 2,
            code if code >= self.starts[1] => 1,
            _ => 0,
        };
        Code { class: class as u8, value: code - self.starts[class] }
    }

    pub(super) fn open(bytes: &[u8]) -> Option<CodeShape> {
        let widths = *bytes.first_chunk::<CLASS_COUNT>()?;
        if widths.iter().any(|&width| width > 32) || widths[..3].iter().any(|&width| width > WIDTH_MAX[2]) {
            return None;
        }
        let table_len = read_u32(bytes, CLASS_COUNT)?;
        let table_at = CLASS_COUNT + 4;
        let end = table_at.checked_add((table_len as usize).checked_mul(4)?)?;
        let start1 = 1 << widths[0];
        let start2 = start1 + (1 << widths[1]);
        let starts = [0, start1, start2, table_len];
        (table_len >= 1 && end <= bytes.len()).then_some(CodeShape { widths, starts, table_at, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_terms_get_narrow_codes() {
        let frequencies: Vec<u32> = (2..100_000u32).map(|o| 50_000_000 / o).collect();
        let codes = TokenCodes::for_frequencies(frequencies.iter().copied(), 1_000_000);
        assert!(codes.widths.is_sorted(), "{:?}", codes.widths);
        assert_eq!(codes.table[..3], [GAP, 2, 3]);
        let encoder = codes.encoder(100_000);
        assert_eq!(encoder[GAP as usize], 0);
        assert_eq!(encoder[99_999] & 3, 3, "rare terms keep their ordinal");
        assert_eq!(encoder[99_999] >> 2, 99_999);
        let width = |ordinal: usize| u64::from(2 + codes.widths[(encoder[ordinal] & 3) as usize]);
        let bits: u64 = frequencies.iter().enumerate().map(|(i, &n)| u64::from(n) * width(i + 2)).sum();
        let total: u64 = frequencies.iter().map(|&n| u64::from(n)).sum();
        assert!(bits / total < 14, "{} bits a token", bits / total);
    }

    #[test]
    fn tiny_vocabularies_work() {
        for n in 0..20u32 {
            let codes = TokenCodes::for_frequencies((0..n).map(|_| 1), 0);
            let mut bytes = Vec::new();
            codes.put(&mut bytes);
            let shape = CodeShape::open(&bytes).unwrap();
            assert_eq!((shape.end - shape.table_at) / 4, codes.table.len());
            assert_eq!(shape.widths, codes.widths);
        }
    }
}
