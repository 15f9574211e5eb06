//! Documents of a word of the query by what it costs there: the postings of its forms in pieces, and pieces of the same cost in
//! classes.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use lamina_segment::bits::{BitsetBuilder, DocSet};
use lamina_segment::segment::Groups as StoredGroups;
use lamina_text::id::DocId;

use crate::rank::key::Key;

/// Documents are joined in a list when they are fewer than one in this many of the segment.
const SHORT_SHARE: u64 = 64;
/// A list of documents becomes a bitset when one document in this many is in it: to sort more takes longer than to pass over all bits.
const LIST_SHARE: u32 = 256;

/// Places in a list of documents, by piece.
pub(super) type Places = Vec<Vec<u32>>;

/// Documents that a form of a word has, with the costs of the word there.
struct Piece {
    source: PieceSource,
    mark: PieceMark,
}

/// Information that postings have on the documents of a piece. A document of a piece with a larger rank and zone costs no less.
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
    /// Number of forms.
    forms: usize,
}

impl<'q> Pieces<'q> {
    pub(crate) fn new(doc_count: u32) -> Pieces<'q> {
        Pieces { doc_count, stored: Vec::new(), pieces: Vec::new(), forms: 0 }
    }

    /// Adds a form whose postings are grouped. `rank`: by field set code.
    pub(crate) fn add_groups(&mut self, groups: StoredGroups<'q>, rank: impl Fn(u32) -> u16) {
        let number = self.stored.len();
        for (place, (code, zone, _)) in groups.heads().enumerate() {
            let source = if place == 0 { PieceSource::Largest(number) } else { PieceSource::Group(number, place) };
            self.pieces.push(Piece { source, mark: PieceMark { rank: rank(code), zone } });
        }
        self.stored.push(groups);
        self.forms += 1;
    }

    /// Adds documents of other forms; `forms`: how many. Of a piece that has both the largest rank and the largest zone of all, no
    /// document need be named.
    pub(crate) fn add_sets(&mut self, sets: impl Iterator<Item = (PieceMark, DocSet)>, forms: usize) {
        let piece = |(mark, docs)| Piece { source: PieceSource::Set(docs), mark };
        self.pieces.extend(sets.map(piece));
        self.forms += forms;
    }

    /// Reports whether the postings of a form are grouped.
    pub(crate) fn has_groups(&self) -> bool {
        !self.stored.is_empty()
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

    /// The places of the documents of each piece in a list; none of the piece whose documents cost most.
    pub(super) fn places(&self, docs: &[DocId]) -> Places {
        let mut places: Places = vec![Vec::new(); self.pieces.len()];
        let marks = || self.pieces.iter().map(|piece| piece.mark);
        let rank = marks().map(|mark| mark.rank).max().unwrap_or(0);
        let zone = marks().map(|mark| mark.zone).max().unwrap_or(0);
        let costs_most = |mark: PieceMark| (mark.rank, mark.zone) == (rank, zone);
        for (piece, places) in self.pieces.iter().zip(&mut places) {
            let set = match &piece.source {
                PieceSource::Set(set) => Cow::Borrowed(set),
                PieceSource::Group(number, place) => Cow::Owned(self.stored[*number].small_group_among(*place, docs)),
                PieceSource::Largest(_) => continue,
            };
            for_each_common(docs, &set, |at| places.push(at as u32));
        }
        for (largest, piece) in self.pieces.iter().enumerate() {
            let PieceSource::Largest(number) = piece.source else { continue };
            if costs_most(piece.mark) {
                continue;
            }
            // A document of a form that is in none of its other groups.
            let mut left = vec![self.are_disjoint(); docs.len()];
            if !self.are_disjoint() {
                for_each_common(docs, &self.stored[number].docs_among(docs), |at| left[at] = true);
            }
            for (piece, places) in self.pieces.iter().zip(&places) {
                if matches!(piece.source, PieceSource::Group(of, _) if of == number) {
                    places.iter().for_each(|&at| left[at as usize] = false);
                }
            }
            places[largest] = (0..).zip(left).filter(|(_, is_left)| *is_left).map(|(at, _)| at).collect();
        }
        places
    }
}

/// The documents of a word in classes of the same cost; all have it.
pub(crate) struct Classes<'q> {
    pieces: Rc<Pieces<'q>>,
    /// Ascending by cost. The documents of the last one are those of no other one.
    classes: Vec<Class>,
}

struct Class {
    cost: Key,
    pieces: Vec<usize>,
    docs: OnceCell<DocSet>,
}

impl<'q> Classes<'q> {
    /// `cost`: no less for a larger rank or zone.
    pub(crate) fn new(pieces: &Rc<Pieces<'q>>, cost: impl Fn(PieceMark) -> Key) -> Classes<'q> {
        let mut by_cost: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for (at, piece) in pieces.pieces.iter().enumerate() {
            by_cost.entry(cost(piece.mark)).or_default().push(at);
        }
        let class = |(cost, pieces)| Class { cost, pieces, docs: OnceCell::new() };
        Classes { pieces: Rc::clone(pieces), classes: by_cost.into_iter().map(class).collect() }
    }

    pub(super) fn pieces(&self) -> &Rc<Pieces<'q>> {
        &self.pieces
    }

    pub(super) fn costs(&self) -> impl Iterator<Item = Key> + '_ {
        self.classes.iter().map(|class| class.cost)
    }

    /// The documents of a class but the last.
    fn docs(&self, place: usize) -> &DocSet {
        let class = &self.classes[place];
        class.docs.get_or_init(|| {
            let mut docs = self.pieces.docs(&class.pieces);
            // A document may have several forms; the cheapest counts.
            if !self.pieces.are_disjoint() {
                (0..place).for_each(|cheaper| docs.and_not_assign(self.docs(cheaper)));
            }
            docs
        })
    }

    /// The documents of a set that cost so much.
    pub(super) fn with_cost(&self, docs: &DocSet, cost: Key) -> DocSet {
        let Some(place) = self.classes.iter().position(|class| class.cost == cost) else { return DocSet::empty() };
        if place + 1 < self.classes.len() {
            return docs.and(self.docs(place));
        }
        let mut left = docs.clone();
        (0..place).for_each(|cheaper| left.and_not_assign(self.docs(cheaper)));
        left
    }

    /// Adds the cost of each document of a list: the least of its pieces.
    pub(super) fn add_costs(&self, places: &Places, sums: &mut [Key]) {
        let Some(last) = self.classes.last() else { return };
        let mut costs = vec![Key::MAX; sums.len()];
        for class in &self.classes {
            for &at in class.pieces.iter().flat_map(|&piece| &places[piece]) {
                let cost = &mut costs[at as usize];
                *cost = class.cost.min(*cost);
            }
        }
        let known = |cost: Key| if cost == Key::MAX { last.cost } else { cost };
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

/// Collects documents in any order, some more than once: in a list, then in a bitset. Memory: at most 32 bytes a call.
pub(super) struct SetBuilder {
    list: Vec<DocId>,
    bits: Option<BitsetBuilder>,
    doc_count: u32,
}

impl SetBuilder {
    pub(super) fn new(doc_count: u32) -> SetBuilder {
        SetBuilder { list: Vec::new(), bits: None, doc_count }
    }

    #[inline]
    pub(super) fn insert(&mut self, doc: DocId) {
        match &mut self.bits {
            Some(bits) => bits.insert(doc),
            None => {
                self.list.push(doc);
                if self.list.len() * LIST_SHARE as usize > self.doc_count as usize {
                    let mut bits = BitsetBuilder::new(self.doc_count);
                    self.list.drain(..).for_each(|doc| bits.insert(doc));
                    self.bits = Some(bits);
                }
            }
        }
    }

    pub(super) fn finish(mut self) -> DocSet {
        if let Some(bits) = self.bits {
            return bits.finish();
        }
        self.list.sort_unstable();
        self.list.dedup();
        DocSet::from_sorted(self.list)
    }
}
