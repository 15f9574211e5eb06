//! Searches among many documents read few of them.

use super::*;

/// In one document one completion of the prefix is in the best attribute, and another one comes first.
#[test]
fn completions_of_a_prefix_count_with_the_best_of_each() {
    let mut documents: Vec<Value> = (0..1500).map(|id| json!({"id": id, "title": "flame"})).collect();
    documents[1] = json!({"id": 1, "title": "the five faults of flo", "cast": "florence"});
    documents[2] = json!({"id": 2, "title": "the five faults of flo"});
    let index = index(json!({"searchableAttributes": ["title", "cast"]}), &[&documents]);
    let snapshot = index.snapshot();
    let query = Some("fl".to_owned());
    let few = search(&snapshot, &SearchRequest { query: query.clone(), limit: 4, ..SearchRequest::default() }).unwrap();
    assert_eq!(ids(&snapshot, &few), [0, 1, 3, 4]);
    let all = SearchRequest { query, limit: 2000, ..SearchRequest::default() };
    assert_eq!(ids(&snapshot, &search(&snapshot, &all).unwrap())[..4], [0, 1, 3, 4]);
}

/// Checks that only documents that may be among the best are read, of thousands that match.
#[test]
fn few_of_many_documents_are_read() {
    // The best ones come last.
    let document = |id: u64| {
        let title = ["the", "film", "the film", "film directed"]
            .get((4_499 - id) as usize / 20)
            .copied()
            .unwrap_or(["the name of", "film was directed"][id as usize % 2]);
        json!({"id": id, "title": title, "text": "it is the story of a movie, a film, later directed again"})
    };
    let documents: Vec<Value> = (0..4_500).map(document).collect();
    let settings =
        json!({"searchableAttributes": ["title", "text"], "synonyms": {"film": ["movie", "moving picture"]}});
    let snapshot = index(settings, &[&documents]).snapshot();
    let queries = [
        ("\"the\"", 4_480),
        ("film", 4_460),
        ("film directed", 4_420),
        ("film drected", 4_420),
        ("filmm drected", 4_420),
    ];
    for (query, first) in queries {
        let explain = Some(Explain::default());
        let request = SearchRequest { query: Some(query.into()), limit: 10, explain, ..SearchRequest::default() };
        let result = search(&snapshot, &request).unwrap();
        assert_eq!((ids(&snapshot, &result).first(), result.total), (Some(&first), 4_500), "{query}");
        let read = read(&result);
        assert!(read < 200, "{query}: {read}");
    }
}

/// No document can be exact to a beginning of words that is no word itself.
#[test]
fn beginnings_of_words_read_few_documents() {
    let document = |id: u64| {
        let letter = |n: u64| char::from(b'a' + (n % 26) as u8);
        let name: String = ['c', 'h', letter(id), letter(id / 26), letter(id / 676)].iter().collect();
        json!({"id": id, "title": format!("{name} of the sea")})
    };
    let documents: Vec<Value> = (0..4_500).map(document).collect();
    let snapshot = index(json!({"searchableAttributes": ["title"]}), &[&documents]).snapshot();
    for query in ["ch", "c"] {
        let explain = Some(Explain::default());
        let request = SearchRequest { query: Some(query.into()), limit: 10, explain, ..SearchRequest::default() };
        let result = search(&snapshot, &request).unwrap();
        assert_eq!((ids(&snapshot, &result), result.total), ((0..10).collect(), 4_500), "{query}");
        let read = read(&result);
        assert!(read < 200, "{query}: {read} documents were read");
    }
}

/// Checks that few documents are read for two frequent words that few documents have side by side: those that have them
/// close together, and few others.
#[test]
fn frequent_words_that_are_seldom_near_read_few_documents() {
    let document = |id: u64| {
        let text = match id {
            4_400 => "a sea story of a ship",
            4_300..4_320 => "a sea and a story of a ship",
            4_100..4_120 => "a story and sea of a ship",
            _ => "the sea is not what is meant by the story of a ship",
        };
        json!({"id": id, "text": text})
    };
    let documents: Vec<Value> = (0..4_500).map(document).collect();
    let snapshot = index(json!({"searchableAttributes": ["text"]}), &[&documents]).snapshot();
    // Each word between them costs one, and so does the other order. Then counts how early they come.
    let nearest: Vec<u64> = [4_400].into_iter().chain(4_100..4_120).chain(4_300..4_320).collect();
    for (query, limit) in [("sea story", 41), ("story sea", 21)] {
        let explain = Some(Explain::default());
        let request = SearchRequest { query: Some(query.into()), limit, explain, ..SearchRequest::default() };
        let result = search(&snapshot, &request).unwrap();
        assert_eq!((ids(&snapshot, &result).as_slice(), result.total), (&nearest[..limit], 4_500), "{query}");
        let read = read(&result);
        assert!(read < 200, "{query}: {read} documents were read");
    }
}

/// Checks that few documents are read for a short prefix of which all documents have a completion and no completion is
/// frequent: those in which one directly follows the frequent word.
#[test]
fn prefixes_behind_frequent_words_read_few_documents() {
    let document = |id: u64| {
        let letter = |n: u64| char::from(b'a' + (n % 26) as u8);
        let name: String = ['j', 'o', letter(id), letter(id / 26), letter(id / 676)].iter().collect();
        let is_near = (4_300..4_312).contains(&id);
        let text = if is_near { format!("directed {name} and me") } else { format!("directed by the old {name}") };
        json!({"id": id, "text": text})
    };
    let documents: Vec<Value> = (0..4_500).map(document).collect();
    let snapshot =
        index(json!({"searchableAttributes": ["text"], "synonyms": {"made": ["directed"]}}), &[&documents]).snapshot();
    for query in ["directed j", "directed jo", "made jo", "diretced jo"] {
        let explain = Some(Explain::default());
        let request = SearchRequest { query: Some(query.into()), limit: 10, explain, ..SearchRequest::default() };
        let result = search(&snapshot, &request).unwrap();
        assert_eq!((ids(&snapshot, &result), result.total), ((4_300..4_310).collect(), 4_500), "{query}");
        let read = read(&result);
        assert!(read < 200, "{query}: {read} documents were read");
    }
}

/// Phrases of frequent words are counted by their stored triples, and put in order by the first words of attributes.
#[test]
fn phrases_of_frequent_words_read_few_documents() {
    let document = |id: u64| {
        // A third holds both pairs apart, a third the phrase; some of the last begin with it, and one is no more.
        let text = match (id % 3, id) {
            (0, _) => "a story of the sea the film made of the sea",
            (_, 4_400) => "the film",
            (_, 4_300..4_320) => "the film made of a year",
            (1, _) => "the story of the film",
            _ => "the sea",
        };
        json!({"id": id, "title": "the name of it", "text": text})
    };
    let documents: Vec<Value> = (0..4_500).map(document).collect();
    let snapshot = index(json!({"searchableAttributes": ["title", "text"]}), &[&documents]).snapshot();
    let query = |query: &str| {
        let explain = Some(Explain::default());
        let request = SearchRequest { query: Some(query.into()), limit: 10, explain, ..SearchRequest::default() };
        let result = search(&snapshot, &request).unwrap();
        (ids(&snapshot, &result), result.total, read(&result))
    };
    let held = |row: &str| documents.iter().filter(|d| d["text"].as_str().unwrap().contains(row)).count() as u64;
    for row in ["of the film", "the film made", "story of the film", "sea the film"] {
        let (_, total, _) = query(&format!("\"{row}\""));
        assert_eq!(total, held(row), "{row}");
    }
    // All titles begin with its first word.
    let (found, total, read) = query("\"the film\"");
    assert_eq!((found[0], total), (4_400, held("the film")), "the text is the phrase");
    assert!(found[1..].iter().all(|id| (4_300..4_320).contains(id)), "{found:?} begin with it");
    assert!(read < total / 2, "{read} of {total}");
}

/// Whatever page of a frequent word a search asks for, and under whatever filter, it finds what a search for all documents
/// does.
#[test]
fn documents_of_a_word_are_the_same_for_all_searches() {
    const WORDS: [&str; 5] = ["sea", "seas", "north", "of", "seal"];
    let document = |id: u64| {
        let text = |salt: u64, count: u64| -> String {
            let word = |n: u64| WORDS[((id * 31 + id / 64 * 13 * n + n * 7 + salt) % 23 % 5) as usize];
            (0..count).map(word).collect::<Vec<_>>().join(" ")
        };
        let text = [text(3, 1 + id % 3), text(5, 2 + id % 5) + " sea"];
        json!({"id": id, "title": text[0], "text": text[1], "share": id * 7919 % 1000})
    };
    let documents: Vec<Value> = (0..4_500).map(document).collect();
    let settings = json!({"searchableAttributes": ["title", "text"], "filterableAttributes": ["share"]});
    let index = index(settings, &[&documents]);
    let check = || {
        let snapshot = index.snapshot();
        for query in ["sea", "se", "sea "] {
            let found = |limit: usize, below: u64| {
                let filter = Filter::parse(&format!("share < {below}")).unwrap();
                let request = SearchRequest { query: Some(query.into()), limit, filter, ..SearchRequest::default() };
                ids(&snapshot, &search(&snapshot, &request).unwrap())
            };
            let narrow = found(20, 300);
            let all = found(documents.len(), 1000);
            for (limit, below) in [(20, 1000), (20, 300), (20, 30), (700, 1000), (700, 300)] {
                let passing = |id: &u64| id * 7919 % 1000 < below;
                let expected: Vec<u64> = all.iter().copied().filter(passing).take(limit).collect();
                assert_eq!(found(limit, below), expected, "{limit} of {query:?} below {below}");
                assert!((limit, below) != (20, 300) || narrow == expected, "the first search for {query:?}");
            }
        }
        snapshot.document_count()
    };
    assert_eq!(check(), 4_500);
    // The same segment, other costs, and some of the best documents are no more.
    let best = (0..4_500).filter(|id| id % 3 == 0 || id % 7 == 1).map(|id: u64| id.to_string()).collect();
    for patch in [
        json!({"searchableAttributes": ["text", "title"]}),
        json!({"rankingRules": ["words", "typo", "exactness", "wordPosition", "attributeRank"]}),
        json!({"rankingRules": ["words", "typo", "wordPosition", "proximity"]}),
    ] {
        apply(&index, &[Operation::Settings(Box::new(serde_json::from_value(patch).unwrap()))]);
        assert_eq!(check(), 4_500);
    }
    apply(&index, &[Operation::DeleteIds(best)]);
    assert!(check() < 3_000);
}
