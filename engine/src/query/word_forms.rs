//! Other forms of a word: the terms of a segment that share its stem.
//!
//! Stems are looked for when a query comes, so that nothing has to be indexed anew and the words themselves stay what they
//! are. Whatever has a stem begins nearly like it: only the terms that begin like that are stemmed, and kept.

use crate::caches::{CachedSegment, FormsKey};
use crate::id::TermOrdinal;
use crate::index::Snapshot;
use crate::segment::SegmentReader;
use crate::text::{Language, Stemmer, has_stems, language_of_words};

/// Words that say which language texts are in.
const LANGUAGE_WORDS: usize = 300;
/// A form has at most so many bytes more than the stem.
const ENDING_BYTES_MAX: usize = 14;
/// Terms that are stemmed for one word, at most: about two milliseconds, once per word and segment. Beginnings of three
/// letters stay below that in a dictionary of a million terms.
const CANDIDATES_MAX: usize = 20_000;

/// Languages whose stems count in a search. `named`: by the request or the settings; else the language of the texts counts,
/// and where these are too few to say, that of most Latin words in queries, English.
pub(crate) fn form_languages(snapshot: &Snapshot, named: &[Language]) -> Vec<Language> {
    if !named.is_empty() {
        return named.iter().copied().filter(|&language| has_stems(language)).collect();
    }
    let largest = snapshot.segments.iter().max_by_key(|view| view.reader.doc_count());
    let found = largest.and_then(|view| *view.caches.language.get_or_init(|| language_of(&view.reader)));
    Some(found.unwrap_or(Language::Eng)).into_iter().filter(|&language| has_stems(language)).collect()
}

fn language_of(reader: &SegmentReader) -> Option<Language> {
    let words: Vec<String> = reader
        .tokens()
        .frequent_terms(LANGUAGE_WORDS)
        .into_iter()
        .filter_map(|word| String::from_utf8(reader.terms().term(word)).ok())
        .filter(|word| word.chars().all(char::is_alphabetic))
        .collect();
    language_of_words(&words.join(" "))
}

/// The terms with the stem of `word` in any of `languages`, without `word` itself; ascending.
pub(super) fn forms(segment: CachedSegment<'_>, word: &str, languages: &[Language]) -> Vec<TermOrdinal> {
    let mut all = Vec::new();
    // A number has no forms.
    if !word.chars().all(char::is_alphabetic) {
        return all;
    }
    for &language in languages {
        let key = FormsKey { word: word.into(), language };
        all.extend_from_slice(&segment.caches.forms.get_or_find(key, || find(segment.reader, word, language)));
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn find(reader: &SegmentReader, word: &str, language: Language) -> Vec<TermOrdinal> {
    let Some(stemmer) = Stemmer::new(language) else { return Vec::new() };
    let stem = stemmer.stem(word);
    let (mut found, mut term) = (Vec::new(), Vec::new());
    let terms = reader.terms();
    for beginning in stemmer.beginnings(&stem) {
        for ordinal in terms.prefix_range(beginning.as_bytes()).take(CANDIDATES_MAX) {
            terms.term_into(ordinal, &mut term);
            let Some(other) =
                std::str::from_utf8(&term).ok().filter(|term| term.len() <= stem.len() + ENDING_BYTES_MAX)
            else {
                continue;
            };
            if other != word && stemmer.stem(other) == stem {
                found.push(ordinal);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
