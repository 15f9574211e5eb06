//! Cross-encoders.

use std::time::{Duration, Instant};

use super::super::cross::{CrossEncoder, CrossEncoders, CrossModel};
use super::*;

const MODEL: &str = "tiny/cross";

/// The layers behind a network of a kind: the first, the second.
fn head(kind: &str) -> [&'static str; 2] {
    if kind == "bert" { ["bert.pooler.dense", "classifier"] } else { ["classifier.dense", "classifier.out_proj"] }
}

/// Writes a model that gives `labels` scores.
fn write_cross(fixture: &Fixture, kind: &str, labels: usize) {
    let folder = fixture.folder.path().join(MODEL);
    write_model(&folder, None);
    let config = fs::read_to_string(folder.join("config.json")).unwrap();
    fs::write(folder.join("config.json"), config.replace("\"bert\"", &format!("\"{kind}\""))).unwrap();
    let mut all: Vec<(String, Vec<usize>)> =
        tensors().into_iter().map(|(name, shape)| (format!("{kind}.{name}"), shape)).collect();
    let [first, last] = head(kind);
    for (name, to) in [(first, HIDDEN), (last, labels)] {
        all.push((format!("{name}.weight"), vec![to, HIDDEN]));
        all.push((format!("{name}.bias"), vec![to]));
    }
    write_weights_as(&folder, &all, |name| name.trim_start_matches(&format!("{kind}.")).to_owned());
}

fn wanted() -> CrossModel {
    CrossModel { model: MODEL.to_owned(), revision: "main".to_owned() }
}

fn open(fixture: &Fixture) -> Result<CrossEncoder, String> {
    CrossEncoder::open(&fixture.store, &wanted(), &AtomicBool::default()).map_err(|failure| failure.to_string())
}

/// The score of a text by the arithmetic of its network.
fn score(kind: &str, tokens: &[usize], parts: &[usize]) -> f64 {
    let rows = match kind {
        "bert" => network_of(tokens, parts, 0),
        // It knows no parts, and counts positions from behind the padding token's.
        _ => network_of(tokens, &vec![0; tokens.len()], 1),
    };
    let layer = |name: &str, from: &[f64], to: usize| -> Vec<f64> {
        let named = |part: &str, count| weights(&format!("{}.{part}", name.trim_start_matches("bert.")), count);
        let (matrix, bias) = (named("weight", to * from.len()), named("bias", to));
        let sum = |row: &[f32]| row.iter().zip(from).map(|(a, b)| f64::from(*a) * b).sum::<f64>();
        matrix.chunks(from.len()).zip(bias).map(|(row, bias)| sum(row) + f64::from(bias)).collect()
    };
    let [first, last] = head(kind);
    let inner: Vec<f64> = layer(first, &rows[0], HIDDEN).into_iter().map(f64::tanh).collect();
    1.0 / (1.0 + (-layer(last, &inner, 1)[0]).exp())
}

fn pairs(texts: &[&str]) -> Vec<(String, String)> {
    texts.iter().map(|text| ("fox".to_owned(), (*text).to_owned())).collect()
}

/// Compares what a network of a kind says with its arithmetic.
fn compare(kind: &str) {
    let texts = ["red foxes.", "snow", "a red fox", "snow", ""];
    let tokens: [&[usize]; 5] =
        [&[2, 5, 3, 4, 5, 7, 8, 3], &[2, 5, 3, 6, 3], &[2, 5, 3, 1, 4, 5, 3], &[2, 5, 3, 6, 3], &[2, 5, 3, 3]];
    let fixture = Fixture::new(NOWHERE);
    write_cross(&fixture, kind, 1);
    let encoder = open(&fixture).unwrap();
    let found = encoder.scores(pairs(&texts), &AtomicBool::default()).unwrap();
    let parts = |tokens: &[usize]| (0..tokens.len()).map(|at| usize::from(at >= 3)).collect::<Vec<_>>();
    for (found, tokens) in found.iter().zip(tokens) {
        let expected = score(kind, tokens, &parts(tokens));
        assert!((found - expected).abs() < 1e-4, "{kind}: {found} is not {expected}");
    }
    assert!(found[0] != found[1], "{kind}: {found:?}");
    assert!(found[1] == found[3], "{kind}: {found:?}");
    // No longer than the network's table of positions.
    let long = "red ".repeat(30);
    assert!(encoder.scores(pairs(&[&long]), &AtomicBool::default()).unwrap()[0] > 0.0);
    encoder.scores(pairs(&texts), &AtomicBool::new(true)).unwrap_err();
}

#[test]
fn scores_are_those_of_query_and_text_together() {
    compare("bert");
    compare("roberta");
}

#[test]
fn what_gives_no_score_is_no_cross_encoder() {
    let fixture = Fixture::new(NOWHERE);
    write_cross(&fixture, "bert", 2);
    let reason = open(&fixture).err().unwrap();
    assert!(reason.contains("no head that gives one score"), "{reason}");
    write_model(&fixture.folder.path().join(MODEL), None);
    let reason = open(&fixture).err().unwrap();
    assert!(reason.contains("model `tiny/cross` can't be used: it has no head that gives one score"), "{reason}");
}

#[test]
fn a_search_waits_for_its_turn_until_its_deadline() {
    let fixture = Fixture::new(NOWHERE);
    write_cross(&fixture, "bert", 1);
    let encoders = CrossEncoders::new(Arc::clone(&fixture.store));
    let texts = ["red".to_owned(), "snow".to_owned()];
    let ask = |wanted: CrossModel, time: Duration| {
        fixture.runtime.block_on(encoders.scores(wanted, "fox", &texts, Instant::now() + time))
    };
    let long = Duration::from_secs(60);
    let turn = Arc::clone(&encoders.turn).try_acquire_owned().unwrap();
    assert_eq!(ask(wanted(), Duration::from_millis(1)), Err("the model did not answer in time".to_owned()));
    drop(turn);
    let expected =
        [score("bert", &[2, 5, 3, 4, 3], &[0, 0, 0, 1, 1]), score("bert", &[2, 5, 3, 6, 3], &[0, 0, 0, 1, 1])];
    for (found, expected) in ask(wanted(), long).unwrap().iter().zip(expected) {
        assert!((found - expected).abs() < 1e-4);
    }
    let unknown = CrossModel { model: "../secret".to_owned(), ..wanted() };
    let reasons = [ask(unknown.clone(), long), ask(unknown, long)].map(Result::unwrap_err);
    assert!(reasons[0].contains("is not a valid model name"), "{reasons:?}");
    assert!(reasons[0] == reasons[1], "{reasons:?}");
}
