//! Exact similarities: every vector of the documents in question is looked at.
//!
//! Vectors of neighbouring documents follow each other in the file, so a run of documents is one call of the kernel.
//! The cost is that of reading the vectors once: about as fast as memory delivers them.

use std::ops::Range;

use crate::bits::{DocSet, kernels};
use crate::id::DocId;
use crate::index::settings::Distribution;
use crate::segment::{VectorShape, Vectors};

/// A direction that documents are compared with.
#[derive(Clone, Debug)]
pub struct QueryVector {
    /// Of length 1, or all zeros.
    unit: Vec<f32>,
    /// The signs, where documents have nothing else.
    bits: Vec<u8>,
    distribution: Option<Distribution>,
}

impl QueryVector {
    /// From numbers of any length. `distribution` moves the similarities.
    pub fn new(vector: &[f32], distribution: Option<Distribution>) -> QueryVector {
        let squares: f64 = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
        let scale = if squares > 0.0 { 1.0 / squares.sqrt() } else { 0.0 };
        let unit = vector.iter().map(|value| (f64::from(*value) * scale) as f32).collect();
        let mut bits = Vec::new();
        let dimensions = u32::try_from(vector.len()).expect("vectors are shorter than 2^32");
        VectorShape { dimensions, binary: true }.encode(vector, &mut bits);
        QueryVector { unit, bits, distribution }
    }

    pub(super) fn dimensions(&self) -> usize {
        self.unit.len()
    }

    /// Of length 1, or all zeros.
    pub(super) fn unit(&self) -> &[f32] {
        &self.unit
    }

    /// From a cosine to 0..=1.
    fn similarity(&self, cosine: f32) -> f32 {
        let similarity = f32::midpoint(1.0, cosine).clamp(0.0, 1.0);
        self.distribution.map_or(similarity, |distribution| distribution.shift(similarity))
    }
}

/// What the vectors of a document are compared with.
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
    let dimensions = vectors.shape().dimensions as usize;
    let queries: Vec<&QueryVector> = queries.iter().filter(|query| query.dimensions() == dimensions).collect();
    let mut scan = Scan { vectors, products: vec![Vec::new(); queries.len()], queries, pairing };
    let mut run: Range<DocId> = 0..0;
    docs.for_each(|doc| {
        if doc == run.end && doc - run.start < RUN_LENGTH_MAX {
            run.end = doc + 1;
        } else {
            scan.run(std::mem::replace(&mut run, doc..doc + 1), &mut f);
        }
    });
    scan.run(run, &mut f);
}

/// Documents of one call of the kernel: enough that its cost disappears, few enough that results stay in the cache.
const RUN_LENGTH_MAX: u32 = 256;

struct Scan<'a> {
    vectors: &'a Vectors,
    queries: Vec<&'a QueryVector>,
    pairing: Pairing,
    /// By query, the cosines of the rows of a run.
    products: Vec<Vec<f32>>,
}

impl Scan<'_> {
    fn run(&mut self, docs: Range<DocId>, f: &mut impl FnMut(DocId, Option<f32>)) {
        if docs.is_empty() {
            return;
        }
        let first = self.vectors.of(docs.start).start;
        let rows = first..self.vectors.of(docs.end - 1).end.max(first);
        self.cosines(rows.clone());
        for doc in docs {
            let own = self.vectors.of(doc);
            let at = |row: u32, products: &[f32]| {
                row.checked_sub(rows.start).and_then(|at| products.get(at as usize).copied())
            };
            let best = match self.pairing {
                Pairing::All => {
                    let each = self.products.iter();
                    each.flat_map(|products| own.clone().filter_map(|row| at(row, products))).reduce(f32::max)
                }
                Pairing::ByPosition => {
                    own.zip(&self.products).filter_map(|(row, products)| at(row, products)).reduce(f32::max)
                }
            };
            // All queries of a search shift alike.
            f(doc, best.and_then(|cosine| Some(self.queries.first()?.similarity(cosine))));
        }
    }

    /// The cosine of each row with each of the queries.
    fn cosines(&mut self, rows: Range<u32>) {
        let count = (rows.end - rows.start) as usize;
        let bytes = self.vectors.rows(rows.clone());
        let shape = self.vectors.shape();
        for (query, products) in self.queries.iter().zip(&mut self.products) {
            products.clear();
            products.resize(count, 0.0);
            if shape.binary {
                let each = bytes.chunks_exact(shape.row_bytes()).zip(products);
                each.for_each(|(row, product)| {
                    let differing = kernels::differing_bits(row, &query.bits);
                    *product = 1.0 - 2.0 * differing as f32 / shape.dimensions as f32;
                });
            } else {
                kernels::dots(bytes, &query.unit, products);
                for (row, product) in rows.clone().zip(products) {
                    *product *= self.vectors.inverse_norm(row);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
