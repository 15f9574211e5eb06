//! How much a single word can count in each document, whatever the word: a byte per document.
//!
//! Without it, a word that stands in a document once, as most do, is taken for one that fills it, and a document with half
//! of a question's words for one that may beat those with all of them. The ceilings of a segment are made once and kept
//! as long as the weights of its fields and, roughly, the average lengths stay the same. Very frequent words stand in
//! many documents several times and weigh little: they have no part in this.

use std::sync::Arc;

use super::statistics::{Formula, Statistics};
use crate::id::{DocId, FIRST_TERM, FieldId, TermOrdinal};
use crate::index::SegmentView;
use crate::runtime::Urgency;
use crate::segment::SegmentReader;

/// A word in at least one document in this many has no ceiling.
const FREQUENT_SHARE: u64 = 4;
/// Ceilings of smaller segments are made at once; those of larger ones beside the searches, which do without until then.
const MADE_AT_ONCE_MAX: u32 = 1 << 14;
/// Averages are rounded up to the next of so many steps per doubling, so that a few more documents change nothing.
const STEPS_PER_DOUBLING: f64 = 4.0;
/// Slots of the table of words of a document.
const SLOTS: usize = 512;

/// Whether ceilings speak of a word.
pub(super) fn has_ceiling(reader: &SegmentReader, word: TermOrdinal) -> bool {
    u64::from(reader.postings().doc_freq(word)) * FREQUENT_SHARE < u64::from(reader.doc_count())
}

/// What fields count by here: weights as in scores, averages rounded up, which makes occurrences count more.
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

/// The ceilings of a segment, as shares of [`Formula::most`] in 255ths, and what follows from them.
#[derive(Debug)]
pub(super) struct Ceilings {
    of_docs: Arc<[u8]>,
    /// By ceiling of one word: what two words that count as one add to it at most.
    second: [u8; 256],
    /// What any number of them adds to that.
    more: [u8; 256],
}

impl Ceilings {
    pub(super) fn new(of_docs: Arc<[u8]>, formula: Formula) -> Ceilings {
        let (mut second, mut more) = ([0; 256], [0; 256]);
        for ceiling in 0..=u8::MAX {
            let at = usize::from(ceiling);
            let two = byte_of(2.0 * occurrences(ceiling, formula), formula);
            second[at] = two.saturating_sub(ceiling);
            more[at] = u8::MAX - two.max(ceiling);
        }
        Ceilings { of_docs, second, more }
    }

    /// By document.
    pub(super) fn of_docs(&self) -> &[u8] {
        &self.of_docs
    }

    /// What a second form of a word adds to the ceiling of a document, and what all further ones do.
    pub(super) fn of_forms(&self, doc: DocId) -> [u8; 2] {
        let ceiling = usize::from(self.of_docs.get(doc as usize).copied().unwrap_or(u8::MAX));
        [self.second[ceiling], self.more[ceiling]]
    }
}

/// Occurrences that count as much as a ceiling says.
fn occurrences(ceiling: u8, formula: Formula) -> f64 {
    let share = f64::from(ceiling) / 255.0;
    if share < 1.0 { share * (formula.most() - 1.0) / (1.0 - share) } else { f64::INFINITY }
}

/// The ceilings of a segment; `None` while they are being made.
pub(super) fn ceilings(view: &SegmentView, statistics: &Statistics) -> Option<Ceilings> {
    of_docs(view, statistics).map(|of_docs| Ceilings::new(of_docs, statistics.formula()))
}

fn of_docs(view: &SegmentView, statistics: &Statistics) -> Option<Arc<[u8]>> {
    let SegmentView { reader, caches, .. } = view;
    let weights = Weights::new(reader, statistics);
    let key = weights.key();
    if let Some(known) = caches.ceilings.get(key) {
        return Some(known);
    }
    if reader.doc_count() <= MADE_AT_ONCE_MAX {
        let made = make(reader, &weights);
        caches.ceilings.put(key, Arc::clone(&made));
        return Some(made);
    }
    if caches.ceilings.begin(key) {
        let (reader, caches) = (Arc::clone(reader), Arc::clone(caches));
        let runtime = Arc::clone(caches.runtime());
        runtime.spawn(Urgency::Soon, move || caches.ceilings.put(key, make(&reader, &weights)));
    }
    None
}

/// Cost: one scan of the token column, some 0.3 microseconds per document.
fn make(reader: &SegmentReader, weights: &Weights) -> Arc<[u8]> {
    let terms = FIRST_TERM..FIRST_TERM + reader.terms().len();
    let frequent: Vec<TermOrdinal> = terms.filter(|&word| !has_ceiling(reader, word)).collect();
    let mut words = Words::new(&frequent);
    let (mut fields, mut tokens) = (Vec::new(), Vec::new());
    let of = |doc: DocId| {
        reader.tokens().doc(doc).decode(&mut fields, &mut tokens);
        words.clear();
        let mut start = 0;
        for &(field, end) in &fields {
            let run = &tokens[start..end as usize];
            start = end as usize;
            let occurrence = weights.occurrence(field, run.len());
            if occurrence > 0.0 {
                run.iter().for_each(|&word| words.add(word, occurrence));
            }
        }
        byte_of(words.most, weights.formula)
    };
    (0..reader.doc_count()).map(of).collect()
}

/// Rounded up.
fn byte_of(occurrences: f64, formula: Formula) -> u8 {
    if occurrences.is_infinite() {
        return u8::MAX;
    }
    (formula.saturated(occurrences) / formula.most() * 255.0 + 1e-6).ceil().min(255.0) as u8
}

/// The words of one document and how often they stand there. Words that share a slot are counted together: that makes
/// a ceiling too high, never too low.
struct Words<'a> {
    frequent: &'a [TermOrdinal],
    slots: Box<[(u32, f64); SLOTS]>,
    document: u32,
    most: f64,
}

impl Words<'_> {
    fn new(frequent: &[TermOrdinal]) -> Words<'_> {
        Words { frequent, slots: Box::new([(0, 0.0); SLOTS]), document: 0, most: 0.0 }
    }

    fn clear(&mut self) {
        self.document += 1;
        self.most = 0.0;
    }

    #[inline]
    fn add(&mut self, word: TermOrdinal, occurrence: f64) {
        if word < FIRST_TERM || self.frequent.binary_search(&word).is_ok() {
            return;
        }
        let slot = &mut self.slots[(word.wrapping_mul(0x9E37_79B1) >> (32 - SLOTS.ilog2())) as usize];
        let before = if slot.0 == self.document { slot.1 } else { 0.0 };
        *slot = (self.document, before + occurrence);
        self.most = self.most.max(slot.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_above_what_a_word_counts() {
        let mut words = Words::new(&[7]);
        for document in [vec![3, 4, 3, 5, 3, 7, 7, 7, 7, 7], vec![3, 9], vec![7, 7]] {
            words.clear();
            document.iter().for_each(|&word| words.add(word, 0.8));
            let of = |word: &u32| document.iter().filter(|w| *w == word).count() as f64 * 0.8;
            let most = document.iter().filter(|word| **word != 7).map(of).fold(0.0, f64::max);
            assert!(words.most >= most - 1e-9 && words.most < most + 1.7, "{} for {most}", words.most);
            let formula = Formula::default();
            assert!(f64::from(byte_of(most, formula)) / 255.0 * formula.most() >= formula.saturated(most));
        }
        assert_eq!((byte_of(0.0, Formula::default()), byte_of(1e12, Formula::default())), (1, 255));
    }

    #[test]
    fn several_forms_count_no_more_than_their_ceilings_say() {
        let formula = Formula::default();
        for occurrence in [0.01, 0.3, 0.8, 1.2, 2.0, 7.5, 1000.0] {
            let ceilings = Ceilings::new([byte_of(occurrence, formula)].into(), formula);
            let ([second, more], one) = (ceilings.of_forms(0).map(f64::from), f64::from(ceilings.of_docs()[0]));
            let share = |occurrences: f64| formula.saturated(occurrences) / formula.most() * 255.0;
            assert!(
                one + second >= share(2.0 * occurrence) && one + second < share(2.0 * occurrence) + 4.0,
                "{occurrence}"
            );
            assert!((one + second + more - 255.0).abs() < 1e-9, "{occurrence}");
        }
        assert_eq!(Ceilings::new([].into(), formula).of_forms(0), [0, 0], "without a ceiling it is all there is");
    }
}
