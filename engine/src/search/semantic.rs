//! Searching by vectors alone: every document that passes the filter is a hit, ordered by nearness.

use std::cmp::Ordering;
use std::ops::Range;

use lamina_index::index::settings::{Distribution, RankingRule};
use lamina_index::index::{DocumentAddress, Snapshot};
use lamina_segment::bits::DocSet;
use lamina_text::id::DocId;
use rayon::prelude::*;

use super::explain::{Clock, Explanation, Standing, explain_semantic};
use super::filtering::time_limit;
use super::{Hit, Limit, SearchError, SearchRequest, SearchResult, distinct, documents, matching_universe};
use crate::rank::merge::Distinct;
use crate::rank::{AppliedRule, RuleCandidates, ScoreDetail, SearchThresholds, global_score};
use crate::sort::{ElementColumns, ElementSorts, SegmentSort, SortCriterion, SortError, check_sortable};
use crate::vector::{Pairing, QueryVector, nearest, nearest_by_scan};

/// Vectors with which documents are compared, and options.
#[derive(Clone, Debug)]
pub struct SemanticQuery {
    /// Name of an embedder of the settings.
    pub embedder: String,
    /// Directions; the nearest counts. Each has the embedder's dimensions.
    pub vectors: Vec<Vec<f32>>,
    /// Rule that selects which vectors of a document are compared with which of these.
    pub pairing: Pairing,
    /// A document that is no hit.
    pub except: Option<DocumentAddress>,
    /// True if excluded words of the query text exclude documents here too.
    pub excludes_words: bool,
}

impl SemanticQuery {
    /// By one vector. Nothing is near to an empty one.
    pub fn new(embedder: &str, vector: Vec<f32>) -> SemanticQuery {
        SemanticQuery {
            embedder: embedder.to_owned(),
            vectors: Some(vector).filter(|vector| !vector.is_empty()).into_iter().collect(),
            pairing: Pairing::All,
            except: None,
            excludes_words: false,
        }
    }
}

/// Without boosts.
pub(super) fn search_by_vectors(
    snapshot: &Snapshot,
    request: &SearchRequest,
    semantic: &SemanticQuery,
) -> Result<SearchResult, SearchError> {
    let mut clock = Clock::start();
    let (queries, distribution) = query_vectors(snapshot, semantic)?;
    let mut distinct = distinct(snapshot, request)?;
    let (sorts, sorts_before) = sorts(snapshot, request);
    let Candidates { docs: mut candidates, elements, limits } = Candidates::new(snapshot, request, semantic, &sorts)?;
    let candidate_count = documents(&candidates);
    clock.lap("filter for vectors", Some(candidate_count));
    let wanted = Wanted::new(snapshot, request, sorts.is_empty() && distinct.is_none());
    let (pairing, thresholds) = (semantic.pairing, &request.thresholds);
    let compared = Compared { queries: &queries, pairing, elements, thresholds };
    let segments = compare(snapshot, &semantic.embedder, &compared, &candidates, &sorts, wanted.keeps);
    let order = Order { snapshot, segments: &segments, sorts_before, sort_count: sorts.len(), distribution };
    let mut all: Vec<Entry> = segments.iter().flat_map(|segment| segment.entries.iter().copied()).collect();
    if semantic.except.is_some() {
        // A document that cannot be compared is not like another one.
        all.retain(|entry| entry.similarity().is_some());
    }
    let nearest_count = all.len() as u64;
    clock.lap("nearness", Some(nearest_count));
    order.sort(&mut all, wanted.keeps);
    let list = List::read(&all, &order, &wanted, request, distinct.as_mut());
    // Without looking further, what lies beyond the window counts as found.
    let is_cut = list.len < wanted.window.end;
    if distinct.is_some() || (request.score_threshold.is_some() && (request.exhaustive || is_cut)) {
        candidates = list.docs.into_iter().map(|docs| docs.into_iter().collect()).collect();
    }
    let document = wanted.asked.map(|id| explain_semantic(snapshot, request, id, list.asked)).transpose()?;
    clock.lap("hits by nearness", Some(documents(&candidates)));
    let explanation = request.explain.is_some().then(|| {
        let rules = vec![rule_candidates(&sorts, sorts_before, candidate_count, nearest_count)];
        Box::new(Explanation { stages: clock.stages, rules, document, ..Explanation::default() })
    });
    Ok(SearchResult {
        hits: list.hits,
        total: documents(&candidates),
        groups: distinct.as_ref().map(Distinct::groups),
        candidates,
        degraded: !limits.is_empty(),
        limits,
        matching_terms: None,
        explanation,
    })
}

/// The documents that are compared.
struct Candidates {
    /// Candidates of each segment.
    docs: Vec<DocSet>,
    /// Columns of element values for sorting, in each segment.
    elements: Vec<ElementColumns>,
    limits: Vec<Limit>,
}

impl Candidates {
    /// Prepares the documents that the filter and excluded words leave.
    fn new(
        snapshot: &Snapshot,
        request: &SearchRequest,
        semantic: &SemanticQuery,
        sorts: &[SortCriterion],
    ) -> Result<Candidates, SearchError> {
        let universe = matching_universe(snapshot, request, semantic.excludes_words)?;
        check_sortable(&snapshot.settings, &request.sort, true)?;
        let element_sorts = ElementSorts::new(sorts, snapshot).map_err(SortError::from)?;
        let limit = time_limit(request);
        let in_time = universe.and_then(|docs| {
            let segments = snapshot.segments.par_iter().zip(&docs);
            let elements = segments.map(|(view, docs)| element_sorts.columns(view, docs, limit));
            let elements = elements.collect::<Result<Vec<_>, _>>().ok()?;
            Some((docs, elements))
        });
        let limits = if in_time.is_none() { vec![Limit::TimeBudget] } else { Vec::new() };
        let count = snapshot.segments.len();
        let (mut docs, elements) =
            in_time.unwrap_or_else(|| (vec![DocSet::empty(); count], vec![ElementColumns::new(); count]));
        // Nothing is near to a text that says nothing to the model. All count that could be like a document.
        if semantic.vectors.is_empty() && semantic.except.is_none() {
            docs = vec![DocSet::empty(); count];
        }
        if let Some(except) = semantic.except {
            docs[except.segment as usize].retain(|doc| doc != except.doc);
        }
        Ok(Candidates { docs, elements, limits })
    }
}

/// Parts of the ordered list that are wanted.
struct Wanted<'r> {
    /// The hits.
    window: Range<usize>,
    /// The document that is asked about, and where it is.
    asked: Option<&'r str>,
    asked_address: Option<DocumentAddress>,
    /// Number of the nearest documents to keep; `None`: all of them.
    keeps: Option<usize>,
}

impl<'r> Wanted<'r> {
    /// `by_nearness`: nothing but nearness counts.
    fn new(snapshot: &Snapshot, request: &'r SearchRequest, by_nearness: bool) -> Wanted<'r> {
        let end = request.offset.saturating_add(request.limit);
        let asked = request.explain.as_ref().and_then(|explain| explain.document.as_deref());
        let asked_address = asked.and_then(|id| snapshot.find(id));
        let is_exhaustive = request.exhaustive && request.score_threshold.is_some();
        let keeps = (by_nearness && !is_exhaustive && asked_address.is_none()).then_some(end);
        Wanted { window: request.offset..end, asked, asked_address, keeps }
    }
}

/// Input of the comparison of documents with query vectors.
struct Compared<'q> {
    queries: &'q [QueryVector],
    pairing: Pairing,
    /// Element columns of each segment.
    elements: Vec<ElementColumns>,
    thresholds: &'q SearchThresholds,
}

/// Compares the candidates of all segments with the query.
fn compare<'s>(
    snapshot: &'s Snapshot,
    embedder: &str,
    compared: &Compared<'_>,
    candidates: &[DocSet],
    sorts: &'s [SortCriterion],
    keeps: Option<usize>,
) -> Vec<Segment<'s>> {
    let segments = snapshot.segments.par_iter().zip(candidates).enumerate();
    segments
        .map(|(index, (view, docs))| {
            let vectors = view.reader.vectors_of(embedder);
            Segment {
                entries: entries(index, vectors, compared, docs, keeps),
                sort: SegmentSort::new(snapshot, view, sorts).with_elements(compared.elements[index].clone()),
            }
        })
        .collect()
}

/// The ordered list as it was gone through.
struct List {
    hits: Vec<Hit>,
    /// Documents that are listed, also outside of the window.
    len: usize,
    /// The same, of each segment.
    docs: Vec<Vec<DocId>>,
    /// Standing, details and similarity of the document that is to be explained.
    asked: Option<(Standing, Vec<ScoreDetail>, Option<f32>)>,
}

impl List {
    /// Goes through `all`, which are in their order, without what is below the threshold or not distinct.
    fn read(
        all: &[Entry],
        order: &Order<'_>,
        wanted: &Wanted<'_>,
        request: &SearchRequest,
        mut distinct: Option<&mut Distinct>,
    ) -> List {
        let docs = vec![Vec::new(); order.segments.len()];
        let mut list = List { hits: Vec::new(), len: 0, docs, asked: None };
        for entry in all {
            let similarity = order.shown(entry);
            let score = f64::from(similarity.unwrap_or(0.0));
            let standing = if request.score_threshold.is_some_and(|threshold| score < threshold) {
                Standing::BelowThreshold
            } else if distinct.as_mut().is_some_and(|distinct| !distinct.admit(entry.segment as usize, entry.doc)) {
                Standing::NotDistinct
            } else {
                list.docs[entry.segment as usize].push(entry.doc);
                if wanted.window.contains(&list.len) {
                    list.hits.push(order.hit(entry));
                }
                list.len += 1;
                Standing::Hit { place: list.len as u64 - 1 }
            };
            if wanted.asked_address == Some(entry.address()) {
                list.asked = Some((standing, order.hit(entry).details, similarity));
            }
        }
        list
    }
}

/// Returns the entry that explains the only step of the ranking.
fn rule_candidates(sorts: &[SortCriterion], sorts_before: usize, documents: u64, nearest: u64) -> RuleCandidates {
    let mut rules: Vec<AppliedRule> = sorts.iter().cloned().map(AppliedRule::Sort).collect();
    rules.insert(sorts_before, AppliedRule::Named("vectorSort"));
    let groups = vec![("placed by nearness".to_owned(), nearest)];
    RuleCandidates { rules, first: 0, documents, read: None, groups }
}

/// The size of the vectors of an embedder, if it is known yet.
pub fn dimensions(snapshot: &Snapshot, embedder: &str) -> Option<u32> {
    let mut stored = snapshot.segments.iter().filter_map(|segment| segment.reader.vectors_of(embedder));
    let stored = stored.find(|vectors| vectors.vector_count() > 0);
    let settings = snapshot.settings.embedder(embedder);
    stored.map(|vectors| vectors.shape().dimensions).or_else(|| settings?.dimensions)
}

/// The vectors that documents are compared with, and how similarities are shown.
fn query_vectors(
    snapshot: &Snapshot,
    semantic: &SemanticQuery,
) -> Result<(Vec<QueryVector>, Option<Distribution>), SearchError> {
    let Some(settings) = snapshot.settings.embedder(&semantic.embedder) else {
        return Err(SearchError::UnknownEmbedder { name: semantic.embedder.clone() });
    };
    // Where dimensions were changed, no vector has both sizes.
    let configured = settings.dimensions.map(|size| size as usize);
    let stored = dimensions(snapshot, &semantic.embedder).map(|size| size as usize);
    for vector in &semantic.vectors {
        if let Some(expected) = configured.into_iter().chain(stored).find(|size| *size != vector.len()) {
            return Err(SearchError::VectorDimensions { expected, found: vector.len() });
        }
    }
    Ok((semantic.vectors.iter().map(|vector| QueryVector::new(vector)).collect(), settings.distribution))
}

/// Returns the sorts of the hits, and the number of them that come before the vector similarity. The similarity takes
/// the place of the first relevancy rule, or comes last.
fn sorts(snapshot: &Snapshot, request: &SearchRequest) -> (Vec<SortCriterion>, usize) {
    let (mut sorts, mut before): (Vec<SortCriterion>, Option<usize>) = (Vec::new(), None);
    let add = |sorts: &mut Vec<SortCriterion>, criterion: SortCriterion| {
        if !sorts.iter().any(|known| known.same_target(&criterion)) {
            sorts.push(criterion);
        }
    };
    for rule in &snapshot.settings.ranking_rules {
        match rule {
            RankingRule::Sort => request.sort.iter().for_each(|criterion| add(&mut sorts, criterion.clone())),
            RankingRule::Asc(field) => add(&mut sorts, SortCriterion::field(field, true)),
            RankingRule::Desc(field) => add(&mut sorts, SortCriterion::field(field, false)),
            RankingRule::Boost(_) => {}
            _ => drop(before.get_or_insert(sorts.len())),
        }
    }
    let before = before.unwrap_or(sorts.len());
    (sorts, before)
}

struct Segment<'a> {
    entries: Vec<Entry>,
    sort: SegmentSort<'a>,
}

/// A candidate.
#[derive(Clone, Copy, Debug)]
struct Entry {
    segment: u32,
    doc: DocId,
    /// Below zero: no vector.
    similarity: f32,
}

impl Entry {
    fn address(&self) -> DocumentAddress {
        DocumentAddress { segment: self.segment, doc: self.doc }
    }

    fn similarity(&self) -> Option<f32> {
        (self.similarity >= 0.0).then_some(self.similarity)
    }

    /// Nearest first; within a segment, documents are in the order of their insertion.
    fn compare_within(&self, other: &Entry) -> Ordering {
        other.similarity.total_cmp(&self.similarity).then_with(|| self.doc.cmp(&other.doc))
    }
}

/// The candidates of a segment with their nearness; only the best where `keeps` says how many are enough.
fn entries(
    segment: usize,
    vectors: Option<&lamina_segment::segment::Vectors>,
    compared: &Compared<'_>,
    docs: &DocSet,
    keeps: Option<usize>,
) -> Vec<Entry> {
    let segment = u32::try_from(segment).expect("few segments");
    if keeps == Some(0) {
        return Vec::new();
    }
    let &Compared { queries, pairing, thresholds, .. } = compared;
    let entry = |doc, similarity: Option<f32>| Entry { segment, doc, similarity: similarity.unwrap_or(-1.0) };
    let Some(vectors) = vectors else {
        let mut all = Vec::new();
        docs.for_each(|doc| all.push(entry(doc, None)));
        all.truncate(keeps.unwrap_or(usize::MAX));
        return all;
    };
    // Documents have about as many vectors each.
    let rows = u64::from(docs.len()) * u64::from(vectors.vector_count()) / u64::from(vectors.doc_count().max(1));
    let by_codes = keeps.filter(|_| rows.max(docs.len().into()) > thresholds.vectors_compared_max.into());
    if let Some(found) = by_codes.and_then(|keeps| nearest(vectors, queries, pairing, docs, keeps)) {
        let mut found = found.into_iter().map(|(doc, similarity)| entry(doc, Some(similarity))).collect();
        best(&mut found, keeps);
        return found;
    }
    let part_docs = u32::try_from(thresholds.vector_part_bytes / vectors.shape().row_bytes()).unwrap_or(u32::MAX);
    let parts = docs.parts(part_docs.max(thresholds.vector_part_docs_min)).into_par_iter().map(|part| {
        let found = nearest_by_scan(vectors, queries, pairing, docs, part, keeps.unwrap_or(usize::MAX));
        found.into_iter().map(|(doc, similarity)| entry(doc, similarity))
    });
    let mut all: Vec<Entry> = parts.flatten_iter().collect();
    best(&mut all, keeps);
    all
}

fn best(entries: &mut Vec<Entry>, keeps: Option<usize>) {
    if let Some(keeps) = keeps.filter(|keeps| *keeps < entries.len()) {
        entries.select_nth_unstable_by(keeps - 1, Entry::compare_within);
        entries.truncate(keeps);
    }
}

struct Order<'a> {
    snapshot: &'a Snapshot,
    segments: &'a [Segment<'a>],
    sorts_before: usize,
    sort_count: usize,
    distribution: Option<Distribution>,
}

impl Order<'_> {
    /// The similarity as it is shown. Where those of many models lie it has a limit at both ends, which documents that are
    /// near and nearer share: they are ordered by what was measured.
    fn shown(&self, entry: &Entry) -> Option<f32> {
        let measured = entry.similarity()?;
        Some(self.distribution.map_or(measured, |distribution| distribution.shift(measured)))
    }

    /// Orders `all`, or the first ones where only these are kept.
    fn sort(&self, all: &mut Vec<Entry>, keeps: Option<usize>) {
        if let Some(keeps) = keeps.filter(|keeps| *keeps < all.len() && *keeps > 0) {
            all.select_nth_unstable_by(keeps - 1, |one, other| self.compare(one, other));
            all.truncate(keeps);
        }
        all.par_sort_unstable_by(|one, other| self.compare(one, other));
    }

    fn compare(&self, one: &Entry, other: &Entry) -> Ordering {
        self.by_sorts(0..self.sorts_before, one, other)
            .then_with(|| other.similarity.total_cmp(&one.similarity))
            .then_with(|| self.by_sorts(self.sorts_before..self.sort_count, one, other))
            .then_with(|| self.insertion(one).cmp(&self.insertion(other)))
    }

    fn by_sorts(&self, mut sorts: Range<usize>, one: &Entry, other: &Entry) -> Ordering {
        let sort = |entry: &Entry| &self.segments[entry.segment as usize].sort;
        let compared = sorts.by_ref().map(|index| {
            if one.segment == other.segment {
                sort(one).key(index, one.doc).cmp(&sort(one).key(index, other.doc))
            } else {
                sort(one).compare_across(index, one.doc, sort(other), other.doc)
            }
        });
        compared.fold(Ordering::Equal, Ordering::then)
    }

    fn insertion(&self, entry: &Entry) -> u64 {
        self.snapshot.segments[entry.segment as usize].reader.internal_id(entry.doc)
    }

    fn hit(&self, entry: &Entry) -> Hit {
        let sort = &self.segments[entry.segment as usize].sort;
        let mut details: Vec<ScoreDetail> =
            (0..self.sort_count).map(|index| ScoreDetail::of_sort(sort, index, entry.doc)).collect();
        details.insert(self.sorts_before, ScoreDetail::Vector(self.shown(entry)));
        Hit { address: entry.address(), score: global_score(&details), details }
    }
}
