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
    for (number, answer) in embedder.embed(&texts, &AtomicBool::new(false)).into_iter().enumerate() {
        match answer {
            Ok(vector) => assert_eq!(vector, [number as f32, 1.0]),
            Err(failure) => {
                assert!(failure.is_of_text && number == 13, "{number}: {failure}");
                assert!(failure.to_string().starts_with("user error: sent a bad request to embedding server"));
            }
        }
    }
    let all_bad: Vec<String> = (0..1000).map(|i| format!("{i}!")).collect();
    let before = stub.seen().len();
    let answers = embedder.embed(&all_bad, &AtomicBool::new(false));
    assert!(answers.iter().flatten().next().is_none());
    assert!(answers.last().unwrap().as_ref().is_err_and(|failure| !failure.is_of_text));
    assert!(stub.seen().len() - before < 300, "a provider that refuses all is not asked for each");
}

#[test]
fn what_lasts_is_found_out_once() {
    let stub = Stub::start(&[], |_| (401, String::new()));
    let fixture = Fixture::new(0);
    let mut configuration = rest(&stub.url);
    configuration["dimensions"] = json!(2);
    let texts: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
    let answers = fixture.open(&configuration).unwrap().embed(&texts, &AtomicBool::new(false));
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
    let answers = first.open(&configuration).unwrap().embed(&texts, &never);
    assert_eq!(answers.iter().flatten().count(), 2);
    let kept = KeptVectors::new(first.folder.path().join("embeddings"), 0);
    // Another start of the server.
    let again = Remembering::new(
        first.embedders.open_side(configuration.as_object().unwrap(), Side::Indexing, &never).unwrap(),
        configuration.as_object().unwrap(),
        Arc::new(kept),
    );
    let before = stub.seen().len();
    assert_eq!(again.embed(&texts, &never).iter().flatten().count(), 2);
    let asked: Vec<Value> = stub.seen()[before..].iter().map(|seen| seen.body["texts"].clone()).collect();
    assert_eq!(asked, [json!(["!"])]);
    first.embedders.committed();
    let opened = first.open(&configuration).unwrap();
    opened.embed(&texts[..1], &never).remove(0).unwrap();
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
