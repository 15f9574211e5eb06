//! What a query could have meant: completions of its last word, and the query with its misspellings corrected. Only words
//! that a document shows count: one that passes the filter, in a field that is searched and displayed.

use hashbrown::{HashMap, HashSet};
use lamina_index::index::Snapshot;
use lamina_segment::bits::DocSet;
use lamina_text::id::TermOrdinal;
use lamina_text::text::Token;

use super::filtering::Filtering;
use super::{SearchError, SearchRequest, of_sound, per_segment};
use crate::query::options::NOT_SEARCHED;
use crate::query::parser::TERMS_MAX;
use crate::query::resolve::{query_languages, resolve};
use crate::query::{Node, ParseOptions, QueryGraph, QueryOptions, SegmentQuery, TermKind, parse_query};

/// Words of a segment that are looked at for one beginning, in alphabetical order: single letters have more, and say little.
const TERMS_LOOKED_AT: usize = 50_000;
/// The most frequent words of a segment, whose documents are counted.
const TERMS_COUNTED: usize = 200;
/// A misspelling is a word that so many times as many documents spell otherwise, or one that none has.
const MISSPELT_SHARE: u64 = 100;

/// A query that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The text of the query with its last word completed, in normal form.
    pub text: String,
    /// Documents that hold the word, and those before it where any document holds all of these.
    pub documents: u64,
}

/// The most frequent words that the last one of the query could become, with what comes before it. None when the text ends
/// with something else than a word.
///
/// # Errors
/// The errors of [`search`](super::search).
pub fn complete(snapshot: &Snapshot, request: &SearchRequest, limit: usize) -> Result<Vec<Completion>, SearchError> {
    of_sound(snapshot, || completions(snapshot, request, limit))
}

/// The text of the query with words that hardly any document spells so replaced by what they are most likely to mean; `None`
/// where nothing is.
///
/// # Errors
/// The errors of [`search`](super::search).
pub fn corrected(snapshot: &Snapshot, request: &SearchRequest) -> Result<Option<String>, SearchError> {
    of_sound(snapshot, || correction(snapshot, request))
}

/// Counts the documents that visibly contain all words of the query as they are written.
///
/// # Errors
/// The errors of [`search`](super::search).
pub fn documents_with(snapshot: &Snapshot, request: &SearchRequest) -> Result<u64, SearchError> {
    of_sound(snapshot, || {
        let mut words = Words::new(snapshot, request)?;
        words.options.prefix_search = false;
        words.graph.nodes.iter_mut().for_each(|node| node.prefix = false);
        if words.graph.nodes.is_empty() {
            return Ok(0);
        }
        let with_all = |(query, visible): (&SegmentQuery<'_>, DocSet)| {
            let mut docs = visible;
            (0..words.graph.nodes.len()).for_each(|node| docs.and_assign(query.docs(node, 0)));
            u64::from(docs.len())
        };
        Ok(words.queries(snapshot).iter().zip(words.visible(snapshot)).map(with_all).sum())
    })
}

/// A query as it is looked for here, word by word.
struct Words<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    graph: QueryGraph,
    options: QueryOptions,
    filtering: Filtering,
}

impl<'a> Words<'a> {
    fn new(snapshot: &Snapshot, request: &'a SearchRequest) -> Result<Words<'a>, SearchError> {
        let mut options = resolve(snapshot, request.search_on.as_deref())?;
        let filtering = Filtering::new(snapshot, request)?;
        let displayed = &snapshot.settings.displayed_attributes;
        for (field, weight) in snapshot.fields.names().zip(&mut options.weights) {
            if !displayed.selects(field) {
                *weight = NOT_SEARCHED;
            }
        }
        let languages = match request.languages.as_slice() {
            [] => query_languages(snapshot, &options),
            named => named.to_vec(),
        };
        let text = request.query.as_deref().unwrap_or_default();
        let tokenizer = &snapshot.resolved_settings().tokenizer;
        let asked = ParseOptions {
            languages: &languages,
            stop_words: &options.stop_words,
            prefix_search: true,
            possessives: false,
            terms_max: TERMS_MAX,
        };
        let parsed = parse_query(text, tokenizer, &asked);
        let mut graph = QueryGraph::new(parsed.terms, &options);
        graph.nodes.retain(|node| !node.is_ngram());
        Ok(Words { text, tokens: tokenizer.tokens(text, &languages), graph, options, filtering })
    }

    fn queries<'q>(&'q self, snapshot: &'q Snapshot) -> Vec<SegmentQuery<'q>> {
        per_segment(snapshot, |view| SegmentQuery::new(view.cached(), view.deleted_set(), &self.graph, &self.options))
    }

    /// The documents that may be spoken of, by segment; none when the filter took too long.
    fn visible(&self, snapshot: &Snapshot) -> Vec<DocSet> {
        let visible = per_segment(snapshot, |view| self.filtering.passing(view));
        if self.filtering.is_late() { vec![DocSet::empty(); visible.len()] } else { visible }
    }
}

fn completions(snapshot: &Snapshot, request: &SearchRequest, limit: usize) -> Result<Vec<Completion>, SearchError> {
    let words = Words::new(snapshot, request)?;
    let Some(last) = words.tokens.last().filter(|token| token.is_word()) else { return Ok(Vec::new()) };
    let Some(beginning) = words.graph.nodes.last().filter(|node| node.prefix && node.text == *last.text) else {
        return Ok(Vec::new());
    };
    let queries = words.queries(snapshot);
    let mut visible = words.visible(snapshot);
    let before = words.graph.nodes.len() - 1;
    let with_all: Vec<DocSet> = queries
        .iter()
        .zip(&visible)
        .map(|(query, visible)| {
            let mut docs = visible.clone();
            (0..before).for_each(|node| docs.and_assign(query.docs(node, 0)));
            docs
        })
        .collect();
    if with_all.iter().any(|docs| !docs.is_empty()) {
        visible = with_all;
    }
    let mut counts: HashMap<String, u64> = HashMap::new();
    let known: HashSet<String> = queries.iter().flat_map(|query| frequent(query, beginning)).collect();
    for (query, visible) in queries.iter().zip(&visible).filter(|(_, visible)| !visible.is_empty()) {
        for word in &known {
            let Some(ordinal) = query.reader().terms().ordinal(word.as_bytes()) else { continue };
            let documents = u64::from(query.term_docs(ordinal).and_len(visible));
            if documents > 0 {
                *counts.entry(word.clone()).or_default() += documents;
            }
        }
    }
    let mut found: Vec<(String, u64)> = counts.into_iter().collect();
    found.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    found.truncate(limit);
    let head = &words.text[..last.range.start];
    let completion = |(word, documents)| Completion { text: format!("{head}{word}"), documents };
    Ok(found.into_iter().map(completion).collect())
}

/// The words of a segment that most documents hold, of those that begin so.
fn frequent(query: &SegmentQuery<'_>, beginning: &Node) -> Vec<String> {
    let (terms, postings) = (query.reader().terms(), query.reader().postings());
    let range = terms.prefix_range(beginning.text.as_bytes()).take(TERMS_LOOKED_AT);
    let allowed = range.filter(|ordinal| query.stop().binary_search(ordinal).is_err());
    let mut found: Vec<(u32, TermOrdinal)> =
        allowed.map(|ordinal| (u32::MAX - postings.doc_freq(ordinal), ordinal)).collect();
    if found.len() > TERMS_COUNTED {
        found.select_nth_unstable(TERMS_COUNTED - 1);
        found.truncate(TERMS_COUNTED);
    }
    found.into_iter().filter_map(|(_, ordinal)| String::from_utf8(terms.term(ordinal)).ok()).collect()
}

fn correction(snapshot: &Snapshot, request: &SearchRequest) -> Result<Option<String>, SearchError> {
    let mut words = Words::new(snapshot, request)?;
    // Whole words: the beginning of one is no misspelling.
    let last_is_beginning = std::mem::replace(&mut words.options.prefix_search, false);
    words.graph.nodes.iter_mut().for_each(|node| node.prefix = false);
    let (queries, visible) = (words.queries(snapshot), words.visible(snapshot));
    let mut corrections: HashMap<&str, String> = HashMap::new();
    for (index, node) in words.graph.nodes.iter().enumerate() {
        let is_word = matches!(words.graph.terms[node.first].kind, TermKind::Word { .. });
        let is_last = index + 1 == words.graph.nodes.len();
        if !is_word || (is_last && last_is_beginning && begins_a_word(&queries, &visible, &node.text)) {
            continue;
        }
        if let Some(correct) = likelier(&queries, &visible, index) {
            corrections.insert(&node.text, correct);
        }
    }
    if corrections.is_empty() {
        return Ok(None);
    }
    let (mut out, mut end) = (String::with_capacity(words.text.len()), 0);
    for token in words.tokens.iter().filter(|token| token.is_word()) {
        if let Some(correct) = corrections.get(token.text.as_ref()) {
            out.push_str(&words.text[end..token.range.start]);
            out.push_str(correct);
            end = token.range.end;
        }
    }
    out.push_str(&words.text[end..]);
    Ok((out != words.text).then_some(out))
}

/// Reports whether a visible document contains a longer word that begins with `text`.
fn begins_a_word(queries: &[SegmentQuery<'_>], visible: &[DocSet], text: &str) -> bool {
    queries.iter().zip(visible).any(|(query, visible)| {
        let range: Vec<TermOrdinal> =
            query.reader().terms().prefix_range(text.as_bytes()).take(TERMS_LOOKED_AT).collect();
        query.words_docs(&range).and_len(visible) > 0
    })
}

/// The word that a misspelt one most likely means: with the fewest typos, then in most documents.
fn likelier(queries: &[SegmentQuery<'_>], visible: &[DocSet], node: usize) -> Option<String> {
    let mut own = 0;
    // By typos, then by word.
    let mut others: [HashMap<Vec<u8>, u64>; 2] = Default::default();
    for (query, visible) in queries.iter().zip(visible) {
        let expansion = &query.expansions()[node];
        let count = |ordinal: TermOrdinal| u64::from(query.term_docs(ordinal).and_len(visible));
        own += expansion.exact.map_or(0, count);
        for (found, terms) in others.iter_mut().zip([&expansion.one_typo, &expansion.two_typos]) {
            for &ordinal in terms {
                let documents = count(ordinal);
                if documents > 0 {
                    *found.entry(query.reader().terms().term(ordinal)).or_default() += documents;
                }
            }
        }
    }
    let best = |found: HashMap<Vec<u8>, u64>| {
        found.into_iter().max_by(|one, other| one.1.cmp(&other.1).then_with(|| other.0.cmp(&one.0)))
    };
    let [one, two] = others.map(best);
    let (word, documents) = one.or(two)?;
    let is_misspelt = documents >= own.saturating_mul(MISSPELT_SHARE);
    is_misspelt.then(|| String::from_utf8(word).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::tests::index;
    use super::*;
    use serde_json::{Value, json};

    fn films() -> Snapshot {
        let film =
            |id: u64, title: &str, secret: &str| json!({"id": id, "title": title, "secret": secret, "kind": id % 2});
        let index = index(
            json!({"filterableAttributes": ["kind"], "displayedAttributes": ["id", "title"]}),
            &[
                &[film(0, "Alien", "alibi"), film(1, "Alien ship", ""), film(2, "Aliens and a ship", "")],
                &[film(3, "Alice", ""), film(4, "The ship", ""), film(5, "Albatross", "")],
            ],
        );
        index.snapshot().as_ref().clone()
    }

    fn asked(query: &str, filter: Option<&str>) -> SearchRequest {
        let filter = filter.and_then(|text| lamina_text::filter::Filter::parse(text).unwrap());
        SearchRequest { query: Some(query.into()), filter, ..SearchRequest::default() }
    }

    fn shown(query: &str, filter: Option<&str>) -> Vec<(String, u64)> {
        let found = complete(&films(), &asked(query, filter), 10).unwrap();
        found.into_iter().map(|completion| (completion.text, completion.documents)).collect()
    }

    fn list(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
        expected.iter().map(|(text, documents)| ((*text).to_owned(), *documents)).collect()
    }

    #[test]
    fn the_most_frequent_words_come_first() {
        assert_eq!(shown("al", None), list(&[("alien", 2), ("albatross", 1), ("alice", 1), ("aliens", 1)]));
        assert_eq!(shown("Ship, ALIE", None), list(&[("Ship, alien", 1), ("Ship, aliens", 1)]));
        // No document holds what is before it: the word alone counts.
        assert_eq!(shown("zebra alic", None), list(&[("zebra alice", 1)]));
        assert_eq!(complete(&films(), &asked("al", None), 1).unwrap().len(), 1);
        for nothing in ["", "  ", "al ", "x", "\"al"] {
            assert_eq!(shown(nothing, None), [], "{nothing:?}");
        }
    }

    #[test]
    fn hidden_documents_and_fields_complete_nothing() {
        assert_eq!(shown("al", Some("kind = 1")), list(&[("albatross", 1), ("alice", 1), ("alien", 1)]));
        assert_eq!(shown("ali", Some("kind = 7")), []);
        assert_eq!(shown("alib", None), []);
        let correct = |query: &str, filter| corrected(&films(), &asked(query, filter)).unwrap();
        assert_eq!(correct("albatros", Some("kind = 0")), None);
        assert_eq!(correct("alibj", None), None);
        let settings: Value = json!({"filterableAttributes": ["kind"]});
        let shown_field = index(settings, &[&[json!({"id": 1, "secret": "alibi"})]]).snapshot();
        assert_eq!(complete(&shown_field, &asked("alib", None), 10).unwrap().len(), 1);
    }

    #[test]
    fn queries_are_counted_by_what_shows_all_of_their_words() {
        let count = |query: &str, filter| documents_with(&films(), &asked(query, filter)).unwrap();
        assert_eq!((count("ALIEN", None), count("alien ship", None), count("alie", None)), (2, 1, 0));
        assert_eq!((count("alien ship", Some("kind = 0")), count("alibi", None), count(" ", None)), (0, 0, 0));
    }

    #[test]
    fn misspellings_become_what_is_there() {
        let correct = |query: &str| corrected(&films(), &asked(query, None)).unwrap();
        assert_eq!(correct("Alein ship").as_deref(), Some("alien ship"));
        assert_eq!(correct("the albatros!  shipp").as_deref(), Some("the albatross!  ship"));
        for right in ["alien ship", "ali", "", "zzzzzzzz", "ship", "albatr"] {
            assert_eq!(correct(right), None, "{right:?}");
        }
    }
}
