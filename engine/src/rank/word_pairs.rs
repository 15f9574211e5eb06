//! Which documents can have the words of a level next to each other, or near.

use std::collections::BTreeMap;
use std::ops::Range;

use lamina_segment::bits::{BitsetBuilder, DocSet};
use lamina_segment::segment::{Known, Nearest, SegmentReader, TokensOfDoc};
use lamina_text::id::TermOrdinal;

use crate::query::SegmentQuery;
use crate::query::expand::Expansion;
use crate::query::level::Level;
use crate::query::options::QueryOptions;
use crate::rank::key::{Key, KeyLayout};
use crate::rank::path::PROXIMITY_COST_MAX;
use crate::rank::rules::{GraphRule, Match};

/// Neighbours that are looked up; more of them would cut groups that are small already.
const LOOKED_UP_MAX: usize = 4;
/// Words of a node that are looked into one by one.
const WORDS_MAX: usize = 4096;
/// Words in no pairs may be in one of so many documents, together.
const RARE_SHARE: u64 = 2;

/// The words of a level that cost least when they are next to each other.
pub(super) struct WordPairs {
    pairs: Vec<[PairSide; 2]>,
}

/// Words by which a node can be adjacent to its neighbour.
struct PairSide {
    /// The word, or the completions of a prefix.
    words: Range<TermOrdinal>,
    /// Synonyms and forms of the word, and misspelt words if those count; of one of several words, the nearer one.
    others: Vec<TermOrdinal>,
}

impl PairSide {
    /// `side`: 0 when it stands before its neighbour, 1 when behind. `None` for a phrase.
    fn new(expansion: &Expansion, side: usize, matched: Match, options: &QueryOptions) -> Option<PairSide> {
        if expansion.phrase.is_some() {
            return None;
        }
        let words = match expansion.exact {
            _ if !expansion.prefix.is_empty() => expansion.prefix.clone(),
            Some(exact) => exact..exact + 1,
            None => 0..0,
        };
        let nearer = |words: &[Option<TermOrdinal>]| if side == 0 { *words.last()? } else { *words.first()? };
        let mut others: Vec<_> = expansion.synonyms.iter().map(|words| nearer(words)).collect::<Option<_>>()?;
        others.extend(expansion.forms_as_words(options));
        if matched == Match::Misspelt {
            others.extend(expansion.one_typo.iter().chain(&expansion.two_typos));
            others.extend(expansion.split.map(|words| words[1 - side]));
        }
        Some(PairSide { words, others })
    }

    fn iter(&self) -> impl Iterator<Item = TermOrdinal> {
        self.words.clone().chain(self.others.iter().copied())
    }

    fn len(&self) -> usize {
        self.words.len() + self.others.len()
    }

    /// The only word.
    fn single(&self) -> Option<TermOrdinal> {
        (self.words.len() == 1 && self.others.is_empty()).then_some(self.words.start)
    }
}

impl WordPairs {
    /// `None` when nothing has to be next to anything, or only phrases.
    pub(super) fn new(query: &SegmentQuery<'_>, level: &Level, matched: Match) -> Option<WordPairs> {
        if query.options().proximity_by_attribute {
            return None;
        }
        let nodes: Vec<usize> = level.starting.iter().filter_map(|s| s.first().copied()).collect();
        let neighbour = |node: usize, side| PairSide::new(&query.expansions()[node], side, matched, query.options());
        let graph = query.graph();
        let pairs: Vec<_> = nodes
            .windows(2)
            .filter(|pair| {
                let (left, right) = (&graph.nodes[pair[0]], &graph.nodes[pair[1]]);
                u32::from(left.last_position) + 1 == u32::from(right.first_position)
            })
            .filter_map(|pair| Some([neighbour(pair[0], 0)?, neighbour(pair[1], 1)?]))
            .collect();
        (!pairs.is_empty()).then_some(WordPairs { pairs })
    }

    /// Returns the upper bound of the cost of a document.
    pub(super) fn most(&self) -> u32 {
        self.pairs.len() as u32 * PROXIMITY_COST_MAX
    }
}

/// Bounds from a few tokens of a document what its words cost.
pub(super) struct NearestWords {
    /// Per pair of neighbours, and whether the word whose places are looked at is the left one; `None` where both may be
    /// many words.
    pairs: Vec<Option<(Nearest, bool)>>,
}

impl NearestWords {
    pub(super) fn new(reader: &SegmentReader, word_pairs: &WordPairs) -> NearestWords {
        let frequency = |word| reader.postings().doc_freq(word);
        let pair = |[left, right]: &[PairSide; 2]| {
            // Of two single words, the one with fewer places.
            let is_left = match (left.single(), right.single()) {
                (Some(left), Some(right)) => frequency(left) <= frequency(right),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => return None,
            };
            let (word, others) = if is_left { (left, right) } else { (right, left) };
            let nearest = Nearest::new(reader.tokens(), word.single()?, others.words.clone(), &others.others);
            Some((nearest, is_left))
        };
        NearestWords { pairs: word_pairs.pairs.iter().map(pair).collect() }
    }

    /// Reports whether the cost of a document may be at most `limit`. The bound is too low at the borders of fields and
    /// values.
    pub(super) fn may_cost(&self, doc: &TokensOfDoc<'_>, limit: u32) -> bool {
        let cost = |sum: u32, pair: &Option<(Nearest, bool)>| {
            let Some((nearest, is_left)) = pair else { return Some(sum) };
            // More than the worst counts alike.
            let most = (limit - sum + 1).min(PROXIMITY_COST_MAX) as usize;
            // Words in the wrong order cost one more, those in the right one the tokens between them.
            let bounds = if *is_left { [most, most + 1] } else { [most + 1, most] };
            let [before, behind] = nearest.distances(doc, bounds);
            let (wrong, right) = if *is_left { (before, behind) } else { (behind, before) };
            let sum = sum + wrong.min(right - 1) as u32;
            (sum <= limit).then_some(sum)
        };
        self.pairs.iter().try_fold(0, cost).is_some()
    }
}

/// Cuts groups of documents by the neighbours they lack, as far as the stored pairs of frequent words go: each that is
/// missing costs at least one of `proximity`, and more where none is near. Groups come with the smallest key of their
/// documents, and leave the same way.
pub(super) fn cut_by_word_pairs(
    query: &SegmentQuery<'_>,
    level: &Level,
    groups: Vec<(Key, DocSet)>,
    layout: &KeyLayout,
    matched: Match,
) -> Vec<(Key, DocSet)> {
    let word_pairs = WordPairs::new(query, level, matched);
    let (Some(proximity), Some(word_pairs)) = (layout.slice(GraphRule::Proximity), word_pairs) else {
        return groups;
    };
    let mut groups: BTreeMap<Key, DocSet> = groups.into_iter().collect();
    for (adjacent, near) in word_pairs.pairs.iter().filter_map(|pair| stored(query, pair)).take(LOOKED_UP_MAX) {
        let mut cut: BTreeMap<Key, DocSet> = BTreeMap::new();
        let mut add = |key, docs: DocSet| {
            if !docs.is_empty() {
                cut.entry(key).or_insert_with(DocSet::empty).or_assign(&docs);
            }
        };
        for (key, docs) in groups {
            add(key, docs.and(&adjacent));
            let apart = docs.and_not(&adjacent);
            match &near {
                None => add(key + proximity.put(1), apart),
                Some(near) => {
                    add(key + proximity.put(1), apart.and(&near.documents));
                    add(key + proximity.put(near.cost + 1), apart.and_not(&near.documents));
                }
            }
        }
        groups = cut;
    }
    groups.into_iter().collect()
}

/// All documents that can have a word of the one right before a word of the other, and those that can have them near each
/// other, if that is known; maybe some that do not. `None` when nothing is known, or it excludes little.
fn stored(query: &SegmentQuery<'_>, pair: &[PairSide; 2]) -> Option<(DocSet, Option<Known>)> {
    let paired = paired(query, pair);
    // Completions that are all in pairs are known one by one.
    let followed = if matches!(paired, Some(Paired { holding_rare: 0, .. })) { None } else { followed(query, pair) };
    match (paired, followed) {
        (None, None) => None,
        (None, Some(followed)) => Some((followed, None)),
        (Some(Paired { adjacent, near, .. }), None) => Some((adjacent, near)),
        (Some(Paired { adjacent, near, .. }), Some(followed)) => {
            // Those that are not adjacent after all may be near.
            let near = near.map(|mut near| {
                near.documents.or_assign(&adjacent);
                near
            });
            Some((adjacent.and(&followed), near))
        }
    }
}

/// Information that the stored word pairs of frequent words give on two neighbours.
struct Paired {
    adjacent: DocSet,
    near: Option<Known>,
    /// Sum of the document frequencies of the words without stored pairs. A document may count as adjacent only because
    /// it contains such a word.
    holding_rare: u64,
}

/// Looks up the stored word pairs of the frequent words of two neighbours. Documents with other words of either count
/// as adjacent.
fn paired(query: &SegmentQuery<'_>, [left, right]: &[PairSide; 2]) -> Option<Paired> {
    let stored = query.reader().word_pairs();
    if left.len().max(right.len()) > WORDS_MAX {
        return None;
    }
    let is_frequent = |word: &TermOrdinal| stored.words().binary_search(word).is_ok();
    let (left, rare_left): (Vec<_>, Vec<_>) = left.iter().partition(is_frequent);
    let (right, rare_right): (Vec<_>, Vec<_>) = right.iter().partition(is_frequent);
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let (mut adjacent, holding_rare) = holding_any(query, &[rare_left, rare_right].concat())?;
    let words = || left.iter().flat_map(|&left| right.iter().map(move |&right| [left, right]));
    for words in words() {
        adjacent.or_assign(&stored.next(words)?.documents);
    }
    let near = words().map(|words| stored.near(words)).reduce(|all, near| {
        let (mut all, near) = (all?, near?);
        all.cost = all.cost.min(near.cost);
        all.documents.or_assign(&near.documents);
        Some(all)
    });
    Some(Paired { adjacent, near: near.flatten(), holding_rare })
}

/// Looks up the documents in which words of the right neighbour directly follow the frequent words of the left one.
/// Documents with other words of the left neighbour count as adjacent.
fn followed(query: &SegmentQuery<'_>, [left, right]: &[PairSide; 2]) -> Option<DocSet> {
    let stored = query.reader().word_pairs();
    if left.len().max(right.others.len()) > WORDS_MAX || right.words.is_empty() {
        return None;
    }
    let is_frequent = |word: &TermOrdinal| stored.words().binary_search(word).is_ok();
    let (left, rare_left): (Vec<_>, Vec<_>) = left.iter().partition(is_frequent);
    let (others, rare_others): (Vec<_>, Vec<_>) = right.others.iter().copied().partition(is_frequent);
    if left.is_empty() {
        return None;
    }
    let (mut docs, _) = holding_any(query, &[rare_left, rare_others].concat())?;
    for &word in &left {
        docs.or_assign(&stored.next_in(word, right.words.clone())?.documents);
        for &other in &others {
            docs.or_assign(&stored.next([word, other])?.documents);
        }
    }
    Some(docs)
}

/// The documents that hold any of some words that are in no pairs, and the sum of their numbers; `None` when these are too
/// many to exclude anything.
fn holding_any(query: &SegmentQuery<'_>, words: &[TermOrdinal]) -> Option<(DocSet, u64)> {
    let postings = query.reader().postings();
    let holding: u64 = words.iter().map(|&word| u64::from(postings.doc_freq(word))).sum();
    let doc_count = query.reader().doc_count();
    if holding == 0 || holding * RARE_SHARE > u64::from(doc_count) {
        return (holding == 0).then(|| (DocSet::empty(), 0));
    }
    let mut all = BitsetBuilder::new(doc_count);
    words.iter().for_each(|&word| postings.add_to(word, &mut all));
    Some((all.finish(), holding))
}
