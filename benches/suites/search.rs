//! Measured: each kind of query, from its text to the ranked addresses of the top 20, in process.
//!
//! Corpus: 40,000 films (the sample ten times) in one segment. Run: `cargo bench -p lamina-benches --bench search`.

use criterion::{Criterion, criterion_group, criterion_main};
use lamina_benches::{add, films, new_index, set};
use lamina_engine::search::{MatchingStrategy, SearchRequest, search};

const DOCUMENTS: usize = 40_000;

const QUERIES: [(&str, &str); 15] = [
    ("placeholder", ""),
    ("one rare word", "dinosaurs "),
    ("one common word", "young "),
    ("two common words", "the film "),
    ("a title", "the empire strikes back "),
    ("typos", "jurasic wrold "),
    ("prefix of one letter", "s"),
    ("prefix of three letters", "sta"),
    ("phrase", "\"new york city\""),
    ("six words", "a young woman falls in love "),
    ("negative", "war -star "),
    ("two words written as one", "newyork "),
    ("one word written as two", "base ball team "),
    ("a synonym", "flick "),
    ("a stop word", "man with gun "),
];

/// Asked with the strategy `any`.
const QUESTIONS: [(&str, &str); 3] = [
    ("question of ten words", "which western tells of a sheriff who hunts his brother?"),
    ("question of frequent words", "what is the film that was directed by the man?"),
    ("question with typos", "whitch silnet film abuot a haunted lighthuose and its keper?"),
];

fn queries(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let index = new_index(folder.path());
    set(&index, 0, r#"{"synonyms": {"flick": ["film", "motion picture"]}, "stopWords": ["with"]}"#);
    add(&index, 1, &films(DOCUMENTS));
    index.compact(&false.into()).expect("one segment");
    let snapshot = index.snapshot();

    let mut group = c.benchmark_group("search");
    for (name, query) in QUERIES {
        let request = SearchRequest { query: Some(query.to_owned()), ..SearchRequest::default() };
        group.bench_function(name, |b| b.iter(|| search(&snapshot, &request).expect("a search")));
    }
    for (name, matching) in [
        ("six words, all needed", MatchingStrategy::All),
        ("six words, the rarest needed", MatchingStrategy::Frequency),
    ] {
        let query = Some("a young woman falls in love ".to_owned());
        let request = SearchRequest { query, matching, ..SearchRequest::default() };
        group.bench_function(name, |b| b.iter(|| search(&snapshot, &request).expect("a search")));
    }
    for (name, query) in QUESTIONS {
        let any = SearchRequest {
            query: Some(query.to_owned()),
            matching: MatchingStrategy::Any,
            ..SearchRequest::default()
        };
        group.bench_function(name, |b| b.iter(|| search(&snapshot, &any).expect("a search")));
    }
    group.finish();
}

criterion_group!(benches, queries);
criterion_main!(benches);
