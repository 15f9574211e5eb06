//! The text of a segment that is being written: words come in, token lists stay.

use lamina_text::id::{FIRST_TERM, FieldId, GAP, Gap, HOLE, TermOrdinal};

use super::vocabulary::{SortedTerms, Vocabulary};
use crate::segment::format::{POSITIONS_MAX, SectionKind, SectionWriter, TERM_BYTES_MAX};
use crate::segment::postings::{
    FieldSetTable, GrowingSets, GrownSets, Mark, Posting, PostingsBuilder, UnionsBuilder, zone_of,
};
use crate::segment::terms::TermsBuilder;
use crate::segment::tokens::{TokenCodes, TokensBuilder};
use crate::segment::word_pairs::CountedTerm;
use crate::segment::{ListThresholds, SegmentError};
use std::sync::Arc;

/// Distance of the words on both sides of a gap token.
const GAP_POSITIONS: u32 = 8;

/// Memory that a term takes while the segment is finished, in bytes, besides its entry: its place in the order of the
/// terms (16 bytes), its ordinal (4), the location of its postings (8 and 16), its frequency (4), its info (16), and
/// the term dictionary.
const FINISHING_BYTES_PER_TERM: usize = 80;

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
        let (_, tokens) = ranges(&self.docs, doc);
        self.vocabulary.discount(&self.tokens[tokens]);
    }

    /// Bytes held now, and needed at most while finishing.
    pub(super) fn heap_bytes(&self) -> usize {
        // While finishing, each token may become a posting of eight bytes, and its code of two is kept beside it.
        let of_tokens = self.tokens.capacity() * 4 + self.tokens.len() * 10 + self.runs.len() * 8;
        let of_open = self.open.tokens.capacity() * 4 + self.open.tokens.len() * 14 + self.open.pieces.capacity() * 16;
        self.vocabulary.heap_bytes() + self.vocabulary.len() * FINISHING_BYTES_PER_TERM + of_tokens + of_open
    }

    /// Adds the documents of `other`, behind those that are here.
    pub(super) fn absorb(&mut self, other: TextBuilder) {
        let ids = self.vocabulary.absorb(&other.vocabulary);
        let (first_run, first_token) = (self.runs.len(), self.tokens.len());
        self.tokens.extend(other.tokens.iter().map(|&token| ids[token as usize]));
        self.runs.extend_from_slice(&other.runs);
        self.docs.extend(other.docs.iter().map(|&(runs, tokens)| (first_run + runs, first_token + tokens)));
        self.gap_count += other.gap_count;
    }

    /// Gives the words their ordinals.
    pub(super) fn sorted(self) -> SortedText {
        let TextBuilder { vocabulary, mut tokens, runs, docs, gap_count, .. } = self;
        let (terms, ordinals) = vocabulary.sorted();
        for token in &mut tokens {
            *token = ordinals[*token as usize];
        }
        SortedText { terms: Arc::new(terms), tokens, runs, docs, gap_count }
    }
}

/// The text of all documents, whose words have their ordinals.
pub(super) struct SortedText {
    terms: Arc<SortedTerms>,
    /// Tokens as in [`TextBuilder`], except that they are ordinals.
    tokens: Vec<TermOrdinal>,
    runs: Vec<(FieldId, u32)>,
    docs: Vec<(usize, usize)>,
    gap_count: u64,
}

impl SortedText {
    pub(super) fn term_count(&self) -> u32 {
        self.terms.len() as u32
    }

    /// The documents of each term. `order` gives the documents in their final order.
    pub(super) fn inverted(&self, order: &[u32]) -> InvertedText {
        let terms = &self.terms;
        let mut starts = Vec::with_capacity(terms.len() + 1);
        let mut total = 0usize;
        for rank in 0..terms.len() {
            starts.push(total);
            total += terms.doc_freq(rank) as usize;
        }
        starts.push(total);

        let mut inverter = Inverter::new(&starts, total);
        for (new, &old) in order.iter().enumerate() {
            let (runs, tokens) = ranges(&self.docs, old);
            let mut rest = &self.tokens[tokens];
            for &(field, length) in &self.runs[runs] {
                let (run, others) = rest.split_at(length as usize);
                rest = others;
                inverter.add(new as u32, field, run);
            }
        }
        let Inverter { mut postings, field_sets, .. } = inverter;
        let GrownSets { codes, table, section } = field_sets.finish();
        for Posting { mark, .. } in &mut postings {
            *mark = Mark::new(codes[mark.code() as usize], mark.zone());
        }
        let field_sets = (table, section);
        InvertedText { terms: Arc::clone(terms), doc_count: order.len() as u32, starts, postings, field_sets }
    }

    /// Writes the dictionary.
    pub(super) fn write_terms(&self, file: &mut SectionWriter) -> Result<(), SegmentError> {
        let mut dictionary = TermsBuilder::new();
        let mut term = Vec::new();
        for rank in 0..self.terms.len() {
            self.terms.text_into(rank, &mut term);
            dictionary.push(&term);
        }
        file.section(SectionKind::Terms, 0, &dictionary.finish())
    }

    /// Writes what leads from a document to its tokens. Answers the number of tokens.
    pub(super) fn write_tokens(
        &self,
        file: &mut SectionWriter,
        order: &[u32],
        thresholds: &ListThresholds,
    ) -> Result<u64, SegmentError> {
        let terms = &self.terms;
        let frequencies: Vec<u32> = (0..terms.len()).map(|rank| terms.doc_freq(rank)).collect();
        let codes = TokenCodes::for_frequencies(frequencies.iter().copied(), self.gap_count);
        let counted = |(rank, &doc_freq): (usize, &u32)| CountedTerm { first_bytes: terms.first_bytes(rank), doc_freq };
        let counted = frequencies.iter().enumerate().map(counted);
        let mut column = TokensBuilder::new(codes, counted, order.len() as u32, thresholds);
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
        column.finish(file)
    }
}

/// Words with their documents.
pub(super) struct InvertedText {
    terms: Arc<SortedTerms>,
    doc_count: u32,
    /// By rank of a term where its postings start, and where the last ones end.
    starts: Vec<usize>,
    /// Postings with the codes of the section.
    postings: Vec<Posting>,
    /// Field sets of the postings, and their section.
    field_sets: (FieldSetTable, Vec<u8>),
}

impl InvertedText {
    /// The postings of each term, in the order of the terms.
    fn postings(&self) -> impl Iterator<Item = &[Posting]> {
        self.starts.windows(2).map(|ends| &self.postings[ends[0]..ends[1]])
    }

    /// Writes the posting lists.
    pub(super) fn write_lists(&self, file: &mut SectionWriter) -> Result<(), SegmentError> {
        file.section(SectionKind::FieldSets, 0, &self.field_sets.1)?;
        file.begin(SectionKind::Postings, 0)?;
        let mut postings = PostingsBuilder::new(self.doc_count, self.terms.len());
        self.postings().try_for_each(|of_term| postings.push(file, of_term))?;
        postings.finish(file)
    }

    /// Writes the unions of the documents of terms that begin alike.
    pub(super) fn write_unions(
        &self,
        file: &mut SectionWriter,
        thresholds: &ListThresholds,
    ) -> Result<(), SegmentError> {
        let mut unions = UnionsBuilder::new(self.doc_count, self.field_sets.0.clone(), thresholds);
        let mut term = Vec::new();
        for (rank, of_term) in self.postings().enumerate() {
            self.terms.text_into(rank, &mut term);
            unions.push(&term, of_term);
        }
        file.section(SectionKind::PrefixUnions, 0, &unions.finish())
    }
}

fn ranges(docs: &[(usize, usize)], doc: u32) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    let (run_end, token_end) = docs[doc as usize];
    let (run_start, token_start) = doc.checked_sub(1).map_or((0, 0), |before| docs[before as usize]);
    (run_start..run_end, token_start..token_end)
}

/// Turns documents with their words into words with their documents, by counting: each term's postings have their place.
/// Every word goes to two places that are in no cache, so what is kept of a term is together, and so is a posting.
struct Inverter {
    terms: Vec<OpenTerm>,
    postings: Vec<Posting>,
    field_sets: GrowingSets,
}

#[derive(Clone, Copy)]
struct OpenTerm {
    /// Index of its next posting.
    next: usize,
    /// The document and field that held it last.
    last: u64,
}

impl Inverter {
    fn new(starts: &[usize], total: usize) -> Inverter {
        let term_count = starts.len() - 1;
        Inverter {
            terms: starts[..term_count].iter().map(|&next| OpenTerm { next, last: u64::MAX }).collect(),
            postings: vec![Posting { doc: 0, mark: Mark::new(0, 0) }; total],
            field_sets: GrowingSets::default(),
        }
    }

    /// Documents ascend, and fields ascend within a document.
    fn add(&mut self, doc: u32, field: FieldId, run: &[u32]) {
        let alone = self.field_sets.extend(GrowingSets::NONE, field);
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
            let term = &mut self.terms[rank as usize];
            let last = std::mem::replace(&mut term.last, here);
            if last == here {
                continue;
            }
            let zone = zone_of(position, run.len());
            if last >> 16 == u64::from(doc) {
                let posting = &mut self.postings[term.next - 1];
                let before = posting.mark.code();
                let code = self.field_sets.extend(before, field);
                posting.mark = Mark::new(code, posting.mark.zone().min(zone));
                self.field_sets.discount(before);
                self.field_sets.count(code);
            } else {
                self.postings[term.next] = Posting { doc, mark: Mark::new(alone, zone) };
                term.next += 1;
                self.field_sets.count(alone);
            }
        }
    }
}
