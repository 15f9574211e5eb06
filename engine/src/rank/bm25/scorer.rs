//! The score of one document: one scan of its tokens.

use std::ops::Range;

use lamina_segment::segment::{TokensOfDoc, WantedTerms};
use lamina_text::id::{FieldId, GAP, TermOrdinal};

use super::expansions::{COMPLETION, Expansions, ONE_TYPO};
use super::statistics::{Formula, Statistics};
use crate::query::SegmentQuery;
use crate::query::options::QueryOptions;

/// Enough that nearly all slots are empty.
const SLOTS: usize = 4096;

/// Terms to find in the documents of one segment. Threads share it.
pub(super) struct Lookup<'a> {
    expansions: &'a Expansions,
    statistics: &'a Statistics,
    options: &'a QueryOptions,
    query: &'a SegmentQuery<'a>,
    /// By a hash of a term: the first of `words` to look at, counted from 1.
    slots: Box<[u32; SLOTS]>,
    words: Vec<Word>,
    completions: Vec<Completions>,
    /// Whatever completes a word is among these terms.
    completed: Range<TermOrdinal>,
    /// Words that follow each other and count for an expansion, looked for where the first one is.
    sequences: Vec<&'a [Option<TermOrdinal>]>,
    terms: WantedTerms<'a>,
}

/// Terms that begin with a word.
#[derive(Clone, Copy, Debug)]
struct Completions {
    first: TermOrdinal,
    count: u32,
    /// The word itself.
    except: Option<TermOrdinal>,
    expansion: u32,
    bit: u128,
}

/// Relation of a term to the query word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    Exact,
    /// Counts only where other forms do.
    Form,
    /// Counts only where typos are forgiven.
    Misspelt,
    /// Counts where a sequence begins with it, of [`Lookup::sequences`].
    First(u32),
}

/// A term that counts for an expansion.
#[derive(Clone, Copy, Debug)]
struct Word {
    ordinal: TermOrdinal,
    expansion: u32,
    /// Relation to the query word, which decides where the term counts.
    spelling: Spelling,
    /// The bit of its word, if it counts side by side with others.
    bit: u128,
    /// The next one of its slot, counted from 1.
    next: u32,
}

fn slot(ordinal: TermOrdinal) -> usize {
    (ordinal.wrapping_mul(0x9E37_79B1) >> (32 - SLOTS.ilog2())) as usize
}

impl<'a> Lookup<'a> {
    pub(super) fn new(
        expansions: &'a Expansions,
        statistics: &'a Statistics,
        query: &'a SegmentQuery<'a>,
        segment: usize,
    ) -> Lookup<'a> {
        let mut lookup = Lookup {
            expansions,
            statistics,
            options: query.options(),
            query,
            slots: Box::new([0; SLOTS]),
            words: Vec::new(),
            completions: Vec::new(),
            completed: 0..0,
            sequences: Vec::new(),
            terms: query.reader().tokens().wanted(|_| false),
        };
        for (number, expansion) in (0u32..).zip(&expansions.list) {
            let forms = &expansion.forms[segment];
            let bit = if expansion.kind <= COMPLETION { 1u128.unbounded_shl(expansion.term as u32) } else { 0 };
            let own = if expansion.kind >= ONE_TYPO { Spelling::Misspelt } else { Spelling::Exact };
            let words = forms.words.iter().map(|&word| (word, own));
            for (word, spelling) in words.chain(forms.stems.iter().map(|&word| (word, Spelling::Form))) {
                lookup.push(Word { ordinal: word, expansion: number, spelling, bit, next: 0 });
            }
            if expansion.kind == COMPLETION && !forms.completions.is_empty() {
                let node = query.graph().nodes.iter().position(|node| node.first == expansion.term);
                let exact = node.and_then(|node| query.expansions()[node].exact);
                let (first, count) = (forms.completions.start, forms.completions.len() as u32);
                lookup.completions.push(Completions { first, count, except: exact, expansion: number, bit });
            }
            for words in &forms.sequences {
                let spelling = Spelling::First(lookup.sequences.len() as u32);
                lookup.sequences.push(words);
                if let Some(&Some(word)) = words.first() {
                    lookup.push(Word { ordinal: word, expansion: number, spelling, bit: 0, next: 0 });
                }
            }
        }
        let first = lookup.completions.iter().map(|one| one.first).min().unwrap_or(0);
        let end = lookup.completions.iter().map(|one| one.first.saturating_add(one.count)).max().unwrap_or(0);
        lookup.completed = first..end;
        lookup.terms = query.reader().tokens().wanted(|token| lookup.first(token).is_some());
        lookup
    }

    fn push(&mut self, word: Word) {
        let first = &mut self.slots[slot(word.ordinal)];
        self.words.push(Word { next: *first, ..word });
        *first = self.words.len() as u32;
    }

    /// The first of the words to look at for a term; `None`: the term is nothing that the question asks for.
    #[inline]
    fn first(&self, token: TermOrdinal) -> Option<u32> {
        let first = self.slots[slot(token)];
        if first != 0 || self.completed.contains(&token) { Some(first) } else { None }
    }

    /// Reports whether the tokens begin with a sequence.
    fn begin_with(&self, codes: &[u32], sequence: u32) -> bool {
        let is_there = |(&code, word): (&u32, &Option<TermOrdinal>)| {
            let token = self.terms.any_term(code);
            word.map_or(token != GAP, |word| token == word)
        };
        let sequence = self.sequences.get(sequence as usize).copied().unwrap_or_default();
        codes.len() >= sequence.len() && codes.iter().zip(sequence).all(is_there)
    }
}

/// Score of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scored {
    pub(super) score: f64,
    /// Words of the query that it holds in any expansion.
    pub(super) matching: u16,
}

/// Scores documents; keeps its buffers from one to the next.
pub(super) struct Scorer<'a> {
    lookup: &'a Lookup<'a>,
    fields: Vec<(FieldId, u32)>,
    /// Codes of the tokens.
    codes: Vec<u32>,
    /// By expansion: occurrences in the field at hand.
    counts: Vec<f64>,
    touched: Vec<u32>,
    /// By expansion: weighted occurrences in all fields.
    occurrences: Vec<f64>,
    /// By word: how often it stands behind the one before it in the field at hand, and weighted in all fields.
    near: Vec<(f64, f64)>,
    /// The words of which that is known.
    near_words: u128,
    formula: Formula,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(lookup: &'a Lookup<'a>) -> Scorer<'a> {
        let expansions = lookup.expansions.list.len();
        Scorer {
            lookup,
            fields: Vec::new(),
            codes: Vec::new(),
            counts: vec![0.0; expansions],
            touched: Vec::new(),
            occurrences: vec![0.0; expansions],
            near: vec![(0.0, 0.0); lookup.expansions.near.len()],
            near_words: 0,
            formula: lookup.statistics.formula(),
        }
    }

    pub(super) fn score(&mut self, doc: &TokensOfDoc<'_>) -> Scored {
        let lookup = self.lookup;
        doc.decode_codes(&mut self.fields, &mut self.codes);
        self.occurrences.fill(0.0);
        self.near.fill((0.0, 0.0));
        self.near_words = 0;
        let mut start = 0;
        for index in 0..self.fields.len() {
            let (field, end) = self.fields[index];
            let run = start..end as usize;
            start = run.end;
            let occurrence = lookup.statistics.occurrence(field, run.len());
            if occurrence > 0.0 {
                self.count(run, [lookup.options.forms_reach(field), lookup.options.typos_reach(field)]);
                self.weigh(occurrence);
            }
        }
        self.sum()
    }

    /// Counts the expansions in one field, and there other forms and misspelt words if these count.
    fn count(&mut self, run: std::ops::Range<usize>, [forms, typos]: [bool; 2]) {
        let lookup = self.lookup;
        let (counts, touched) = (&mut self.counts, &mut self.touched);
        let mut add = |expansion: u32| {
            let count = &mut counts[expansion as usize];
            if *count == 0.0 {
                touched.push(expansion);
            }
            *count += 1.0;
        };
        let codes = &self.codes[run];
        // The words that the token before may stand for.
        let mut before = 0u128;
        for (place, &code) in codes.iter().enumerate() {
            // Most are not asked for.
            let asked = lookup.terms.term(code).and_then(|token| Some((token, lookup.first(token)?)));
            let Some((token, mut next)) = asked else {
                before = 0;
                continue;
            };
            let mut here = 0u128;
            for completions in &lookup.completions {
                if token.wrapping_sub(completions.first) < completions.count
                    && Some(token) != completions.except
                    && lookup.query.stop().binary_search(&token).is_err()
                {
                    add(completions.expansion);
                    here |= completions.bit;
                }
            }
            while let Some(word) = next.checked_sub(1).and_then(|at| lookup.words.get(at as usize)) {
                let counts = match word.spelling {
                    Spelling::Exact => true,
                    Spelling::Form => forms,
                    Spelling::Misspelt => typos,
                    Spelling::First(sequence) => lookup.begin_with(&codes[place..], sequence),
                };
                if word.ordinal == token && counts {
                    add(word.expansion);
                    here |= word.bit;
                }
                next = word.next;
            }
            let mut near = (before << 1) & here;
            self.near_words |= near;
            while near != 0 {
                self.near[near.trailing_zeros() as usize].0 += 1.0;
                near &= near - 1;
            }
            before = here;
        }
    }

    fn weigh(&mut self, occurrence: f64) {
        for expansion in self.touched.drain(..) {
            let count = std::mem::take(&mut self.counts[expansion as usize]);
            self.occurrences[expansion as usize] += count * occurrence;
        }
        let mut words = self.near_words;
        while words != 0 {
            let (count, occurrences) = &mut self.near[words.trailing_zeros() as usize];
            *occurrences += std::mem::take(count) * occurrence;
            words &= words - 1;
        }
    }

    fn sum(&self) -> Scored {
        let mut scored = Scored::default();
        // Of the word at hand: which, and what the best of its expansions counts.
        let (mut term, mut best) = (usize::MAX, 0.0);
        let mut add = |best: f64| {
            if best > 0.0 {
                scored.score += best;
                scored.matching += 1;
            }
        };
        let there =
            self.lookup.expansions.list.iter().zip(&self.occurrences).filter(|(_, occurrences)| **occurrences > 0.0);
        for (expansion, &occurrences) in there {
            if expansion.term != term {
                add(std::mem::take(&mut best));
                term = expansion.term;
            }
            best = f64::max(best, expansion.worth * self.formula.saturated(occurrences));
        }
        add(best);
        let mut words = self.near_words;
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            scored.score += self.lookup.expansions.near[word] * self.formula.saturated(self.near[word].1);
            words &= words - 1;
        }
        scored
    }
}
