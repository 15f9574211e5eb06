//! Other forms of a word: the terms of a segment that share its stem.
//!
//! Stems are looked for when a query comes, so that nothing has to be indexed anew and the words themselves stay what they
//! are. Whatever has a stem begins nearly like it: only the terms that begin like that are stemmed, and kept.

use std::sync::Arc;

use lamina_index::caches::{CachedSegment, FormsKey};
use lamina_index::index::Snapshot;
use lamina_index::index::settings::covers;
use lamina_segment::segment::SegmentReader;
use lamina_text::id::TermOrdinal;
use lamina_text::text::{Language, Stemmer, has_stems, language_of_words};

use super::options::FormOptions;

/// Words that say which language texts are in.
const LANGUAGE_WORDS: usize = 300;
/// A form has at most so many bytes more than the stem.
const ENDING_BYTES_MAX: usize = 14;
/// Terms that are stemmed for one word, at most: about two milliseconds, once per word and segment. Beginnings of three
/// letters stay below that in a dictionary of a million terms.
const CANDIDATES_MAX: usize = 20_000;

/// Sequences of forms that a phrase stands for, at most: with more of them its last words count as they are.
const PHRASES_MAX: usize = 64;

/// Determines the options for other forms of words in a search. `named`: languages that the request names, if any;
/// `of_fields`: languages of the searched fields.
pub(crate) fn form_options(
    snapshot: &Snapshot,
    is_question: bool,
    named: &[Language],
    of_fields: &[Language],
) -> FormOptions {
    let settings = &snapshot.settings.word_forms;
    if !settings.enabled.unwrap_or(is_question) {
        return FormOptions::default();
    }
    let set: Vec<Language> = settings.languages.iter().filter_map(|code| Language::parse(code)).collect();
    let languages = if named.is_empty() && !set.is_empty() { set.as_slice() } else { of_fields };
    let is_allowed = |field: &str| !settings.disable_on_attributes.iter().any(|attribute| covers(attribute, field));
    FormOptions {
        enabled: true,
        languages: form_languages(snapshot, languages),
        known: Arc::clone(&snapshot.resolved_settings().known_forms),
        allowed: snapshot.fields.names().map(is_allowed).collect(),
        as_words: !is_question,
        in_phrases: settings.in_phrases,
    }
}

/// Languages whose stems count in a search. `named`: by the request or the settings; else the language of the texts counts,
/// and where these are too few to say, that of most Latin words in queries, English.
fn form_languages(snapshot: &Snapshot, named: &[Language]) -> Vec<Language> {
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

/// The terms with the stem of `word` in any of the languages, and those that the settings name, without `word` itself; ascending.
pub(super) fn forms(segment: CachedSegment<'_>, word: &str, options: &FormOptions) -> Vec<TermOrdinal> {
    let mut all = Vec::new();
    let (known, terms) = (&options.known, segment.reader.terms());
    if known.exceptions.contains(word) {
        return all;
    }
    // A number has no forms.
    let languages = if word.chars().all(char::is_alphabetic) { options.languages.as_slice() } else { &[] };
    for &language in languages {
        let key = FormsKey { word: word.into(), language };
        all.extend_from_slice(&segment.caches.forms.get_or_find(key, || find(segment.reader, word, language)));
    }
    let listed = known.of_words.get(word).into_iter().flatten();
    all.extend(listed.filter_map(|form| terms.ordinal(form.as_bytes())));
    if !known.exceptions.is_empty() {
        let is_exception =
            |form| std::str::from_utf8(&terms.term(form)).is_ok_and(|form| known.exceptions.contains(form));
        all.retain(|&form| !is_exception(form));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The sequences of words that a phrase stands for with all forms of its words, the phrase itself first if its words are there.
pub(super) fn phrases(
    segment: CachedSegment<'_>,
    words: &[String],
    options: &FormOptions,
) -> Vec<Vec<Option<TermOrdinal>>> {
    let mut phrases = vec![Vec::new()];
    for word in words {
        let exact = segment.reader.terms().ordinal(word.as_bytes());
        let mut of_word: Vec<TermOrdinal> = exact.into_iter().collect();
        if (1..=PHRASES_MAX / 2).contains(&phrases.len()) {
            of_word.extend(forms(segment, word, options));
            of_word.truncate(PHRASES_MAX / phrases.len());
        }
        let longer = |phrase: &Vec<Option<TermOrdinal>>| -> Vec<_> {
            of_word.iter().map(|&word| phrase.iter().copied().chain([Some(word)]).collect()).collect()
        };
        phrases = phrases.iter().flat_map(longer).collect();
    }
    phrases
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
