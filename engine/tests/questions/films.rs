//! Questions about films, with judged answers.

use super::*;

/// The films of `scripts/sample` and the questions about them.
fn sample(name: &str) -> Vec<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/sample").join(name);
    let bytes = std::fs::read(path).expect("the sample ships with the repository");
    let text = if name.ends_with(".zst") { zstd::decode_all(&bytes[..]).expect("a zstd file") } else { bytes };
    let text = String::from_utf8(text).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

const SEARCHED: [&str; 4] = ["title", "overview", "cast", "genres"];

fn words_of(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
    let words = tokenizer.tokens(text, &[]).into_iter().filter(|token| token.kind == TokenKind::Word);
    words.map(|token| token.text.into_owned()).collect()
}

/// The ten best films by BM25 over all words of a film, without fields, typos and prefixes.
struct PlainBm25 {
    counts: Vec<HashMap<String, f64>>,
    lengths: Vec<f64>,
    documents: HashMap<String, f64>,
}

impl PlainBm25 {
    fn new(tokenizer: &Tokenizer, films: &[Value]) -> PlainBm25 {
        let mut plain = PlainBm25 { counts: Vec::new(), lengths: Vec::new(), documents: HashMap::new() };
        for film in films {
            let mut words = Vec::new();
            for field in SEARCHED {
                match &film[field] {
                    Value::Array(values) => {
                        values.iter().filter_map(Value::as_str).for_each(|v| words.extend(words_of(tokenizer, v)));
                    }
                    value => words.extend(words_of(tokenizer, value.as_str().unwrap_or_default())),
                }
            }
            plain.lengths.push(words.len() as f64);
            let mut counts = HashMap::new();
            words.into_iter().for_each(|word| *counts.entry(word).or_default() += 1.0);
            counts.keys().cloned().for_each(|word: String| *plain.documents.entry(word).or_default() += 1.0);
            plain.counts.push(counts);
        }
        plain
    }

    fn best(&self, words: &[String]) -> Vec<usize> {
        let all = self.counts.len() as f64;
        let average = self.lengths.iter().sum::<f64>() / all;
        let score = |film: usize| -> f64 {
            let length = 1.0 - B + B * self.lengths[film] / average;
            let of = |word: &String| {
                let count = self.counts[film].get(word).copied().unwrap_or(0.0);
                let n = self.documents.get(word).copied().unwrap_or(0.0);
                (1.0 + (all - n + 0.5) / (n + 0.5)).ln() * count * (K1 + 1.0) / (count + K1 * length)
            };
            words.iter().map(of).sum()
        };
        let mut films: Vec<(f64, usize)> = (0..self.counts.len()).map(|film| (-score(film), film)).collect();
        films.sort_by(|one, next| one.partial_cmp(next).expect("no NaN"));
        films.into_iter().take(10).map(|(_, film)| film).collect()
    }
}

/// nDCG@10 of ids with grades.
fn ndcg(ids: &[String], relevant: &serde_json::Map<String, Value>) -> f64 {
    let gain = |grades: &mut dyn Iterator<Item = f64>| -> f64 {
        grades.zip(2u32..).map(|(grade, place)| grade / f64::from(place).log2()).sum()
    };
    let mut ideal: Vec<f64> = relevant.values().filter_map(Value::as_f64).collect();
    ideal.sort_by(|one, next| next.total_cmp(one));
    let got = gain(&mut ids.iter().take(10).map(|id| relevant.get(id).and_then(Value::as_f64).unwrap_or(0.0)));
    got / gain(&mut ideal.into_iter().take(10))
}

#[test]
fn questions_about_films_are_answered_at_least_as_well_as_by_plain_bm25() {
    let films = sample("films.ndjson.zst");
    let questions = sample("questions.ndjson");
    let options =
        IndexOptions { background_merges: false, list_thresholds: ListThresholds::SMALL, ..IndexOptions::default() };
    let index = Index::create_in(Arc::new(MemoryDirectory::new()), options).expect("created");
    let settings = json!({ "searchableAttributes": SEARCHED });
    apply(&index, 0, Operation::Settings(Box::new(serde_json::from_value(settings).expect("valid"))));
    let lines: String = films.iter().map(|film| format!("{film}\n")).collect();
    let upsert = Upsert {
        payload: Payload::Bytes(lines.into_bytes().into()),
        method: WriteMethod::Replace,
        primary_key: Some("id".into()),
        skip_creation: false,
    };
    apply(&index, 1, Operation::Upsert(upsert));
    let snapshot = index.snapshot();
    let tokenizer = Tokenizer::new(&TextOptions::default());
    let plain = PlainBm25::new(&tokenizer, &films);
    let found = |text: &str, matching: MatchingStrategy| -> Vec<String> {
        let request = SearchRequest { query: Some(text.to_owned()), matching, limit: 10, ..SearchRequest::default() };
        let hits = search(&snapshot, &request).expect("a valid request").hits;
        let id = |address| -> Value {
            let film: Value = serde_json::from_slice(&snapshot.document(address).expect("a film")).expect("JSON");
            film["id"].clone()
        };
        hits.iter().map(|hit| id(hit.address).to_string()).collect()
    };
    let mut sums = [0.0; 3];
    for question in &questions {
        let text = question["q"].as_str().expect("a text");
        let relevant = question["relevant"].as_object().expect("grades");
        let by_plain: Vec<String> =
            plain.best(&words_of(&tokenizer, text)).into_iter().map(|film| films[film]["id"].to_string()).collect();
        let each = [
            ndcg(&found(text, MatchingStrategy::Any), relevant),
            ndcg(&by_plain, relevant),
            ndcg(&found(text, MatchingStrategy::Last), relevant),
        ];
        println!("{:.2} {:.2} {:.2}  {text}", each[0], each[1], each[2]);
        sums.iter_mut().zip(each).for_each(|(sum, one)| *sum += one / questions.len() as f64);
    }
    let [any, plain, last] = sums;
    println!("nDCG@10: any {any:.4}, plain BM25 {plain:.4}, last {last:.4}");
    assert!(any >= plain, "any {any}, plain BM25 {plain}");
    assert!(any > 2.0 * last, "any {any}, last {last}");
}
