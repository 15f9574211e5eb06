//! A small real model, written to a folder, against the arithmetic of its network done by hand.

use std::fs;
use std::path::Path;

use lamina_base::outbound::Outbound;
use serde_json::json;

use super::*;

mod cross;

const WORDS: [&str; 9] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "fox", "snow", "##es", "."];
const HIDDEN: usize = 8;
const HEADS: usize = 2;
const LAYERS: usize = 2;
const INNER: usize = 12;
const POSITIONS: usize = 10;
const NORM_EPSILON: f64 = 1e-12;

/// Weights that look random, the same in every run.
fn weights(name: &str, count: usize) -> Vec<f32> {
    let mut state = name
        .bytes()
        .fold(14_695_981_039_346_656_037u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211));
    let is_scale = name.ends_with("LayerNorm.weight");
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f32 / (1u32 << 24) as f32 - 0.5
    };
    (0..count).map(|_| if is_scale { 1.0 + 0.2 * next() } else { next() }).collect()
}

/// Name and shape of all tensors.
fn tensors() -> Vec<(String, Vec<usize>)> {
    let mut all = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![WORDS.len(), HIDDEN]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![POSITIONS, HIDDEN]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, HIDDEN]),
    ];
    let norm = |all: &mut Vec<(String, Vec<usize>)>, name: &str| {
        all.extend(["weight", "bias"].map(|part| (format!("{name}.LayerNorm.{part}"), vec![HIDDEN])));
    };
    norm(&mut all, "embeddings");
    for layer in 0..LAYERS {
        let layer = format!("encoder.layer.{layer}");
        for (name, to, from) in [
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INNER, HIDDEN),
            ("output.dense", HIDDEN, INNER),
        ] {
            all.push((format!("{layer}.{name}.weight"), vec![to, from]));
            all.push((format!("{layer}.{name}.bias"), vec![to]));
        }
        norm(&mut all, &format!("{layer}.attention.output"));
        norm(&mut all, &format!("{layer}.output"));
    }
    all
}

/// Writes the model as its makers do; `pooling` goes into the configuration of the pooling.
fn write_model(folder: &Path, pooling: Option<&str>) {
    fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    let config = json!({
        "model_type": "bert", "vocab_size": WORDS.len(), "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "intermediate_size": INNER, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1, "max_position_embeddings": POSITIONS, "type_vocab_size": 2,
        "initializer_range": 0.02, "layer_norm_eps": NORM_EPSILON, "pad_token_id": 0
    });
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    if let Some(pooling) = pooling {
        fs::write(folder.join("1_Pooling/config.json"), json!({ pooling: true }).to_string()).unwrap();
    }
    let vocabulary: Map<String, Value> =
        WORDS.iter().zip(0..).map(|(word, id)| ((*word).to_owned(), json!(id))).collect();
    let special = |id: usize| {
        json!({"id": id, "content": WORDS[id], "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": true})
    };
    let token_of = |id: usize, part: usize| json!({"SpecialToken": {"id": WORDS[id], "type_id": part}});
    let token = |id: usize| token_of(id, 0);
    let named = |id: usize| json!({"id": WORDS[id], "ids": [id], "tokens": [WORDS[id]]});
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": {"strategy": {"Fixed": 10}, "direction": "Right",
            "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": (0..4).map(special).collect::<Vec<_>>(),
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing",
            "single": [token(2), {"Sequence": {"id": "A", "type_id": 0}}, token(3)],
            "pair": [token(2), {"Sequence": {"id": "A", "type_id": 0}}, token(3),
                     {"Sequence": {"id": "B", "type_id": 1}}, token_of(3, 1)],
            "special_tokens": {"[CLS]": named(2), "[SEP]": named(3)}},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary}
    });
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    write_weights_as(folder, &tensors(), str::to_owned);
}

/// Writes tensors; `made_as`: the name by which their weights are made.
fn write_weights_as(folder: &Path, tensors: &[(String, Vec<usize>)], made_as: impl Fn(&str) -> String) {
    let (mut header, mut data) = (Map::new(), Vec::new());
    for (name, shape) in tensors {
        let start = data.len();
        let values = weights(&made_as(name), shape.iter().product());
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        header.insert(name.clone(), json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}));
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat();
    fs::write(folder.join("model.safetensors"), file).unwrap();
}

/// Rows of numbers.
type Rows = Vec<Vec<f64>>;

fn stored(name: &str, columns: usize) -> Rows {
    let (_, shape) = tensors().into_iter().find(|(known, _)| known == name).unwrap();
    let values = weights(name, shape.iter().product());
    values.chunks(columns).map(|row| row.iter().map(|value| f64::from(*value)).collect()).collect()
}

fn linear(rows: &Rows, name: &str, from: usize) -> Rows {
    let (matrix, bias) = (stored(&format!("{name}.weight"), from), stored(&format!("{name}.bias"), 1));
    let product = |row: &[f64], to: &[f64]| row.iter().zip(to).map(|(a, b)| a * b).sum::<f64>();
    rows.iter().map(|row| matrix.iter().zip(&bias).map(|(to, bias)| product(row, to) + bias[0]).collect()).collect()
}

fn normed(rows: &Rows, name: &str) -> Rows {
    let (scale, shift) = (stored(&format!("{name}.LayerNorm.weight"), 1), stored(&format!("{name}.LayerNorm.bias"), 1));
    let one = |row: &Vec<f64>| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / row.len() as f64;
        let each = row.iter().zip(&scale).zip(&shift);
        each.map(|((value, scale), shift)| (value - mean) / (variance + NORM_EPSILON).sqrt() * scale[0] + shift[0])
            .collect()
    };
    rows.iter().map(one).collect()
}

fn added(one: &Rows, other: &Rows) -> Rows {
    one.iter().zip(other).map(|(one, other)| one.iter().zip(other).map(|(a, b)| a + b).collect()).collect()
}

/// x times the normal distribution function, integrated numerically.
fn gelu(x: f64) -> f64 {
    let steps = 4000;
    let width = x / f64::from(steps);
    let density = |t: f64| (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let area: f64 = (0..steps).map(|step| density((f64::from(step) + 0.5) * width) * width).sum();
    x * (0.5 + area)
}

fn attention(rows: &Rows, layer: &str) -> Rows {
    let part = |name: &str| linear(rows, &format!("{layer}.attention.self.{name}"), HIDDEN);
    let (queries, keys, values) = (part("query"), part("key"), part("value"));
    let size = HIDDEN / HEADS;
    let mut mixed = vec![vec![0.0; HIDDEN]; rows.len()];
    for head in 0..HEADS {
        let own = head * size..(head + 1) * size;
        for (query, mixed) in queries.iter().zip(&mut mixed) {
            let product = |key: &Vec<f64>| own.clone().map(|i| query[i] * key[i]).sum::<f64>() / (size as f64).sqrt();
            let powers: Vec<f64> = keys.iter().map(|key| product(key).exp()).collect();
            let sum: f64 = powers.iter().sum();
            for (power, value) in powers.iter().zip(&values) {
                own.clone().for_each(|i| mixed[i] += power / sum * value[i]);
            }
        }
    }
    mixed
}

/// The vectors of tokens.
fn network(tokens: &[usize]) -> Rows {
    network_of(tokens, &vec![0; tokens.len()], 0)
}

/// The same of texts of two parts, whose positions are counted from `first`.
fn network_of(tokens: &[usize], parts: &[usize], first: usize) -> Rows {
    let table = |name: &str| stored(&format!("embeddings.{name}_embeddings.weight"), HIDDEN);
    let (words, positions, types) = (table("word"), table("position"), table("token_type"));
    let mut rows: Rows = tokens.iter().map(|token| words[*token].clone()).collect();
    rows = added(&rows, &positions[first..].to_vec());
    rows = added(&rows, &parts.iter().map(|part| types[*part].clone()).collect());
    rows = normed(&rows, "embeddings");
    for layer in 0..LAYERS {
        let layer = format!("encoder.layer.{layer}");
        let mixed = linear(&attention(&rows, &layer), &format!("{layer}.attention.output.dense"), HIDDEN);
        rows = normed(&added(&mixed, &rows), &format!("{layer}.attention.output"));
        let mut inner = linear(&rows, &format!("{layer}.intermediate.dense"), HIDDEN);
        inner.iter_mut().flatten().for_each(|value| *value = gelu(*value));
        let outer = linear(&inner, &format!("{layer}.output.dense"), INNER);
        rows = normed(&added(&outer, &rows), &format!("{layer}.output"));
    }
    rows
}

fn mean(rows: &Rows) -> Vec<f64> {
    (0..HIDDEN).map(|i| rows.iter().map(|row| row[i]).sum::<f64>() / rows.len() as f64).collect()
}

struct Fixture {
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    store: Arc<ModelStore>,
}

impl Fixture {
    fn new(hub: &str) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let outbound = {
            let _guard = runtime.enter();
            Outbound::new("any".parse().unwrap()).unwrap()
        };
        let store = Arc::new(ModelStore::new(folder.path().to_owned(), Vec::new(), hub, None, outbound));
        Fixture { folder, runtime, store }
    }

    fn open(&self, pooling: &str) -> Result<LocalEmbedder, String> {
        let wanted =
            LocalModel { model: "tiny/model".to_owned(), revision: "main".to_owned(), pooling: pooling.to_owned() };
        LocalEmbedder::open(&self.store, &wanted, &AtomicBool::default()).map_err(|failure| failure.to_string())
    }
}

/// A hub that is not there.
const NOWHERE: &str = "http://127.0.0.1:1";

fn embed(embedder: &LocalEmbedder, texts: &[&str]) -> Vec<Vec<f32>> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    embedder.embed(&texts, &AtomicBool::new(false)).unwrap()
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let distance = found.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
    assert!(distance < 1e-4, "{found:?} is not {expected:?}");
}

#[test]
fn the_network_computes_what_is_written_down() {
    let fixture = Fixture::new(NOWHERE);
    write_model(&fixture.folder.path().join("tiny/model"), None);
    let embedder = fixture.open("useModel").unwrap();
    assert_eq!(embedder.dimensions(), 8);
    // Of different lengths, out of order; twice the same.
    let texts = ["Red foxes.", "snow", "a red fox", "snow", ""];
    let tokens: [&[usize]; 5] = [&[2, 4, 5, 7, 8, 3], &[2, 6, 3], &[2, 1, 4, 5, 3], &[2, 6, 3], &[2, 3]];
    for (found, tokens) in embed(&embedder, &texts).iter().zip(tokens) {
        assert_near(found, &mean(&network(tokens)));
    }
    // No longer than the network's table of positions.
    let long = "red ".repeat(30);
    let cut = [&[2][..], &[4; 8], &[3]].concat();
    assert_near(&embed(&embedder, &[&long])[0], &mean(&network(&cut)));
}

#[test]
fn every_pooling() {
    let tokens = network(&[2, 4, 5, 3]);
    let vector = |setting: &str, of_model: Option<&str>| {
        let fixture = Fixture::new(NOWHERE);
        write_model(&fixture.folder.path().join("tiny/model/main"), of_model);
        embed(&fixture.open(setting).unwrap(), &["red fox"]).remove(0)
    };
    assert_near(&vector("useModel", Some("pooling_mode_cls_token")), &tokens[0]);
    assert_near(&vector("useModel", Some("pooling_mode_lasttoken")), &tokens[3]);
    assert_near(&vector("useModel", Some("pooling_mode_mean_tokens")), &mean(&tokens));
    assert_near(&vector("forceMean", Some("pooling_mode_cls_token")), &mean(&tokens));
    assert_near(&vector("forceCls", None), &tokens[0]);
    let largest: Vec<f64> = (0..HIDDEN).map(|i| tokens.iter().map(|row| row[i]).fold(f64::MIN, f64::max)).collect();
    assert_near(&vector("useModel", Some("pooling_mode_max_tokens")), &largest);
    let by_root: Vec<f64> = mean(&tokens).iter().map(|value| value * 2.0).collect();
    assert_near(&vector("useModel", Some("pooling_mode_mean_sqrt_len_tokens")), &by_root);
}

#[test]
fn what_is_missing_is_reported() {
    let fixture = Fixture::new(NOWHERE);
    let refusal = fixture.open("useModel").unwrap_err();
    assert!(refusal.contains("could not be downloaded from http://127.0.0.1:1: "), "{refusal}");
    assert!(refusal.contains("into the folder `models/tiny/model` of the database"), "{refusal}");
    assert!(refusal.ends_with("or run `hf download tiny/model --cache-dir DATABASE/models`"), "{refusal}");
    let failure = fixture.store.files("tiny/model", "v1", true, &AtomicBool::default()).unwrap_err().to_string();
    assert!(failure.contains("`hf download tiny/model --revision v1 --cache-dir"), "{failure}");
    let folder = fixture.folder.path().join("tiny/model");
    write_model(&folder, None);
    fs::write(folder.join("config.json"), r#"{"model_type": "gpt2", "max_position_embeddings": 4}"#).unwrap();
    let refusal = fixture.open("useModel").unwrap_err();
    assert!(refusal.contains("networks of type `gpt2` do not run here"), "{refusal}");
}

#[test]
fn a_model_that_the_tools_of_the_hub_have_put_there_embeds() {
    let fixture = Fixture::new(NOWHERE);
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let cached = fixture.folder.path().join("models--tiny--model");
    write_model(&cached.join("snapshots").join(commit), Some("pooling_mode_cls_token"));
    fs::create_dir_all(cached.join("refs")).unwrap();
    fs::write(cached.join("refs/main"), commit).unwrap();
    assert_near(&embed(&fixture.open("useModel").unwrap(), &["red fox"])[0], &network(&[2, 4, 5, 3])[0]);
}

#[test]
fn a_cancelled_batch_gives_up() {
    let fixture = Fixture::new(NOWHERE);
    write_model(&fixture.folder.path().join("tiny/model"), None);
    let embedder = fixture.open("useModel").unwrap();
    embedder.embed(&["red".to_owned()], &AtomicBool::new(true)).unwrap_err();
}

/// Serves the files of a folder as a hub does, until the process ends; the address.
fn hub(folder: std::path::PathBuf) -> String {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let path = first.split(' ').nth(1).unwrap().trim_start_matches("/tiny/model/resolve/v1/");
            let (status, body) = fs::read(folder.join(path)).map_or((404, Vec::new()), |body| (200, body));
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        }
    });
    url
}

#[test]
fn models_are_downloaded_once() {
    let source = tempfile::tempdir().unwrap();
    write_model(source.path(), Some("pooling_mode_cls_token"));
    let fixture = Fixture::new(&hub(source.path().to_owned()));
    let wanted = LocalModel { model: "tiny/model".into(), revision: "v1".into(), pooling: "useModel".into() };
    let models = LocalModels::new(fixture.store);
    let embedder = models.open(&wanted, &AtomicBool::default()).unwrap();
    assert_near(&embed(&embedder, &["red fox"])[0], &network(&[2, 4, 5, 3])[0]);
    drop(source);
    assert!(Arc::ptr_eq(&embedder, &models.open(&wanted, &AtomicBool::default()).unwrap()));
    assert!(fixture.folder.path().join("tiny/model/v1/model.safetensors").is_file());
    let other = LocalModel { pooling: "forceMean".into(), ..wanted };
    models.open(&other, &AtomicBool::default()).expect("the files are there");
}
