//! Terms, postings and tokens.

use super::plan::{Merger, STEPS_PER_CHECK};
use super::watch::MergeStep;
use crate::bits::first_bytes;
use crate::segment::format::{SectionKind, SectionWriter};
use crate::segment::postings::{FieldSetTable, Mark, Posting, PostingsBuilder, UnionsBuilder};
use crate::segment::terms::TermsBuilder;
use crate::segment::tokens::{TokenCodes, TokensBuilder};
use crate::segment::word_pairs::CountedTerm;
use crate::segment::{SegmentError, SegmentReader};
use fst::Streamer;
use fst::raw::{IndexedValue, OpBuilder};
use lamina_text::id::{FIRST_TERM, TermOrdinal};

/// No document that stays has the term.
const NO_ORDINAL: TermOrdinal = TermOrdinal::MAX;

impl Merger<'_> {
    /// Writes the sections. Answers the number of terms and of tokens.
    pub(super) fn merge_text(&self, file: &mut SectionWriter) -> Result<(u32, u64), SegmentError> {
        let (codes, field_sets) = self.merge_field_sets(file)?;
        let (ordinals, terms) = self.merge_terms(file, &codes, field_sets)?;
        let term_count = terms.len() as u32;
        // Gaps are not counted anywhere; there are about as many as documents have sentences and values.
        let gaps = u64::from(self.doc_count) * 4;
        let codes = TokenCodes::for_frequencies(terms.iter().map(|term| term.doc_freq), gaps);
        let mut column = TokensBuilder::new(codes, terms.into_iter(), self.doc_count, &self.options.list_thresholds);
        file.begin(SectionKind::Tokens, 0)?;
        let segments: Vec<_> = self.inputs().collect();
        let (mut fields, mut tokens) = (Vec::new(), Vec::new());
        self.enter(MergeStep::Tokens, self.doc_count.into());
        for (step, (input, doc)) in self.docs().enumerate() {
            if step % STEPS_PER_CHECK == 0 {
                self.check_cancelled()?;
            }
            segments[input].tokens().doc(doc).decode(&mut fields, &mut tokens);
            let mut valid = fields.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1)
                && fields.last().map_or(0, |field| field.1) as usize == tokens.len();
            for token in &mut tokens {
                *token = ordinals[input].get(*token as usize).copied().unwrap_or(NO_ORDINAL);
                valid &= *token != NO_ORDINAL;
            }
            if !valid {
                return Err(self.damaged(input, SectionKind::Tokens, "a document has tokens that no posting knows"));
            }
            column.push(file, &fields, &tokens)?;
            self.advance(1);
        }
        Ok((term_count, column.finish(file)?))
    }

    /// Writes the field sets and answers, per input, the new code of each code, and the sets.
    fn merge_field_sets(&self, file: &mut SectionWriter) -> Result<(Vec<Vec<u32>>, FieldSetTable), SegmentError> {
        let mut table = FieldSetTable::default();
        let mut counts: Vec<u64> = Vec::new();
        let mut codes: Vec<Vec<u32>> = Vec::new();
        for segment in self.inputs() {
            let sets = segment.postings().field_sets();
            let renumber = |code| {
                let new = table.code(sets.fields(code));
                counts.resize(table.len(), 0);
                counts[new as usize] += sets.posting_count(code).max(1);
                new
            };
            codes.push((0..sets.len() as u32).map(renumber).collect());
        }
        let (renumbered, section) = table.finish(&counts);
        file.section(SectionKind::FieldSets, 0, &section)?;
        codes.iter_mut().flatten().for_each(|code| *code = renumbered[*code as usize]);
        Ok((codes, table.renumbered(&counts)))
    }

    /// Joins terms and postings. Answers, per input, the new ordinal of each ordinal, and the terms that stay.
    fn merge_terms(
        &self,
        file: &mut SectionWriter,
        codes: &[Vec<u32>],
        field_sets: FieldSetTable,
    ) -> Result<(Vec<Vec<TermOrdinal>>, Vec<CountedTerm>), SegmentError> {
        let segments: Vec<_> = self.inputs().collect();
        let mut ordinals: Vec<Vec<TermOrdinal>> = segments.iter().map(|segment| no_ordinals(segment)).collect();
        let mut streams = OpBuilder::new();
        segments.iter().for_each(|segment| streams.push(segment.terms().stream()));
        let mut streams = streams.union();
        let terms_max = segments.iter().map(|segment| segment.terms().len() as usize).max().unwrap_or(0);
        let mut dictionary = TermsBuilder::new();
        let mut terms = Vec::with_capacity(terms_max);
        let mut postings = PostingsBuilder::new(self.doc_count, terms_max);
        let mut unions = UnionsBuilder::new(self.doc_count, field_sets, &self.options.list_thresholds);
        let mut joined = Joined::default();
        file.begin(SectionKind::Postings, 0)?;
        let mut steps = 0;
        self.enter(MergeStep::Postings, segments.iter().map(|segment| u64::from(segment.terms().len())).sum());
        while let Some((term, places)) = streams.next() {
            steps += 1;
            if steps % STEPS_PER_CHECK == 0 {
                self.check_cancelled()?;
            }
            self.advance(places.len() as u64);
            self.join(&segments, places, codes, &mut joined);
            if joined.postings.is_empty() {
                continue;
            }
            let new = FIRST_TERM + terms.len() as u32;
            for place in places {
                let old = (FIRST_TERM + place.value as u32) as usize;
                if let Some(slot) = ordinals[place.index].get_mut(old) {
                    *slot = new;
                }
            }
            joined.sort();
            postings.push(file, &joined.postings)?;
            unions.push(term, &joined.postings);
            dictionary.push(term);
            terms.push(CountedTerm { first_bytes: first_bytes(term), doc_freq: joined.postings.len() as u32 });
        }
        postings.finish(file)?;
        file.section(SectionKind::PrefixUnions, 0, &unions.finish())?;
        file.section(SectionKind::Terms, 0, &dictionary.finish())?;
        Ok((ordinals, terms))
    }

    /// Gathers the postings of a term that is at `places`, of documents that stay.
    #[inline]
    fn join(&self, segments: &[&SegmentReader], places: &[IndexedValue], codes: &[Vec<u32>], joined: &mut Joined) {
        joined.clear();
        for place in places {
            let (map, codes) = (&self.doc_maps[place.index], &codes[place.index]);
            let old = FIRST_TERM + place.value as u32;
            segments[place.index].postings().for_each_with_zone(old, |doc, code, zone| {
                if let Some(new) = map.get(doc) {
                    let code = codes.get(code as usize).copied().unwrap_or(0);
                    joined.push(Posting { doc: new, mark: Mark::new(code, zone) });
                }
            });
        }
    }
}

/// No term of the segment stays; what is no term keeps its number.
fn no_ordinals(segment: &SegmentReader) -> Vec<TermOrdinal> {
    let mut map: Vec<TermOrdinal> = (0..FIRST_TERM).collect();
    map.resize((FIRST_TERM + segment.terms().len()) as usize, NO_ORDINAL);
    map
}

/// The postings of one term from all inputs.
#[derive(Default)]
struct Joined {
    postings: Vec<Posting>,
    is_unordered: bool,
}

impl Joined {
    fn clear(&mut self) {
        self.postings.clear();
        self.is_unordered = false;
    }

    fn push(&mut self, posting: Posting) {
        self.is_unordered |= self.postings.last().is_some_and(|last| last.doc >= posting.doc);
        self.postings.push(posting);
    }

    /// Each input's postings ascend, but inputs may alternate. The sort finds their runs.
    fn sort(&mut self) {
        if self.is_unordered {
            self.postings.sort_by_key(|posting| posting.doc);
            // Equal documents come from damaged lists only.
            self.postings.dedup_by_key(|posting| posting.doc);
        }
    }
}
