//! Lower bounds of the keys of many documents at once, from postings alone.
//!
//! The postings of a word know in which fields of a document it is and how early. So for documents that match a level
//! without typo the cost of `attributeRank` is known, and that of `wordPosition` has a bound. Cut into groups by them,
//! best first, the scan of the token column ends after a few groups instead of reading every document that holds
//! frequent words.

use lamina_segment::bits::DocSet;
use lamina_segment::segment::{FieldSets, PrefixUnion, ZONE_COUNT, ZONE_NOT_ALONE, ZONE_STARTS};
use lamina_text::id::{DocId, TermOrdinal};

use crate::query::SegmentQuery;
use crate::query::graph::Node;
use crate::rank::context::SegmentLevel;
use crate::rank::groups::{Base, Groups};
use crate::rank::key::{Key, KeyLayout};
use crate::rank::packed_bounds::{PACKED_BITS, PackedBound, PackedBounds};
use crate::rank::path::{EXACT_POSITIONS, bucketed_position, position_cost};
use crate::rank::rules::{EXACT_ATTRIBUTE_WORST, GraphRule, Match};

/// Reading a posting costs this many times less than scanning a document.
const POSTINGS_PER_SCAN: u64 = 32;
/// A prefix whose words have more postings than this many times the documents is not looked into.
const PREFIX_POSTINGS_MAX: u64 = 8;

/// Documents with the word itself are read from the postings of the word when they are fewer than one in this many, and
/// get a number each when they are more.
const EXACT_SHARE: u32 = 16;

/// Bits of the cost of `exactness` of one word: 0, 1 when no attribute is the word alone, 2 when none begins with it.
const ATTRIBUTE_BITS: u32 = 2;

/// Bit layout of the least costs of a document in one number, so that the costs of several words can be added. The
/// parts have the same order as in the key, so bounds order like keys.
#[derive(Clone, Copy, Debug)]
struct Packing {
    rank: CostBits,
    position: CostBits,
    /// The cost of `exactness`, or with several words how many are not in their place.
    attribute: CostBits,
    single: bool,
}

#[derive(Clone, Copy, Debug)]
struct CostBits {
    shift: u32,
    bits: u32,
}

impl CostBits {
    fn get(self, packed: PackedBound) -> u32 {
        u32::from(packed) >> self.shift & ((1 << self.bits) - 1)
    }

    fn mask(self) -> PackedBound {
        ((1 << self.bits) - 1) << self.shift
    }
}

impl Packing {
    /// `words`: how many costs are added. `None` when they do not fit, or when no rule is bounded.
    fn new(words: u32, max_weight: u16, layout: &KeyLayout, with_attribute: bool) -> Option<Packing> {
        let (rank, position) = (layout.slice(GraphRule::AttributeRank), layout.slice(GraphRule::WordPosition));
        let bits = |max: u32| u32::BITS - max.leading_zeros();
        let position_max = position_cost(bucketed_position(ZONE_STARTS[ZONE_COUNT - 1]));
        let rank_bits = rank.map_or(0, |_| bits(words * u32::from(max_weight)));
        let position_bits = position.map_or(0, |_| bits(words * position_max));
        let bounded = rank_bits + position_bits;
        let attribute_bits = bits(words).max(ATTRIBUTE_BITS);
        let place = |rule| layout.slice(rule).map_or(0, |slice| slice.put(1));
        // It is all the same to the key how many of several words are not in their place: bounds would order in another way
        // than keys, were anything behind that number.
        let is_behind = |rule| place(GraphRule::ExactAttribute) < place(rule) || layout.slice(rule).is_none();
        let keeps_order = words == 1 || (is_behind(GraphRule::AttributeRank) && is_behind(GraphRule::WordPosition));
        let has_room = bounded + attribute_bits <= PACKED_BITS;
        let attribute_bits = if with_attribute && keeps_order && has_room { attribute_bits } else { 0 };
        if bounded == 0 || bounded > PACKED_BITS {
            return None;
        }
        let rules = [
            (GraphRule::AttributeRank, rank_bits),
            (GraphRule::WordPosition, position_bits),
            (GraphRule::ExactAttribute, attribute_bits),
        ];
        let part = |rule, bits| {
            let behind = rules.iter().filter(|&&(other, _)| place(other) < place(rule));
            CostBits { shift: behind.map(|&(_, bits)| bits).sum(), bits }
        };
        let [rank, position, attribute] = rules.map(|(rule, bits)| part(rule, bits));
        Some(Packing { rank, position, attribute, single: words == 1 })
    }

    /// The bits that hold costs; `with_attribute`: of `exactness` too.
    fn mask(&self, with_attribute: bool) -> PackedBound {
        let attribute = if with_attribute { self.attribute.mask() } else { 0 };
        self.rank.mask() | self.position.mask() | attribute
    }

    fn pack(&self, rank: u32, position: u32, attribute: u32) -> PackedBound {
        let put = |part: CostBits, cost: u32| if part.bits == 0 { 0 } else { cost << part.shift };
        (put(self.rank, rank) | put(self.position, position) | put(self.attribute, attribute)) as PackedBound
    }

    /// Costs of a document that holds no word of a node: no others are larger. That of `exactness` is of the word itself,
    /// and least without it.
    fn none(&self) -> PackedBound {
        self.mask(false)
    }

    /// The least of each cost: one term may come in the best attribute, and another one first. `a`: of the word itself,
    /// which alone can be in its place, or of terms before.
    #[inline]
    fn least(&self) -> impl Fn(PackedBound, PackedBound) -> PackedBound + Copy + use<> {
        let [rank, position, attribute] = [self.rank, self.position, self.attribute].map(CostBits::mask);
        move |a, b| (a & rank).min(b & rank) | (a & position).min(b & position) | a & attribute
    }

    /// Returns the part of a key that the costs of a bound make up.
    fn key(&self, packed: PackedBound, layout: &KeyLayout) -> Key {
        let put = |rule, cost| layout.slice(rule).map_or(0, |s| s.put(cost));
        let attribute = match self.attribute.get(packed) {
            cost if self.single => cost,
            0 => 0,
            _ => EXACT_ATTRIBUTE_WORST,
        };
        put(GraphRule::AttributeRank, self.rank.get(packed))
            + put(GraphRule::WordPosition, self.position.get(packed))
            + put(GraphRule::ExactAttribute, attribute)
    }
}

/// Least costs of one word, packed, by field set code and zone.
struct CostTable(Vec<[PackedBound; ZONE_COUNT]>);

/// Kind of words and costs that a table has for its postings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Costs {
    /// `attributeRank` and `wordPosition` of any word.
    Any,
    /// Costs of the word of the query itself, and of `exactness`.
    Exact,
    /// Cost of `exactness` alone.
    ExactnessOnly,
}

impl CostTable {
    fn new(query: &SegmentQuery<'_>, sets: &FieldSets, node: &Node, packing: &Packing, costs: Costs) -> CostTable {
        let first_position = u32::from(node.first_position);
        // Of a longer phrase the posting is that of its first word alone.
        let is_word = node.first_position == node.last_position;
        let max_weight = query.options().max_weight;
        let zone = |zone: usize| {
            // A word that comes first before its place in the query may come again right there.
            let start = bucketed_position(ZONE_STARTS[zone]);
            let position = if start <= first_position { 0 } else { position_cost(start - first_position) };
            let attribute = match (packing.single, position) {
                _ if costs == Costs::Any => 0,
                (true, 0) => u32::from(zone >= ZONE_NOT_ALONE && is_word),
                (true, _) => EXACT_ATTRIBUTE_WORST,
                (false, _) => u32::from(position > 0),
            };
            (position, attribute)
        };
        let zones: [_; ZONE_COUNT] = std::array::from_fn(zone);
        let row = |code: u32| {
            let weights = sets.fields(code).iter().map(|&f| query.options().weight(f));
            // A set without fields stands for unknown ones; one without searched fields is no match.
            let weight = u32::from(weights.min().unwrap_or(0).min(max_weight));
            zones.map(|(position, attribute)| match costs {
                Costs::ExactnessOnly => packing.pack(0, 0, attribute),
                _ => packing.pack(weight, position, attribute),
            })
        };
        CostTable((0..sets.len() as u32).map(row).collect())
    }

    #[inline]
    fn get(&self, code: u32, zone: u8) -> PackedBound {
        self.0.get(code as usize).map_or(0, |row| row[usize::from(zone) % ZONE_COUNT])
    }
}

/// Source from which a bound is read.
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
    fn iter(&self) -> impl Iterator<Item = TermOrdinal> {
        let others = self.misspelt.into_iter().flatten().chain(&self.first);
        self.words.clone().chain(others.copied())
    }

    /// The only one.
    fn single(&self) -> Option<TermOrdinal> {
        let mut forms = self.iter();
        forms.next().filter(|_| forms.next().is_none())
    }
}

/// Parameters for cutting groups of documents.
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
/// `exactness` hold every word exactly; `exact_known`: terms whose exact word is anywhere. Cost: about 2 ns per posting of the level's words; nothing is cut when scanning the documents would be
/// cheaper.
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
    let costs = least_costs(query, &sources, &packing, cutting.postings_per_job);
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

/// Reports whether all groups but the last are small. Those contain the word of a prefix itself.
fn exact_are_few(query: &SegmentQuery<'_>, groups: &[(Key, DocSet)]) -> bool {
    let few = query.reader().doc_count() / EXACT_SHARE;
    groups.split_last().is_none_or(|(_, exact)| exact.iter().all(|(_, docs)| docs.len() <= few))
}

/// Returns the source of a node's costs and the number of postings to read, or `None` if that number is too large.
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

/// The least costs of each document, as far as they are known.
fn least_costs(
    query: &SegmentQuery<'_>,
    sources: &[(usize, Source<'_>, u64)],
    packing: &Packing,
    postings_per_job: u64,
) -> PackedBounds {
    if let [(node, Source::Words(words), _)] = sources {
        // Every document of the level holds one of the words.
        return least_of_words(query, *node, words, packing);
    }
    let of = |sources: &[(usize, Source<'_>, u64)]| {
        let mut costs = PackedBounds::filled(query.caches().runtime().arrays(), query.reader().doc_count() as usize, 0);
        sources.iter().for_each(|(node, source, _)| add_costs(query, *node, source, packing, &mut costs));
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

/// Adds the least costs of a node to those of each document that holds one of its words.
fn add_costs(query: &SegmentQuery<'_>, node: usize, source: &Source<'_>, packing: &Packing, costs: &mut [PackedBound]) {
    let postings = query.reader().postings();
    let exact = query.expansions()[node].exact;
    let of_node = &query.graph().nodes[node];
    let table = |sets, kind| CostTable::new(query, sets, of_node, packing, kind);
    match source {
        Source::Union(union) => {
            let all = table(union.field_sets(), Costs::Any);
            union.for_each_group(|code, zone, docs| {
                let cost = all.get(code, zone);
                docs.for_each(|doc| costs[doc as usize] += cost);
            });
            // Among the completions of a prefix only the word itself can be in its place.
            if let Some(exact) = exact.filter(|_| packing.attribute.bits > 0) {
                let table = table(postings.field_sets(), Costs::ExactnessOnly);
                postings.for_each_number(exact, &table.0, costs, |costs, cost| *costs += cost);
            }
        }
        Source::Words(words) if let Some(only) = words.single() => {
            let kind = if exact == Some(only) || query.expansions()[node].phrase.is_some() {
                Costs::Exact
            } else {
                Costs::Any
            };
            let table = table(postings.field_sets(), kind);
            postings.for_each_number(only, &table.0, costs, |costs, cost| *costs += cost);
        }
        Source::Words(words) => {
            let least = least_of_words(query, node, words, packing);
            for (costs, &least) in costs.iter_mut().zip(least.iter()) {
                *costs += if least == packing.none() { 0 } else { least };
            }
        }
    }
}

/// By document the least costs of a node that matches each of `words`; [`Packing::none`] without any.
fn least_of_words(query: &SegmentQuery<'_>, node: usize, words: &Forms<'_>, packing: &Packing) -> PackedBounds {
    let postings = query.reader().postings();
    let of_node = &query.graph().nodes[node];
    // A phrase is bounded by its first word.
    let e = &query.expansions()[node];
    let exact = e.exact.or(e.phrase.as_ref().map(|_| words.words.start));
    let table = |kind| CostTable::new(query, postings.field_sets(), of_node, packing, kind);
    let mut least =
        PackedBounds::filled(query.caches().runtime().arrays(), query.reader().doc_count() as usize, packing.none());
    if let Some(exact) = exact {
        let table = table(Costs::Exact);
        postings.for_each_number(exact, &table.0, &mut least, |least, cost| *least = cost);
    }
    let table = table(Costs::Any);
    for ordinal in words.iter().filter(|&o| Some(o) != exact && query.stop().binary_search(&o).is_err()) {
        let both = packing.least();
        postings.for_each_number(ordinal, &table.0, &mut least, move |least, cost| *least = both(*least, cost));
    }
    least
}
