//! One query over one segment: the documents of each node by typo cost, and of each level.

use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use lamina_index::caches::{CachedSegment, SegmentCaches, WordDocsKey};
use lamina_segment::bits::{BitsetBuilder, DocSet};
use lamina_segment::segment::SegmentReader;
use lamina_text::id::{FieldId, TermOrdinal};
use rayon::prelude::*;

use super::expand::{Expansion, expand, needs_walk, sequence, typo_key};
use super::graph::{Node, QueryGraph};
use super::level::Level;
use super::options::{NOT_SEARCHED, QueryOptions};
use super::parser::Excluded;
use super::phrase::phrase_among;
use super::vertex::{CLASSES, vertex, vertex_count};

/// A union of fewer documents than one in this many is collected as a list, then sorted: with more of them that takes
/// longer than to pass over a bit for each document.
const LIST_SHARE: u64 = 512;
/// Documents of words are kept when they are at least one in this many.
const KEPT_SHARE: u64 = 64;
/// More typos count alike.
const TYPOS_COUNTED_MAX: usize = 4;
/// Fewer walks of the dictionary are made by the thread that is awake: to wake another one takes as long as some of them,
/// and longer where that is on another core.
const WALKS_PER_JOB: usize = 10;
/// A word in fewer than one document in this many makes it cheaper to find those that have all words.
const RAREST_SHARE: u64 = 16;

/// The expansions of a query graph over one segment and, computed when asked for, their documents.
pub struct SegmentQuery<'a> {
    reader: &'a SegmentReader,
    caches: &'a SegmentCaches,
    /// Documents that are no more, if any.
    deleted: Option<&'a DocSet>,
    graph: &'a QueryGraph,
    options: &'a QueryOptions,
    expansions: Vec<Expansion>,
    /// Ordinals of stop words, ascending.
    stop: Vec<TermOrdinal>,
    /// By field set code: whether the set has a searched field; `None` when every set has.
    pub(super) searched: Option<Vec<bool>>,
    /// The same for fields that typos reach.
    pub(super) searched_typos: Option<Vec<bool>>,
    /// The same for fields in which forms of words count.
    pub(super) searched_forms: Option<Vec<bool>>,
    docs: Vec<OnceLock<Arc<DocSet>>>,
    /// By node: documents that have its split.
    split_docs: HashMap<usize, Arc<DocSet>>,
}

impl<'a> SegmentQuery<'a> {
    /// Expands every node. Cost: dictionary look-ups, one walk of the dictionary per node that accepts typos.
    pub fn new(
        segment: CachedSegment<'a>,
        deleted: Option<&'a DocSet>,
        graph: &'a QueryGraph,
        options: &'a QueryOptions,
    ) -> SegmentQuery<'a> {
        let CachedSegment { reader, caches } = segment;
        let mut stop: Vec<_> =
            options.stop_words.iter().filter_map(|word| reader.terms().ordinal(word.as_bytes())).collect();
        stop.sort_unstable();
        let expanded = |node| expand(segment, node, options, &stop);
        // Long queries walk the dictionary for each of their words and concatenations.
        let walks = graph.nodes.iter().filter(|node| needs_walk(caches, node)).count();
        let expansions = match walks {
            0..WALKS_PER_JOB => graph.nodes.iter().map(expanded).collect(),
            _ => graph.nodes.par_iter().map(expanded).collect(),
        };
        let allowed = |accept: &dyn Fn(FieldId) -> bool| {
            let table = reader.postings().field_sets().allowed(accept);
            (!table.iter().all(|&b| b)).then_some(table)
        };
        let searched = allowed(&|f| options.weight(f) != NOT_SEARCHED);
        let searched_typos = allowed(&|f| options.weight(f) != NOT_SEARCHED && options.typos_reach(f));
        let searched_forms = allowed(&|f| options.weight(f) != NOT_SEARCHED && options.forms_reach(f));
        let docs = (0..vertex_count(graph)).map(|_| OnceLock::new()).collect();
        SegmentQuery {
            reader,
            caches,
            deleted,
            graph,
            options,
            expansions,
            stop,
            searched,
            searched_typos,
            searched_forms,
            docs,
            split_docs: HashMap::new(),
        }
    }

    pub fn reader(&self) -> &'a SegmentReader {
        self.reader
    }

    /// Returns the caches of recent query results for the segment.
    pub(crate) fn caches(&self) -> &'a SegmentCaches {
        self.caches
    }

    pub(super) fn segment(&self) -> CachedSegment<'a> {
        CachedSegment { reader: self.reader, caches: self.caches }
    }

    /// Counts the documents of a set that are not deleted.
    pub(crate) fn live_len(&self, docs: &DocSet) -> u32 {
        docs.len() - self.deleted.map_or(0, |deleted| docs.and_len(deleted))
    }

    /// Reports whether a word occurs in a document that is not deleted. Costs more than one load only for words of few
    /// documents.
    pub(crate) fn is_alive(&self, word: TermOrdinal) -> bool {
        let postings = self.reader.postings();
        self.deleted
            .is_none_or(|deleted| postings.doc_freq(word) > deleted.len() || self.live_len(&postings.docs(word)) > 0)
    }

    pub(crate) fn graph(&self) -> &'a QueryGraph {
        self.graph
    }

    pub(crate) fn options(&self) -> &'a QueryOptions {
        self.options
    }

    /// Ordinals of stop words, ascending.
    pub fn stop(&self) -> &[TermOrdinal] {
        &self.stop
    }

    /// Returns the expansion of each node in this segment, in the order of the graph's nodes.
    pub(crate) fn expansions(&self) -> &[Expansion] {
        &self.expansions
    }

    /// Sets the split of a node and the documents that have it.
    pub(super) fn set_split(&mut self, node: usize, words: [TermOrdinal; 2], docs: Arc<DocSet>) {
        self.expansions[node].split = Some(words);
        self.split_docs.insert(node, docs);
    }

    /// Documents of one vertex: a node at `class` typos above its base.
    pub fn docs(&self, node: usize, class: usize) -> &DocSet {
        self.docs[vertex(node, class)].get_or_init(|| match self.kept_as(node, class) {
            Some(key) => self.caches.word_docs.get_or_find(key, || self.find_docs(node, class)),
            None => Arc::new(self.find_docs(node, class)),
        })
    }

    fn find_docs(&self, node: usize, class: usize) -> DocSet {
        let e = &self.expansions[node];
        match class {
            0 => {
                let mut docs = if e.prefix.is_empty() {
                    self.union(e.exact.into_iter(), self.searched.as_deref())
                } else {
                    self.prefix(node)
                };
                if self.options.forms.as_words && !e.forms.is_empty() {
                    docs.or_assign(&self.forms_docs(&e.forms));
                }
                for words in e.synonyms.iter().chain(&e.phrase) {
                    docs.or_assign(&self.phrase(words));
                }
                docs
            }
            1 => {
                let mut docs = self.union(e.one_typo.iter().copied(), self.searched_typos.as_deref());
                if let Some(split) = self.split_docs.get(&node) {
                    docs.or_assign(split);
                }
                docs
            }
            _ => self.union(e.two_typos.iter().copied(), self.searched_typos.as_deref()),
        }
    }

    /// The key of the documents of a vertex in the cache of the segment: of those that many documents have, and that
    /// depend on nothing but the word.
    fn kept_as(&self, node: usize, class: usize) -> Option<WordDocsKey> {
        let (Node { phrase, .. }, e) = (&self.graph.nodes[node], &self.expansions[node]);
        let depends = self.searched.is_some()
            || self.searched_typos.is_some()
            || !self.stop.is_empty()
            || self.options.typos.exact_numbers
            || phrase.is_some()
            || !e.synonyms.is_empty()
            || (self.options.forms.as_words && !e.forms.is_empty())
            || (class == 1 && self.split_docs.contains_key(&node));
        if depends {
            return None;
        }
        let few = match class {
            0 if e.prefix.is_empty() => self.few_entries(e.exact.into_iter(), KEPT_SHARE),
            0 => self.few_entries(e.prefix.clone(), KEPT_SHARE),
            1 => self.few_entries(e.one_typo.iter().copied(), KEPT_SHARE),
            _ => self.few_entries(e.two_typos.iter().copied(), KEPT_SHARE),
        };
        few.is_none().then(|| WordDocsKey { word: typo_key(&self.graph.nodes[node]), class: class as u8 })
    }

    /// Returns the total number of postings of some terms if it is less than one for every `share` documents of the
    /// segment, otherwise `None`.
    fn few_entries(&self, ordinals: impl Iterator<Item = TermOrdinal>, share: u64) -> Option<u64> {
        let limit = u64::from(self.reader.doc_count()) / share;
        let mut sum = 0;
        for ordinal in ordinals {
            sum += u64::from(self.reader.postings().doc_freq(ordinal));
            if sum >= limit {
                return None;
            }
        }
        Some(sum)
    }

    /// Reports whether words of a relaxation step may be matched by other words without a typo: completions of a
    /// prefix, synonyms or other forms.
    pub(crate) fn completes(&self, level: &Level) -> bool {
        level.starting.iter().flatten().any(|&n| {
            let e = &self.expansions[n];
            !e.prefix.is_empty() || !e.synonyms.is_empty() || !e.forms.is_empty()
        })
    }

    /// Documents of `among` that hold every word of a level exactly.
    pub(crate) fn exact_docs(&self, level: &Level, among: &DocSet) -> DocSet {
        let mut docs = among.clone();
        for &node in level.starting.iter().filter_map(|s| s.first()) {
            let e = &self.expansions[node];
            match (e.exact, &e.phrase) {
                (Some(exact), _) => docs.and_assign(&self.term_docs(exact)),
                // Matching documents hold the phrase as it is.
                (None, Some(_)) => {}
                (None, None) => return DocSet::empty(),
            }
        }
        docs
    }

    /// The documents of `among`, which match a level with a typo, by how many they need: those in the set at place `n`
    /// need no fewer than `n`. Documents that hold a concatenation are in the set at place 1. Cost: some bitmap operations
    /// for each word.
    pub(crate) fn docs_by_typos(&self, level: &Level, among: &DocSet) -> Vec<DocSet> {
        let mut joined = DocSet::empty();
        for &node in level.starting.iter().flatten().filter(|&&n| self.graph.nodes[n].is_ngram()) {
            (0..CLASSES).for_each(|class| joined.or_assign(&among.and(self.docs(node, class))));
        }
        let mut by_typos = vec![DocSet::empty(); TYPOS_COUNTED_MAX + 1];
        by_typos[0] = among.and_not(&joined);
        for &node in level.starting.iter().filter_map(|s| s.first()) {
            let mut next = vec![DocSet::empty(); TYPOS_COUNTED_MAX + 1];
            for (typos, mut left) in by_typos.into_iter().enumerate().filter(|(_, docs)| !docs.is_empty()) {
                for class in 0..CLASSES {
                    let docs = self.docs(node, class);
                    next[(typos + class).min(TYPOS_COUNTED_MAX)].or_assign(&left.and(docs));
                    left.and_not_assign(docs);
                }
            }
            by_typos = next;
        }
        by_typos[1].or_assign(&joined);
        debug_assert_eq!(by_typos[1..].iter().map(DocSet::len).sum::<u32>(), among.len(), "each is in one set");
        by_typos
    }

    /// Reports whether no document of the segment can match a node.
    pub fn is_empty(&self, node: usize) -> bool {
        (0..CLASSES).all(|class| self.docs(node, class).is_empty())
    }

    /// Documents that hold a word as two, once its split is known.
    pub(crate) fn split_docs(&self, node: usize) -> Option<&DocSet> {
        self.split_docs.get(&node).map(|docs| &**docs)
    }

    fn prefix(&self, node: usize) -> DocSet {
        let e = &self.expansions[node];
        let whole = self.searched.is_none() && self.stop.is_empty();
        let stored = whole.then(|| self.reader.postings().prefix_union(self.graph.nodes[node].text.as_bytes()));
        if let Some(union) = stored.flatten() {
            return union.groups.docs();
        }
        // A stop word is matched by nothing, so it is left out of the range of a prefix too.
        let ordinals = e.prefix.clone().filter(|o| self.stop.binary_search(o).is_err());
        self.union(ordinals, self.searched.as_deref())
    }

    /// Documents that hold any of the terms, in fields that `allowed` accepts by field set code.
    pub(super) fn union(
        &self,
        ordinals: impl Iterator<Item = TermOrdinal> + Clone,
        allowed: Option<&[bool]>,
    ) -> DocSet {
        let postings = self.reader.postings();
        let mut rest = ordinals.clone();
        match (rest.next(), rest.next(), allowed) {
            (None, ..) => return DocSet::empty(),
            (Some(only), None, None) => return postings.docs(only),
            _ => {}
        }
        if let Some(entries) = self.few_entries(ordinals.clone(), LIST_SHARE) {
            let mut docs = Vec::with_capacity(entries as usize);
            for ordinal in ordinals {
                postings.for_each(ordinal, |doc, code| {
                    if allowed.is_none_or(|a| a.get(code as usize).copied().unwrap_or(false)) {
                        docs.push(doc);
                    }
                });
            }
            docs.sort_unstable();
            docs.dedup();
            return DocSet::from_sorted(docs);
        }
        let mut set = BitsetBuilder::new(self.reader.doc_count());
        for ordinal in ordinals {
            match allowed {
                None => postings.add_to(ordinal, &mut set),
                Some(allowed) => postings.add_to_filtered(ordinal, allowed, &mut set),
            }
        }
        set.finish()
    }

    /// Documents that hold the words of a sequence next to each other in one searched field.
    pub fn phrase(&self, words: &[Option<TermOrdinal>]) -> DocSet {
        match *words {
            [Some(first), Some(second)] => {
                Arc::unwrap_or_clone(self.pair([first, second], || self.docs_with_all(words)))
            }
            _ => match self.docs_near(words) {
                (docs, true) if self.searched.is_none() => docs,
                (docs, _) => self.phrase_among(docs, words),
            },
        }
    }

    /// Documents that hold two words next to each other in one searched field; `both`: those that hold both.
    pub(super) fn pair(&self, words: [TermOrdinal; 2], both: impl FnOnce() -> DocSet) -> Arc<DocSet> {
        // Which documents they are depends on the searched fields.
        match (self.reader.word_pairs().next(words), &self.searched) {
            (Some(stored), None) => Arc::new(stored.documents),
            (Some(stored), Some(_)) => Arc::new(self.phrase_among(stored.documents, &words.map(Some))),
            (None, searched) => {
                let find = || self.phrase_among(both(), &words.map(Some)).shrunk();
                if searched.is_none() { self.caches.pairs.get_or_find(words, find) } else { Arc::new(find()) }
            }
        }
    }

    /// Documents of `docs` that hold the words of a sequence next to each other in one searched field.
    pub(super) fn phrase_among(&self, docs: DocSet, words: &[Option<TermOrdinal>]) -> DocSet {
        phrase_among(self.reader, docs, words, |f| self.options.weight(f) != NOT_SEARCHED)
    }

    /// Documents that hold every word of a sequence, anywhere.
    pub(super) fn docs_with_all(&self, words: &[Option<TermOrdinal>]) -> DocSet {
        let mut lists: Vec<TermOrdinal> = words.iter().flatten().copied().collect();
        lists.sort_unstable();
        lists.dedup();
        lists.sort_by_key(|&o| self.reader.postings().doc_freq(o));
        let mut lists = lists.into_iter();
        let Some(rarest) = lists.next() else { return DocSet::empty() };
        let mut docs = self.term_docs(rarest);
        for ordinal in lists {
            if docs.is_empty() {
                break;
            }
            docs = self.reader.postings().docs_among(ordinal, &docs);
        }
        docs
    }

    /// Documents that may hold the words of a sequence next to each other, and whether all of them are known to do so in
    /// some field.
    fn docs_near(&self, words: &[Option<TermOrdinal>]) -> (DocSet, bool) {
        let word_pairs = self.reader.word_pairs();
        let mut near: Option<DocSet> = None;
        let mut others = words.to_vec();
        for (at, pair) in words.windows(2).enumerate() {
            if let [Some(left), Some(right)] = *pair
                && let Some(stored) = word_pairs.next([left, right])
            {
                near = Some(match near {
                    Some(near) => near.and(&stored.documents),
                    None => stored.documents,
                });
                others[at..at + 2].fill(None);
            }
        }
        let Some(mut docs) = near else { return (self.docs_with_all(words), false) };
        if others.iter().any(Option::is_some) {
            docs.and_assign(&self.docs_with_all(&others));
        }
        let mut are_sure = words.len() == 3;
        for row in words.windows(3) {
            let [Some(first), Some(middle), Some(last)] = *row else {
                are_sure = false;
                continue;
            };
            match word_pairs.in_a_row([first, middle, last]) {
                Some(known) => known.narrow(&mut docs),
                None => are_sure = false,
            }
        }
        (docs, are_sure)
    }

    /// Documents that hold something excluded.
    pub fn excluded(&self, excluded: &Excluded) -> DocSet {
        let terms = self.reader.terms();
        match excluded {
            // A stop word is matched by nothing.
            Excluded::Word(word) => {
                let known = terms.ordinal(word.as_bytes()).filter(|o| self.stop.binary_search(o).is_err());
                known.map_or_else(DocSet::empty, |ordinal| self.term_docs(ordinal))
            }
            Excluded::Phrase(words) => match sequence(terms, words) {
                Some(words) => self.phrase(&words),
                None => DocSet::empty(),
            },
        }
    }

    /// Documents that match a level through any of its nodes, or, with `exact_only`, without any typo or
    /// concatenation.
    pub(crate) fn level_docs(&self, level: &Level, universe: &DocSet, exact_only: bool) -> DocSet {
        let mut reach: Vec<DocSet> = vec![DocSet::empty(); level.kept.len() + 1];
        if level.kept.is_empty() {
            return universe.clone();
        }
        let classes = if exact_only { 1 } else { CLASSES };
        let around = self.around_rarest(level, classes).map(|docs| universe.and(&docs));
        let universe = around.as_ref().unwrap_or(universe);
        let everything = universe.len() == self.reader.doc_count();
        for at in 0..level.kept.len() {
            if at > 0 && reach[at].is_empty() {
                continue;
            }
            for &node in &level.starting[at] {
                let len = self.graph.nodes[node].len;
                if exact_only && len > 1 {
                    continue;
                }
                for class in 0..classes {
                    let docs = self.docs(node, class);
                    if docs.is_empty() {
                        continue;
                    }
                    if at == 0 && everything {
                        reach[len].or_assign(docs);
                    } else {
                        let step = if at == 0 { universe.and(docs) } else { reach[at].and(docs) };
                        reach[at + len].or_assign(&step);
                    }
                }
            }
        }
        reach.pop().expect("one entry more than kept terms")
    }

    /// The documents that have the word of a level that fewest have, in any way up to `classes`; `None` when all words
    /// are in many. Whatever is intersected with them is small from the start.
    fn around_rarest(&self, level: &Level, classes: usize) -> Option<DocSet> {
        let few = u64::from(self.reader.doc_count()) / RAREST_SHARE;
        let nodes = |place: usize| {
            let starts = level.starting.iter().enumerate().take(place + 1);
            let nodes = starts.flat_map(|(start, nodes)| nodes.iter().map(move |&node| (start, node)));
            nodes.filter(move |&(start, node)| start + self.graph.nodes[node].len > place).map(|(_, node)| node)
        };
        let docs = |place| nodes(place).flat_map(|node| (0..classes).map(move |class| self.docs(node, class)));
        let count = |place: &usize| docs(*place).map(|docs| u64::from(docs.len())).sum::<u64>();
        let (count, rarest) = (0..level.kept.len()).map(|place| (count(&place), place)).min()?;
        (count < few).then(|| {
            let mut all = DocSet::empty();
            docs(rarest).for_each(|docs| all.or_assign(docs));
            all
        })
    }

    /// Documents that match one sequence of nodes.
    pub(crate) fn tiling_docs(&self, tiling: &[usize], universe: &DocSet) -> DocSet {
        let mut docs = universe.clone();
        for &node in tiling {
            let mut any = DocSet::empty();
            for class in 0..CLASSES {
                any.or_assign(&docs.and(self.docs(node, class)));
            }
            docs = any;
        }
        docs
    }
}
