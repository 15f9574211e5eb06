//! The text of a segment that is being written: words come in, token lists stay.

use super::vocabulary::Vocabulary;
use crate::id::{FIRST_TERM, FieldId, GAP, Gap, HOLE};
use crate::segment::SegmentError;
use crate::segment::format::{POSITIONS_MAX, SectionKind, SectionWriter, TERM_BYTES_MAX};
use crate::segment::postings::{FieldSetTable, PostingsBuilder, zone_of};
use crate::segment::terms::TermsBuilder;
use crate::segment::tokens::{TokenCodes, TokensBuilder};

/// Distance of the words on both sides of a gap token.
const GAP_POSITIONS: u32 = 8;

/// Tokens of all documents by local id, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct TextBuilder {
    vocabulary: Vocabulary,
    tokens: Vec<u32>,
    /// Per run its field and length.
    runs: Vec<(FieldId, u32)>,
    /// Per document where its runs and tokens end.
    docs: Vec<(usize, usize)>,
    gap_count: u64,
    open: OpenDocument,
}

/// The document that is being filled: its fields may come in any order and more than once.
#[derive(Debug, Default)]
struct OpenDocument {
    tokens: Vec<u32>,
    /// Field and start in `tokens` of each piece; a piece ends where the next starts.
    pieces: Vec<(FieldId, usize)>,
    states: Vec<FieldState>,
    generation: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct FieldState {
    generation: u32,
    position: u32,
    gap_before_next: bool,
}

impl OpenDocument {
    fn state(&mut self, field: FieldId) -> &mut FieldState {
        let index = usize::from(field);
        if index >= self.states.len() {
            self.states.resize(index + 1, FieldState::default());
        }
        &mut self.states[index]
    }

    fn clear(&mut self) {
        self.tokens.clear();
        self.pieces.clear();
    }
}

impl TextBuilder {
    pub(super) fn begin_document(&mut self) {
        self.open.clear();
        self.open.generation += 1;
    }

    #[inline]
    pub(super) fn word(&mut self, field: FieldId, word: &str, gap: Gap) {
        let generation = self.open.generation;
        let state = self.open.state(field);
        let is_first = state.generation != generation;
        let mut has_gap = false;
        if is_first {
            *state = FieldState { generation, position: 0, gap_before_next: false };
        } else {
            has_gap = gap == Gap::Hard || state.gap_before_next;
            let position = state.position + if has_gap { GAP_POSITIONS } else { 1 };
            if position >= POSITIONS_MAX {
                // Later words of the field lie beyond as well: the position is left at the limit.
                state.position = POSITIONS_MAX;
                return;
            }
            state.position = position;
            state.gap_before_next = false;
        }
        if self.open.pieces.last().is_none_or(|&(last, _)| last != field) {
            self.open.pieces.push((field, self.open.tokens.len()));
        }
        if has_gap {
            self.open.tokens.push(GAP);
        }
        let word = word.as_bytes();
        let token = if word.is_empty() || word.len() > TERM_BYTES_MAX { HOLE } else { self.vocabulary.intern(word) };
        self.open.tokens.push(token);
    }

    pub(super) fn next_value(&mut self, field: FieldId) {
        let generation = self.open.generation;
        let state = self.open.state(field);
        if state.generation == generation {
            state.gap_before_next = true;
        }
    }

    pub(super) fn end_document(&mut self) {
        let doc = self.docs.len() as u32;
        let TextBuilder { vocabulary, tokens, runs, docs, gap_count, open } = self;
        for &token in &open.tokens {
            if token >= FIRST_TERM {
                vocabulary.count(token, doc);
            } else {
                *gap_count += u64::from(token == GAP);
            }
        }
        if open.pieces.is_sorted_by(|a, b| a.0 < b.0) {
            let ends = open.pieces.iter().skip(1).map(|&(_, start)| start).chain([open.tokens.len()]);
            runs.extend(open.pieces.iter().zip(ends).map(|(&(field, start), end)| (field, (end - start) as u32)));
            tokens.extend_from_slice(&open.tokens);
        } else {
            let mut pieces: Vec<(FieldId, usize, usize)> = Vec::with_capacity(open.pieces.len());
            let ends = open.pieces.iter().skip(1).map(|&(_, start)| start).chain([open.tokens.len()]);
            pieces.extend(open.pieces.iter().zip(ends).map(|(&(field, start), end)| (field, start, end)));
            pieces.sort_by_key(|piece| piece.0);
            for same_field in pieces.chunk_by(|a, b| a.0 == b.0) {
                let before = tokens.len();
                same_field.iter().for_each(|&(_, start, end)| tokens.extend_from_slice(&open.tokens[start..end]));
                runs.push((same_field[0].0, (tokens.len() - before) as u32));
            }
        }
        docs.push((runs.len(), tokens.len()));
    }

    /// Takes an ended document out of the counts; it is not in the order given to [`finish`](Self::finish).
    pub(super) fn leave_out(&mut self, doc: u32) {
        let (_, tokens) = self.ranges(doc);
        self.vocabulary.discount(&self.tokens[tokens]);
    }

    fn ranges(&self, doc: u32) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let (run_end, token_end) = self.docs[doc as usize];
        let (run_start, token_start) = doc.checked_sub(1).map_or((0, 0), |before| self.docs[before as usize]);
        (run_start..run_end, token_start..token_end)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        // While finishing, each token may become a posting of nine bytes.
        self.vocabulary.heap_bytes() + self.tokens.capacity() * 4 + self.tokens.len() * 9 + self.runs.len() * 8
    }

    /// Writes terms, postings and tokens. `order` gives the documents in their final order. Answers the number of terms
    /// and of tokens.
    pub(super) fn finish(mut self, file: &mut SectionWriter, order: &[u32]) -> Result<(u32, u64), SegmentError> {
        let (terms, ordinals) = self.vocabulary.sorted();
        for token in &mut self.tokens {
            *token = ordinals[*token as usize];
        }
        let ordinal_count = FIRST_TERM + terms.len() as u32;
        let mut starts = Vec::with_capacity(terms.len() + 1);
        let mut total = 0usize;
        for rank in 0..terms.len() {
            starts.push(total);
            total += terms.doc_freq(rank) as usize;
        }
        starts.push(total);

        let mut inverted = Inverter::new(starts, total);
        for (new, &old) in order.iter().enumerate() {
            let (runs, tokens) = ranges(&self.docs, old);
            let mut rest = &self.tokens[tokens];
            for &(field, length) in &self.runs[runs] {
                let (run, others) = rest.split_at(length as usize);
                rest = others;
                inverted.add(new as u32, field, run);
            }
        }
        let Inverter { starts, docs, mut codes, zones, field_sets, .. } = inverted;
        let mut counts = vec![0u64; field_sets.len()];
        codes.iter().for_each(|&code| counts[code as usize] += 1);
        let (renumbered, section) = field_sets.finish(&counts);
        codes.iter_mut().for_each(|code| *code = renumbered[*code as usize]);
        file.section(SectionKind::FieldSets, 0, &section)?;

        file.begin(SectionKind::Postings, 0)?;
        let mut postings = PostingsBuilder::new(order.len() as u32, terms.len(), field_sets.renumbered(&counts));
        drop(field_sets);
        let mut dictionary = TermsBuilder::new();
        let mut term = Vec::new();
        for rank in 0..terms.len() {
            let range = starts[rank]..starts[rank + 1];
            terms.text_into(rank, &mut term);
            postings.push(file, &term, &docs[range.clone()], &codes[range.clone()], &zones[range])?;
            dictionary.push(&term);
        }
        postings.finish(file)?;
        drop((docs, codes, zones));
        file.section(SectionKind::Terms, 0, &dictionary.finish())?;

        let frequencies = (0..terms.len()).map(|rank| terms.doc_freq(rank));
        let codes = TokenCodes::for_frequencies(frequencies, self.gap_count);
        let mut column = TokensBuilder::new(codes, ordinal_count, order.len() as u32);
        file.begin(SectionKind::Tokens, 0)?;
        let mut fields = Vec::new();
        for &old in order {
            let (runs, tokens) = ranges(&self.docs, old);
            fields.clear();
            let mut end = 0;
            fields.extend(self.runs[runs].iter().map(|&(field, length)| {
                end += length;
                (field, end)
            }));
            column.push(file, &fields, &self.tokens[tokens])?;
        }
        let token_count = column.finish(file)?;
        Ok((terms.len() as u32, token_count))
    }
}

fn ranges(docs: &[(usize, usize)], doc: u32) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    let (run_end, token_end) = docs[doc as usize];
    let (run_start, token_start) = doc.checked_sub(1).map_or((0, 0), |before| docs[before as usize]);
    (run_start..run_end, token_start..token_end)
}

/// Turns documents with their words into words with their documents, by counting: each term's postings have their place.
struct Inverter {
    starts: Vec<usize>,
    next: Vec<usize>,
    docs: Vec<u32>,
    codes: Vec<u32>,
    zones: Vec<u8>,
    /// Per term the document and field that held it last.
    last: Vec<u64>,
    field_sets: FieldSetTable,
}

impl Inverter {
    fn new(starts: Vec<usize>, total: usize) -> Inverter {
        let term_count = starts.len() - 1;
        Inverter {
            next: starts[..term_count].to_vec(),
            docs: vec![0; total],
            codes: vec![0; total],
            zones: vec![0; total],
            last: vec![u64::MAX; term_count],
            field_sets: FieldSetTable::default(),
            starts,
        }
    }

    /// Documents ascend, and fields ascend within a document.
    fn add(&mut self, doc: u32, field: FieldId, run: &[u32]) {
        let alone = self.field_sets.extend(FieldSetTable::NONE, field);
        let here = u64::from(doc) << 16 | u64::from(field);
        let mut next = 0;
        for &ordinal in run {
            if ordinal == GAP {
                next += GAP_POSITIONS - 1;
                continue;
            }
            let position = next;
            next += 1;
            let Some(rank) = ordinal.checked_sub(FIRST_TERM) else { continue };
            let rank = rank as usize;
            let last = std::mem::replace(&mut self.last[rank], here);
            if last == here {
                continue;
            }
            if last >> 16 == u64::from(doc) {
                let slot = self.next[rank] - 1;
                self.codes[slot] = self.field_sets.extend(self.codes[slot], field);
                self.zones[slot] = self.zones[slot].min(zone_of(position, run.len()));
            } else {
                let slot = self.next[rank];
                self.next[rank] = slot + 1;
                self.docs[slot] = doc;
                self.codes[slot] = alone;
                self.zones[slot] = zone_of(position, run.len());
            }
        }
    }
}
