//! Answers that lie behind the first 400 bytes of a document, of texts of `tests/labelled`: the title of an abstract asks for it.
//!
//! Long documents have films around an abstract. The model knows words, and nothing of their meaning: each has a direction by chance, and
//! rare ones weigh more. What is compared is what passages lose of the short texts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::server::{Server, repository};
use crate::static_models::write_words;

/// Abstracts that are asked for.
const ANSWERS: usize = 200;
const DIMENSIONS: usize = 1024;
/// Bytes before an answer and behind it, at least.
const FILLER_BYTES: usize = 400;
/// Share of the answers that are found among short texts which has to be found in long ones.
const SHARE_MIN: f64 = 0.95;
/// The same share where nothing parts the texts.
const RUNNING_SHARE_MIN: f64 = 0.9;

fn read(name: &str) -> Vec<Value> {
    let file = std::fs::File::open(repository().join(format!("tests/labelled/{name}.documents.ndjson.gz"))).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase)
}

/// Writes a model of the words of these texts.
fn write_model(server: &Server, texts: &[String]) {
    let mut counts = BTreeMap::<String, f64>::new();
    for text in texts {
        for word in words(text).collect::<BTreeSet<_>>() {
            *counts.entry(word).or_default() += 1.0;
        }
    }
    let (mut names, mut data) = (vec!["[UNK]".to_owned()], vec![0; DIMENSIONS]);
    for (word, count) in counts {
        let weight = (texts.len() as f64 / count).ln() * 20.0;
        let bit = |place: usize| xxh3_64_with_seed(word.as_bytes(), place as u64 / 64) >> (place % 64) & 1;
        data.extend((0..DIMENSIONS).map(|place| (if bit(place) == 1 { weight } else { -weight }) as i8 as u8));
        names.push(word);
    }
    write_words(&server.data_folder().join("models/words"), &names, ("I8", DIMENSIONS), &data);
}

/// The share of the titles that find their text among the first ten.
fn recall(server: &Server, index: &str, titles: &[&str], texts: &[String], chunks: &Value) -> f64 {
    let embedder =
        json!({"source": "static", "model": "words", "documentTemplate": "{{ doc.text }}", "chunks": chunks});
    server.set(index, json!({ "embedders": { "m": embedder } }));
    server.add(index, texts.iter().enumerate().map(|(id, text)| json!({ "id": id, "text": text })).collect());
    let is_found = |(id, title): &(usize, &&str)| {
        let hybrid = json!({"embedder": "m", "semanticRatio": 1.0, "passages": 0});
        let query = json!({"q": title, "limit": 10, "attributesToRetrieve": ["id"], "hybrid": hybrid});
        server.ids(index, query).contains(&json!(id))
    };
    titles.iter().enumerate().filter(is_found).count() as f64 / titles.len() as f64
}

#[test]
fn passages_find_nearly_all_that_short_texts_find() {
    let films = read("msrd");
    let mut overviews = films.iter().filter_map(|film| film["overview"].as_str()).cycle();
    let mut filler = || {
        let mut filler = String::new();
        while filler.len() < FILLER_BYTES {
            filler.extend([overviews.next().unwrap(), "\n\n"]);
        }
        filler
    };
    let abstracts = read("cisi");
    let asked = abstracts.iter().filter_map(|one| Some((one["title"].as_str()?, one["text"].as_str()?)));
    let (titles, short): (Vec<&str>, Vec<String>) = asked
        .filter(|(_, text)| text.len() > FILLER_BYTES)
        .take(ANSWERS)
        .map(|(title, text)| (title, text.to_owned()))
        .unzip();
    let long: Vec<String> = short.iter().map(|text| format!("{}{text}\n\n{}", filler(), filler())).collect();
    let server = Server::start();
    write_model(&server, &long);
    let of_short = recall(&server, "short", &titles, &short, &Value::Null);
    let by_passages = recall(&server, "long", &titles, &long, &json!({"maxTokens": 200, "overlap": 20}));
    assert!(of_short > 0.7, "{of_short}");
    assert!(by_passages >= SHARE_MIN * of_short, "{by_passages} of {of_short}");
    // Without paragraphs, the words say where the subject changes.
    let running: Vec<String> = long.iter().map(|text| text.replace("\n\n", " ")).collect();
    let by_words = recall(&server, "running", &titles, &running, &json!({"maxTokens": 200, "overlap": 20}));
    assert!(by_words >= RUNNING_SHARE_MIN * of_short, "{by_words} of {of_short}");
    let whole = recall(&server, "whole", &titles, &long, &Value::Null);
    assert!(whole < by_passages, "{whole}: without passages less is found");
}
