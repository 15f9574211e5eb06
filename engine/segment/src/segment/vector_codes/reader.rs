//! A view over the section, and the search for candidates.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::lists::{Centres, Spread};
use super::quantizer::{CodedQuery, Quantizer, code_bytes};
use super::write::{CODES_ALIGNMENT, HEADER_BYTES};
use crate::bits::kernels;
use crate::bits::little_endian::read_u32;
use crate::segment::checked_blocks::CheckedBlocks;
use crate::segment::error::Damage;
use crate::segment::{SegmentError, Vectors};
use crate::storage::OwnedBytes;

/// The codes of the vectors of one embedder.
#[derive(Clone, Debug)]
pub struct VectorCodes {
    bytes: OwnedBytes,
    dimensions: usize,
    vector_count: u32,
    /// 0: all vectors are one list, in the order of their numbers.
    list_count: usize,
    reach: f32,
    spreads_at: usize,
    starts_at: usize,
    rows_at: usize,
    codes_at: usize,
    factors_at: usize,
    /// `None`: the blocks have no checksums.
    blocks: Option<Arc<CheckedBlocks>>,
}

impl VectorCodes {
    pub fn open(bytes: OwnedBytes, vectors: &Vectors) -> Result<VectorCodes, Damage> {
        let cut = Damage("it is cut");
        let dimensions = read_u32(&bytes, 0).ok_or(cut)?;
        let vector_count = read_u32(&bytes, 4).ok_or(cut)?;
        let list_count = read_u32(&bytes, 8).ok_or(cut)? as usize;
        let reach = f32::from_bits(read_u32(&bytes, 12).ok_or(cut)?);
        if vectors.shape().binary || vectors.shape().dimensions != dimensions || vectors.vector_count() != vector_count
        {
            return Err(Damage("it is about other vectors"));
        }
        if !reach.is_finite() || list_count > vector_count as usize {
            return Err(Damage("its lists can't be"));
        }
        let (dimensions, vectors) = (dimensions as usize, vector_count as usize);
        let mut at = HEADER_BYTES;
        let mut part = |bytes: Option<usize>| {
            let start = at;
            at = at.checked_add(bytes?)?;
            Some(start)
        };
        let has_lists = list_count > 0;
        part((list_count * 4).checked_mul(dimensions)).ok_or(cut)?;
        let spreads_at = part(Some(list_count * 8)).ok_or(cut)?;
        let starts_at = part(Some(if has_lists { (list_count + 1) * 4 } else { 0 })).ok_or(cut)?;
        let rows_at = part(Some(if has_lists { vectors * 4 } else { 0 })).ok_or(cut)?;
        at = at.next_multiple_of(CODES_ALIGNMENT);
        let codes_at = at;
        let codes_bytes = vectors.checked_mul(code_bytes(dimensions)).ok_or(cut)?;
        let factors_at = codes_at.checked_add(codes_bytes).ok_or(cut)?;
        if factors_at.checked_add(vectors * 4) != Some(bytes.len()) {
            return Err(Damage("its length is not that of its parts"));
        }
        Ok(VectorCodes {
            bytes,
            dimensions,
            vector_count,
            list_count,
            reach,
            spreads_at,
            starts_at,
            rows_at,
            codes_at,
            factors_at,
            blocks: None,
        })
    }

    /// Adds the checksums of the blocks, and compares all but codes and factors, which are compared when they are read.
    pub(crate) fn add_sums(&mut self, blocks: CheckedBlocks) -> Result<(), SegmentError> {
        blocks.compare(0..self.codes_at);
        blocks.check()?;
        self.blocks = Some(Arc::new(blocks));
        Ok(())
    }

    /// Number of vectors, those of deleted documents included.
    pub fn vector_count(&self) -> u32 {
        self.vector_count
    }

    /// Returns the number of standard deviations from the centre of a list, towards the query, within which neighbours
    /// are searched.
    pub fn reach(&self) -> f32 {
        self.reach
    }

    pub(super) fn has_lists(&self) -> bool {
        self.list_count > 0
    }

    pub(super) fn list_count(&self) -> usize {
        self.list_count
    }

    pub(super) fn centres(&self) -> Centres {
        Centres { bytes: self.centre_bytes().to_vec(), count: self.list_count }
    }

    fn centre_bytes(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..self.spreads_at]
    }

    fn spread(&self, list: usize) -> Spread {
        let number = |at| read_u32(&self.bytes, at).map_or(0.0, f32::from_bits);
        let at = self.spreads_at + list * 8;
        Spread { along: number(at), across: number(at + 4) }
    }

    /// The places of the vectors of a list.
    fn places(&self, list: usize) -> Range<usize> {
        if !self.has_lists() {
            return 0..self.vector_count as usize;
        }
        let start = |list: usize| read_u32(&self.bytes, self.starts_at + list * 4).unwrap_or(0);
        let end = start(list + 1).min(self.vector_count);
        start(list).min(end) as usize..end as usize
    }

    /// The number of the vector at a place.
    #[inline]
    fn row(&self, place: usize) -> u32 {
        if self.has_lists() {
            read_u32(&self.bytes, self.rows_at + place * 4).unwrap_or(u32::MAX)
        } else {
            place as u32
        }
    }

    /// By number, one more than the list of each vector; 0 for those in none.
    pub(super) fn lists_of_rows(&self) -> Vec<u32> {
        let mut lists = vec![0; self.vector_count as usize];
        for list in 0..self.list_count {
            for place in self.places(list) {
                if let Some(entry) = lists.get_mut(self.row(place) as usize) {
                    *entry = list as u32 + 1;
                }
            }
        }
        lists
    }

    /// The vectors that are among the `count` nearest to the query, and some more: those whose codes are so near that
    /// they may be. What seems nearest comes first. `unit` has the length 1 and the right dimensions. `admits` decides by the number of a vector whether it
    /// is looked at.
    ///
    /// Reads the codes of admitted vectors in lists that may hold near ones, which is a small part of them where vectors
    /// form groups, and all where they do not.
    pub fn candidates(&self, unit: &[f32], count: usize, admits: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut search = Search::new(self, CodedQuery::new(unit), count);
        if !self.has_lists() {
            search.scan(0..self.vector_count as usize, &admits);
            return search.finish();
        }
        let mut cosines = vec![0.0; self.list_count];
        kernels::dots(self.centre_bytes(), unit, &mut cosines);
        let bounds = cosines.iter().enumerate();
        let mut lists: Vec<(f32, usize)> =
            bounds.map(|(list, cosine)| (self.spread(list).bound(*cosine, self.reach), list)).collect();
        lists.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
        for (bound, list) in lists {
            if search.is_satisfied(bound) {
                break;
            }
            search.scan(self.places(list), &admits);
        }
        search.finish()
    }

    /// Checks that the codes are those of `vectors`. Makes them all once more.
    pub(crate) fn validate(&self, vectors: &Vectors) -> Result<(), Damage> {
        let count = self.vector_count as usize;
        if self.has_lists() {
            let mut next = 0;
            for list in 0..self.list_count {
                let start = read_u32(&self.bytes, self.starts_at + list * 4).unwrap_or(u32::MAX);
                if start as usize != next || self.places(list).start != next {
                    return Err(Damage("the lists do not follow each other"));
                }
                next = self.places(list).end;
            }
            if next != count {
                return Err(Damage("the lists do not cover the vectors"));
            }
            let finite = |range: Range<usize>| {
                self.bytes[range].as_chunks::<4>().0.iter().all(|value| f32::from_le_bytes(*value).is_finite())
            };
            if !finite(HEADER_BYTES..self.starts_at) {
                return Err(Damage("a centre is no place"));
            }
        }
        let mut seen = vec![false; count];
        let mut quantizer = Quantizer::new(self.dimensions);
        let mut expected = Vec::new();
        for place in 0..count {
            let row = self.row(place);
            match seen.get_mut(row as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(Damage("a vector is in two lists")),
            }
            expected.clear();
            let factor = quantizer.encode(vectors.rows(row..row + 1), &mut expected);
            if expected != self.codes(place..place + 1) || factor.to_bits() != self.factor(place).to_bits() {
                return Err(Damage("a code is not that of its vector"));
            }
        }
        Ok(())
    }

    /// The codes at these places, which now are known to be sound together with their factors, or the segment is marked.
    fn codes(&self, places: Range<usize>) -> &[u8] {
        let code_bytes = code_bytes(self.dimensions);
        let codes = self.codes_at + places.start * code_bytes..self.codes_at + places.end * code_bytes;
        if let Some(blocks) = &self.blocks {
            blocks.compare(codes.clone());
            blocks.compare(self.factors_at + places.start * 4..self.factors_at + places.end * 4);
        }
        &self.bytes[codes]
    }

    #[inline]
    fn factor(&self, place: usize) -> f32 {
        read_u32(&self.bytes, self.factors_at + place * 4).map_or(0.0, f32::from_bits)
    }
}

/// Codes of one call of the kernel.
const RUN_LENGTH_MAX: usize = 256;
/// Number of standard deviations that an estimate may be below the last place so that the vector is still a candidate
/// for it.
const DOUBT: f32 = 3.0;
/// Candidates are at most so many, or so many for each that is wanted. More come only from vectors that are (nearly) the
/// same.
const CANDIDATES_MAX: usize = 1024;
const CANDIDATES_PER_WANTED: usize = 8;

/// Results of a search so far.
struct Search<'c> {
    codes: &'c VectorCodes,
    query: CodedQuery,
    count: usize,
    /// The best estimates, the least of them first.
    best: std::collections::BinaryHeap<std::cmp::Reverse<Estimate>>,
    /// Estimates below this are of no interest any more.
    threshold: f32,
    found: Vec<(f32, u32)>,
    products: Vec<i32>,
}

#[derive(Clone, Copy, PartialEq)]
struct Estimate(f32);

impl Eq for Estimate {}

impl Ord for Estimate {
    fn cmp(&self, other: &Estimate) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Estimate {
    fn partial_cmp(&self, other: &Estimate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'c> Search<'c> {
    fn new(codes: &'c VectorCodes, query: CodedQuery, count: usize) -> Search<'c> {
        Search {
            codes,
            query,
            count,
            best: std::collections::BinaryHeap::new(),
            threshold: f32::NEG_INFINITY,
            found: Vec::new(),
            products: vec![0; RUN_LENGTH_MAX],
        }
    }

    /// Reports whether vectors whose cosine is not above `bound` can no longer enter.
    fn is_satisfied(&self, bound: f32) -> bool {
        self.best.len() >= self.count && self.best.peek().is_none_or(|least| least.0.0 >= bound)
    }

    fn scan(&mut self, places: Range<usize>, admits: &impl Fn(u32) -> bool) {
        let mut run = places.start..places.start;
        for place in places {
            if !admits(self.codes.row(place)) {
                continue;
            }
            if place == run.end && run.len() < RUN_LENGTH_MAX {
                run.end = place + 1;
            } else {
                self.run(std::mem::replace(&mut run, place..place + 1));
            }
        }
        self.run(run);
    }

    fn run(&mut self, places: Range<usize>) {
        let mut products = std::mem::take(&mut self.products);
        kernels::nibble_dots(self.codes.codes(places.clone()), self.query.numbers(), &mut products);
        for (place, product) in places.zip(&products) {
            let estimate = self.query.cosine(*product, self.codes.factor(place));
            if estimate >= self.threshold {
                self.add(estimate, self.codes.row(place));
            }
        }
        self.products = products;
    }

    fn add(&mut self, estimate: f32, row: u32) {
        self.found.push((estimate, row));
        if self.best.len() < self.count {
            self.best.push(std::cmp::Reverse(Estimate(estimate)));
        } else if let Some(mut least) = self.best.peek_mut()
            && least.0.0 < estimate
        {
            *least = std::cmp::Reverse(Estimate(estimate));
        }
        if self.best.len() == self.count {
            let least = self.best.peek().map_or(f32::NEG_INFINITY, |least| least.0.0);
            self.threshold = least - DOUBT * self.query.error(least);
        }
        let most = self.most();
        if self.found.len() >= 4 * most {
            self.trim(most);
        }
    }

    fn most(&self) -> usize {
        CANDIDATES_MAX.max(self.count.saturating_mul(CANDIDATES_PER_WANTED))
    }

    /// Forgets what can't be among the best, and what is beyond the `most` best.
    fn trim(&mut self, most: usize) {
        let threshold = self.threshold;
        self.found.retain(|(estimate, _)| *estimate >= threshold);
        if self.found.len() > most {
            self.found.select_nth_unstable_by(most, |one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            self.found.truncate(most);
        }
    }

    fn finish(mut self) -> Vec<u32> {
        self.trim(self.most());
        self.found.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        self.found.into_iter().map(|(_, row)| row).collect()
    }
}
