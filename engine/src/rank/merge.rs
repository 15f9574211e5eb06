//! From the best documents of each segment to the hits of the answer.

use lamina_segment::segment::{Column, SegmentReader};
use lamina_text::id::{DocId, FieldId};

use crate::facet::UsedValues;
use crate::rank::order::EntryOrder;
use crate::rank::score::{ScoreDetail, global_score};
use crate::rank::top_k::Entry;

/// At most so many hits per value of one attribute.
pub(crate) struct Distinct {
    /// The column of each segment, where it has one.
    columns: Vec<Option<Column>>,
    used: UsedValues,
    /// Hits of segments where no document has the attribute.
    without_column: u64,
}

impl Distinct {
    /// Keeps `limit` hits of each value.
    pub(crate) fn new<'a>(
        field: Option<FieldId>,
        limit: u32,
        readers: impl Iterator<Item = &'a SegmentReader>,
    ) -> Distinct {
        let columns = readers.map(|r| field.and_then(|f| r.columns().get(f))).collect();
        Distinct { columns, used: UsedValues::with_limit(limit), without_column: 0 }
    }

    /// Reports whether none of the document's values has reached the limit of hits, and then counts one more hit for
    /// each. Documents without a value are all kept.
    pub(crate) fn admit(&mut self, segment: usize, doc: DocId) -> bool {
        match &self.columns[segment] {
            Some(column) => self.used.admit(column, doc),
            None => {
                self.without_column += 1;
                true
            }
        }
    }

    /// Counts the groups of the hits admitted so far. A hit without a value is a group of its own.
    pub(crate) fn groups(&self) -> u64 {
        self.used.groups() + self.without_column
    }
}

/// A hit: segment, document, score, details.
pub(crate) struct RankedHit {
    pub(crate) segment: usize,
    pub(crate) doc: DocId,
    pub(crate) score: f64,
    pub(crate) details: Vec<ScoreDetail>,
}

/// The ranked documents of all segments.
pub(crate) trait RankedList {
    /// Per segment: its best entries, unordered.
    fn entries(&self) -> &[Vec<Entry>];

    /// Returns the order by which the entries are compared.
    fn order(&self) -> &EntryOrder<'_>;

    /// Returns what each rule says about an entry.
    fn details(&self, segment: usize, entry: &Entry) -> Vec<ScoreDetail>;
}

/// Range of the hits that are wanted, and the data wanted for them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Hits skipped, best first.
    pub(crate) offset: usize,
    /// Hits returned at most.
    pub(crate) limit: usize,
    /// Documents with a lower score are no hits.
    pub(crate) score_threshold: Option<f64>,
    /// True if hits have their score, for which their documents are read again.
    pub(crate) scores: bool,
}

/// The entries of a segment, best last. Their keys are compared as they are: those of different segments need the values.
fn run<'a>(order: &EntryOrder<'_>, segment: usize, entries: &'a [Entry]) -> Vec<(usize, &'a Entry)> {
    let mut run: Vec<_> = entries.iter().map(|entry| (segment, entry)).collect();
    run.sort_unstable_by(|a, b| order.compare(*b, *a));
    run
}

/// Takes the best entry of all runs. Cost: a comparison a segment.
fn next<'a>(order: &EntryOrder<'_>, runs: &mut [Vec<(usize, &'a Entry)>]) -> Option<(usize, &'a Entry)> {
    let ends = runs.iter().filter_map(|run| run.last());
    let &(segment, _) = ends.min_by(|a, b| order.compare(**a, **b))?;
    runs[segment].pop()
}

/// The window `offset..offset + limit` of all segments, best first, and the hits of each segment when every document was
/// ranked (`distinct`, which counts its groups then, or a threshold).
pub(crate) fn merge(
    ranked: &impl RankedList,
    wanted: Wanted,
    distinct: &mut Option<Distinct>,
) -> (Vec<RankedHit>, Option<Vec<Vec<DocId>>>) {
    let Wanted { offset, limit, score_threshold: threshold, scores } = wanted;
    let order = ranked.order();
    let window = offset.saturating_add(limit);
    let rank_all = distinct.is_some() || threshold.is_some();
    let mut runs: Vec<_> = (0..).zip(ranked.entries()).map(|(segment, entries)| run(order, segment, entries)).collect();
    let mut kept = rank_all.then(|| vec![Vec::new(); ranked.entries().len()]);
    let mut hits = Vec::new();
    let mut position = 0;
    while let Some((segment, entry)) = (rank_all || position < window).then(|| next(order, &mut runs)).flatten() {
        let mut details = None;
        if let Some(threshold) = threshold {
            let d = ranked.details(segment, entry);
            if global_score(&d) < threshold {
                continue;
            }
            details = Some(d);
        }
        if distinct.as_mut().is_some_and(|d| !d.admit(segment, entry.doc)) {
            continue;
        }
        if let Some(kept) = &mut kept {
            kept[segment].push(entry.doc);
        }
        if (offset..window).contains(&position) {
            let details = details.or_else(|| scores.then(|| ranked.details(segment, entry))).unwrap_or_default();
            let score = if details.is_empty() && !scores { 0.0 } else { global_score(&details) };
            hits.push(RankedHit { segment, doc: entry.doc, score, details });
        }
        position += 1;
    }
    (hits, kept)
}
