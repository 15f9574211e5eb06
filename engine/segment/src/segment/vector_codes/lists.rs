//! Clustering: vectors that lie together become a list with a centre.
//!
//! Spherical k-means on a sample, then every vector goes to the nearest centre. A list also knows how its members are
//! spread around the centre, and a last figure is measured on vectors of the segment itself: how many standard
//! deviations towards a query the members of lists are that a search must not miss.

use super::rotation::{Rotation, mix};
use super::rows::RowSource;
use crate::bits::kernels;
use crate::segment::SegmentError;

/// Rounds of k-means; later ones change little.
const ROUNDS: usize = 6;
/// Vectors of the sample for each centre.
const SAMPLED_PER_LIST: usize = 24;
/// Vectors that measure as queries.
const PROBE_COUNT: usize = 64;
/// Directions that measure as queries unlike all documents.
const STRANGE_PROBE_COUNT: usize = 16;
/// Neighbours that each of them should find.
const PROBE_NEIGHBOURS: usize = 10;
/// One neighbour in this many may be missed, before the margin is added.
const MISSED_DIVISOR: usize = 200;
/// The same for directions that no document has.
const STRANGE_MISSED_DIVISOR: usize = 100;
/// Added to what was measured: queries are not documents.
const REACH_MARGIN: f32 = 0.5;
/// Bounds to which the measured reach is clamped.
const REACH: std::ops::RangeInclusive<f32> = 2.0..=12.0;
/// Vectors between two looks at the flag that cancels.
const ROWS_PER_CHECK: usize = 1024;

/// Centres, of length 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Centres {
    /// Little-endian `f32`, one after the other.
    pub(super) bytes: Vec<u8>,
    pub(super) count: usize,
}

/// Distribution of the members of a list around its centre.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    /// Mean cosine with the centre.
    pub(super) along: f32,
    /// Standard deviation in each direction across it.
    pub(super) across: f32,
}

/// All vectors, sorted into lists.
#[derive(Debug)]
pub(super) struct Lists {
    pub(super) centres: Centres,
    pub(super) spreads: Vec<Spread>,
    /// By list, then by number.
    pub(super) rows: Vec<u32>,
    /// First place in `rows` of each list, then their number.
    pub(super) starts: Vec<u32>,
    /// See [`super::VectorCodes::reach`].
    pub(super) reach: f32,
}

/// Lists for so many vectors.
pub(super) fn list_count(vector_count: usize) -> usize {
    (vector_count.isqrt() / 2).max(1)
}

/// The `index`-th of `among` samples of so many vectors: one of each stretch, anywhere in it, so that neither an order of the
/// documents nor a rhythm in it hides any.
fn sampled(index: usize, among: usize, vector_count: usize) -> usize {
    let (start, end) = (index * vector_count / among, (index + 1) * vector_count / among);
    let width = (end - start).max(1) as u64;
    start + (mix((among as u64) << 32 | index as u64) % width) as usize
}

/// Looks whether to go on.
pub(super) type Check<'c> = dyn Fn() -> Result<(), SegmentError> + 'c;

impl Centres {
    /// Trains the centres on a sample of `rows`.
    pub(super) fn train(rows: &RowSource<'_>, check: &Check<'_>) -> Result<Centres, SegmentError> {
        let count = list_count(rows.len());
        let sample_count = (count * SAMPLED_PER_LIST).min(rows.len());
        let mut unit = Vec::new();
        let mut centres = Centres { bytes: Vec::new(), count };
        for index in 0..count {
            rows.unit(sampled(index, count, rows.len()), &mut unit);
            centres.bytes.extend(unit.iter().flat_map(|value| value.to_le_bytes()));
        }
        let mut products = vec![0.0; count];
        for _ in 0..ROUNDS {
            let mut sums = vec![0.0f32; count * rows.dimensions()];
            let mut sizes = vec![0u32; count];
            for index in 0..sample_count {
                if index % ROWS_PER_CHECK == 0 {
                    check()?;
                }
                rows.unit(sampled(index, sample_count, rows.len()), &mut unit);
                kernels::dots(&centres.bytes, &unit, &mut products);
                let (nearest, _) = largest(&products);
                sizes[nearest] += 1;
                let sum = &mut sums[nearest * rows.dimensions()..][..rows.dimensions()];
                sum.iter_mut().zip(&unit).for_each(|(sum, value)| *sum += value);
            }
            for (list, sum) in sums.chunks_exact(rows.dimensions()).enumerate() {
                let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
                // A centre that nothing is near to stays where it is.
                if sizes[list] > 0 && length > 0.0 {
                    let to = &mut centres.bytes[list * rows.dimensions() * 4..];
                    for (to, value) in to.as_chunks_mut::<4>().0.iter_mut().zip(sum) {
                        *to = (value / length).to_le_bytes();
                    }
                }
            }
        }
        Ok(centres)
    }
}

impl Lists {
    /// Sorts all vectors. `known` says which list a vector is in already, if any.
    pub(super) fn sort(
        rows: &RowSource<'_>,
        centres: Centres,
        known: &dyn Fn(usize) -> Option<u32>,
        check: &Check<'_>,
    ) -> Result<Lists, SegmentError> {
        let dimensions = rows.dimensions();
        let mut probes = Probes::new(rows);
        let (mut unit, mut products) = (Vec::new(), vec![0.0; centres.count]);
        let mut list_of = Vec::with_capacity(rows.len());
        let mut sums = vec![(0.0f64, 0u32); centres.count];
        for row in 0..rows.len() {
            if row % ROWS_PER_CHECK == 0 {
                check()?;
            }
            rows.unit(row, &mut unit);
            let (list, cosine) = match known(row).map(|list| list as usize).filter(|list| *list < centres.count) {
                Some(list) => {
                    let centre = &centres.bytes[list * dimensions * 4..(list + 1) * dimensions * 4];
                    kernels::dots(centre, &unit, &mut products[..1]);
                    (list, products[0])
                }
                None => {
                    kernels::dots(&centres.bytes, &unit, &mut products);
                    largest(&products)
                }
            };
            list_of.push(list as u32);
            sums[list] = (sums[list].0 + f64::from(cosine), sums[list].1 + 1);
            probes.see(row, &unit);
        }
        let spreads: Vec<Spread> = sums
            .iter()
            .map(|(sum, count)| {
                let along = if *count > 0 { (sum / f64::from(*count)) as f32 } else { 0.0 };
                Spread { along, across: ((1.0 - along * along).max(0.0) / dimensions as f32).sqrt() }
            })
            .collect();
        let reach = probes.reach(&centres, &spreads, &list_of);
        let mut starts = vec![0u32; centres.count + 1];
        for (start, (_, count)) in starts[1..].iter_mut().zip(&sums) {
            *start = *count;
        }
        for list in 0..centres.count {
            starts[list + 1] += starts[list];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; rows.len()];
        for (row, list) in (0..).zip(list_of) {
            let place = &mut next[list as usize];
            sorted[*place as usize] = row;
            *place += 1;
        }
        Ok(Lists { centres, spreads, rows: sorted, starts, reach })
    }
}

impl Spread {
    /// The largest cosine with a query that members of the list are expected to have, when `reach` standard deviations
    /// are looked at; `cosine` is that of query and centre.
    #[inline]
    pub(super) fn bound(self, cosine: f32, reach: f32) -> f32 {
        self.along * cosine + reach * self.across * (1.0 - cosine * cosine).max(0.0).sqrt()
    }
}

fn largest(products: &[f32]) -> (usize, f32) {
    let first = (0, f32::NEG_INFINITY);
    products
        .iter()
        .enumerate()
        .fold(first, |best, (index, &product)| if product > best.1 { (index, product) } else { best })
}

/// Vectors of the segment as queries whose neighbours are known.
struct Probes {
    /// The vectors, one after the other.
    bytes: Vec<u8>,
    dimensions: usize,
    /// Numbers of the vectors; none for strange directions.
    rows: Vec<usize>,
    /// Cosine and number of the nearest others, by query.
    nearest: Vec<Vec<(f32, u32)>>,
    products: Vec<f32>,
}

impl Probes {
    fn new(rows: &RowSource<'_>) -> Probes {
        let count = PROBE_COUNT.min(rows.len());
        let mut chosen: Vec<usize> = (0..count).map(|index| sampled(index, count, rows.len())).collect();
        let (mut bytes, mut unit) = (Vec::new(), Vec::new());
        for row in &chosen {
            rows.unit(*row, &mut unit);
            bytes.extend(unit.iter().flat_map(|value| value.to_le_bytes()));
        }
        // Rotations of the axes point anywhere.
        let rotation = Rotation::new(rows.dimensions());
        for axis in 0..STRANGE_PROBE_COUNT.min(rows.dimensions()) {
            unit = vec![0.0; rows.dimensions()];
            unit[axis] = 1.0;
            rotation.apply(&mut unit);
            bytes.extend(unit.iter().flat_map(|value| value.to_le_bytes()));
            chosen.push(usize::MAX);
        }
        let (nearest, products) = (vec![Vec::new(); chosen.len()], vec![0.0; chosen.len()]);
        Probes { bytes, dimensions: rows.dimensions(), rows: chosen, nearest, products }
    }

    fn see(&mut self, row: usize, unit: &[f32]) {
        kernels::dots(&self.bytes, unit, &mut self.products);
        for ((nearest, product), own) in self.nearest.iter_mut().zip(&self.products).zip(&self.rows) {
            let is_full = nearest.len() == PROBE_NEIGHBOURS;
            if row == *own || (is_full && nearest[PROBE_NEIGHBOURS - 1].0 >= *product) {
                continue;
            }
            let place = nearest.partition_point(|(cosine, _)| cosine >= product);
            nearest.insert(place, (*product, row as u32));
            nearest.truncate(PROBE_NEIGHBOURS);
        }
    }

    /// Returns the reach that a search needs so that it misses next to no neighbour, in standard deviations.
    fn reach(&self, centres: &Centres, spreads: &[Spread], list_of: &[u32]) -> f32 {
        let (mut needed, mut needed_strange) = (Vec::new(), Vec::new());
        let mut cosine = [0.0];
        let probes = self.bytes.chunks_exact(self.dimensions * 4).zip(&self.nearest).zip(&self.rows);
        for ((probe, nearest), row) in probes {
            let needed = if *row == usize::MAX { &mut needed_strange } else { &mut needed };
            let Some((farthest, _)) = nearest.last() else { continue };
            let values: Vec<f32> = probe.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
            for (_, row) in nearest {
                let list = list_of[*row as usize] as usize;
                let centre = &centres.bytes[list * self.dimensions * 4..(list + 1) * self.dimensions * 4];
                kernels::dots(centre, &values, &mut cosine);
                let (spread, across) = (spreads[list], (1.0 - cosine[0] * cosine[0]).max(0.0).sqrt());
                let deviation = spread.across * across;
                if deviation > 0.0 {
                    needed.push((farthest - spread.along * cosine[0]) / deviation);
                }
            }
        }
        let usual = missing_one_in(MISSED_DIVISOR, needed) + REACH_MARGIN;
        usual.max(missing_one_in(STRANGE_MISSED_DIVISOR, needed_strange)).clamp(*REACH.start(), *REACH.end())
    }
}

/// Returns the value that satisfies all but one in `divisor` of the needs.
fn missing_one_in(divisor: usize, mut needed: Vec<f32>) -> f32 {
    needed.sort_unstable_by(f32::total_cmp);
    let place = needed.len().saturating_sub(1 + needed.len() / divisor);
    needed.get(place).copied().unwrap_or(*REACH.start())
}
