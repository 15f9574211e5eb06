//! Lower bounds of the keys of many documents at once, from postings alone.
//!
//! The postings of a word know in which fields of a document it is and how early. So for documents that match a level
//! without typo the cost of `attributeRank` is known, and that of `wordPosition` has a bound. Cut into groups by them,
//! best first, the scan of the token column ends after a few groups instead of reading every document that holds
//! frequent words.
//!
//! Most postings of a frequent word have the same fields and zone. Where each document of a level has the word, all are taken
//! to have the costs of those at first, and only postings that say less are read.

use crate::bits::DocSet;
use crate::id::{DocId, TermOrdinal};
use crate::query::SegmentQuery;
use crate::rank::context::SegmentLevel;
use crate::rank::costs::{ATTRIBUTE_BITS, CostTable, Costs, Packing};
use crate::rank::groups::{Base, Groups};
use crate::rank::key::{Key, KeyLayout};
use crate::rank::packed_bounds::{PackedBound, PackedBounds};
use crate::rank::path::EXACT_POSITIONS;
use crate::rank::rules::{GraphRule, Match};
use crate::segment::PrefixUnion;

/// Reading a posting costs this many times less than scanning a document.
const POSTINGS_PER_SCAN: u64 = 32;
/// A prefix whose words have more postings than this many times the documents is not looked into.
const PREFIX_POSTINGS_MAX: u64 = 8;

/// Documents with the word itself are read from the postings of the word when they are fewer than one in this many, and
/// get a number each when they are more.
const EXACT_SHARE: u32 = 16;

/// Where a bound is read from.
enum Source<'q> {
    Words(Forms<'q>),
    /// The stored union of a prefix.
    Union(PrefixUnion<'q>),
}

/// The words that a node matches: a word or what begins like it, and others in their place. A sequence of words is known
/// by its first one: a document that holds it counts with every place of that.
struct Forms<'q> {
    words: std::ops::Range<TermOrdinal>,
    misspelt: [&'q [TermOrdinal]; 2],
    /// First words of the synonyms, other forms, and the first of the two words it is split into.
    first: Vec<TermOrdinal>,
}

impl Forms<'_> {
    fn iter(&self) -> impl Iterator<Item = TermOrdinal> + Clone {
        let others = self.misspelt.into_iter().flatten().chain(&self.first);
        self.words.clone().chain(others.copied())
    }

    /// The only one.
    fn single(&self) -> Option<TermOrdinal> {
        let mut forms = self.iter();
        forms.next().filter(|_| forms.next().is_none())
    }
}

/// How documents are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cutting {
    /// See [`Groups::cut`].
    pub(crate) in_pieces: bool,
    /// So many postings are worth another thread.
    pub(crate) postings_per_job: u64,
}

/// Cuts groups of documents that match every word of a level in some way by the least costs of `attributeRank` and
/// `wordPosition`, and by whether an attribute can be, or begin with, the query.
///
/// `groups`: disjoint sets with the smallest key of their documents. Those that can still be exact in the first step of
/// `exactness` hold every word exactly; `exact_known`: terms whose exact word is anywhere. Cost: at most about 2 ns per posting of the level's words; nothing is cut
/// when scanning the documents would be cheaper.
pub(super) fn cut_by_costs<'q>(
    of: SegmentLevel<'q>,
    groups: Vec<(Key, DocSet)>,
    layout: &'q KeyLayout,
    matched: Match,
    cutting: Cutting,
) -> Groups<'q> {
    let (query, level, exact_known) = (of.query(), of.level, &of.context.exact_known);
    let docs: u64 = groups.iter().map(|(_, docs)| u64::from(docs.len())).sum();
    let nodes: Vec<usize> = level.starting.iter().filter_map(|s| s.first().copied()).collect();
    let sources: Vec<(usize, Source<'_>, u64)> = nodes
        .iter()
        .filter_map(|&n| source(query, n, matched).map(|(source, postings)| (n, source, postings)))
        .collect();
    let postings: u64 = sources.iter().map(|s| s.2).sum();
    // Positions are known exactly up to here.
    let close = |&t: &usize| query.graph().terms[t].last_position < EXACT_POSITIONS && exact_known[t];
    let with_attribute =
        matched == Match::Exact && layout.slice(GraphRule::ExactAttribute).is_some() && level.kept.iter().all(close);
    // Where a word stands without the stop words before it, postings don't know.
    let with_attribute = with_attribute && query.stop().is_empty();
    let packing = Packing::new(sources.len() as u32, query.options().max_weight, layout, with_attribute);
    let Some(packing) = packing.filter(|_| !sources.is_empty() && postings <= docs * POSTINGS_PER_SCAN) else {
        return Groups::whole(groups);
    };
    // The costs of one word are no bound of those of a level of which other words are not looked into.
    let packing = Packing { single: packing.single && nodes.len() == 1, ..packing };
    let sources = match <[_; 1]>::try_from(sources) {
        Ok([(node, Source::Union(union), _)]) if packing.single && exact_are_few(query, &groups) => {
            let bases = match query.expansions()[node].exact {
                Some(exact) if with_attribute => cut_by_place(query, node, exact, &packing, layout, groups),
                _ => groups,
            };
            let node = &query.graph().nodes[node];
            let table = CostTable::new(query, union.field_sets(), node, &packing, Costs::Any);
            return Groups::of_union(bases, union, |bound, code, zone| {
                bound + packing.key(table.get(code, zone) & packing.mask(false), layout)
            });
        }
        Ok(sources) => Vec::from(sources),
        Err(sources) => sources,
    };
    // Without typos each document of a level has every word, the word itself if it is in the group that may be exact. Costs that
    // are taken to be smaller than they are must stay so when those of `exactness` do not count.
    let have_all = matched == Match::Exact && !query.options().is_restricted() && packing.has_attribute_last();
    let costs = LeastCosts { query, packing: &packing, have_all }.of_sources(&sources, cutting.postings_per_job);
    let bases = groups.into_iter().map(|(bound, docs)| {
        let can_be_exact = layout.slice(GraphRule::ExactAttribute).is_some_and(|a| a.get(bound) == 0);
        Base { bound, docs, mask: packing.mask(with_attribute && can_be_exact) }
    });
    Groups::cut(bases.collect(), costs, cutting.in_pieces, move |packed| packing.key(packed, layout))
}

/// Cuts groups of documents by whether the word of a node can be all of an attribute, or begin one. Groups whose keys say
/// already that they are not exact stay as they are, and so do documents of others that do not hold the word: without
/// attributes to search on there are none.
fn cut_by_place(
    query: &SegmentQuery<'_>,
    node: usize,
    exact: TermOrdinal,
    packing: &Packing,
    layout: &KeyLayout,
    groups: Vec<(Key, DocSet)>,
) -> Vec<(Key, DocSet)> {
    let postings = query.reader().postings();
    let node = &query.graph().nodes[node];
    let table = CostTable::new(query, postings.field_sets(), node, packing, Costs::ExactnessOnly);
    let mut cut = Vec::new();
    for (bound, docs) in groups {
        if layout.slice(GraphRule::ExactAttribute).is_none_or(|attribute| attribute.get(bound) > 0) {
            cut.push((bound, docs));
            continue;
        }
        let mut by_cost: [Vec<DocId>; 1 << ATTRIBUTE_BITS] = Default::default();
        postings.for_each_with_zone(exact, |doc, code, zone| {
            if docs.contains(doc) {
                by_cost[packing.attribute.get(table.get(code, zone)) as usize].push(doc);
            }
        });
        let mut without = docs;
        for (cost, with) in (0..).zip(by_cost.map(DocSet::from_sorted)) {
            without.and_not_assign(&with);
            cut.push((bound + packing.key(packing.pack(0, 0, cost), layout), with));
        }
        cut.push((bound, without));
    }
    cut
}

/// Whether only the last of some groups is large: those before it hold the word of a prefix itself.
fn exact_are_few(query: &SegmentQuery<'_>, groups: &[(Key, DocSet)]) -> bool {
    let few = query.reader().doc_count() / EXACT_SHARE;
    groups.split_last().is_none_or(|(_, exact)| exact.iter().all(|(_, docs)| docs.len() <= few))
}

/// What the costs of a node are read from, and the number of postings to be read; `None` when too much would have to be read.
fn source<'q>(query: &'q SegmentQuery<'q>, node: usize, matched: Match) -> Option<(Source<'q>, u64)> {
    let e = &query.expansions()[node];
    // A split counts as a typo.
    let (misspelt, split): ([&[TermOrdinal]; 2], _) = match matched {
        Match::Exact => ([&[], &[]], None),
        Match::Misspelt => ([&e.one_typo, &e.two_typos], e.split),
    };
    let doc_count = u64::from(query.reader().doc_count());
    let postings = query.reader().postings();
    if let Some(words) = &e.phrase {
        let first = (*words.first()?)?;
        let words = Forms { words: first..first + 1, misspelt: [&[], &[]], first: Vec::new() };
        return Some((Source::Words(words), u64::from(postings.doc_freq(first))));
    }
    let synonyms = e.synonyms.iter().filter_map(|words| *words.first()?);
    let forms = e.forms_as_words(query.options()).iter().copied();
    let first = synonyms.chain(forms).chain(split.map(|[left, _]| left)).collect();
    let words = if e.prefix.is_empty() { e.exact.map_or(0..0, |o| o..o + 1) } else { e.prefix.clone() };
    let mut others = Forms { words: 0..0, misspelt, first };
    if !e.prefix.is_empty() && others.iter().next().is_none() {
        let prefix = query.graph().nodes[node].text.as_bytes();
        if let Some(union) = postings.prefix_union(prefix) {
            return Some((Source::Union(union), doc_count));
        }
    }
    let limit = PREFIX_POSTINGS_MAX * doc_count;
    let of_others = others.iter().map(|word| u64::from(postings.doc_freq(word)));
    let sum = postings.doc_freq_sum(words.clone(), limit) + of_others.sum::<u64>();
    others.words = words;
    (sum > 0 && sum < limit).then_some((Source::Words(others), sum))
}

/// Reads the least costs of documents.
#[derive(Clone, Copy)]
struct LeastCosts<'q> {
    query: &'q SegmentQuery<'q>,
    packing: &'q Packing,
    /// All documents that matter have each of the words.
    have_all: bool,
}

impl LeastCosts<'_> {
    /// The least costs of each document, as far as they are known.
    fn of_sources(self, sources: &[(usize, Source<'_>, u64)], postings_per_job: u64) -> PackedBounds {
        if let [(node, Source::Words(words), _)] = sources {
            // Every document of the level holds one of the words.
            return self.of_words(*node, words);
        }
        let of = |sources: &[(usize, Source<'_>, u64)]| {
            let usual = sources.iter().map(|(node, source, _)| self.usual(*node, source)).sum();
            let mut costs = self.filled(usual);
            sources.iter().for_each(|(node, source, _)| self.add(*node, source, &mut costs));
            costs
        };
        let postings = |sources: &[(usize, Source<'_>, u64)]| sources.iter().map(|source| source.2).sum::<u64>();
        let (left, right) = sources.split_at(sources.len() / 2);
        if postings(left).min(postings(right)) < postings_per_job {
            return of(sources);
        }
        let (mut costs, others) = rayon::join(|| of(left), || of(right));
        costs.iter_mut().zip(others.iter()).for_each(|(costs, &others)| *costs += others);
        costs
    }

    fn filled(self, bound: PackedBound) -> PackedBounds {
        PackedBounds::filled(self.query.caches().runtime().arrays(), self.query.reader().doc_count() as usize, bound)
    }

    fn table(self, node: usize, kind: Costs) -> CostTable {
        let sets = self.query.reader().postings().field_sets();
        CostTable::new(self.query, sets, &self.query.graph().nodes[node], self.packing, kind)
    }

    fn union_table(self, node: usize, union: &PrefixUnion<'_>) -> CostTable {
        CostTable::new(self.query, union.field_sets(), &self.query.graph().nodes[node], self.packing, Costs::Any)
    }

    /// The costs of the only word of a node.
    fn only_table(self, node: usize, only: TermOrdinal) -> CostTable {
        let e = &self.query.expansions()[node];
        self.table(node, if e.exact == Some(only) || e.phrase.is_some() { Costs::Exact } else { Costs::Any })
    }

    /// The word of a node itself, when the completions of a prefix are read from a union, but its place is not.
    fn placed(self, node: usize) -> Option<TermOrdinal> {
        self.query.expansions()[node].exact.filter(|_| self.packing.attribute.bits > 0)
    }

    /// What each document is taken to have before a node is added: what most have, if all have one of its words.
    fn usual(self, node: usize, source: &Source<'_>) -> PackedBound {
        if !self.have_all {
            return 0;
        }
        let postings = self.query.reader().postings();
        match source {
            Source::Union(union) => {
                let of_union =
                    union.largest_group().map_or(0, |(code, zone)| self.union_table(node, union).get(code, zone));
                let of_place = |exact| self.table(node, Costs::ExactnessOnly).usual(postings, exact);
                of_union + self.placed(node).map_or(0, of_place)
            }
            Source::Words(words) => words.single().map_or(0, |only| self.only_table(node, only).usual(postings, only)),
        }
    }

    /// Adds the least costs of a node to those of each document that holds one of its words: less the usual ones, which are in
    /// them already.
    fn add(self, node: usize, source: &Source<'_>, costs: &mut [PackedBound]) {
        match source {
            Source::Union(union) => {
                self.add_union(&self.union_table(node, union), union, costs);
                // Among the completions of a prefix only the word itself can be in its place.
                if let Some(exact) = self.placed(node) {
                    self.add_word(&self.table(node, Costs::ExactnessOnly), exact, costs);
                }
            }
            Source::Words(words) => match words.single() {
                Some(only) => self.add_word(&self.only_table(node, only), only, costs),
                None => {
                    let none = self.packing.none();
                    for (costs, &least) in costs.iter_mut().zip(self.of_words(node, words).iter()) {
                        *costs += if least == none && !self.have_all { 0 } else { least };
                    }
                }
            },
        }
    }

    fn add_word(self, table: &CostTable, word: TermOrdinal, costs: &mut [PackedBound]) {
        let postings = self.query.reader().postings();
        if !self.have_all {
            return postings.for_each_block(word, |block| table.add(&block, costs));
        }
        let usual = table.usual(postings, word);
        postings.for_each_picked(word, &table.marks(|cost| cost < usual), |doc, code, zone| {
            if let Some(costs) = costs.get_mut(doc as usize) {
                *costs -= usual - table.get(code, zone);
            }
        });
    }

    fn add_union(self, table: &CostTable, union: &PrefixUnion<'_>, costs: &mut [PackedBound]) {
        if !self.have_all {
            return union.for_each_group(|code, zone, docs| {
                let cost = table.get(code, zone);
                docs.for_each(|doc| costs[doc as usize] += cost);
            });
        }
        let usual = union.largest_group().map_or(0, |(code, zone)| table.get(code, zone));
        union.for_each_small_group(|code, zone, docs| {
            let difference = table.get(code, zone).wrapping_sub(usual);
            for &doc in docs {
                if let Some(costs) = costs.get_mut(doc as usize) {
                    *costs = costs.wrapping_add(difference);
                }
            }
        });
    }

    /// By document the least costs of a node that matches each of `words`. Without any of them: [`Packing::none`], or what the
    /// usual ones are.
    fn of_words(self, node: usize, words: &Forms<'_>) -> PackedBounds {
        let postings = self.query.reader().postings();
        // A phrase is bounded by its first word.
        let e = &self.query.expansions()[node];
        let exact = e.exact.or(e.phrase.as_ref().map(|_| words.words.start));
        let others = words.iter().filter(|&o| Some(o) != exact && self.query.stop().binary_search(&o).is_err());
        let (of_exact, of_others) = (self.table(node, Costs::Exact), self.table(node, Costs::Any));
        if !self.have_all {
            let mut least = self.filled(self.packing.none());
            if let Some(exact) = exact {
                postings.for_each_block(exact, |block| of_exact.each(&block, &mut least, |least, cost| *least = cost));
            }
            for ordinal in others {
                postings.for_each_block(ordinal, |block| {
                    of_others.each(&block, &mut least, |least, cost| *least = self.packing.least(*least, cost));
                });
            }
            return least;
        }
        let candidates = exact.into_iter().chain(others.clone());
        let usual = match candidates.max_by_key(|&word| postings.doc_freq(word)) {
            Some(word) if Some(word) == exact => of_exact.usual(postings, word),
            Some(word) => of_others.usual(postings, word),
            None => self.packing.none(),
        };
        let mut least = self.filled(usual);
        if let Some(exact) = exact {
            postings.for_each_picked(exact, &of_exact.marks(|cost| cost < usual), |doc, code, zone| {
                if let Some(least) = least.get_mut(doc as usize) {
                    *least = of_exact.get(code, zone);
                }
            });
        }
        let lower = of_others.marks(|cost| self.packing.least(usual, cost) != usual);
        for ordinal in others.filter(|_| !lower.is_empty()) {
            postings.for_each_picked(ordinal, &lower, |doc, code, zone| {
                if let Some(least) = least.get_mut(doc as usize) {
                    *least = self.packing.least(*least, of_others.get(code, zone));
                }
            });
        }
        least
    }
}
