//! Lower bounds of the keys of many documents at once, from postings alone.
//!
//! The postings of a word know in which fields of a document it is and how early. So for documents that match a level
//! without typo the cost of `attributeRank` is known, and that of `wordPosition` has a bound. Cut into groups by them,
//! best first, the scan of the token column ends after a few groups instead of reading every document that holds
//! frequent words.

use std::rc::Rc;

use lamina_segment::bits::DocSet;
use lamina_segment::segment::{FieldSets, GROUPED_ZONE_MAX, PrefixUnion, ZONE_COUNT, ZONE_NOT_ALONE, ZONE_STARTS};
use lamina_text::id::TermOrdinal;

use crate::query::SegmentQuery;
use crate::query::graph::Node;
use crate::query::vertex::CLASSES;
use crate::rank::classes::{Classes, PieceMark, Pieces, SetBuilder};
use crate::rank::context::SegmentLevel;
use crate::rank::groups::{Base, Groups, Stage};
use crate::rank::key::{Key, KeyLayout, Slice};
use crate::rank::path::{EXACT_POSITIONS, bucketed_position, position_cost};
use crate::rank::rules::{EXACT_ATTRIBUTE_WORST, GraphRule, Match};

/// Reading a posting costs this many times less than scanning a document.
const POSTINGS_PER_SCAN: u64 = 32;
/// A prefix whose words have more postings than this many times the documents is not looked into.
const PREFIX_POSTINGS_MAX: u64 = 8;
/// Zones of more postings are distinguished no further than those of groups.
const FINE_POSTINGS_MAX: u64 = 4096;

/// Source from which a bound is read.
struct Source<'q> {
    /// The stored union of a prefix.
    union: Option<PrefixUnion<'q>>,
    /// Words that are in no union.
    forms: Forms<'q>,
    /// Postings that are not grouped: they are read as a whole.
    postings: u64,
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
}

/// Cuts groups of documents that match every word of a level in some way by the least costs of `attributeRank` and
/// `wordPosition`, and by whether an attribute can be, or begin with, the query.
///
/// `groups`: disjoint sets with the smallest key of their documents. Those that can still be exact in the first step of
/// `exactness` hold every word exactly. Cost: postings of the level's words that are not grouped are read now, groups when they
/// decide which documents come next; nothing is cut when scanning the documents would be cheaper.
pub(super) fn cut_by_costs<'q>(
    of: SegmentLevel<'q>,
    groups: Vec<(Key, DocSet)>,
    layout: &KeyLayout,
    matched: Match,
) -> Groups<'q> {
    let (query, level, exact_known) = (of.query(), of.level, &of.context.exact_known);
    let docs: u64 = groups.iter().map(|(_, docs)| u64::from(docs.len())).sum();
    let nodes: Vec<usize> = level.starting.iter().filter_map(|s| s.first().copied()).collect();
    let source = |&node: &usize| Some((node, source(query, node, matched)?));
    let sources: Vec<(usize, Source<'q>)> = nodes.iter().filter_map(source).collect();
    let postings: u64 = sources.iter().map(|source| source.1.postings).sum();
    if sources.is_empty() || postings > docs * POSTINGS_PER_SCAN {
        return Groups::whole(groups);
    }
    // Positions are known exactly up to here.
    let close = |&t: &usize| query.graph().terms[t].last_position < EXACT_POSITIONS && exact_known[t];
    let with_exactness = matched == Match::Exact
        && level.kept.iter().all(close)
        // Where a word stands without the stop words before it, postings don't know.
        && query.stop().is_empty()
        // Of documents that may lack an exact word nothing is known: where the bitmaps know it, they are a group apart.
        && (!query.completes(level) || separates_exact_words(query, layout));
    let exactness = layout.slice(GraphRule::ExactAttribute).filter(|_| with_exactness);
    let word = |(node, source)| Word::new(query, node, source, exactness.is_some());
    let words: Vec<Word<'q>> = sources.into_iter().map(word).collect();
    let stages = stages(&words, layout, nodes.len() == 1);
    let is_exact = |bound| exactness.is_some_and(|slice| slice.get(bound) == 0);
    let cut = |(bound, docs): (Key, DocSet)| {
        // Those that only have a concatenation of words may lack the words.
        let (with, without) = holding(of, &nodes, docs, matched);
        let base = |docs, is_cut| Base { bound, docs, is_exact: is_exact(bound), is_cut };
        [base(with, true), base(without, false)]
    };
    let whole_max = of.context.scanned_whole_max();
    Groups::cut(groups.into_iter().flat_map(cut).collect(), stages, whole_max)
}

/// Reports whether documents with every word exactly are a group apart: in attributes that are not searched, words are looked up too.
pub(super) fn separates_exact_words(query: &SegmentQuery<'_>, layout: &KeyLayout) -> bool {
    layout.slice(GraphRule::ExactWords).is_some() && !query.options().is_restricted()
}

/// The documents that have every word of a level in a way that its postings know, and the others.
fn holding(of: SegmentLevel<'_>, nodes: &[usize], docs: DocSet, matched: Match) -> (DocSet, DocSet) {
    let query = of.query();
    let is_ngram = |&node: &usize| query.graph().nodes[node].is_ngram();
    if !of.level.starting.iter().flatten().any(is_ngram) {
        return (docs, DocSet::empty());
    }
    let classes = if matched == Match::Exact { 1 } else { CLASSES };
    let mut with = docs.clone();
    for &node in nodes {
        let mut any = DocSet::empty();
        (0..classes).for_each(|class| any.or_assign(&with.and(query.docs(node, class))));
        with = any;
    }
    let without = docs.and_not(&with);
    (with, without)
}

/// A word of a level with its postings.
struct Word<'q> {
    node: &'q Node,
    pieces: Rc<Pieces<'q>>,
    /// The postings of the word itself, which alone can be in its place; of a phrase, those of its rarest word, with its place there.
    exact: Option<(Rc<Pieces<'q>>, u32)>,
}

impl<'q> Word<'q> {
    /// `with_exactness`: whether it matters in what place the word itself is.
    fn new(query: &'q SegmentQuery<'q>, node: usize, source: Source<'q>, with_exactness: bool) -> Word<'q> {
        let e = &query.expansions()[node];
        let rarest = |words: &Vec<Option<TermOrdinal>>| {
            let known = (0..).zip(words).filter_map(|(place, &word)| Some((place, word?)));
            known.min_by_key(|&(_, word)| query.reader().postings().doc_freq(word))
        };
        let exact = || {
            let (place, word) = e.exact.map(|word| (0, word)).or_else(|| e.phrase.as_ref().and_then(rarest))?;
            Some((Rc::new(pieces(query, std::iter::once(word), None)), place))
        };
        let node = &query.graph().nodes[node];
        let words = source.forms.iter().filter(|word| query.stop().binary_search(word).is_err());
        let mut words: Vec<TermOrdinal> = words.collect();
        words.sort_unstable();
        words.dedup();
        let is_itself = source.union.is_none() && words.iter().all(|&word| Some(word) == e.exact);
        let pieces = Rc::new(pieces(query, words.into_iter(), source.union));
        let exact = match with_exactness {
            true if is_itself => Some((Rc::clone(&pieces), 0)),
            true => exact(),
            false => None,
        };
        Word { node, pieces, exact }
    }
}

/// The postings of some words and of a prefix.
fn pieces<'q>(
    query: &SegmentQuery<'q>,
    words: impl Iterator<Item = TermOrdinal>,
    union: Option<PrefixUnion<'q>>,
) -> Pieces<'q> {
    let reader = query.reader();
    let postings = reader.postings();
    let ranks: Vec<u16> =
        (0..postings.field_sets().len() as u32).map(|code| rank(query, postings.field_sets(), code)).collect();
    let rank = |code: u32| ranks.get(code as usize).copied().unwrap_or(0);
    let (mut all, mut others) = (Pieces::new(reader.doc_count()), Vec::new());
    for word in words {
        match postings.groups(word) {
            Some(groups) => all.add_groups(groups, rank),
            None => others.push(word),
        }
    }
    let count: u64 = others.iter().map(|&word| u64::from(postings.doc_freq(word))).sum();
    if let Some(union) = union {
        all.add_groups(union.groups, |code| self::rank(query, union.field_sets, code));
    }
    let is_coarse = all.has_groups() || count > FINE_POSTINGS_MAX;
    let zone_max = if is_coarse { GROUPED_ZONE_MAX } else { u8::MAX };
    let place = |rank: u16, zone: u8| usize::from(rank) * ZONE_COUNT + usize::from(zone);
    // Most documents of many have what costs most, which need not be named.
    let costing_most = ranks.iter().max().filter(|_| is_coarse).map(|&rank| place(rank, zone_max));
    // By mark.
    let mut sets: Vec<Option<SetBuilder>> = Vec::new();
    let mut costs_most = false;
    for &word in &others {
        postings.for_each_with_zone(word, |doc, code, zone| {
            let at = place(rank(code), zone.min(zone_max));
            if Some(at) == costing_most {
                costs_most = true;
                return;
            }
            if at >= sets.len() {
                sets.resize_with(at + 1, || None);
            }
            sets[at].get_or_insert_with(|| SetBuilder::new(reader.doc_count())).insert(doc);
        });
    }
    let mark = |at: usize| PieceMark { rank: (at / ZONE_COUNT) as u16, zone: (at % ZONE_COUNT) as u8 };
    let sets = sets.into_iter().enumerate().filter_map(|(at, set)| Some((mark(at), set?.finish())));
    let unnamed = costing_most.filter(|_| costs_most).map(|at| (mark(at), DocSet::empty()));
    all.add_sets(sets.chain(unnamed), others.len());
    all
}

/// The rules that cut documents, in their order. `is_alone`: the level has one word.
fn stages<'q>(words: &[Word<'q>], layout: &KeyLayout, is_alone: bool) -> Vec<Stage<'q>> {
    let mut stages: Vec<(Key, Option<Stage<'q>>)> = Vec::new();
    let rank = layout.slice(GraphRule::AttributeRank);
    let position = layout.slice(GraphRule::WordPosition);
    let ranks = |slice: Slice| move |mark: PieceMark| slice.put(mark.rank.into());
    let positions = |slice: Slice, word: &Word<'q>| {
        let costs = position_costs(word.node, 0);
        move |mark: PieceMark| slice.put(costs[usize::from(mark.zone) % ZONE_COUNT])
    };
    match (rank, position, words) {
        // Where each document is in one piece, both rules are one.
        (Some(rank), Some(position), [word]) if word.pieces.are_disjoint() => {
            let (rank_of, position_of) = (ranks(rank), positions(position, word));
            let classes = Classes::new(&word.pieces, |mark| rank_of(mark) + position_of(mark));
            stages.push((rank.mask(), Stage::new(vec![classes])));
        }
        _ => {
            if let Some(slice) = rank {
                let classes = words.iter().map(|word| Classes::new(&word.pieces, ranks(slice)));
                stages.push((slice.mask(), Stage::new(classes.collect())));
            }
            if let Some(slice) = position {
                let classes = words.iter().map(|word| Classes::new(&word.pieces, positions(slice, word)));
                stages.push((slice.mask(), Stage::new(classes.collect())));
            }
        }
    }
    if let Some(slice) = layout.slice(GraphRule::ExactAttribute) {
        let classes = |word: &Word<'q>| {
            let (exact, place) = word.exact.as_ref()?;
            let positions = position_costs(word.node, *place);
            // Of a longer phrase the posting is that of one word alone.
            let is_word = word.node.first_position == word.node.last_position;
            let cost = |zone: usize| match (is_alone, positions[zone]) {
                (true, 0) => u32::from(zone >= ZONE_NOT_ALONE && is_word),
                (_, 0) => 0,
                _ => EXACT_ATTRIBUTE_WORST,
            };
            Some(Classes::new(exact, |mark| slice.put(cost(usize::from(mark.zone) % ZONE_COUNT))))
        };
        let words: Vec<Classes<'q>> = words.iter().filter_map(classes).collect();
        let any = (!is_alone).then(|| slice.put(EXACT_ATTRIBUTE_WORST));
        stages.push((slice.mask(), Stage::of_exactness(words, any)));
    }
    stages.sort_by_key(|stage| std::cmp::Reverse(stage.0));
    stages.into_iter().filter_map(|stage| stage.1).collect()
}

/// The least weight of the fields of a set.
fn rank(query: &SegmentQuery<'_>, sets: &FieldSets, code: u32) -> u16 {
    let weights = sets.fields(code).iter().map(|&field| query.options().weight(field));
    // A set without fields stands for unknown ones; one without searched fields is no match.
    weights.min().unwrap_or(0).min(query.options().max_weight)
}

/// The least cost of `wordPosition` by zone of the word at this place of a node.
fn position_costs(node: &Node, place: u32) -> [u32; ZONE_COUNT] {
    let first = u32::from(node.first_position);
    ZONE_STARTS.map(|start| {
        // A word that comes first before its place in the query may come again right there.
        let start = bucketed_position(start.saturating_sub(place));
        if start <= first { 0 } else { position_cost(start - first) }
    })
}

/// Returns the source of a node's costs, or `None` if there is too much to read.
fn source<'q>(query: &'q SegmentQuery<'q>, node: usize, matched: Match) -> Option<Source<'q>> {
    let e = &query.expansions()[node];
    // A split counts as a typo.
    let (misspelt, split): ([&[TermOrdinal]; 2], _) = match matched {
        Match::Exact => ([&[], &[]], None),
        Match::Misspelt => ([&e.one_typo, &e.two_typos], e.split),
    };
    let postings = query.reader().postings();
    if let Some(words) = &e.phrase {
        let first = (*words.first()?)?;
        let forms = Forms { words: first..first + 1, misspelt: [&[], &[]], first: Vec::new() };
        return Some(Source { union: None, forms, postings: postings.listed_sum(first..first + 1, u64::MAX) });
    }
    let synonyms = e.synonyms.iter().filter_map(|words| *words.first()?);
    let others = e.forms_as_words(query.options()).iter().copied();
    let first = synonyms.chain(others).chain(split.map(|[left, _]| left)).collect();
    let words = if e.prefix.is_empty() { e.exact.map_or(0..0, |o| o..o + 1) } else { e.prefix.clone() };
    let prefix = query.graph().nodes[node].text.as_bytes();
    let union = (!e.prefix.is_empty()).then(|| postings.prefix_union(prefix)).flatten();
    let words = if union.is_some() { 0..0 } else { words };
    let limit = PREFIX_POSTINGS_MAX * u64::from(query.reader().doc_count());
    let mut forms = Forms { words: 0..0, misspelt, first };
    let of_others = forms.iter().map(|word| postings.listed_sum(word..word + 1, limit));
    let sum = postings.listed_sum(words.clone(), limit) + of_others.sum::<u64>();
    forms.words = words;
    let is_known = union.is_some() || forms.iter().next().is_some();
    (is_known && sum < limit).then_some(Source { union, forms, postings: sum })
}
