//! Texts that a provider refuses, and answers that are asked for once.

use super::*;

/// Refuses requests with a text that holds a `!`.
fn picky(seen: &Seen) -> (u16, String) {
    let is_bad = seen.body["texts"].as_array().unwrap().iter().any(|text| text.as_str().unwrap().contains('!'));
    if is_bad { (400, "bad text".to_owned()) } else { rest_answer(seen) }
}

#[test]
fn one_bad_text_costs_the_others_nothing() {
    let (stub, fixture) = (Stub::start(&[], picky), Fixture::new(0));
    let embedder = fixture.open(&rest(&stub.url)).unwrap();
    let texts: Vec<String> = (0..25).map(|i| if i == 13 { "no!".to_owned() } else { "x".repeat(i) }).collect();
    for (number, answer) in
        embedder.embed(&texts, asking(&AtomicBool::new(false), &fixture.watch)).into_iter().enumerate()
    {
        match answer {
            Ok(vector) => assert_eq!(vector, [number as f32, 1.0]),
            Err(failure) => {
                assert!(failure.is_of_text, "{number}: {failure}");
                assert_eq!(number, 13, "{number}: {failure}");
                assert!(failure.to_string().starts_with("user error: sent a bad request to embedding server"));
            }
        }
    }
    let all_bad: Vec<String> = (0..1000).map(|i| format!("{i}!")).collect();
    let before = stub.seen().len();
    let answers = embedder.embed(&all_bad, asking(&AtomicBool::new(false), &fixture.watch));
    assert!(answers.iter().flatten().next().is_none());
    assert!(answers.last().unwrap().as_ref().is_err_and(|failure| !failure.is_of_text));
    assert!(stub.seen().len() - before < 300, "a provider that refuses all is not asked for each");
}

#[test]
fn two_bad_texts_of_one_request_say_nothing_of_the_others() {
    let (stub, fixture) = (Stub::start(&[], picky), Fixture::new(0));
    let embedder = fixture.open(&rest(&stub.url)).unwrap();
    let texts = ["no!".to_owned(), "never!".to_owned()];
    let answers = embedder.embed(&texts, asking(&AtomicBool::new(false), &fixture.watch));
    let failures: Vec<bool> = answers.iter().map(|answer| answer.as_ref().is_err_and(|it| it.is_of_text)).collect();
    assert_eq!(failures, [true, true]);
}

#[test]
fn what_lasts_is_found_out_once() {
    let stub = Stub::start(&[], |_| (401, String::new()));
    let fixture = Fixture::new(0);
    let mut configuration = rest(&stub.url);
    configuration["dimensions"] = json!(2);
    let texts: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
    let answers = fixture.open(&configuration).unwrap().embed(&texts, asking(&AtomicBool::new(false), &fixture.watch));
    assert_eq!(answers.len(), 1000);
    assert!(answers.iter().all(|answer| answer.as_ref().is_err_and(|failure| !failure.is_of_text)));
    assert!(stub.seen().len() <= 8, "as many as are under way at a time");
}

#[test]
fn what_was_answered_is_not_asked_again() {
    let stub = Stub::start(&[], picky);
    let mut configuration = rest(&stub.url);
    configuration["dimensions"] = json!(2);
    let texts = ["a".to_owned(), "bb".to_owned(), "!".to_owned()];
    let first = Fixture::new(0);
    let never = AtomicBool::new(false);
    let asking = asking(&never, &first.watch);
    let answers = first.open(&configuration).unwrap().embed(&texts, asking);
    assert_eq!(answers.iter().flatten().count(), 2);
    let kept = KeptVectors::new(first.folder.path().join("embeddings"), 0);
    // Another start of the server.
    let again = Remembering::new(
        first.embedders.open_side(configuration.as_object().unwrap(), Side::Indexing, Some(asking)).unwrap(),
        configuration.as_object().unwrap(),
        Arc::new(kept),
    );
    let before = stub.seen().len();
    assert_eq!(again.embed(&texts, asking).iter().flatten().count(), 2);
    let asked: Vec<Value> = stub.seen()[before..].iter().map(|seen| seen.body["texts"].clone()).collect();
    assert_eq!(asked, [json!(["!"])]);
    first.embedders.committed();
    let opened = first.open(&configuration).unwrap();
    opened.embed(&texts[..1], asking).remove(0).unwrap();
    assert_eq!(stub.seen().len(), before + 2, "nothing is kept after a commit, as configured");
}

#[test]
fn vectors_of_another_size_are_not_kept() {
    let (stub, fixture) = (Stub::start(&[], rest_answer), Fixture::new(0));
    let mut configuration = rest(&stub.url);
    configuration["dimensions"] = json!(3);
    for round in 1..3 {
        let failure = fixture.embed(&configuration, &["a"]).unwrap_err();
        let expected = "runtime error: was expecting embeddings of dimension `3`, got embeddings of dimensions `2`";
        assert_eq!(failure, expected);
        assert_eq!(stub.seen().len(), round);
    }
}

#[test]
fn one_value_that_is_no_vector_costs_its_text_only() {
    // As `json.dumps` writes what is no number, and other things that are no vectors.
    for wrong in ["[NaN, 1]", "[1, -Infinity]", "null", "NaN", "[1, null]", r#"["x", 1]"#, "[1]", "[]", "{}", "true"] {
        let stub = Stub::start(&[], move |seen| {
            let texts = seen.body["texts"].as_array().unwrap().iter();
            let vectors = texts.map(|text| match text.as_str().unwrap() {
                "bad" => wrong.to_owned(),
                text => vector(text).to_string(),
            });
            (200, format!(r#"{{"vectors": [{}]}}"#, vectors.collect::<Vec<_>>().join(", ")))
        });
        let (fixture, mut configuration) = (Fixture::new(0), rest(&stub.url));
        configuration["dimensions"] = json!(2);
        let texts = ["a", "bad", "ccc"].map(str::to_owned);
        let embedder = fixture.open(&configuration).unwrap();
        let answers = embedder.embed(&texts, asking(&AtomicBool::new(false), &fixture.watch));
        assert_eq!((&answers[0], &answers[2]), (&Ok(vec![1.0, 1.0]), &Ok(vec![3.0, 1.0])), "{wrong}");
        assert!(answers[1].as_ref().is_err_and(|failure| failure.is_of_text), "{wrong}: {answers:?}");
        assert_eq!((stub.seen().len(), fixture.watch.seen().failed), (1, 1), "{wrong}");
    }
    // One vector less than texts: which text lacks its own is found out.
    let stub = Stub::start(&[], |seen| {
        let texts = seen.body["texts"].as_array().unwrap().iter().filter(|text| *text != "bad");
        let vectors: Vec<Value> = texts.map(|text| vector(text.as_str().unwrap())).collect();
        (200, json!({ "vectors": vectors }).to_string())
    });
    let (fixture, mut configuration) = (Fixture::new(0), rest(&stub.url));
    configuration["dimensions"] = json!(2);
    let texts = ["a", "bad", "ccc", "dddd"].map(str::to_owned);
    let embedder = fixture.open(&configuration).unwrap();
    let answers = embedder.embed(&texts, asking(&AtomicBool::new(false), &fixture.watch));
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true, true]);
}

#[test]
fn who_has_just_named_a_provider_hears_soon_that_it_is_not_there() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (fixture, never) = (Fixture::new(0), AtomicBool::new(false));
    let brief = Asking { is_brief: true, ..asking(&never, &fixture.watch) };
    let start = Instant::now();
    let open = |configuration: &Value| fixture.embedders.open(&settings(configuration), Some(brief));
    let mut configuration = rest(&format!("http://{closed}"));
    let failure = open(&configuration).unwrap_err().to_string();
    assert!(failure.starts_with("runtime error: could not reach embedding server:"), "{failure}");
    let trouble = fixture.watch.seen().trouble.expect("the tries are seen");
    assert_eq!((trouble.attempt, trouble.attempts_max), (4, 5));
    // One that need not be asked is looked at.
    configuration["dimensions"] = json!(2);
    assert!(open(&configuration).unwrap().reach(brief).is_err());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let stub = Stub::start(&[], |_| (405, String::new()));
    configuration["url"] = json!(stub.url);
    open(&configuration).unwrap().reach(brief).expect("it is there");
    // No provider is asked.
    configuration.as_object_mut().unwrap().remove("dimensions");
    fixture.embedders.open(&settings(&configuration), None).unwrap_err();
    assert!(stub.seen().is_empty(), "{:?}", stub.seen());
}
