//! The score of one document: one scan of its tokens.

use super::readings::{COMPLETION, ONE_TYPO, Readings};
use super::statistics::{Statistics, saturated};
use crate::id::{FieldId, GAP, TermOrdinal};
use crate::query::SegmentQuery;
use crate::query::options::QueryOptions;
use crate::segment::TokensOfDoc;

/// What another form of a word counts, as a share of the word itself.
const FORM: f64 = 0.7;
/// Enough that nearly all slots are empty.
const SLOTS: usize = 4096;

/// What to look for in the documents of one segment; shared by threads.
pub(super) struct Lookup<'a> {
    readings: &'a Readings,
    statistics: &'a Statistics,
    options: &'a QueryOptions,
    query: &'a SegmentQuery<'a>,
    /// By a hash of a term: the first of `words` to look at, counted from 1.
    slots: Box<[u32; SLOTS]>,
    words: Vec<Word>,
    /// First term, number of terms, the term that is left out, reading.
    completions: Vec<(TermOrdinal, u32, Option<TermOrdinal>, u32)>,
    sequences: Vec<(&'a [Option<TermOrdinal>], u32)>,
}

/// A term that counts for a reading.
#[derive(Clone, Copy, Debug)]
struct Word {
    ordinal: TermOrdinal,
    reading: u32,
    /// Whether it counts only where typos are forgiven.
    is_misspelt: bool,
    /// What an occurrence of it counts.
    weight: f64,
    /// The next one of its slot, counted from 1.
    next: u32,
}

fn slot(ordinal: TermOrdinal) -> usize {
    (ordinal.wrapping_mul(0x9E37_79B1) >> (32 - SLOTS.ilog2())) as usize
}

impl<'a> Lookup<'a> {
    pub(super) fn new(
        readings: &'a Readings,
        statistics: &'a Statistics,
        query: &'a SegmentQuery<'a>,
        segment: usize,
    ) -> Lookup<'a> {
        let mut lookup = Lookup {
            readings,
            statistics,
            options: query.options(),
            query,
            slots: Box::new([0; SLOTS]),
            words: Vec::new(),
            completions: Vec::new(),
            sequences: Vec::new(),
        };
        for (number, reading) in (0u32..).zip(&readings.list) {
            let forms = &reading.forms[segment];
            let weighted =
                forms.words.iter().map(|&word| (word, 1.0)).chain(forms.stems.iter().map(|&word| (word, FORM)));
            for (word, weight) in weighted {
                let first = &mut lookup.slots[slot(word)];
                let is_misspelt = reading.kind >= ONE_TYPO;
                lookup.words.push(Word { ordinal: word, reading: number, is_misspelt, weight, next: *first });
                *first = lookup.words.len() as u32;
            }
            if reading.kind == COMPLETION && !forms.completions.is_empty() {
                let node = query.graph().nodes.iter().position(|node| node.first == reading.term);
                let exact = node.and_then(|node| query.expansions()[node].exact);
                lookup.completions.push((forms.completions.start, forms.completions.len() as u32, exact, number));
            }
            lookup.sequences.extend(forms.sequences.iter().map(|words| (words.as_slice(), number)));
        }
        lookup
    }
}

/// What a document gets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scored {
    pub(super) score: f64,
    /// Words of the query that it holds in any reading.
    pub(super) matching: u16,
}

/// Scores documents; keeps its buffers from one to the next.
pub(super) struct Scorer<'a> {
    lookup: &'a Lookup<'a>,
    fields: Vec<(FieldId, u32)>,
    tokens: Vec<TermOrdinal>,
    /// By reading: occurrences in the field at hand.
    counts: Vec<f64>,
    touched: Vec<u32>,
    /// By reading: weighted occurrences in all fields.
    occurrences: Vec<f64>,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(lookup: &'a Lookup<'a>) -> Scorer<'a> {
        let readings = lookup.readings.list.len();
        Scorer {
            lookup,
            fields: Vec::new(),
            tokens: Vec::new(),
            counts: vec![0.0; readings],
            touched: Vec::new(),
            occurrences: vec![0.0; readings],
        }
    }

    pub(super) fn score(&mut self, doc: &TokensOfDoc<'_>) -> Scored {
        let lookup = self.lookup;
        doc.decode(&mut self.fields, &mut self.tokens);
        self.occurrences.fill(0.0);
        let mut start = 0;
        for index in 0..self.fields.len() {
            let (field, end) = self.fields[index];
            let run = start..end as usize;
            start = run.end;
            let occurrence = lookup.statistics.occurrence(field, run.len());
            if occurrence > 0.0 {
                self.count(run, lookup.options.typos_reach(field));
                self.weigh(occurrence);
            }
        }
        self.sum()
    }

    /// Counts the readings in one field; without `typos`, misspelt words are passed over.
    fn count(&mut self, run: std::ops::Range<usize>, typos: bool) {
        let lookup = self.lookup;
        let (counts, touched) = (&mut self.counts, &mut self.touched);
        let mut add = |reading: u32, weight: f64| {
            let count = &mut counts[reading as usize];
            if *count == 0.0 {
                touched.push(reading);
            }
            *count += weight;
        };
        let tokens = &self.tokens[run];
        for &token in tokens {
            for &(first, terms, except, reading) in &lookup.completions {
                if token.wrapping_sub(first) < terms
                    && Some(token) != except
                    && lookup.query.stop().binary_search(&token).is_err()
                {
                    add(reading, 1.0);
                }
            }
            let mut next = lookup.slots[slot(token)];
            while let Some(word) = next.checked_sub(1).and_then(|at| lookup.words.get(at as usize)) {
                if word.ordinal == token && (typos || !word.is_misspelt) {
                    add(word.reading, word.weight);
                }
                next = word.next;
            }
        }
        for &(words, reading) in &lookup.sequences {
            let is_here = |window: &[TermOrdinal]| {
                window.iter().zip(words).all(|(&token, word)| word.map_or(token != GAP, |word| token == word))
            };
            tokens.windows(words.len().max(1)).filter(|window| is_here(window)).for_each(|_| add(reading, 1.0));
        }
    }

    fn weigh(&mut self, occurrence: f64) {
        for reading in self.touched.drain(..) {
            let count = std::mem::take(&mut self.counts[reading as usize]);
            self.occurrences[reading as usize] += count * occurrence;
        }
    }

    fn sum(&self) -> Scored {
        let mut scored = Scored::default();
        let mut rest = self.lookup.readings.list.iter().zip(&self.occurrences).peekable();
        while let Some((reading, &occurrences)) = rest.next() {
            let mut best = reading.worth * saturated(occurrences);
            while let Some((other, &occurrences)) = rest.next_if(|(other, _)| other.term == reading.term) {
                best = best.max(other.worth * saturated(occurrences));
            }
            if best > 0.0 {
                scored.score += best;
                scored.matching += 1;
            }
        }
        scored
    }
}
