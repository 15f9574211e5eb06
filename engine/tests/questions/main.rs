//! The strategy for questions against a naive oracle: it reads every document and computes the formula from its
//! definition, with no index, no bound and no automaton. Hits, order, totals and scores must agree on random corpora,
//! whatever the number of segments and deleted documents.

mod beside;
mod films;
mod spelling;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_engine::filter::Filter;
use lamina_engine::index::{
    CommitNote, Index, IndexOptions, Operation, Payload, Progress, Snapshot, Upsert, WriteMethod,
};
use lamina_engine::rank::ScoreDetail;
use lamina_engine::search::{Hit, MatchingStrategy, SearchRequest, search};
use lamina_engine::segment::ListThresholds;
use lamina_engine::sort::SortCriterion;
use lamina_engine::storage::MemoryDirectory;
use lamina_engine::text::{Language, TextOptions, TokenKind, Tokenizer};
use proptest::prelude::*;
use serde_json::{Value, json};

use self::beside::{Beside, adjacent};
use self::spelling::{other_forms, split, typos};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Words that are prefixes, misspellings and halves of each other; the rest is there for frequencies.
const WORDS: &[&str] = &[
    "sun",
    "sunflower",
    "sunflowers",
    "flower",
    "flowers",
    "flowery",
    "tower",
    "towers",
    "the",
    "of",
    "night",
    "knight",
    "light",
    "moonlight",
    "gardening",
    "gardeners",
    "gardener",
    "guard",
    "car",
    "cars",
    "s",
];
const QUERY_WORDS: &[&str] = &[
    "sun",
    "sunflower",
    "sunflwoer",
    "flower",
    "flowr",
    "tower",
    "towr",
    "the",
    "of",
    "nigth",
    "light",
    "moonlihgt",
    "gardning",
    "gardener",
    "su",
    "flo",
    "car",
    "nothing",
    "towres",
    "lightnight",
    "sunmoon",
    "thetower",
];

#[derive(Clone, Debug)]
struct Doc {
    title: Vec<String>,
    body: Vec<String>,
    size: u32,
    deleted: bool,
}

impl Doc {
    /// By field; those without words are not there.
    fn fields(&self) -> [&[String]; 2] {
        [&self.title, &self.body]
    }
}

#[derive(Clone, Debug)]
struct Question {
    words: Vec<String>,
    /// The last word is being typed.
    open: bool,
    /// Only documents of less than this size.
    below: Option<u32>,
    title_only: bool,
    /// Other forms of its words count.
    forms: bool,
    sort_first: bool,
    threshold: Option<f64>,
    distinct: bool,
    offset: usize,
    limit: usize,
}

/// Words that are joined.
const JOINED_MAX: std::ops::RangeInclusive<usize> = 2..=3;

/// The words that the word at `index` makes with its neighbours, of `len` words in all, where at least as many documents
/// hold them as hold all of their parts.
fn joined(live: &[&Doc], searched: &[bool; 2], question: &Question, index: usize, len: usize) -> Vec<String> {
    let words = &question.words;
    let holds = |d: &Doc, test: &dyn Fn(&String) -> bool| (0..2).any(|f| searched[f] && d.fields()[f].iter().any(test));
    let firsts = (index + 1).saturating_sub(len)..=index;
    let all = firsts.filter(|first| first + len <= words.len()).map(|first| first..first + len);
    all.filter_map(|range| {
        let whole = words[range.clone()].concat();
        let has_part = |d: &Doc, i: usize| {
            let open = question.open && i + 1 == words.len();
            holds(d, &|w| if open { w.starts_with(words[i].as_str()) } else { *w == words[i] })
        };
        let together = live.iter().filter(|d| holds(d, &|w| *w == whole)).count();
        let apart = live.iter().filter(|d| range.clone().all(|i| has_part(d, i))).count();
        (together > 0 && together >= apart).then_some(whole)
    })
    .collect()
}

/// Function that counts the matches of a word in a field, for one term expansion.
type Count<'a> = Box<dyn Fn(&[String]) -> usize + 'a>;

#[derive(Debug)]
struct Expected {
    doc: usize,
    value: f64,
    score: f64,
    matching: u32,
}

impl Question {
    /// The other forms that a word counts with.
    fn forms_of(&self, word: &str) -> Vec<&'static str> {
        if self.forms { other_forms(word) } else { Vec::new() }
    }
}

/// The documents that are there, and what of them is searched.
struct Searched<'d> {
    live: Vec<&'d Doc>,
    /// With those that were deleted.
    all: &'d [Doc],
    /// True for each of both fields that is searched.
    fields: [bool; 2],
}

impl Searched<'_> {
    fn idf(&self, n: usize) -> f64 {
        (1.0 + (self.live.len() as f64 - n as f64 + 0.5) / (n as f64 + 0.5)).ln().powf(1.25)
    }

    fn any(&self, d: &Doc, count: &Count<'_>) -> bool {
        (0..2).any(|f| self.fields[f] && count(d.fields()[f]) > 0)
    }

    /// Returns the average number of words of a field, at least one.
    fn average(&self, f: usize) -> f64 {
        let tokens: usize = self.live.iter().map(|d| d.fields()[f].len()).sum();
        (tokens as f64 / (self.live.len() as f64).max(1.0)).max(1.0)
    }
}

/// Weight of a term expansion, and the function that counts its matches in a field.
type Weighed<'q> = (f64, Count<'q>);

/// All readings of the word at `index`, with what a match of each is worth beside one of the word itself.
fn readings<'q>(searched: &Searched<'_>, question: &'q Question, index: usize) -> Vec<Weighed<'q>> {
    let (live, word) = (&searched.live, &question.words[index]);
    let open = question.open && index + 1 == question.words.len();
    let mut all: Vec<Weighed<'q>> =
        vec![(1.0, Box::new(move |ws: &[String]| ws.iter().filter(|w| *w == word).count()))];
    let forms = question.forms_of(word);
    if !forms.is_empty() {
        let forms = forms.clone();
        all.push((1.0, Box::new(move |ws| ws.iter().filter(|w| *w == word || forms.contains(&w.as_str())).count())));
    }
    if open {
        let completes = move |w: &&String| w.starts_with(word.as_str()) && *w != word;
        all.push((0.6, Box::new(move |ws| ws.iter().filter(completes).count())));
    }
    let known = live.iter().filter(|d| all.iter().any(|(_, count)| searched.any(d, count))).count();
    let joined: Vec<String> =
        JOINED_MAX.clone().flat_map(|len| joined(live, &searched.fields, question, index, len)).collect();
    all.push((0.5, Box::new(move |ws| ws.iter().filter(|w| joined.contains(w)).count())));
    let holding = |form: &&str| searched.all.iter().filter(|d| d.fields().concat().iter().any(|w| w == form)).count();
    let as_spelt = |w: &String| if open { w.starts_with(word.as_str()) } else { w == word };
    let spelt = |ws: &[String]| ws.iter().filter(|w| as_spelt(w)).count();
    let spelt = live.iter().filter(|d| searched.any(d, &(Box::new(spelt) as Count<'_>))).count();
    if (spelt + forms.iter().map(holding).sum::<usize>()) * 1000 <= live.len() {
        let pair = split(live, &searched.fields, word);
        let likelier = |form: &str| {
            let holds = |d: &&&Doc| (0..2).any(|f| searched.fields[f] && d.fields()[f].iter().any(|w| w == form));
            live.iter().filter(holds).count() >= (known * 10).max(1)
        };
        let misspelt = |cost: usize| -> Vec<&str> {
            let is_typo = |w: &&str| typos(word, open, w) == Some(cost) && !forms.contains(w);
            let of = WORDS.iter().copied().filter(is_typo);
            of.filter(|w| likelier(w)).collect()
        };
        let (one, two) = (misspelt(1), misspelt(2));
        all.push((
            0.5,
            Box::new(move |ws| {
                let typos = ws.iter().filter(|w| one.contains(&w.as_str())).count();
                typos + pair.as_ref().map_or(0, |pair| adjacent(ws, pair))
            }),
        ));
        all.push((0.25, Box::new(move |ws| ws.iter().filter(|w| two.contains(&w.as_str())).count())));
    }
    all
}

/// Readings that some document has, weighed by how rare they are, and what the word is worth.
fn weighed<'q>(searched: &Searched<'_>, all: Vec<Weighed<'q>>) -> (Vec<Weighed<'q>>, f64) {
    let live = &searched.live;
    let mut seen = 0;
    let mut word_worth = searched.idf(0);
    let mut weights = vec![None; all.len()];
    for upto in 0..all.len() {
        let own = live.iter().filter(|d| searched.any(d, &all[upto].1)).count();
        if own == 0 {
            continue;
        }
        let docs = live.iter().filter(|d| all[..=upto].iter().any(|(_, count)| searched.any(d, count))).count();
        if seen == 0 {
            word_worth = all[upto].0 * searched.idf(docs);
        }
        seen = docs;
        weights[upto] = Some(all[upto].0 * searched.idf(docs));
    }
    let kept = all.into_iter().zip(weights).filter_map(|((_, count), weight)| Some((weight?, count)));
    (kept.collect(), word_worth)
}

fn expected(docs: &[Doc], question: &Question) -> Vec<Expected> {
    let live: Vec<&Doc> = docs.iter().filter(|d| !d.deleted).collect();
    let searched = Searched { live, all: docs, fields: [true, !question.title_only] };
    let weights = [2.0, 1.5];
    let average = [0, 1].map(|f| searched.average(f));
    let mut of_words: Vec<Vec<Weighed<'_>>> = Vec::new();
    let mut first_worths: Vec<f64> = Vec::new();
    let mut worth = 0.0;
    for index in 0..question.words.len() {
        let (readings, word_worth) = weighed(&searched, readings(&searched, question, index));
        worth += word_worth;
        first_worths.push(if readings.is_empty() { 0.0 } else { word_worth });
        of_words.push(readings);
    }
    let beside = Beside { question, worths: &first_worths };
    worth += beside.worth();
    let mut out = Vec::new();
    for (index, doc) in docs.iter().enumerate() {
        if doc.deleted || question.below.is_some_and(|size| doc.size >= size) {
            continue;
        }
        let (mut value, mut matching) = (0.0, 0);
        for of_word in &of_words {
            let mut best: f64 = 0.0;
            for (worth, count) in of_word {
                let mut n = 0.0;
                for f in (0..2).filter(|&f| searched.fields[f]) {
                    let words = doc.fields()[f];
                    if !words.is_empty() {
                        n += count(words) as f64 * (weights[f] / (1.0 - B + B * words.len() as f64 / average[f]));
                    }
                }
                best = best.max(worth * (n * (K1 + 1.0) / (n + K1)));
            }
            value += best;
            matching += u32::from(best > 0.0);
        }
        let occurrence = |f: usize, len: usize| weights[f] / (1.0 - B + B * len as f64 / average[f]);
        value += beside.value(doc, &searched.fields, occurrence);
        let share = value / worth;
        let score = share / (share + 1.0) * (K1 + 2.0) / (K1 + 1.0);
        if matching > 0 && question.threshold.is_none_or(|threshold| score >= threshold) {
            out.push(Expected { doc: index, value, score, matching });
        }
    }
    let size = |e: &Expected| if question.sort_first { docs[e.doc].size } else { 0 };
    // What differs by rounding alone is left to the order of documents in both.
    let rounded = |e: &Expected| -(e.value * 1e9).round();
    out.sort_by(|a, b| (size(a), rounded(a), a.doc).partial_cmp(&(size(b), rounded(b), b.doc)).expect("no NaN"));
    if question.distinct {
        let mut seen = std::collections::BTreeSet::new();
        out.retain(|e| seen.insert(docs[e.doc].size));
    }
    out
}

fn apply(index: &Index, batch: u64, operation: Operation) {
    let note = CommitNote::new(batch, |_| Vec::new());
    let results = index.apply(&[operation], note, &Progress::default(), &AtomicBool::new(false)).expect("applied");
    results.into_iter().for_each(|result| {
        result.expect("no operation fails");
    });
}

fn index(docs: &[Doc], cuts: &[usize], sort_first: bool) -> Index {
    let options =
        IndexOptions { background_merges: false, list_thresholds: ListThresholds::SMALL, ..IndexOptions::default() };
    let index = Index::create_in(Arc::new(MemoryDirectory::new()), options).expect("created");
    let rules: &[&str] = if sort_first { &["size:asc", "words", "sort"] } else { &["words", "typo", "sort"] };
    let settings = json!({
        "searchableAttributes": ["title", "body"], "filterableAttributes": ["size"], "sortableAttributes": ["size"],
        "rankingRules": rules,
    });
    apply(&index, 0, Operation::Settings(Box::new(serde_json::from_value(settings).expect("valid"))));
    let (mut start, mut batch) = (0, 1);
    for end in cuts.iter().copied().chain([docs.len()]) {
        let end = end.clamp(start, docs.len());
        let line = |i: usize| {
            let d = &docs[i];
            json!({"id": i, "size": d.size, "title": d.title.join(" "), "body": d.body.join(" ")}).to_string() + "\n"
        };
        let lines: String = (start..end).map(line).collect();
        start = end;
        if !lines.is_empty() {
            let upsert = Upsert {
                payload: Payload::Bytes(lines.into_bytes().into()),
                method: WriteMethod::Replace,
                primary_key: Some("id".into()),
                skip_creation: false,
            };
            apply(&index, batch, Operation::Upsert(upsert));
            batch += 1;
        }
    }
    let gone = (0..docs.len()).filter(|&i| docs[i].deleted).map(|i| i.to_string()).collect();
    apply(&index, batch, Operation::DeleteIds(gone));
    index
}

fn check(docs: &[Doc], cuts: &[usize], questions: &[Question]) -> Result<(), TestCaseError> {
    for sort_first in [false, true] {
        let asked: Vec<&Question> = questions.iter().filter(|question| question.sort_first == sort_first).collect();
        if asked.is_empty() {
            continue;
        }
        let index = index(docs, cuts, sort_first);
        let snapshot = index.snapshot();
        asked.into_iter().try_for_each(|question| compare(docs, &snapshot, question))?;
    }
    Ok(())
}

fn request(question: &Question) -> SearchRequest {
    let below = |size| Filter::from_json(&json!(format!("size < {size}"))).expect("a filter");
    SearchRequest {
        query: Some(question.words.join(" ") + if question.open { "" } else { "?" }),
        matching: MatchingStrategy::Any,
        // A language without stems: words are compared as they are.
        languages: Language::parse(if question.forms { "eng" } else { "jpn" }).into_iter().collect(),
        filter: question.below.and_then(below),
        search_on: question.title_only.then(|| vec!["title".to_owned()]),
        sort: Vec::<SortCriterion>::new(),
        score_threshold: question.threshold,
        distinct: question.distinct.then(|| "size".to_owned()),
        offset: question.offset,
        limit: question.limit,
        ..SearchRequest::default()
    }
}

/// The id of a hit, its value, its score, and how many words match.
fn shown(snapshot: &Snapshot, hit: &Hit) -> (u64, f64, f64, u32) {
    let json: Value = serde_json::from_slice(&snapshot.document(hit.address).expect("a document")).expect("JSON");
    let shown = hit.details.iter().find_map(|detail| match detail {
        ScoreDetail::Bm25 { value, matching_words, .. } => Some((*value, *matching_words)),
        _ => None,
    });
    let (value, matching) = shown.expect("its own rule");
    (json["id"].as_u64().expect("a number"), value, hit.score, matching)
}

fn compare(docs: &[Doc], snapshot: &Snapshot, question: &Question) -> Result<(), TestCaseError> {
    let result = search(snapshot, &request(question)).expect("a valid request");
    let want = expected(docs, question);
    prop_assert_eq!(result.total, want.len() as u64, "total of {:?}", question);
    let got: Vec<(u64, f64, f64, u32)> = result.hits.iter().map(|hit| shown(snapshot, hit)).collect();
    let want: Vec<&Expected> = want.iter().skip(question.offset).take(question.limit).collect();
    prop_assert_eq!(got.len(), want.len(), "hits of {:?}", question);
    for ((doc, value, score, matching), want) in got.iter().zip(&want) {
        let same = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let seen = format!("{question:?}: {:?} instead of {want:?}", (doc, value, score, matching));
        prop_assert_eq!((*doc, *matching), (want.doc as u64, want.matching), "{}", seen);
        prop_assert!(same(*value, want.value), "{}", seen);
        prop_assert!(same(*score, want.score), "{}", seen);
    }
    Ok(())
}

fn words(list: &'static [&'static str], len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(proptest::sample::select(list).prop_map(str::to_owned), len)
}

fn doc() -> impl Strategy<Value = Doc> {
    (words(WORDS, 0..5), words(WORDS, 0..12), 0u32..9, proptest::bool::weighted(0.15))
        .prop_map(|(title, body, size, deleted)| Doc { title, body, size, deleted })
}

fn question() -> impl Strategy<Value = Question> {
    let rarely = || proptest::bool::weighted(0.2);
    let size = proptest::option::weighted(0.3, 1u32..9);
    let threshold = proptest::option::weighted(0.2, 0.1f64..0.7);
    let flags = (any::<bool>(), rarely(), any::<bool>(), rarely(), rarely());
    (words(QUERY_WORDS, 1..9), flags, size, threshold, 0usize..6, 1usize..20).prop_map(
        |(words, (open, title_only, forms, sort_first, distinct), below, threshold, offset, limit)| Question {
            words,
            open,
            below,
            title_only,
            forms,
            sort_first,
            threshold,
            distinct,
            offset,
            limit,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 3 / 8, ..ProptestConfig::default() })]

    #[test]
    fn questions_agree_with_the_oracle(
        docs in proptest::collection::vec(doc(), 1..40),
        cuts in proptest::collection::btree_set(0usize..40, 0..3),
        questions in proptest::collection::vec(question(), 1..8),
    ) {
        check(&docs, &cuts.into_iter().collect::<Vec<_>>(), &questions)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 40, ..ProptestConfig::default() })]

    /// Enough documents for bounds in bytes, early ends and dense lists.
    #[test]
    fn many_documents_agree_with_the_oracle(
        docs in proptest::collection::vec(doc(), 3000..3001),
        cut in 0usize..3000,
        questions in proptest::collection::vec(question(), 6..7),
    ) {
        check(&docs, &[cut], &questions)?;
    }
}
