//! Groups of documents with their smallest keys, best first, cut as they are asked for.
//!
//! The scan of a level mostly ends within the first few groups, so documents are cut no further than the best group needs: by one
//! rule after the other, and by the least cost first.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::rc::Rc;

use lamina_segment::bits::{BitsetBuilder, DocSet};
use lamina_segment::segment::Groups as StoredGroups;
use lamina_text::id::DocId;

use crate::rank::key::Key;

/// Maximum number of words whose sets of documents are combined. With more, the cost of each document is computed.
const COMBINED_WORDS_MAX: usize = 3;
/// Maximum number of documents whose costs are computed where sets would have to be made for it.
const LISTED_MAX: usize = 1 << 13;

/// Documents of pieces are joined in a list when they are fewer than one in this many of the segment.
const SHORT_SHARE: u64 = 64;

/// Disjoint groups of the documents of a level, best first.
pub(crate) struct Groups<'q> {
    stages: Vec<Stage<'q>>,
    parts: BinaryHeap<Part>,
    /// So many documents are not cut.
    whole_max: u32,
}

/// Documents that are cut no further yet.
struct Part {
    /// The smallest key of any of them: `base` and the sum of the stage.
    bound: Key,
    /// A document that none of them comes before.
    first: DocId,
    base: Key,
    /// The documents, including those with smaller sums, which were parts before.
    docs: Rc<DocSet>,
    /// Number of those that were in no part before.
    left: u32,
    /// The stage that cuts them next.
    stage: usize,
    /// The sum of that stage that is next.
    sum: usize,
    /// True if the stages of `exactness` cut them.
    is_exact: bool,
}

impl Ord for Part {
    /// The best part is the largest.
    fn cmp(&self, other: &Part) -> Ordering {
        (other.bound, other.first).cmp(&(self.bound, self.first))
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Part {}

/// Documents of a level, with the smallest key of any of them.
pub(crate) struct Base {
    pub(crate) bound: Key,
    pub(crate) docs: DocSet,
    /// True if they can be cut by `exactness`.
    pub(crate) is_exact: bool,
    /// False if they are not cut at all.
    pub(crate) is_cut: bool,
}

impl<'q> Groups<'q> {
    /// The bases themselves.
    pub(crate) fn whole(bases: Vec<(Key, DocSet)>) -> Groups<'q> {
        let base = |(bound, docs)| Base { bound, docs, is_exact: false, is_cut: false };
        Groups::cut(bases.into_iter().map(base).collect(), Vec::new(), 0)
    }

    /// Each base cut by the stages, which are in the order of their rules, but for groups of at most `whole_max` documents. Cost: none
    /// per document, now.
    pub(crate) fn cut(bases: Vec<Base>, stages: Vec<Stage<'q>>, whole_max: u32) -> Groups<'q> {
        let mut groups = Groups { stages, parts: BinaryHeap::new(), whole_max };
        for Base { bound, docs, is_exact, is_cut } in bases {
            let stage = if is_cut { 0 } else { groups.stages.len() };
            groups.add(bound, docs, stage, is_exact);
        }
        groups
    }

    /// Adds documents that `stage` cuts next.
    fn add(&mut self, base: Key, docs: DocSet, mut stage: usize, is_exact: bool) {
        while self.stages.get(stage).is_some_and(|stage| stage.is_of_exactness && !is_exact) {
            stage += 1;
        }
        let docs = docs.shrunk();
        let Some(first) = docs.first() else { return };
        let left = docs.len();
        self.push(Part { bound: base, first, base, docs: Rc::new(docs), left, stage, sum: 0, is_exact });
    }

    fn push(&mut self, part: Part) {
        let least = self.stages.get(part.stage).map_or(0, |stage| stage.sums[part.sum]);
        self.parts.push(Part { bound: part.base + least, ..part });
    }

    /// The smallest key of all documents that have not been taken, and a document that none of those with this key
    /// comes before.
    pub(crate) fn bound(&self) -> Option<(Key, DocId)> {
        self.parts.peek().map(|part| (part.bound, part.first))
    }

    /// Takes the best group.
    pub(crate) fn take(&mut self) -> Option<(Key, DocSet)> {
        loop {
            let part = self.parts.pop()?;
            let Some(stage) = self.stages.get(part.stage) else {
                return Some((part.bound, Rc::unwrap_or_clone(part.docs)));
            };
            match &*part.docs {
                // To cut a few documents costs more than to read them.
                docs if part.sum == 0 && docs.len() <= self.whole_max => {
                    return Some((part.bound, Rc::unwrap_or_clone(part.docs)));
                }
                DocSet::Sorted(docs) if docs.len() <= LISTED_MAX && !stage.is_of_pieces() => self.cut_list(&part, docs),
                docs if stage.words.len() > COMBINED_WORDS_MAX => self.cut_list(&part, &docs.to_vec()),
                _ => self.cut_set(part),
            }
        }
    }

    /// Takes the documents with the next sum of a stage out of a part.
    fn cut_set(&mut self, part: Part) {
        let stage = &self.stages[part.stage];
        let sum = stage.sums[part.sum];
        let found = stage.with_sum(&part.docs, sum);
        let Part { base, stage: number, is_exact, .. } = part;
        let left = part.left.saturating_sub(found.len());
        if left > 0 && part.sum + 1 < stage.sums.len() {
            self.push(Part { left, sum: part.sum + 1, ..part });
        }
        self.add(base + sum, found, number + 1, is_exact);
    }

    /// Cuts a list by all stages that are left: the cost of each document is computed.
    fn cut_list(&mut self, part: &Part, docs: &[DocId]) {
        let mut keys = vec![part.base; docs.len()];
        let mut known = Vec::new();
        let stages = self.stages.iter().skip(part.stage);
        for stage in stages.filter(|stage| part.is_exact || !stage.is_of_exactness) {
            stage.add_sums(docs, &mut known, &mut keys);
        }
        let mut sorted: Vec<(Key, DocId)> = keys.into_iter().zip(docs.iter().copied()).collect();
        sorted.sort_unstable();
        let end = self.stages.len();
        for group in sorted.chunk_by(|a, b| a.0 == b.0) {
            let docs = group.iter().map(|one| one.1).collect();
            self.add(group[0].0, DocSet::from_sorted(docs), end, part.is_exact);
        }
    }
}

/// A rule, or several at once, by which documents are cut: the sum of the costs of the words.
pub(crate) struct Stage<'q> {
    words: Vec<Classes<'q>>,
    /// All that can be, ascending.
    sums: Vec<Key>,
    is_of_exactness: bool,
    /// The number that stands for all sums but 0, if there is one.
    any: Option<Key>,
}

impl<'q> Stage<'q> {
    pub(crate) fn new(words: Vec<Classes<'q>>) -> Stage<'q> {
        let mut sums = BTreeSet::from([0]);
        for word in &words {
            sums = sums.iter().flat_map(|&sum| word.costs().map(move |cost| sum + cost)).collect();
        }
        Stage { words, sums: sums.into_iter().collect(), is_of_exactness: false, any: None }
    }

    /// A stage of `exactness`. `any`: see [`Stage::any`].
    pub(crate) fn of_exactness(words: Vec<Classes<'q>>, any: Option<Key>) -> Stage<'q> {
        let stage = Stage { is_of_exactness: true, any, ..Stage::new(words) };
        match any {
            None => stage,
            Some(any) => Stage { sums: vec![0, any], ..stage },
        }
    }

    /// Reports whether its documents are those of pieces: there is one word, and each document is in one piece.
    fn is_of_pieces(&self) -> bool {
        matches!(self.words.as_slice(), [word] if word.pieces.are_disjoint())
    }

    /// The documents of a set whose words cost so much together.
    fn with_sum(&self, docs: &DocSet, sum: Key) -> DocSet {
        if self.any == Some(sum) {
            return docs.and_not(&self.with_sum(docs, 0));
        }
        fn of(docs: &DocSet, words: &[Classes<'_>], left: Key) -> DocSet {
            let Some((word, others)) = words.split_first() else { return DocSet::empty() };
            if others.is_empty() {
                return word.with_cost(docs, left);
            }
            let mut found = DocSet::empty();
            for cost in word.costs().filter(|&cost| cost <= left) {
                let docs = word.with_cost(docs, cost).shrunk();
                if !docs.is_empty() {
                    found.or_assign(&of(&docs, others, left - cost));
                }
            }
            found
        }
        of(docs, &self.words, sum)
    }

    /// Adds to the key of each document what its words cost together. `known`: places of pieces, by word.
    fn add_sums(&self, docs: &[DocId], known: &mut Vec<(Rc<Pieces<'q>>, Places)>, keys: &mut [Key]) {
        let mut sums = vec![0; docs.len()];
        for word in &self.words {
            let at = known.iter().position(|(pieces, _)| Rc::ptr_eq(pieces, &word.pieces)).unwrap_or_else(|| {
                known.push((Rc::clone(&word.pieces), word.pieces.places(docs)));
                known.len() - 1
            });
            word.add_costs(&known[at].1, &mut sums);
        }
        let sum = |sum: Key| self.any.filter(|_| sum > 0).unwrap_or(sum);
        keys.iter_mut().zip(sums).for_each(|(key, costs)| *key += sum(costs));
    }
}

/// Places in a list of documents, by piece.
type Places = Vec<Vec<u32>>;

/// Documents that a form of a word has, with the costs of the word there.
struct Piece {
    source: PieceSource,
    mark: PieceMark,
}

/// Information that postings have on the documents of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PieceMark {
    /// The least weight of their fields.
    pub(crate) rank: u16,
    pub(crate) zone: u8,
}

/// Source of the documents of a piece.
enum PieceSource {
    /// In a small group of stored groups: their number, and its place.
    Group(usize, usize),
    /// In the largest group.
    Largest(usize),
    Set(DocSet),
}

/// The postings of a word of the query and of the other forms that it may have.
pub(crate) struct Pieces<'q> {
    /// Documents of the segment.
    doc_count: u32,
    stored: Vec<StoredGroups<'q>>,
    pieces: Vec<Piece>,
    /// The piece of the largest group of all, whose documents are not looked up.
    largest: Option<usize>,
    /// Number of forms.
    forms: usize,
    /// The documents of the largest group, once they are looked up.
    of_largest: OnceCell<DocSet>,
}

impl<'q> Pieces<'q> {
    pub(crate) fn new(doc_count: u32) -> Pieces<'q> {
        let (stored, pieces, of_largest) = (Vec::new(), Vec::new(), OnceCell::new());
        Pieces { doc_count, stored, pieces, largest: None, forms: 0, of_largest }
    }

    /// Adds a form whose postings are grouped. `rank`: by field set code.
    pub(crate) fn add_groups(&mut self, groups: StoredGroups<'q>, rank: impl Fn(u32) -> u16) {
        let number = self.stored.len();
        for (place, (code, zone, len)) in groups.heads().enumerate() {
            let source = if place == 0 { PieceSource::Largest(number) } else { PieceSource::Group(number, place) };
            if place == 0 && self.largest.is_none_or(|largest| self.len(largest) < len) {
                self.largest = Some(self.pieces.len());
            }
            self.pieces.push(Piece { source, mark: PieceMark { rank: rank(code), zone } });
        }
        self.stored.push(groups);
        self.forms += 1;
    }

    /// Adds documents of other forms; `forms`: how many.
    pub(crate) fn add_sets(&mut self, sets: impl Iterator<Item = (PieceMark, DocSet)>, forms: usize) {
        let piece = |(mark, docs)| Piece { source: PieceSource::Set(docs), mark };
        self.pieces.extend(sets.map(piece));
        self.forms += forms;
    }

    /// Reports whether each document is in one piece.
    pub(crate) fn are_disjoint(&self) -> bool {
        self.forms <= 1
    }

    fn len(&self, piece: usize) -> u32 {
        let in_group = |number: usize, place: usize| self.stored[number].heads().nth(place).map_or(0, |head| head.2);
        match &self.pieces[piece].source {
            PieceSource::Set(docs) => docs.len(),
            &PieceSource::Largest(number) => in_group(number, 0),
            &PieceSource::Group(number, place) => in_group(number, place),
        }
    }

    /// The documents of some pieces.
    fn docs(&self, pieces: &[usize]) -> DocSet {
        let set = |piece: usize| match &self.pieces[piece].source {
            PieceSource::Set(set) => Cow::Borrowed(set),
            PieceSource::Group(number, place) => Cow::Owned(self.stored[*number].small_group(*place)),
            PieceSource::Largest(number) => Cow::Owned(self.stored[*number].largest_group()),
        };
        if let &[only] = pieces {
            return set(only).into_owned();
        }
        let count: u64 = pieces.iter().map(|&piece| u64::from(self.len(piece))).sum();
        if count * SHORT_SHARE < u64::from(self.doc_count) {
            let mut docs: Vec<DocId> = Vec::with_capacity(count as usize);
            pieces.iter().for_each(|&piece| docs.extend(set(piece).iter()));
            docs.sort_unstable();
            docs.dedup();
            return DocSet::from_sorted(docs);
        }
        let mut docs = BitsetBuilder::new(self.doc_count);
        for &piece in pieces {
            match &self.pieces[piece].source {
                PieceSource::Group(number, place) => self.stored[*number].add_small_group(*place, &mut docs),
                _ => docs.insert_set(&set(piece)),
            }
        }
        docs.finish()
    }

    /// The places of the documents of each piece in a list; none of the largest piece where it has what no other one has.
    fn places(&self, docs: &[DocId]) -> Places {
        let mut places: Places = vec![Vec::new(); self.pieces.len()];
        for (piece, places) in self.pieces.iter().zip(&mut places) {
            let set = match &piece.source {
                PieceSource::Set(set) => Cow::Borrowed(set),
                PieceSource::Group(number, place) => Cow::Owned(self.stored[*number].small_group_among(*place, docs)),
                PieceSource::Largest(_) => continue,
            };
            for_each_common(docs, &set, |at| places.push(at as u32));
        }
        for (number, groups) in self.stored.iter().enumerate().filter(|_| !self.are_disjoint()) {
            // A document of a form that is in none of its other groups.
            let mut left = vec![false; docs.len()];
            for_each_common(docs, &groups.docs_among(docs), |at| left[at] = true);
            let mut largest = None;
            for (at, piece) in self.pieces.iter().enumerate() {
                match piece.source {
                    PieceSource::Group(of, _) if of == number => {
                        places[at].iter().for_each(|&at| left[at as usize] = false)
                    }
                    PieceSource::Largest(of) if of == number => largest = Some(at),
                    _ => {}
                }
            }
            if let Some(largest) = largest {
                places[largest] = (0..).zip(left).filter(|(_, is_left)| *is_left).map(|(at, _)| at).collect();
            }
        }
        places
    }

    fn of_largest(&self) -> Option<&DocSet> {
        let largest = self.largest?;
        Some(self.of_largest.get_or_init(|| self.docs(&[largest])))
    }
}

/// The documents of a word in classes of the same cost; all have it.
pub(crate) struct Classes<'q> {
    pieces: Rc<Pieces<'q>>,
    /// Ascending by cost.
    classes: Vec<Class>,
    /// Place of the class whose documents are those of no other one.
    rest: usize,
}

struct Class {
    cost: Key,
    pieces: Vec<usize>,
    docs: OnceCell<DocSet>,
}

impl<'q> Classes<'q> {
    pub(crate) fn new(pieces: &Rc<Pieces<'q>>, cost: impl Fn(PieceMark) -> Key) -> Classes<'q> {
        let mut by_cost: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for (at, piece) in pieces.pieces.iter().enumerate() {
            by_cost.entry(cost(piece.mark)).or_default().push(at);
        }
        let class = |(cost, pieces)| Class { cost, pieces, docs: OnceCell::new() };
        let classes: Vec<Class> = by_cost.into_iter().map(class).collect();
        let of_largest = |largest| classes.iter().position(|class: &Class| class.pieces.contains(&largest));
        let rest = pieces.largest.and_then(of_largest).unwrap_or(classes.len().saturating_sub(1));
        Classes { pieces: Rc::clone(pieces), classes, rest }
    }

    fn costs(&self) -> impl Iterator<Item = Key> + '_ {
        self.classes.iter().map(|class| class.cost)
    }

    /// The documents of a class; of that of the rest, some.
    fn docs(&self, place: usize) -> &DocSet {
        let class = &self.classes[place];
        class.docs.get_or_init(|| {
            let known = class.pieces.iter().copied().filter(|&piece| Some(piece) != self.pieces.largest);
            let mut docs = self.pieces.docs(&known.collect::<Vec<usize>>());
            // A document may have several forms; the cheapest counts.
            if !self.pieces.are_disjoint() {
                (0..place).for_each(|cheaper| docs.and_not_assign(self.docs(cheaper)));
                if place > self.rest
                    && let Some(largest) = self.pieces.of_largest()
                {
                    docs.and_not_assign(largest);
                }
            }
            docs
        })
    }

    /// The documents of a set that cost so much.
    fn with_cost(&self, docs: &DocSet, cost: Key) -> DocSet {
        let Some(place) = self.classes.iter().position(|class| class.cost == cost) else { return DocSet::empty() };
        if place != self.rest {
            return docs.and(self.docs(place));
        }
        if !self.pieces.are_disjoint()
            && let Some(largest) = self.pieces.of_largest()
        {
            // Only those of cheaper classes are among them.
            let mut found = docs.and(largest);
            found.or_assign(&docs.and(self.docs(place)));
            (0..place).for_each(|cheaper| found.and_not_assign(self.docs(cheaper)));
            return found;
        }
        let mut left = docs.clone();
        let others = (0..self.classes.len()).filter(|&other| other != self.rest);
        others.for_each(|other| left.and_not_assign(self.docs(other)));
        left
    }

    /// Adds the cost of each document of a list: the least of its pieces.
    fn add_costs(&self, places: &Places, sums: &mut [Key]) {
        let Some(rest) = self.classes.get(self.rest) else { return };
        let mut costs = vec![Key::MAX; sums.len()];
        for class in &self.classes {
            for &at in class.pieces.iter().flat_map(|&piece| &places[piece]) {
                let cost = &mut costs[at as usize];
                *cost = class.cost.min(*cost);
            }
        }
        let known = |cost: Key| if cost == Key::MAX { rest.cost } else { cost };
        sums.iter_mut().zip(costs).for_each(|(sum, cost)| *sum += known(cost));
    }
}

/// Calls `f` with the places of the documents that are in the set.
fn for_each_common(docs: &[DocId], set: &DocSet, mut f: impl FnMut(usize)) {
    let DocSet::Sorted(other) = set else {
        return docs.iter().enumerate().filter(|(_, doc)| set.contains(**doc)).for_each(|(at, _)| f(at));
    };
    let mut other = other.as_slice();
    for (at, &doc) in docs.iter().enumerate() {
        // Those before it, in steps that double.
        let mut step = 1;
        while other.get(step).is_some_and(|&next| next < doc) {
            step *= 2;
        }
        let end = (step + 1).min(other.len());
        other = &other[other[..end].partition_point(|&next| next < doc)..];
        if other.first() == Some(&doc) {
            f(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DOCS: u32 = 3000;

    /// Sets by mark, each document in some of them.
    type Word = BTreeMap<(u16, u8), Vec<DocId>>;

    fn word() -> impl Strategy<Value = Word> {
        let docs = prop::collection::btree_set(0..DOCS, 0..600).prop_map(|docs| docs.into_iter().collect());
        let every = (1u32..40).prop_map(|step| (0..DOCS).step_by(step as usize).collect());
        prop::collection::btree_map((0u16..3, 0u8..3), prop_oneof![docs, every], 1..6)
    }

    fn pieces(word: &Word, forms: usize) -> Rc<Pieces<'static>> {
        let mut pieces = Pieces::new(DOCS);
        let set = |(&(rank, zone), docs): (&(u16, u8), &Vec<DocId>)| {
            let set = DocSet::from_sorted(docs.clone());
            let is_dense = docs.len() as u32 * 8 > DOCS;
            (PieceMark { rank, zone }, if is_dense { set.into_bitset(DOCS) } else { set })
        };
        pieces.add_sets(word.iter().map(set), forms);
        Rc::new(pieces)
    }

    /// The least cost of a document that has the word.
    fn least(word: &Word, doc: DocId, cost: impl Fn(PieceMark) -> Key) -> Option<Key> {
        let holding = word.iter().filter(|(_, docs)| docs.binary_search(&doc).is_ok());
        holding.map(|(&(rank, zone), _)| cost(PieceMark { rank, zone })).min()
    }

    proptest! {
        #[test]
        fn groups_come_best_first_with_the_sums_of_the_least_costs(
            words in prop::collection::vec(word(), 1..5),
            is_exact in any::<bool>(),
        ) {
            let rank = |mark: PieceMark| Key::from(mark.rank) << 20;
            let zone = |mark: PieceMark| Key::from(mark.zone) << 10;
            let exactness = |mark: PieceMark| Key::from(mark.zone > 0);
            let pieces: Vec<_> = words.iter().map(|word| pieces(word, 2)).collect();
            let classes = |cost: fn(PieceMark) -> Key| pieces.iter().map(|of| Classes::new(of, cost)).collect::<Vec<_>>();
            let stages = vec![
                Stage::new(classes(|mark| Key::from(mark.rank) << 20)),
                Stage::new(classes(|mark| Key::from(mark.zone) << 10)),
                Stage::of_exactness(classes(|mark| Key::from(mark.zone > 0)), Some(7)),
            ];
            let key = |doc: DocId| {
                let sum = |cost: &dyn Fn(PieceMark) -> Key| {
                    words.iter().map(|word| least(word, doc, cost)).sum::<Option<Key>>()
                };
                let exactness = sum(&exactness)?;
                Some(5 + sum(&rank)? + sum(&zone)? + if is_exact && exactness > 0 { 7 } else { 0 })
            };
            let expected: BTreeMap<DocId, Key> = (0..DOCS).filter_map(|doc| Some((doc, key(doc)?))).collect();
            let docs: DocSet = expected.keys().copied().collect();
            let base = Base { bound: 5, docs, is_exact, is_cut: true };
            let mut groups = Groups::cut(vec![base], stages, 0);
            let (mut found, mut last) = (BTreeMap::new(), 0);
            while let Some((bound, first)) = groups.bound() {
                let Some((key, docs)) = groups.take() else { break };
                prop_assert!(bound <= key);
                prop_assert!(last <= key);
                prop_assert!(bound < key || docs.first() >= Some(first));
                last = key;
                for doc in docs.iter() {
                    prop_assert!(found.insert(doc, key).is_none());
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
