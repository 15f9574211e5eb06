//! The most that a single word can count in each document, whatever the word: a byte per document.
//!
//! Without it, a word that stands in a document once, as most do, is taken for one that fills it, and a document with half
//! of a question's words for one that may beat those with all of them. The max impacts of a segment are made once and kept
//! as long as the weights of its fields and, roughly, the average lengths stay the same. Very frequent words stand in
//! many documents several times and weigh little: they have no part in this.

use std::sync::Arc;

use lamina_index::index::SegmentView;
use lamina_index::runtime::Urgency;
use lamina_segment::segment::SegmentReader;
use lamina_text::id::{DocId, FIRST_TERM, FieldId, TermOrdinal};

use super::statistics::{Formula, Statistics};

/// A word in at least one document in this many has no max impact.
const FREQUENT_SHARE: u64 = 4;
/// Max impacts of smaller segments are made at once; those of larger ones beside the searches, which do without until then.
const MADE_AT_ONCE_MAX: u32 = 1 << 14;
/// Averages are rounded up to the next of so many steps per doubling, so that a few more documents change nothing.
const STEPS_PER_DOUBLING: f64 = 4.0;
/// Slots of the table of words of a document.
const SLOTS: usize = 1024;
/// Slots that are looked at for a word.
const PROBES: usize = 8;

/// Reports whether max impacts bound a word.
pub(super) fn has_max_impact(reader: &SegmentReader, word: TermOrdinal) -> bool {
    u64::from(reader.postings().doc_freq(word)) * FREQUENT_SHARE < u64::from(reader.doc_count())
}

/// Weights and average lengths of the fields for max impacts. The weights are those of scores. The averages are rounded
/// up, which makes occurrences count more.
#[derive(Clone, Debug, PartialEq)]
struct Weights {
    formula: Formula,
    fields: Vec<(f64, f64)>,
}

impl Weights {
    fn new(reader: &SegmentReader, statistics: &Statistics) -> Weights {
        let lengths = reader.field_lengths();
        let rounded = |average: f64| ((average.log2() * STEPS_PER_DOUBLING).ceil() / STEPS_PER_DOUBLING).exp2();
        let field = |field: FieldId| match statistics.field(field) {
            Some((weight, average)) if lengths.get(field).docs > 0 => (weight, rounded(average)),
            _ => (0.0, 1.0),
        };
        Weights { formula: statistics.formula(), fields: (0..lengths.field_count()).map(field).collect() }
    }

    fn key(&self) -> u64 {
        let numbers = self.fields.iter().flat_map(|(weight, average)| [weight.to_bits(), average.to_bits()]);
        let bytes: Vec<u8> = numbers.chain(self.formula.bits()).flat_map(u64::to_le_bytes).collect();
        xxhash_rust::xxh3::xxh3_64(&bytes)
    }

    fn occurrence(&self, field: FieldId, tokens: usize) -> f64 {
        match self.fields.get(usize::from(field)) {
            Some(&(weight, average)) => self.formula.occurrence(weight, average, tokens),
            None => 0.0,
        }
    }
}

/// The max impacts of a segment, by document, as shares of [`Formula::most`] in 255ths; `None` while they are being made.
pub(super) fn max_impacts(view: &SegmentView, statistics: &Statistics) -> Option<Arc<[u8]>> {
    let SegmentView { reader, caches, .. } = view;
    let weights = Weights::new(reader, statistics);
    let key = weights.key();
    if let Some(known) = caches.max_impacts.get(key) {
        return Some(known);
    }
    if reader.doc_count() <= MADE_AT_ONCE_MAX {
        let made = make(reader, &weights);
        caches.max_impacts.put(key, Arc::clone(&made));
        return Some(made);
    }
    if caches.max_impacts.begin(key) {
        let (reader, caches) = (Arc::clone(reader), Arc::clone(caches));
        let runtime = Arc::clone(caches.runtime());
        runtime.spawn(Urgency::Soon, move || caches.max_impacts.put(key, make(&reader, &weights)));
    }
    None
}

/// Cost: one scan of the token column, some 0.3 microseconds per document, and for that time a byte for each term.
fn make(reader: &SegmentReader, weights: &Weights) -> Arc<[u8]> {
    let terms = FIRST_TERM..FIRST_TERM + reader.terms().len();
    let bounded: Vec<bool> = terms.map(|word| has_max_impact(reader, word)).collect();
    let is_bounded = |word: TermOrdinal| bounded.get(word.wrapping_sub(FIRST_TERM) as usize).copied().unwrap_or(false);
    let mut words = Words::new();
    let (mut fields, mut tokens) = (Vec::new(), Vec::new());
    let mut of_doc = |doc: DocId| {
        reader.tokens().doc(doc).decode(&mut fields, &mut tokens);
        words.clear();
        let mut start = 0;
        for &(field, end) in &fields {
            let run = &tokens[start..end as usize];
            start = end as usize;
            let occurrence = weights.occurrence(field, run.len());
            if occurrence > 0.0 {
                run.iter().filter(|&&word| is_bounded(word)).for_each(|&word| words.add(word, occurrence));
            }
        }
        byte_of(words.most, weights.formula)
    };
    (0..reader.doc_count()).map(&mut of_doc).collect()
}

/// Rounded up.
fn byte_of(occurrences: f64, formula: Formula) -> u8 {
    (formula.saturated(occurrences) / formula.most() * 255.0 + 1e-6).ceil().min(255.0) as u8
}

/// Returns the slot at which the search for a word begins.
fn place_of(word: TermOrdinal) -> usize {
    (word.wrapping_mul(0x9E37_79B1) >> (32 - SLOTS.ilog2())) as usize
}

/// The words of one document and how often they stand there. Where too many share a slot, some are counted together: that
/// makes a max impact too high, never too low.
struct Words {
    slots: Box<[Slot; SLOTS]>,
    document: u32,
    /// Occurrences of the most frequent word.
    most: f64,
}

#[derive(Clone, Copy)]
struct Slot {
    document: u32,
    word: TermOrdinal,
    occurrences: f64,
}

impl Words {
    fn new() -> Words {
        let empty = Slot { document: 0, word: 0, occurrences: 0.0 };
        Words { slots: Box::new([empty; SLOTS]), document: 0, most: 0.0 }
    }

    fn clear(&mut self) {
        self.document += 1;
        self.most = 0.0;
    }

    #[inline]
    fn add(&mut self, word: TermOrdinal, occurrence: f64) {
        let mut place = place_of(word);
        for _ in 1..PROBES {
            let slot = &self.slots[place];
            if slot.word == word || slot.document != self.document {
                break;
            }
            place = (place + 1) % SLOTS;
        }
        let slot = &mut self.slots[place];
        if slot.document != self.document {
            *slot = Slot { document: self.document, word, occurrences: 0.0 };
        }
        // A slot stays that of its first word, which would not find it again otherwise.
        slot.occurrences += occurrence;
        self.most = self.most.max(slot.occurrences);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_max_impact_is_above_what_a_word_counts() {
        let formula = Formula::default();
        let mut words = Words::new();
        let many: Vec<u32> = (0..10_000).collect();
        for document in [vec![4, 5, 4, 6, 4], vec![8, 9, 10, 10], vec![6, 6], many] {
            words.clear();
            document.iter().for_each(|&word| words.add(word, 0.8));
            let of = |word: &u32| document.iter().filter(|w| *w == word).count() as f64 * 0.8;
            let least = formula.saturated(document.iter().map(of).fold(0.0, f64::max));
            let max_impact = f64::from(byte_of(words.most, formula)) / 255.0 * formula.most();
            let is_small = document.len() <= 10;
            assert!(max_impact >= least - 1e-9, "{document:?}: {max_impact} for {least}");
            assert!(!is_small || max_impact <= least + 0.03, "{document:?}: {max_impact} for {least}");
        }
        assert_eq!((byte_of(0.0, formula), byte_of(1e12, formula)), (1, 255));
    }

    #[test]
    fn a_word_whose_slot_another_shares_keeps_its_count() {
        let at = |place: usize| (1..).find(|&word| place_of(word) == place).expect("any place has words");
        let home = 100;
        let rare = at(home + PROBES - 1);
        let fillers: Vec<u32> = (home..home + PROBES - 1).map(at).collect();
        let frequent = (fillers[0] + 1..).find(|&word| place_of(word) == home).expect("any place has words");
        let mut words = Words::new();
        words.clear();
        fillers.iter().for_each(|&word| words.add(word, 1.0));
        words.add(rare, 1.0);
        words.add(frequent, 1.0);
        words.add(rare, 1.0);
        assert!(words.most >= 2.0, "{:?}", words.most);
    }
}
