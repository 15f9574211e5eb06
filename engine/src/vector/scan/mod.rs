//! Exact similarities: every vector of the documents in question is looked at.
//!
//! Vectors of neighbouring documents follow each other in the file, so a run of documents is one call of the kernel.
//! The cost is that of reading the vectors once: about as fast as memory delivers them.

use std::ops::Range;

use lamina_segment::bits::{DocSet, kernels};
use lamina_segment::segment::{VectorShape, Vectors};
use lamina_text::id::DocId;

/// A direction that documents are compared with.
#[derive(Clone, Debug)]
pub struct QueryVector {
    /// Query direction, of length 1 or all zeros.
    unit: Vec<f32>,
    /// The signs, where documents have nothing else.
    bits: Vec<u8>,
}

impl QueryVector {
    /// From numbers of any length.
    pub fn new(vector: &[f32]) -> QueryVector {
        let squares: f64 = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
        let scale = if squares > 0.0 { 1.0 / squares.sqrt() } else { 0.0 };
        let unit = vector.iter().map(|value| (f64::from(*value) * scale) as f32).collect();
        let mut bits = Vec::new();
        let dimensions = u32::try_from(vector.len()).expect("vectors are shorter than 2^32");
        VectorShape { dimensions, binary: true }.encode(vector, &mut bits);
        QueryVector { unit, bits }
    }

    pub(super) fn dimensions(&self) -> usize {
        self.unit.len()
    }

    /// Returns the query direction, of length 1 or all zeros.
    pub(super) fn unit(&self) -> &[f32] {
        &self.unit
    }
}

/// Pairing of the vectors of a document with the query vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Each with each query.
    All,
    /// The first with the first query, the second with the second: documents like another one.
    ByPosition,
}

/// Calls `f` with each document of `docs` and its similarity to the nearest of `queries`: 0..=1, larger is nearer;
/// `None` for documents without vectors. A document with several vectors counts with its best one. Queries of another
/// size than the vectors are nowhere near.
pub fn similarities(
    vectors: &Vectors,
    queries: &[QueryVector],
    pairing: Pairing,
    docs: &DocSet,
    mut f: impl FnMut(DocId, Option<f32>),
) {
    let mut scan = Scan::new(vectors, queries, pairing);
    docs.for_each_run(0..DocId::MAX, |run| {
        for docs in pieces(run) {
            scan.compare(docs.clone());
            scan.each(docs, &mut f);
        }
    });
}

/// The vectors of a document, by their positions, with their similarities to `query`: nearest first, of equal ones the first.
pub fn nearest_of(vectors: &Vectors, query: &QueryVector, doc: DocId) -> Vec<(usize, f32)> {
    let mut scan = Scan::new(vectors, std::slice::from_ref(query), Pairing::All);
    scan.compare(doc..doc + 1);
    let mut own: Vec<(usize, f32)> = scan.similarities.into_iter().flatten().enumerate().collect();
    own.sort_by(|one, other| other.1.total_cmp(&one.1));
    own
}

/// The `count` documents of `docs` nearest to `queries` among those of `within`, in no order, with their [`similarities`]; of
/// equal ones the first.
///
/// Costs the comparisons, and next to nothing for documents that are farther than `count` others before them.
pub(crate) fn nearest_by_scan(
    vectors: &Vectors,
    queries: &[QueryVector],
    pairing: Pairing,
    docs: &DocSet,
    within: Range<DocId>,
    count: usize,
) -> Vec<(DocId, Option<f32>)> {
    let mut scan = Scan::new(vectors, queries, pairing);
    let mut best = Best { count, found: Vec::new(), least: f32::NEG_INFINITY };
    docs.for_each_run(within, |run| {
        for docs in pieces(run) {
            scan.compare(docs.clone());
            if best.least < 0.0 || scan.reaches_beyond(best.least) {
                // Numbers near the largest there are may have a similarity that is none: such a document comes last.
                let known = |similarity: Option<f32>| similarity.filter(|similarity| !similarity.is_nan());
                scan.each(docs, &mut |doc, similarity| best.add(doc, known(similarity).unwrap_or(NO_VECTOR)));
            }
        }
    });
    best.cut();
    best.found.into_iter().map(|(doc, similarity)| (doc, (similarity >= 0.0).then_some(similarity))).collect()
}

/// Instead of the similarity of a document without vectors: any that has one is nearer.
const NO_VECTOR: f32 = -1.0;

/// The nearest documents seen so far, and some that no longer are among them.
struct Best {
    count: usize,
    found: Vec<(DocId, f32)>,
    /// Similarity that a document must exceed to enter.
    least: f32,
}

impl Best {
    fn add(&mut self, doc: DocId, similarity: f32) {
        if similarity > self.least {
            self.found.push((doc, similarity));
            if self.found.len() >= self.count.saturating_mul(2) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.count {
            let nearest_first =
                |one: &(DocId, f32), other: &(DocId, f32)| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0));
            if let Some(last) = self.count.checked_sub(1) {
                self.least = self.found.select_nth_unstable_by(last, nearest_first).1.1;
            }
            self.found.truncate(self.count);
        }
    }
}

/// Documents of one call of the kernel: enough that its cost disappears, few enough that results stay in the cache.
const RUN_LENGTH_MAX: u32 = 256;

fn pieces(run: Range<DocId>) -> impl Iterator<Item = Range<DocId>> {
    let starts = run.clone().step_by(RUN_LENGTH_MAX as usize);
    starts.map(move |start| start..run.end.min(start.saturating_add(RUN_LENGTH_MAX)))
}

struct Scan<'a> {
    vectors: &'a Vectors,
    queries: Vec<&'a QueryVector>,
    pairing: Pairing,
    /// The vectors that were compared last.
    rows: Range<u32>,
    /// By query, the similarities of these.
    similarities: Vec<Vec<f32>>,
    /// Number of bits in which each of these differs from one query.
    differing: Vec<u32>,
}

impl<'a> Scan<'a> {
    fn new(vectors: &'a Vectors, queries: &'a [QueryVector], pairing: Pairing) -> Scan<'a> {
        let dimensions = vectors.shape().dimensions as usize;
        let queries: Vec<&QueryVector> = queries.iter().filter(|query| query.dimensions() == dimensions).collect();
        let similarities = vec![Vec::new(); queries.len()];
        Scan { vectors, queries, pairing, rows: 0..0, similarities, differing: Vec::new() }
    }

    /// Compares the vectors of these documents.
    fn compare(&mut self, docs: Range<DocId>) {
        self.rows = if self.vectors.is_one_each() {
            docs
        } else {
            let first = self.vectors.of(docs.start).start;
            first..self.vectors.of(docs.end - 1).end.max(first)
        };
        let count = self.rows.len();
        let bytes = self.vectors.rows(self.rows.clone());
        let shape = self.vectors.shape();
        for (query, similarities) in self.queries.iter().zip(&mut self.similarities) {
            similarities.clear();
            similarities.resize(count, 0.0);
            if shape.binary {
                self.differing.clear();
                self.differing.resize(count, 0);
                kernels::differing_bits(bytes, &query.bits, &mut self.differing);
                for (differing, similarity) in self.differing.iter().zip(similarities.iter_mut()) {
                    *similarity = 1.0 - 2.0 * *differing as f32 / shape.dimensions as f32;
                }
            } else {
                kernels::dots(bytes, &query.unit, similarities);
                for (row, similarity) in self.rows.clone().zip(similarities.iter_mut()) {
                    *similarity *= self.vectors.inverse_norm(row);
                }
            }
            // From cosines to 0..=1.
            similarities.iter_mut().for_each(|cosine| *cosine = f32::midpoint(1.0, *cosine).clamp(0.0, 1.0));
        }
    }

    /// Reports whether the similarity of one of the compared vectors is greater than `similarity`.
    fn reaches_beyond(&self, similarity: f32) -> bool {
        // Counted to the end, many are compared at once.
        let beyond = |similarities: &Vec<f32>| similarities.iter().filter(|other| **other > similarity).count();
        self.similarities.iter().any(|similarities| beyond(similarities) > 0)
    }

    /// Calls `f` with each of the documents that were compared.
    fn each(&self, docs: Range<DocId>, f: &mut impl FnMut(DocId, Option<f32>)) {
        if let (true, [similarities]) = (self.vectors.is_one_each(), &self.similarities[..]) {
            docs.zip(similarities).for_each(|(doc, similarity)| f(doc, Some(*similarity)));
            return;
        }
        for doc in docs {
            let own = self.vectors.of(doc);
            let at = |row: u32, similarities: &[f32]| {
                row.checked_sub(self.rows.start).and_then(|at| similarities.get(at as usize).copied())
            };
            let best = match self.pairing {
                Pairing::All => {
                    let each = self.similarities.iter();
                    each.flat_map(|similarities| own.clone().filter_map(|row| at(row, similarities))).reduce(f32::max)
                }
                Pairing::ByPosition => {
                    own.zip(&self.similarities).filter_map(|(row, similarities)| at(row, similarities)).reduce(f32::max)
                }
            };
            f(doc, best);
        }
    }
}

#[cfg(test)]
mod tests;
