//! The filter of a search, evaluated within its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lamina_index::index::settings::RankingRule;
use lamina_index::index::{SegmentView, Snapshot};
use lamina_segment::bits::DocSet;
use lamina_segment::segment::SegmentReader;
use lamina_text::id::DocId;

use super::{Limit, SearchError, SearchRequest, SearchResult};
use crate::boost::{Boosts, SegmentBoosts};
use crate::condition::{PreparedFilter, TimeLimit};
use crate::sort::{ElementColumns, ElementSorts, SortCriterion, SortError};

/// A filter gets at least this long, however short the time budget: what has few conditions is then always evaluated, also
/// when the search has waited for its turn.
const TIME_MIN: Duration = Duration::from_millis(200);

/// The filter and the boosts of a request, and whether these were evaluated in time.
#[derive(Debug)]
pub(super) struct Filtering {
    filter: Option<PreparedFilter>,
    boosts: Boosts,
    sorts: ElementSorts,
    /// Documents that do not pass whatever the filter says.
    except: Vec<(Arc<SegmentReader>, DocId)>,
    limit: TimeLimit<'static>,
    is_late: AtomicBool,
}

impl SearchResult {
    /// Returns the empty result of a search whose time budget ended before it began.
    pub fn late(snapshot: &Snapshot) -> SearchResult {
        SearchResult {
            hits: Vec::new(),
            total: 0,
            groups: Some(0),
            candidates: vec![DocSet::empty(); snapshot.segments.len()],
            degraded: true,
            limits: vec![Limit::TimeBudget],
            matching_terms: None,
            explanation: None,
        }
    }
}

/// Until when the filters of a request are evaluated: within its time budget.
pub(super) fn time_limit(request: &SearchRequest) -> TimeLimit<'static> {
    let end = request.cutoff.and_then(|cutoff| request.received.checked_add(cutoff));
    end.map_or(TimeLimit::NONE, |end| TimeLimit::until(end.max(Instant::now() + TIME_MIN)))
}

impl Filtering {
    /// # Errors
    /// What the settings don't allow.
    pub(super) fn new(snapshot: &Snapshot, request: &SearchRequest) -> Result<Filtering, SearchError> {
        let limit = time_limit(request);
        let filter = match &request.filter {
            Some(filter) => Some(PreparedFilter::new(filter, &snapshot.settings, &snapshot.fields)?),
            None => None,
        };
        let except = request.except.iter();
        let except = except.map(|at| (Arc::clone(&snapshot.segments[at.segment as usize].reader), at.doc)).collect();
        let (boosts, sorts) = (Boosts::default(), ElementSorts::default());
        Ok(Filtering { filter, boosts, sorts, except, limit, is_late: AtomicBool::new(false) })
    }

    /// The same with the conditions on elements of `sorts`.
    ///
    /// # Errors
    /// Conditions that the settings don't allow.
    pub(super) fn with_sorts(self, sorts: &[SortCriterion], snapshot: &Snapshot) -> Result<Filtering, SearchError> {
        let sorts = ElementSorts::new(sorts, snapshot).map_err(SortError::from)?;
        Ok(Filtering { sorts, ..self })
    }

    /// Returns the element columns for sorting the documents of a segment that are in `among`. The result is empty if
    /// the time is up.
    pub(super) fn element_columns(&self, view: &SegmentView, among: &DocSet) -> ElementColumns {
        self.sorts.columns(view, among, self.limit).unwrap_or_else(|_| {
            self.is_late.store(true, Ordering::Relaxed);
            ElementColumns::new()
        })
    }

    /// The same with the boosts among `rules`.
    ///
    /// # Errors
    /// Boosts that the settings don't allow.
    pub(super) fn with_boosts(self, rules: &[RankingRule], snapshot: &Snapshot) -> Result<Filtering, SearchError> {
        let boosts = Boosts::new(rules.iter().filter_map(RankingRule::boost), snapshot)?;
        Ok(Filtering { boosts, ..self })
    }

    /// The boosts of a segment; none when the time is up.
    pub(super) fn boosts<'a>(&'a self, view: &'a SegmentView) -> SegmentBoosts<'a> {
        self.boosts.of_segment(view, self.limit).unwrap_or_else(|_| {
            self.is_late.store(true, Ordering::Relaxed);
            SegmentBoosts::default()
        })
    }

    /// The live documents of a segment that pass; none when the time is up.
    pub(super) fn passing(&self, view: &SegmentView) -> DocSet {
        let mut passing = match &self.filter {
            None => view.live_set(),
            Some(filter) => filter.evaluate(view, self.limit).unwrap_or_else(|_| {
                self.is_late.store(true, Ordering::Relaxed);
                DocSet::empty()
            }),
        };
        let own = |(reader, doc): &(Arc<SegmentReader>, DocId)| Arc::ptr_eq(reader, &view.reader).then_some(*doc);
        let except: Vec<DocId> = self.except.iter().filter_map(own).collect();
        if !except.is_empty() {
            passing.and_not_assign(&except.into_iter().collect());
        }
        passing
    }

    /// Reports whether the filter could not be evaluated for all segments. Then no document is a hit, because the
    /// documents that passed elsewhere would look like the complete result.
    pub(super) fn is_late(&self) -> bool {
        self.is_late.load(Ordering::Relaxed)
    }
}
