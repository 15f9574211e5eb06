//! Finds the words of a query in one document of the token column.
//!
//! One pass over the packed ordinals of a document finds, for every vertex of the query graph, where it occurs. What a
//! query word stands for (itself, completions, misspellings, synonyms) is a small set of ordinals and ranges, so the
//! cost does not grow with the number of expansions: an ordinal is first looked up in a 4,096-bit filter.

use hashbrown::HashMap;
use lamina_text::id::{FieldId, GAP, TermOrdinal};
use std::ops::Range;

use crate::query::SegmentQuery;
use crate::query::vertex::{VertexIndex, class_of, vertex, vertex_count};

/// A document that holds a phrase counts with every place of its first and of its last word (as the protocol's
/// reference does): such an occurrence has only one of the two ends.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Occurrence of a vertex in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occurrence {
    pub(crate) field: FieldId,
    /// Position of the first word, or [`NOWHERE`].
    pub(crate) first: u32,
    /// Position of the last word: `first` unless it is a phrase. Or [`NOWHERE`].
    pub(crate) last: u32,
    /// The word of the query itself, complete and without typo.
    pub(crate) exact: bool,
    /// A sequence of words (phrase, split, synonym of several words).
    pub(crate) phrase: bool,
    /// Another form of the word.
    pub(crate) form: bool,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Word {
        vertex: VertexIndex,
        exact: bool,
    },
    /// Another form of a word.
    Form {
        vertex: VertexIndex,
    },
    /// Word `index` of phrase `phrase`.
    Part {
        phrase: usize,
        index: u16,
    },
    StopWord,
}

#[derive(Clone, Debug)]
struct PhraseSlot {
    vertex: VertexIndex,
    exact: bool,
    /// Words, wildcards included.
    len: u32,
    /// Words, wildcards left out.
    needed: usize,
    /// Index of the first word that is not a wildcard.
    anchor: u16,
}

#[derive(Clone, Copy, Debug)]
struct PrefixRange {
    start: TermOrdinal,
    len: u32,
    vertex: VertexIndex,
}

/// State of the scan of one field.
struct FieldScan {
    field: FieldId,
    /// Misspelt words count.
    typos: bool,
    /// Other forms of words count.
    forms: bool,
    /// Position of the last word. It wraps to 0 at the first word.
    position: u32,
    words: u32,
}

impl FieldScan {
    fn start(field: FieldId, [typos, forms]: [bool; 2]) -> FieldScan {
        FieldScan { field, typos, forms, position: u32::MAX, words: 0 }
    }
}

const FILTER_BITS: u32 = 4096;

/// Terms and phrases to find in the documents of one segment.
#[derive(Debug)]
pub(crate) struct Matcher {
    filter: Box<[u64; (FILTER_BITS / 64) as usize]>,
    slots: HashMap<TermOrdinal, Vec<Slot>, foldhash::fast::FixedState>,
    ranges: Vec<PrefixRange>,
    /// Ordinals that prefixes must not reach (stop words), ascending.
    stop: Vec<TermOrdinal>,
    phrases: Vec<PhraseSlot>,
    vertices: usize,
}

/// Occurrences found in one document; reused from document to document.
#[derive(Debug, Default)]
pub(crate) struct Occurrences {
    by_vertex: Vec<Vec<Occurrence>>,
    touched: Vec<VertexIndex>,
    parts: Vec<(usize, u16, u32)>,
    /// Places of the first and last words of phrases in the fields so far: phrase, field, position, is the first word.
    ends: Vec<(usize, FieldId, u32, bool)>,
    /// Phrases found in the fields so far.
    phrases: Vec<usize>,
    field_words: Vec<(FieldId, u32)>,
}

impl Occurrences {
    /// Returns the occurrences of a vertex, in reading order within each field.
    pub(crate) fn of(&self, vertex: VertexIndex) -> &[Occurrence] {
        self.by_vertex.get(vertex).map_or(&[], Vec::as_slice)
    }

    /// Number of words of each scanned field, stop words left out.
    pub(crate) fn field_words(&self) -> &[(FieldId, u32)] {
        &self.field_words
    }

    fn clear(&mut self, vertices: usize) {
        self.field_words.clear();
        self.ends.clear();
        self.phrases.clear();
        for &v in &self.touched {
            self.by_vertex[v].clear();
        }
        self.touched.clear();
        if self.by_vertex.len() < vertices {
            self.by_vertex.resize_with(vertices, Vec::new);
        }
    }

    fn push(&mut self, vertex: VertexIndex, occurrence: Occurrence) {
        let list = &mut self.by_vertex[vertex];
        if list.is_empty() {
            self.touched.push(vertex);
        }
        list.push(occurrence);
    }
}

#[inline]
fn filter_bit(ordinal: TermOrdinal) -> (usize, u64) {
    let bit = ordinal.wrapping_mul(0x9E37_79B1) >> (32 - FILTER_BITS.ilog2());
    ((bit / 64) as usize, 1 << (bit % 64))
}

impl Matcher {
    /// `vertices`: number of vertices of the graph; `stop`: ordinals of stop words, ascending.
    /// For everything that the nodes of a query stand for in its segment.
    pub(crate) fn of(query: &SegmentQuery<'_>) -> Matcher {
        let mut matcher = Matcher::new(vertex_count(query.graph()), query.stop().to_vec());
        for (node, e) in query.expansions().iter().enumerate() {
            if let Some(exact) = e.exact {
                matcher.add_word(vertex(node, 0), exact, true);
            }
            matcher.add_range(vertex(node, 0), e.prefix.clone());
            for &form in e.forms_as_words(query.options()) {
                matcher.add_slot(form, Slot::Form { vertex: vertex(node, 0) });
            }
            for words in &e.synonyms {
                matcher.add_phrase(vertex(node, 0), words, false);
            }
            if let Some(words) = &e.phrase {
                matcher.add_phrase(vertex(node, 0), words, true);
            }
            for &ordinal in &e.one_typo {
                matcher.add_word(vertex(node, 1), ordinal, false);
            }
            if let Some([left, right]) = e.split {
                matcher.add_phrase(vertex(node, 1), &[Some(left), Some(right)], false);
            }
            for &ordinal in &e.two_typos {
                matcher.add_word(vertex(node, 2), ordinal, false);
            }
        }
        matcher
    }

    fn new(vertices: usize, stop: Vec<TermOrdinal>) -> Matcher {
        let mut matcher = Matcher {
            filter: Box::new([0; (FILTER_BITS / 64) as usize]),
            slots: HashMap::default(),
            ranges: Vec::new(),
            stop,
            phrases: Vec::new(),
            vertices,
        };
        for word in matcher.stop.clone() {
            matcher.add_slot(word, Slot::StopWord);
        }
        matcher
    }

    fn add_slot(&mut self, ordinal: TermOrdinal, slot: Slot) {
        let (word, mask) = filter_bit(ordinal);
        self.filter[word] |= mask;
        self.slots.entry(ordinal).or_default().push(slot);
    }

    /// A word that stands for `vertex`.
    pub(crate) fn add_word(&mut self, vertex: VertexIndex, ordinal: TermOrdinal, exact: bool) {
        self.add_slot(ordinal, Slot::Word { vertex, exact });
    }

    /// All words of a range of ordinals but stop words and `except` (which is added on its own).
    pub(crate) fn add_range(&mut self, vertex: VertexIndex, range: Range<TermOrdinal>) {
        if !range.is_empty() {
            self.ranges.push(PrefixRange { start: range.start, len: range.end - range.start, vertex });
        }
    }

    /// A sequence of words, `None` for any one word. At least one must be a word.
    pub(crate) fn add_phrase(&mut self, vertex: VertexIndex, words: &[Option<TermOrdinal>], exact: bool) {
        let Some(anchor) = words.iter().position(Option::is_some) else { return };
        let phrase = self.phrases.len();
        let needed = words.iter().flatten().count();
        self.phrases.push(PhraseSlot { vertex, exact, len: words.len() as u32, needed, anchor: anchor as u16 });
        for (index, ordinal) in words.iter().enumerate() {
            if let Some(ordinal) = *ordinal {
                self.add_slot(ordinal, Slot::Part { phrase, index: index as u16 });
            }
        }
    }

    /// Clears `out` for the next document.
    pub(crate) fn begin(&self, out: &mut Occurrences) {
        out.clear(self.vertices);
    }

    /// Scans the ordinals of one field and adds what it finds. `others`: whether misspelt words count there, and other forms.
    pub(crate) fn field(&self, field: FieldId, ordinals: &[TermOrdinal], others: [bool; 2], out: &mut Occurrences) {
        let mut scan = FieldScan::start(field, others);
        ordinals.iter().for_each(|&ordinal| self.token(&mut scan, ordinal, out));
        self.end_field(&scan, out);
    }

    #[inline]
    fn token(&self, scan: &mut FieldScan, ordinal: TermOrdinal, out: &mut Occurrences) {
        if ordinal == GAP {
            scan.position = scan.position.wrapping_add(7);
            return;
        }
        scan.position = scan.position.wrapping_add(1);
        scan.words += 1;
        for range in &self.ranges {
            if ordinal.wrapping_sub(range.start) < range.len {
                self.completion(scan, range.vertex, ordinal, out);
            }
        }
        let (word, mask) = filter_bit(ordinal);
        if self.filter[word] & mask != 0 {
            self.candidate(scan, ordinal, out);
        }
    }

    #[cold]
    fn completion(&self, scan: &FieldScan, vertex: VertexIndex, ordinal: TermOrdinal, out: &mut Occurrences) {
        if self.stop.binary_search(&ordinal).is_err() {
            let FieldScan { field, position, .. } = *scan;
            out.push(
                vertex,
                Occurrence { field, first: position, last: position, exact: false, phrase: false, form: false },
            );
        }
    }

    #[cold]
    fn candidate(&self, scan: &mut FieldScan, ordinal: TermOrdinal, out: &mut Occurrences) {
        let FieldScan { field, position, typos, forms, .. } = *scan;
        for slot in self.slots.get(&ordinal).into_iter().flatten() {
            match *slot {
                Slot::Word { vertex, .. } if !typos && class_of(vertex) > 0 => {}
                Slot::Form { vertex } if forms => {
                    out.push(
                        vertex,
                        Occurrence { field, first: position, last: position, exact: false, phrase: false, form: true },
                    );
                }
                Slot::Form { .. } => {}
                Slot::Word { vertex, exact } => {
                    out.push(
                        vertex,
                        Occurrence { field, first: position, last: position, exact, phrase: false, form: false },
                    );
                }
                Slot::Part { phrase, index } => out.parts.push((phrase, index, position)),
                Slot::StopWord => scan.words -= 1,
            }
        }
    }

    fn end_field(&self, scan: &FieldScan, out: &mut Occurrences) {
        out.field_words.push((scan.field, scan.words));
        if !out.parts.is_empty() {
            self.phrases_of_field(scan.field, out);
            out.parts.clear();
        }
    }

    fn phrases_of_field(&self, field: FieldId, out: &mut Occurrences) {
        let mut parts = std::mem::take(&mut out.parts);
        parts.sort_unstable();
        let mut start = 0;
        while start < parts.len() {
            let phrase = parts[start].0;
            let end = start + parts[start..].partition_point(|p| p.0 == phrase);
            let slot = &self.phrases[phrase];
            let group = &parts[start..end];
            for &(_, index, position) in group.iter().take_while(|p| p.1 == slot.anchor) {
                let Some(first) = position.checked_sub(u32::from(index)) else { continue };
                let found = group.iter().filter(|&&(_, i, p)| p == first + u32::from(i)).count();
                if found >= slot.needed {
                    let last = first + slot.len - 1;
                    out.push(
                        slot.vertex,
                        Occurrence { field, first, last, exact: slot.exact, phrase: true, form: false },
                    );
                    out.phrases.push(phrase);
                }
            }
            for &(_, index, position) in group.iter().filter(|_| slot.len > 1) {
                if index == 0 || u32::from(index) + 1 == slot.len {
                    out.ends.push((phrase, field, position, index == 0));
                }
            }
            start = end;
        }
        out.parts = parts;
    }

    /// To be called after the last field of a document.
    pub(crate) fn finish(&self, out: &mut Occurrences) {
        for (phrase, field, position, is_first) in std::mem::take(&mut out.ends) {
            let vertex = self.phrases[phrase].vertex;
            if out.phrases.contains(&phrase) {
                let (first, last) = if is_first { (position, NOWHERE) } else { (NOWHERE, position) };
                out.push(vertex, Occurrence { field, first, last, exact: false, phrase: true, form: false });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(m: &Matcher, fields: &[&[TermOrdinal]]) -> Occurrences {
        let mut out = Occurrences::default();
        m.begin(&mut out);
        for (i, f) in fields.iter().enumerate() {
            m.field(i as FieldId, f, [true, true], &mut out);
        }
        m.finish(&mut out);
        out
    }

    #[test]
    fn words_ranges_and_gaps() {
        let mut m = Matcher::new(6, vec![21]);
        m.add_word(0, 5, true);
        m.add_range(3, 20..30);
        let out = words(&m, &[&[5, GAP, 5, 20, 21, 29, 30], &[7, 5]]);
        let at: Vec<_> = out.of(0).iter().map(|o| (o.field, o.first, o.exact)).collect();
        assert_eq!(at, [(0, 0, true), (0, 8, true), (1, 1, true)]);
        let at: Vec<_> = out.of(3).iter().map(|o| o.first).collect();
        assert_eq!(at, [9, 11], "stop word 21 is not reached by the prefix");
    }

    #[test]
    fn phrases_need_every_word_in_place() {
        let mut m = Matcher::new(1, vec![]);
        m.add_phrase(0, &[Some(4), None, Some(5)], true);
        let out = words(&m, &[&[4, 9, 5, 4, 5, 9, 4, 4, 5], &[4, GAP, 5]]);
        let whole = |o: &&Occurrence| o.first != NOWHERE && o.last != NOWHERE;
        let at: Vec<_> = out.of(0).iter().filter(whole).map(|o| (o.field, o.first, o.last)).collect();
        assert_eq!(at, [(0, 0, 2), (0, 6, 8)]);
        assert!(out.of(0).iter().any(|o| (o.field, o.first, o.last) == (1, 0, NOWHERE)), "first word elsewhere");
    }

    #[test]
    fn repeated_word_in_a_phrase() {
        let mut m = Matcher::new(1, vec![]);
        m.add_phrase(0, &[Some(4), Some(4)], true);
        assert_eq!(words(&m, &[&[4, 4, 4]]).of(0).iter().filter(|o| o.exact).count(), 2);
        assert!(words(&m, &[&[4, 5, 4]]).of(0).is_empty());
    }
}
