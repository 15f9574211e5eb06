//! The scan of one level in one segment: offers documents to the top-k, and reads as little of them as decides.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};

use lamina_segment::bits::DocSet;
use lamina_segment::segment::Span;
use lamina_text::id::DocId;

use crate::rank::context::SegmentLevel;
use crate::rank::cut::leading_groups;
use crate::rank::deadline;
use crate::rank::document_scanner::DocumentScanner;
use crate::rank::exact_attribute::{Beginning, ExactFields};
use crate::rank::groups::Groups;
use crate::rank::key::{Key, Slice};
use crate::rank::path::PathFinder;
use crate::rank::rules::{EXACT_ATTRIBUTE_WORST, GraphRule, Match};
use crate::rank::thresholds::SearchThresholds;
use crate::rank::top_k::{Entry, KeyPart, TopK};
use crate::rank::word_pairs::{NearestWords, WordPairs};
use crate::sort::SortTarget;

/// Each further list of the documents of a group is so many times as long.
const SCANNED_GROWTH: usize = 4;

/// Result of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scan {
    Complete,
    /// No remaining document can enter the top-k.
    NothingBetter,
    TimeIsUp,
}

/// Upper bounds of the proximity cost of words that are apart.
struct Apart {
    /// In any document.
    most: u32,
    /// In one that enters.
    limit: u32,
}

/// Scans groups of documents of one segment and level; keeps its buffers from group to group.
pub(super) struct LevelScan<'a> {
    of: SegmentLevel<'a>,
    /// Number of the relaxation step.
    number: u16,
    /// Counts documents that are read, over all scans.
    all_read: &'a AtomicU64,
    /// Way in which the documents match; `None` if any way is possible.
    matched: Option<Match>,
    has_sorts: bool,
    has_graph_rules: bool,
    paths: PathFinder<'a>,
    documents: DocumentScanner<'a>,
    sorts: Vec<u64>,
    exact_fields: OnceCell<ExactFields<'a>>,
    /// `None` when how the query begins excludes nothing.
    beginning: OnceCell<Option<Beginning<'a>>>,
    word_pairs: Option<(Slice, WordPairs)>,
    nearest: OnceCell<NearestWords>,
    /// Pieces of documents, over all groups.
    scanned: usize,
    /// Documents of which more was read than how they begin.
    read: u64,
    /// Documents of the groups that were taken.
    taken: usize,
    /// The smallest key of the last of them.
    least: Key,
}

impl Drop for LevelScan<'_> {
    fn drop(&mut self) {
        self.all_read.fetch_add(self.read, Ordering::Relaxed);
    }
}

impl<'a> LevelScan<'a> {
    /// `number`: of the level; `all_read`: counts the documents that were read.
    pub(super) fn new(
        of: SegmentLevel<'a>,
        number: u16,
        matched: Option<Match>,
        all_read: &'a AtomicU64,
    ) -> LevelScan<'a> {
        let SegmentLevel { context, index, level } = of;
        let (graph, options) = (context.search.graph, context.search.options);
        let word_pairs = || {
            let word_pairs = WordPairs::new(of.query(), level, matched?)?;
            Some((context.layout.slice(GraphRule::Proximity)?, word_pairs))
        };
        LevelScan {
            of,
            number,
            all_read,
            matched,
            has_sorts: context.has_sorts(),
            has_graph_rules: context.parts.iter().any(|p| matches!(p, KeyPart::Graph(_))),
            paths: PathFinder::new(graph, options, level, &context.layout, &context.exact_known),
            documents: DocumentScanner::new(&context.matchers[index], options),
            sorts: Vec::new(),
            exact_fields: OnceCell::new(),
            beginning: OnceCell::new(),
            word_pairs: word_pairs(),
            nearest: OnceCell::new(),
            scanned: 0,
            read: 0,
            taken: 0,
            least: 0,
        }
    }

    /// Offers documents whose keys are at least `bound`; `true` when the time ran out. Large groups are scanned on two
    /// threads, once their first documents have raised the bar.
    pub(super) fn group(&mut self, bound: Key, docs: &DocSet, top: &mut TopK) -> bool {
        let Some(first) = docs.first() else { return false };
        if !top.admits_any(bound, first) {
            return false;
        }
        // Those that lead the first order come first: mostly no other one can enter after them.
        let segment = self.of.segment();
        let doc_count = segment.query.reader().doc_count();
        let leading =
            self.has_sorts.then(|| segment.sort.leading(docs, doc_count, self.of.context.search.wanted)).flatten();
        let others = match &leading {
            None => None,
            Some(leading) => {
                let mut groups = match self.matched {
                    Some(Match::Exact) => leading_groups(self.of, bound, leading),
                    _ => Groups::whole(vec![(bound, leading.clone())]),
                };
                while groups.bound().is_some_and(|(bound, doc)| top.admits_any(bound, doc))
                    && let Some((bound, docs)) = groups.take()
                {
                    if self.docs(bound, &docs.to_vec(), top) == Scan::TimeIsUp {
                        return true;
                    }
                }
                if !self.admits_behind(bound, leading, top) {
                    return false;
                }
                Some(docs.and_not(leading))
            }
        };
        let docs = others.as_ref().unwrap_or(docs);
        // Mostly the first documents settle it: no list is made of the others before that.
        let mut rest = docs.iter();
        let mut len = self.of.context.search.thresholds.scanned_first[usize::from(self.scanned > 0)];
        loop {
            let next: Vec<DocId> = rest.by_ref().take(len).collect();
            let Some(&first) = next.first() else { return false };
            if !top.admits_any(bound, first) {
                return false;
            }
            if next.len() >= self.of.context.search.thresholds.scanned_alone_max {
                if self.lists(&[(bound, next)], top) {
                    return true;
                }
            } else {
                match self.docs(bound, &next, top) {
                    Scan::TimeIsUp => return true,
                    Scan::NothingBetter => return false,
                    Scan::Complete => {}
                }
            }
            len *= SCANNED_GROWTH;
        }
    }

    /// Works like [`Self::group`], for several groups, best first. The second thread shares them as if they were one
    /// group.
    pub(super) fn groups(&mut self, groups: &[(Key, DocSet)], top: &mut TopK) -> bool {
        if let [(bound, docs)] = groups {
            return self.group(*bound, docs, top);
        }
        let lists: Vec<(Key, Vec<DocId>)> = groups.iter().map(|(bound, docs)| (*bound, docs.to_vec())).collect();
        self.lists(&lists, top)
    }

    /// Takes the groups that are scanned next: the best one, or several small ones once so many documents were taken that
    /// as many more do not matter.
    pub(super) fn take(&mut self, groups: &mut Groups<'_>, top: &TopK) -> Vec<(Key, DocSet)> {
        let (mut taken, mut count) = (Vec::new(), 0);
        let SearchThresholds { taken_alone, scanned_alone_max, .. } = self.of.context.search.thresholds;
        let enough = if self.has_sorts || self.taken < taken_alone { 1 } else { self.taken.max(scanned_alone_max) };
        // The keys of all parts before the first sort ascend from group to group.
        while groups.bound().is_some_and(|(bound, doc)| top.admits_any(bound, doc))
            && let Some((bound, docs)) = groups.take()
        {
            debug_assert!(bound >= self.least, "groups come best first: one that comes late may not come at all");
            self.least = bound;
            if docs.is_empty() {
                continue;
            }
            count += docs.len() as usize;
            taken.push((bound, docs));
            if count >= enough {
                break;
            }
        }
        self.taken += count;
        taken
    }

    /// Scans lists, best first, on two threads if there is enough to read.
    fn lists(&mut self, lists: &[(Key, Vec<DocId>)], top: &mut TopK) -> bool {
        let lists: Vec<(Key, &[DocId])> = lists.iter().map(|(bound, docs)| (*bound, docs.as_slice())).collect();
        let count: usize = lists.iter().map(|(_, docs)| docs.len()).sum();
        if count < self.of.context.search.thresholds.scanned_alone_max {
            return self.some(&lists, top);
        }
        let mut left = Vec::new();
        let mut right = Vec::new();
        let mut room = count / 2;
        for (bound, docs) in lists {
            let (in_left, in_right) = docs.split_at(docs.len().min(room));
            room -= in_left.len();
            left.push((bound, in_left));
            right.push((bound, in_right));
        }
        let mut other = top.fork();
        let (of, number, matched, all_read) = (self.of, self.number, self.matched, self.all_read);
        let (a, b) = rayon::join(
            || LevelScan::new(of, number, matched, all_read).some(&left, top),
            || LevelScan::new(of, number, matched, all_read).some(&right, &mut other),
        );
        top.absorb(other);
        a || b
    }

    /// Scans lists on this thread.
    fn some(&mut self, lists: &[(Key, &[DocId])], top: &mut TopK) -> bool {
        for &(bound, docs) in lists {
            if docs.first().is_some_and(|&first| top.admits_any(bound, first))
                && self.docs(bound, docs, top) == Scan::TimeIsUp
            {
                return true;
            }
        }
        false
    }

    fn docs(&mut self, bound: Key, docs: &[DocId], top: &mut TopK) -> Scan {
        let context = self.of.context;
        let segment = self.of.segment();
        let tokens = segment.query.reader().tokens();
        // The smallest keys without an attribute that is the query, and without one that begins with it.
        let [short_of_exact, short_of_beginning] = [1, EXACT_ATTRIBUTE_WORST].map(|cost| {
            let slice = context.layout.slice(GraphRule::ExactAttribute).filter(|slice| slice.get(bound) < cost)?;
            Some(bound + slice.put(cost - slice.get(bound)))
        });
        let (mut only_exact, mut only_beginning) = (false, false);
        let most = self.word_pairs.as_ref().map_or(0, |(_, word_pairs)| word_pairs.most());
        let mut apart = Apart { most, limit: most };
        let has_graph_rules = self.has_graph_rules;
        for docs in tokens.fetched(docs, |&doc| has_graph_rules.then_some(doc)) {
            if deadline::is_up(context.search.deadline, self.scanned) {
                return Scan::TimeIsUp;
            }
            self.scanned += 1;
            for (&doc, span) in docs {
                if self.has_sorts {
                    segment.sort.keys(doc, &mut self.sorts);
                }
                if !top.admits(bound, &self.sorts, doc) {
                    if self.has_sorts {
                        continue;
                    }
                    return Scan::NothingBetter;
                }
                only_exact = self.is_settled(only_exact, short_of_exact, top, doc);
                only_beginning = self.is_settled(only_beginning, short_of_beginning, top, doc);
                if (only_exact || only_beginning) && !self.may_be_exact(doc, span, only_exact) {
                    continue;
                }
                self.read += 1;
                let mut key = bound;
                if has_graph_rules {
                    if !self.may_be_near(bound, &mut apart, doc, span, top) {
                        continue;
                    }
                    let Some(found) = self.paths.evaluate(self.documents.scan(&tokens.doc_at(span))) else { continue };
                    if !top.admits(found, &self.sorts, doc) {
                        continue;
                    }
                    key = found;
                }
                top.push(Entry { key, sorts: self.sorts.clone(), level: self.number, doc });
            }
        }
        Scan::Complete
    }

    /// Reports whether the words of a document may be close enough together for it to enter the top k. If only words
    /// close together could still win, not all of them are examined.
    #[inline]
    fn may_be_near(&self, bound: Key, apart: &mut Apart, doc: DocId, span: Span, top: &TopK) -> bool {
        let Some((slice, word_pairs)) = &self.word_pairs else { return true };
        let proximity = |cost: u32| (bound & !slice.mask()) + slice.put(cost.max(slice.get(bound)));
        // The bar only rises, but for documents with other sort values.
        apart.limit = if self.has_sorts { apart.most } else { apart.limit };
        while apart.limit > 0 && !top.admits(proximity(apart.limit), &self.sorts, doc) {
            apart.limit -= 1;
        }
        if apart.limit == apart.most {
            return true;
        }
        let reader = self.of.query().reader();
        let nearest = self.nearest.get_or_init(|| NearestWords::new(reader, word_pairs));
        nearest.may_cost(&reader.tokens().doc_at(span), apart.limit)
    }

    /// Reports whether an attribute of a document may be exactly the query or, unless `whole`, begin with it. Most
    /// words of the document are not examined.
    fn may_be_exact(&self, doc: DocId, span: Span, whole: bool) -> bool {
        let SegmentLevel { context, level, .. } = self.of;
        let query = self.of.query();
        let without_typo = self.matched == Some(Match::Exact);
        let beginning = || without_typo.then(|| Beginning::new(query, level, &context.exact_known)).flatten();
        if let Some(beginning) = self.beginning.get_or_init(beginning) {
            return beginning.is_in(&query.reader().tokens().doc_at(span), whole);
        }
        !whole || self.exact_fields.get_or_init(|| ExactFields::new(query, level, without_typo)).possible(doc)
    }

    /// Reports whether a document could enter that comes after all of `leading` in the first sort and whose key is at
    /// least `bound`.
    fn admits_behind(&self, bound: Key, leading: &DocSet, top: &TopK) -> bool {
        let sort = &self.of.segment().sort;
        let last = leading.iter().map(|doc| sort.key(0, doc)).max().unwrap_or(0);
        // Documents of the same value lead together; of the same distance in whole metres some may not.
        let is_apart = !matches!(sort.criterion(0).target, SortTarget::GeoPoint { .. });
        let mut best = vec![0; sort.criteria_count()];
        best[0] = last.saturating_add(u64::from(is_apart));
        top.admits(bound, &best, 0)
    }

    /// Reports whether a document with this key could not enter. Without sort values this holds for the rest of the
    /// group, because its documents ascend and the bar only rises.
    fn is_settled(&self, already: bool, key: Option<Key>, top: &TopK, doc: DocId) -> bool {
        (already && !self.has_sorts) || key.is_some_and(|key| !top.admits(key, &self.sorts, doc))
    }
}
