//! Lower bounds of the keys of many documents at once, from postings alone.
//!
//! The postings of a word tell in which fields of a document it is and how early. So for documents that match a level
//! without typo the cost of `attributeRank` is known, and that of `wordPosition` has a bound. Cut into groups by them,
//! best first, the scan of the token column ends after a few groups instead of reading every document that holds
//! frequent words.

use crate::bits::DocSet;
use crate::id::{DocId, TermOrdinal};
use crate::query::SegmentQuery;
use crate::query::graph::Node;
use crate::query::options::NOT_SEARCHED;
use crate::rank::key::{Key, KeyLayout, Slice};
use crate::rank::keyword::EXACT_ATTRIBUTE_WORST;
use crate::rank::level::Level;
use crate::rank::path::{POSITION_COST_MAX, bucketed_position, position_cost};
use crate::rank::rules::GraphRule;
use crate::segment::{FieldSets, ZONE_COUNT, ZONE_STARTS};

/// Reading a posting costs this many times less than scanning a document.
const POSTINGS_PER_SCAN: u64 = 32;
/// A prefix whose words have more postings than this many times the documents is not looked into.
const PREFIX_POSTINGS_MAX: u64 = 8;

/// Positions below this are not rounded by `wordPosition`.
const EXACT_POSITIONS: u16 = 16;

/// Least costs of one word in one document.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    rank: u8,
    position: u8,
    /// An exact word is not in its place, so no attribute is, or starts with, the query.
    displaced: bool,
}

impl Costs {
    const WORST: Costs = Costs { rank: u8::MAX, position: u8::MAX, displaced: false };

    fn min(self, other: Costs) -> Costs {
        Costs { rank: self.rank.min(other.rank), position: self.position.min(other.position), displaced: false }
    }

    fn add(&mut self, other: Costs) {
        self.rank = self.rank.saturating_add(other.rank);
        self.position = self.position.saturating_add(other.position);
        self.displaced |= other.displaced;
    }
}

/// Costs by field set code and zone.
struct CostTable(Vec<[Costs; ZONE_COUNT]>);

impl CostTable {
    /// `exact`: the postings are those of the word of the query itself.
    fn new(query: &SegmentQuery<'_>, sets: &FieldSets, node: &Node, exact: bool) -> CostTable {
        let first_position = u32::from(node.first_position);
        let positions = ZONE_STARTS.map(|start| {
            // A word that comes first before its place in the query may come again right there.
            let start = bucketed_position(start);
            if start <= first_position { 0 } else { position_cost(start - first_position) as u8 }
        });
        let row = |code: u32| {
            let weights = sets.fields(code).iter().map(|&f| query.options().weight(f));
            // A set without fields stands for unknown ones.
            let weight = weights.min().unwrap_or(0);
            let rank = if weight == NOT_SEARCHED { u8::MAX } else { u8::try_from(weight).unwrap_or(u8::MAX) };
            positions.map(|position| Costs { rank, position, displaced: exact && position > 0 })
        };
        CostTable((0..sets.len() as u32).map(row).collect())
    }

    #[inline]
    fn get(&self, code: u32, zone: u8) -> Costs {
        self.0.get(code as usize).map_or(Costs::default(), |row| row[usize::from(zone) % ZONE_COUNT])
    }
}

/// Where a bound is read from.
enum Source<'q> {
    Words(std::ops::Range<TermOrdinal>),
    /// The stored union of a prefix.
    Union(&'q [u8]),
}

/// Cuts groups of documents that match every word of a level without typo by the least costs of `attributeRank` and
/// `wordPosition`.
///
/// `groups`: disjoint sets with the smallest key of their documents; so is the answer, best first. Those that can still
/// be exact in the first step of `exactness` hold every word exactly; `exact_known`: terms whose exact word is anywhere. Cost: about 2 ns per
/// posting of the level's words and per document; nothing is cut when scanning the documents would be cheaper.
pub(crate) fn cut_by_costs(
    query: &SegmentQuery<'_>,
    level: &Level,
    groups: Vec<(Key, DocSet)>,
    layout: &KeyLayout,
    exact_known: &[bool],
) -> Vec<(Key, DocSet)> {
    let (rank, position) = (layout.slice(GraphRule::AttributeRank), layout.slice(GraphRule::WordPosition));
    let docs: u64 = groups.iter().map(|(_, docs)| u64::from(docs.len())).sum();
    let nodes: Vec<usize> = level.starting.iter().filter_map(|s| s.first().copied()).collect();
    let sources: Vec<(usize, Source<'_>, u64)> =
        nodes.iter().filter_map(|&n| source(query, n).map(|(source, postings)| (n, source, postings))).collect();
    let postings: u64 = sources.iter().map(|s| s.2).sum();
    let most_rank = rank.map_or(0, |_| sources.len() * usize::from(query.options().max_weight));
    let most_position = position.map_or(0, |_| sources.len() * POSITION_COST_MAX as usize);
    let limit = usize::from(u8::MAX);
    if sources.is_empty()
        || postings > docs * POSTINGS_PER_SCAN
        || most_rank >= limit
        || most_position >= limit
        || most_rank + most_position == 0
    {
        return groups;
    }
    let mut costs = vec![Costs::default(); query.reader().doc_count() as usize];
    for (node, source, _) in &sources {
        add_costs(query, *node, source, &mut costs);
    }
    // Positions are known exactly up to here.
    let close = |&t: &usize| query.graph().terms[t].last_position < EXACT_POSITIONS && exact_known[t];
    let attribute = layout.slice(GraphRule::ExactAttribute).filter(|_| level.kept.iter().all(close));
    let slot = |c: Costs| {
        let (rank, position) = (most_rank.min(usize::from(c.rank)), most_position.min(usize::from(c.position)));
        (rank * (most_position + 1) + position) * 2 + usize::from(c.displaced)
    };
    let put = |slice: Option<Slice>, cost: usize| slice.map_or(0, |s| s.put(cost as u32));
    let mut out = Vec::new();
    for (bound, docs) in groups {
        let mut parts: Vec<Vec<DocId>> = vec![Vec::new(); 2 * (most_rank + 1) * (most_position + 1)];
        docs.for_each(|doc| parts[slot(costs[doc as usize])].push(doc));
        for (slot, docs) in parts.into_iter().enumerate().filter(|(_, docs)| !docs.is_empty()) {
            let (r, p) = (slot / 2 / (most_position + 1), slot / 2 % (most_position + 1));
            let displaced = attribute.filter(|a| slot % 2 == 1 && a.get(bound) == 0);
            let bound = bound + put(rank, r) + put(position, p) + put(displaced, EXACT_ATTRIBUTE_WORST as usize);
            out.push((bound, DocSet::from_sorted(docs)));
        }
    }
    out.sort_by_key(|g| g.0);
    out
}

/// What tells the costs of a node, and the number of postings to be read; `None` when too much would have to be read,
/// or when the node matches through other words too.
fn source<'q>(query: &SegmentQuery<'q>, node: usize) -> Option<(Source<'q>, u64)> {
    let e = &query.expansions()[node];
    if !e.synonyms.is_empty() {
        return None;
    }
    let doc_count = u64::from(query.reader().doc_count());
    let postings = query.reader().postings();
    if let Some(words) = &e.phrase {
        // A document that holds a phrase counts with every place of its first word.
        let first = (*words.first()?)?;
        return Some((Source::Words(first..first + 1), u64::from(postings.doc_freq(first))));
    }
    if !e.prefix.is_empty() {
        let prefix = query.graph().nodes[node].text.as_bytes();
        if postings.prefix_union(prefix).is_some() {
            return Some((Source::Union(prefix), doc_count));
        }
    }
    let words = if e.prefix.is_empty() { e.exact.map_or(0..0, |o| o..o + 1) } else { e.prefix.clone() };
    let limit = PREFIX_POSTINGS_MAX * doc_count;
    let sum = postings.doc_freq_sum(words.clone(), limit);
    (sum > 0 && sum < limit).then_some((Source::Words(words), sum))
}

/// Adds the least costs of a node to those of each document that holds one of its words.
fn add_costs(query: &SegmentQuery<'_>, node: usize, source: &Source<'_>, costs: &mut [Costs]) {
    let postings = query.reader().postings();
    let exact = query.expansions()[node].exact;
    let node = &query.graph().nodes[node];
    let mut add = |table: &CostTable, doc: DocId, code: u32, zone: u8| {
        if let Some(costs) = costs.get_mut(doc as usize) {
            costs.add(table.get(code, zone));
        }
    };
    match source {
        Source::Union(prefix) => {
            let Some(union) = postings.prefix_union(prefix) else { return };
            let table = CostTable::new(query, union.field_sets, node, false);
            union.for_each(|doc, code, zone| add(&table, doc, code, zone));
        }
        Source::Words(words) if words.len() == 1 => {
            let table = CostTable::new(query, postings.field_sets(), node, true);
            postings.for_each_with_zone(words.start, |doc, code, zone| add(&table, doc, code, zone));
        }
        Source::Words(words) => {
            let table = CostTable::new(query, postings.field_sets(), node, false);
            let mut least = vec![Costs::WORST; costs.len()];
            for ordinal in words.clone().filter(|o| query.stop().binary_search(o).is_err()) {
                postings.for_each_with_zone(ordinal, |doc, code, zone| {
                    if let Some(least) = least.get_mut(doc as usize) {
                        *least = least.min(table.get(code, zone));
                    }
                });
            }
            for (costs, least) in costs.iter_mut().zip(least) {
                if least.rank != u8::MAX {
                    costs.add(least);
                }
            }
        }
    }
    // Among the completions of a prefix only the word itself can be in its place.
    if let (Some(exact), true) = (exact, node.prefix) {
        let table = CostTable::new(query, postings.field_sets(), node, true);
        postings.for_each_with_zone(exact, |doc, code, zone| {
            if let Some(costs) = costs.get_mut(doc as usize) {
                costs.displaced |= table.get(code, zone).displaced;
            }
        });
    }
}
