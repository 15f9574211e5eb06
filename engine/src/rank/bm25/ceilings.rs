//! How much a single word can count in each document, whatever the word: a byte per document and rarity.
//!
//! Without it, a word that stands in a document once, as most do, is taken for one that fills it, and a document with half
//! of a question's words for one that may beat those with all of them. The ceilings of a segment are made once and kept
//! as long as the weights of its fields and, roughly, the average lengths stay the same.
//!
//! The rarer a word is, the less often a document repeats it, and the more it is worth. So rare words have ceilings of their
//! own, which bound only them. Very frequent words stand in many documents several times and weigh little: they have no part
//! in this.

use std::sync::Arc;

use lamina_index::index::SegmentView;
use lamina_index::runtime::Urgency;
use lamina_segment::bits::kernels::share;
use lamina_segment::segment::SegmentReader;
use lamina_text::id::{DocId, FIRST_TERM, FieldId, TermOrdinal};

use super::statistics::{Formula, Statistics};

/// Words in less than one document in so many have the ceilings of this rarity, those that are rarer included. The rarest
/// first; words that are more frequent than the last have none.
const SHARES: [u64; RARITIES] = [256, 32, 4];
/// How many kinds of ceilings there are.
pub(super) const RARITIES: usize = 3;
/// Ceilings of smaller segments are made at once; those of larger ones beside the searches, which do without until then.
const MADE_AT_ONCE_MAX: u32 = 1 << 14;
/// Averages are rounded up to the next of so many steps per doubling, so that a few more documents change nothing.
const STEPS_PER_DOUBLING: f64 = 4.0;
/// Slots of the table of words of a document.
const SLOTS: usize = 1024;
/// Slots that are looked at for a word.
const PROBES: usize = 8;

/// Which ceilings speak of a word: a place in [`SHARES`].
pub(super) fn rarity(reader: &SegmentReader, word: TermOrdinal) -> Option<usize> {
    let docs = u64::from(reader.postings().doc_freq(word));
    SHARES.iter().position(|share| docs * share < u64::from(reader.doc_count()))
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

/// The ceilings of a segment, and what follows from them.
#[derive(Debug)]
pub(super) struct Ceilings {
    /// By rarity, then by document; see [`make`].
    bytes: Arc<[u8]>,
    docs: usize,
    /// By ceiling of one word: what two words that count as one add to it at most.
    second: [u8; 256],
    /// What any number of them adds to that.
    more: [u8; 256],
}

impl Ceilings {
    pub(super) fn new(bytes: Arc<[u8]>, formula: Formula) -> Ceilings {
        let (mut second, mut more) = ([0; 256], [0; 256]);
        for ceiling in 0..=u8::MAX {
            let at = usize::from(ceiling);
            let two = byte_of(2.0 * occurrences(ceiling, formula), formula);
            second[at] = two.saturating_sub(ceiling);
            more[at] = u8::MAX - two.max(ceiling);
        }
        let docs = bytes.len() / RARITIES;
        Ceilings { bytes, docs, second, more }
    }

    /// By document, how much a word of this rarity counts at most: as a share, in 255ths, of what one of the next rarity does,
    /// and of the last, of [`Formula::most`].
    pub(super) fn shares(&self, rarity: usize) -> &[u8] {
        self.bytes.get(rarity * self.docs..(rarity + 1) * self.docs).unwrap_or_default()
    }

    /// How much a word of this rarity counts in a document at most.
    pub(super) fn of_word(&self, rarity: usize, doc: DocId) -> u8 {
        let shares = (rarity..RARITIES).rev().map(|rarity| self.shares(rarity).get(doc as usize));
        shares.fold(u8::MAX, |all, of| share(all, of.copied().unwrap_or(u8::MAX)))
    }

    /// What a second form of a word adds to the ceiling of a document, and what all further ones do.
    pub(super) fn of_forms(&self, rarity: usize, doc: DocId) -> [u8; 2] {
        let ceiling = usize::from(self.of_word(rarity, doc));
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
    bytes(view, statistics).map(|bytes| Ceilings::new(bytes, statistics.formula()))
}

fn bytes(view: &SegmentView, statistics: &Statistics) -> Option<Arc<[u8]>> {
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

/// The ceilings of all documents for each rarity, one after the other, as [`Ceilings::shares`]. Cost: one scan of the token
/// column, some 0.3 microseconds per document, and for that time a byte for each term.
fn make(reader: &SegmentReader, weights: &Weights) -> Arc<[u8]> {
    const NONE: u8 = RARITIES as u8;
    let terms = FIRST_TERM..FIRST_TERM + reader.terms().len();
    let rarities: Vec<u8> = terms.map(|word| rarity(reader, word).map_or(NONE, |rarity| rarity as u8)).collect();
    let of_word = |word: TermOrdinal| rarities.get(word.wrapping_sub(FIRST_TERM) as usize).copied().unwrap_or(NONE);
    let docs = reader.doc_count() as usize;
    let mut bytes = vec![0; docs * RARITIES];
    let mut words = Words::new();
    let (mut fields, mut tokens) = (Vec::new(), Vec::new());
    for doc in 0..docs {
        reader.tokens().doc(doc as DocId).decode(&mut fields, &mut tokens);
        words.clear();
        let mut start = 0;
        for &(field, end) in &fields {
            let run = &tokens[start..end as usize];
            start = end as usize;
            let occurrence = weights.occurrence(field, run.len());
            if occurrence > 0.0 {
                run.iter().for_each(|&word| words.add(word, of_word(word).into(), occurrence));
            }
        }
        for (rarity, share) in words.shares(weights.formula).into_iter().enumerate() {
            bytes[rarity * docs + doc] = share;
        }
    }
    bytes.into()
}

/// Rounded up.
fn byte_of(occurrences: f64, formula: Formula) -> u8 {
    if occurrences.is_infinite() {
        return u8::MAX;
    }
    (formula.saturated(occurrences) / formula.most() * 255.0 + 1e-6).ceil().min(255.0) as u8
}

/// Where a word is looked for first.
fn place_of(word: TermOrdinal) -> usize {
    (word.wrapping_mul(0x9E37_79B1) >> (32 - SLOTS.ilog2())) as usize
}

/// The words of one document and how often they stand there. Where too many share a slot, some are counted together: that
/// makes a ceiling too high, never too low.
struct Words {
    slots: Box<[Slot; SLOTS]>,
    document: u32,
    /// By rarity, occurrences of the most frequent word; the last: of words without ceilings.
    most: [f64; RARITIES + 1],
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
        Words { slots: Box::new([empty; SLOTS]), document: 0, most: [0.0; RARITIES + 1] }
    }

    fn clear(&mut self) {
        self.document += 1;
        self.most = [0.0; RARITIES + 1];
    }

    #[inline]
    fn add(&mut self, word: TermOrdinal, rarity: usize, occurrence: f64) {
        if rarity >= RARITIES {
            return;
        }
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
        self.most[rarity] = self.most[rarity].max(slot.occurrences);
    }

    /// By rarity, the ceiling as a share of the next one.
    fn shares(&self, formula: Formula) -> [u8; RARITIES] {
        let mut shares = [0; RARITIES];
        let mut whole = u8::MAX;
        for rarity in (0..RARITIES).rev() {
            let most = self.most[..=rarity].iter().copied().fold(0.0, f64::max);
            let ceiling = u32::from(byte_of(most, formula));
            let part = (ceiling * 255).div_ceil(u32::from(whole.max(1))).min(255) as u8;
            shares[rarity] = part;
            // What rounding adds is part of it.
            whole = share(whole, part);
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_above_what_a_word_counts() {
        let formula = Formula::default();
        let mut words = Words::new();
        let rarity = |word: u32| (word % 4) as usize;
        let many: Vec<u32> = (0..10_000).collect();
        for document in [vec![4, 5, 4, 6, 4, 7, 7, 7, 7, 7], vec![8, 9, 10, 10], vec![6, 6], vec![7, 7], many] {
            words.clear();
            document.iter().for_each(|&word| words.add(word, rarity(word), 0.8));
            let ceilings = Ceilings::new(words.shares(formula).into(), formula);
            for kind in 0..RARITIES {
                let of = |word: &u32| document.iter().filter(|w| *w == word).count() as f64 * 0.8;
                let most = document.iter().filter(|word| rarity(**word) <= kind).map(of).fold(0.0, f64::max);
                let ceiling = f64::from(ceilings.of_word(kind, 0)) / 255.0 * formula.most();
                let (least, is_small) = (formula.saturated(most), document.len() <= 10);
                assert!(ceiling >= least - 1e-9, "{kind} of {document:?}: {ceiling} for {least}");
                assert!(!is_small || ceiling <= least + 0.03, "{kind} of {document:?}: {ceiling} for {least}");
            }
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
        fillers.iter().for_each(|&word| words.add(word, 1, 1.0));
        words.add(rare, 0, 1.0);
        words.add(frequent, 1, 1.0);
        words.add(rare, 0, 1.0);
        assert!(words.most[0] >= 2.0, "{:?}", words.most);
    }

    #[test]
    fn several_forms_count_no_more_than_their_ceilings_say() {
        let formula = Formula::default();
        for occurrence in [0.01, 0.3, 0.8, 1.2, 2.0, 7.5, 1000.0] {
            let ceilings = Ceilings::new([255, 255, byte_of(occurrence, formula)].into(), formula);
            for rarity in 0..RARITIES {
                let ([second, more], one) =
                    (ceilings.of_forms(rarity, 0).map(f64::from), f64::from(ceilings.of_word(rarity, 0)));
                let share = |occurrences: f64| formula.saturated(occurrences) / formula.most() * 255.0;
                assert!(
                    one + second >= share(2.0 * occurrence) && one + second < share(2.0 * occurrence) + 4.0,
                    "{occurrence}"
                );
                assert!((one + second + more - 255.0).abs() < 1e-9, "{occurrence}");
            }
        }
        assert_eq!(Ceilings::new([].into(), formula).of_forms(0, 0), [0, 0], "without a ceiling it is all there is");
    }
}
