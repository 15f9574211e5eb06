//! Whether a document can have an attribute that is the query, or begins with it: from a look at few of its tokens.

use lamina_segment::segment::{SegmentReader, Sequence, TokensOfDoc};
use lamina_text::id::{DocId, FieldId, TermOrdinal};

use crate::query::SegmentQuery;
use crate::query::level::Level;
use crate::query::options::{NOT_SEARCHED, QueryOptions};
use crate::rank::path::EXACT_POSITIONS;

/// Finds from the lengths of the fields whether a document can have an attribute that is exactly the query.
pub(super) struct ExactFields<'a> {
    reader: &'a SegmentReader,
    /// Tokens of such a field: its words, and at most one gap between two.
    lengths: std::ops::RangeInclusive<usize>,
    /// By field: whether any document has the rarest of the words there; `None` when that is not known.
    fields: Option<Vec<bool>>,
}

impl<'a> ExactFields<'a> {
    /// `without_typo`: every document holds every word without typo.
    pub(super) fn new(query: &SegmentQuery<'a>, level: &Level, without_typo: bool) -> ExactFields<'a> {
        let positions = level.positions(query.graph());
        let postings = query.reader().postings();
        // All words are in the field then; the rarest one is in the fewest fields. Misspelt ones need not be there.
        let words = level.starting.iter().map(|nodes| {
            let e = &query.expansions()[*nodes.first()?];
            match &e.phrase {
                Some(words) => words.iter().flatten().copied().min_by_key(|&word| postings.doc_freq(word)),
                None => e.exact,
            }
        });
        let words: Option<Vec<TermOrdinal>> = words.collect();
        let rarest =
            words.filter(|_| without_typo).and_then(|w| w.into_iter().min_by_key(|&word| postings.doc_freq(word)));
        let fields = rarest.map(|word| {
            let sets = postings.field_sets();
            let mut seen = vec![false; sets.len()];
            let mut see = |code: u32| seen.get_mut(code as usize).into_iter().for_each(|seen| *seen = true);
            postings.for_each_code(word, &mut see);
            let held = |field| (0..).zip(&seen).any(|(code, &seen)| seen && sets.fields(code).contains(&field));
            (0..query.options().weights.len() as u32).map(|field| held(field as FieldId)).collect()
        });
        // Stop words come on top.
        let longest = if query.stop().is_empty() { 2 * positions.end() - 1 } else { usize::MAX };
        ExactFields { reader: query.reader(), lengths: *positions.start()..=longest, fields }
    }

    pub(super) fn possible(&self, doc: DocId) -> bool {
        self.reader.tokens().doc(doc).lengths().any(|(field, len)| {
            self.lengths.contains(&len)
                && self.fields.as_ref().is_none_or(|fields| fields.get(usize::from(field)).copied().unwrap_or(true))
        })
    }
}

/// The words of a query, to be found where an attribute begins.
pub(super) struct Beginning<'a> {
    sequence: Sequence,
    /// Number of words.
    len: usize,
    options: &'a QueryOptions,
}

impl<'a> Beginning<'a> {
    /// For documents that hold every word of a level without typo. `exact_known`: terms whose exact word is in any
    /// document; the others have no part in `exactness`. `None` when it is not as simple as one word behind the other.
    pub(super) fn new(query: &SegmentQuery<'a>, level: &Level, exact_known: &[bool]) -> Option<Beginning<'a>> {
        // Stop words may stand between.
        if !query.stop().is_empty() {
            return None;
        }
        let mut words: Vec<Option<TermOrdinal>> = Vec::new();
        for (nodes, &term) in level.starting.iter().zip(&level.kept) {
            let node = *nodes.first()?;
            let position = query.graph().nodes[node].first_position;
            if !exact_known[term] || position >= EXACT_POSITIONS || usize::from(position) != words.len() {
                return None;
            }
            let e = &query.expansions()[node];
            match &e.phrase {
                Some(phrase) => words.extend(phrase),
                None => words.push(Some(e.exact?)),
            }
        }
        let is_simple = !words.is_empty() && words.iter().all(Option::is_some);
        is_simple.then(|| {
            let sequence = Sequence::new(query.reader().tokens(), &words);
            Beginning { sequence, len: words.len(), options: query.options() }
        })
    }

    /// Reports whether an attribute begins with the words or, if `whole`, consists of exactly these words. Cost: see
    /// [`Sequence::begins_field`].
    pub(super) fn is_in(&self, doc: &TokensOfDoc<'_>, whole: bool) -> bool {
        let is_asked = |field, len| (!whole || len == self.len) && self.options.weight(field) != NOT_SEARCHED;
        self.sequence.begins_field(doc, is_asked)
    }
}
