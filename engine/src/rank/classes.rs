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
/// A list of documents becomes a bitset when one document in this many is in it: from there on that is smaller.
const LIST_SHARE: u32 = 32;

/// Places in a list of documents, by piece.
pub(super) type Places = Vec<Vec<u32>>;

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
    pub(super) fn places(&self, docs: &[DocId]) -> Places {
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

    pub(super) fn pieces(&self) -> &Rc<Pieces<'q>> {
        &self.pieces
    }

    pub(super) fn costs(&self) -> impl Iterator<Item = Key> + '_ {
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
    pub(super) fn with_cost(&self, docs: &DocSet, cost: Key) -> DocSet {
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
    pub(super) fn add_costs(&self, places: &Places, sums: &mut [Key]) {
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

/// Collects documents in any order, some more than once: in a list, then in a bitset. Memory: at most four bytes a call.
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
