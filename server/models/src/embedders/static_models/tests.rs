//! Small models written to a folder, good ones and bad ones.

use std::fs;

use lamina_base::outbound::Outbound;
use lamina_engine::index::settings::DIMENSIONS_MAX;
use serde_json::json;

use super::*;

const WORDS: [&str; 6] = ["[PAD]", "[UNK]", "cat", "kitten", "dog", "##s"];
const DIMENSIONS: usize = 3;
/// A row for each word. The one of unknown words would be seen in every mean.
const ROWS: [[f32; DIMENSIONS]; 6] =
    [[0.0; 3], [64.0, 64.0, 64.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 2.0], [0.0, 1.0, 0.0]];

pub(super) fn tokenizer() -> Value {
    let vocabulary: Map<String, Value> =
        WORDS.iter().zip(0..).map(|(word, id)| ((*word).to_owned(), json!(id))).collect();
    json!({
        "version": "1.0", "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [], "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                                           "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary}
    })
}

/// A tensor: name, type, shape and bytes.
type Stored = (&'static str, &'static str, Vec<usize>, Vec<u8>);

/// A file of tensors.
fn safetensors(tensors: &[Stored]) -> Vec<u8> {
    let (mut header, mut data) = (Map::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let start = data.len();
        data.extend_from_slice(bytes);
        header.insert((*name).to_owned(), json!({"dtype": dtype, "shape": shape, "data_offsets": [start, data.len()]}));
    }
    with_header(&Value::Object(header).to_string(), &data)
}

fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn f32s(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn i64s(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The matrix of the small model.
fn matrix(name: &'static str) -> Stored {
    (name, "F32", vec![ROWS.len(), DIMENSIONS], f32s(ROWS.as_flattened()))
}

struct Fixture {
    folder: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
    models: StaticModels,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::with_hub("http://127.0.0.1:1")
    }

    fn with_hub(hub: &str) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let outbound = {
            let _guard = runtime.enter();
            Outbound::new("any".parse().unwrap()).unwrap()
        };
        let store = ModelStore::new(folder.path().join("models"), Vec::new(), hub, None, outbound);
        Fixture { folder, _runtime: runtime, models: StaticModels::new(Arc::new(store)) }
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.folder.path().join("models/tiny/model").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes the small model as model2vec does.
    fn write_model(&self, config: &Value, tensors: &[Stored]) {
        self.write("config.json", config.to_string());
        self.write("tokenizer.json", tokenizer().to_string());
        self.write("model.safetensors", safetensors(tensors));
    }

    fn open(&self) -> Result<Arc<StaticModel>, String> {
        let wanted = StaticName { model: "tiny/model".to_owned(), revision: "main".to_owned() };
        self.models.open(&wanted, &AtomicBool::default()).map_err(|failure| failure.to_string())
    }

    /// Returns why the model cannot be used.
    #[track_caller]
    fn refusal(&self) -> String {
        let refusal = self.open().unwrap_err();
        assert!(refusal.starts_with("user error: static model `tiny/model` can't be used: "), "{refusal}");
        refusal
    }
}

#[track_caller]
fn check(model: &StaticModel, text: &str, expected: Option<[f32; DIMENSIONS]>) {
    let found = model.vector(text);
    let is_near = match (&found, expected) {
        (Some(found), Some(expected)) => found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6),
        (found, expected) => found.is_none() && expected.is_none(),
    };
    assert!(is_near, "{text}: {found:?} is not {expected:?}");
}

#[test]
fn a_vector_is_the_mean_of_the_tokens_that_are_known() {
    let fixture = Fixture::new();
    fixture.write_model(&json!({"normalize": false}), &[matrix("embeddings")]);
    let model = fixture.open().unwrap();
    assert_eq!(model.dimensions(), 3);
    check(&model, "cat", Some([1.0, 0.0, 0.0]));
    check(&model, "Cat, DOG!", Some([0.5, 0.0, 1.0]));
    check(&model, "dogs", Some([0.0, 0.5, 1.0]));
    check(&model, "the cat", Some([1.0, 0.0, 0.0]));
    for nothing in ["", " ", "the", "???"] {
        check(&model, nothing, None);
    }
    // Neither is the text cut, as the tokenizer would have it, nor in the middle of a word.
    let long = format!("{} dog", "cats ".repeat(30_000));
    let count = 60_001.0;
    check(&model, &long, Some([30_000.0 / count, 30_000.0 / count, 2.0 / count]));
}

#[test]
fn weights_mapping_and_length() {
    let fixture = Fixture::new();
    let rows = [ROWS[0], ROWS[2], ROWS[4]];
    let tensors: [Stored; 3] = [
        ("embeddings", "F32", vec![3, DIMENSIONS], f32s(rows.as_flattened())),
        (
            "weights",
            "F64",
            vec![6],
            [1.0, 1.0, 3.0, 1.0, 1.0, 1.0_f64].iter().flat_map(|one| one.to_le_bytes()).collect(),
        ),
        ("mapping", "I64", vec![6], i64s(&[0, 0, 1, 1, 2, 0])),
    ];
    fixture.write_model(&json!({"normalize": true}), &tensors);
    let model = fixture.open().unwrap();
    check(&model, "dog", Some([0.0, 0.0, 1.0]));
    check(&model, "kitten", Some([1.0, 0.0, 0.0]));
    check(&model, "cat kitten dog", Some([4.0 / 20.0_f32.sqrt(), 0.0, 2.0 / 20.0_f32.sqrt()]));
    // A row of zeros is known, and has no direction.
    check(&model, "[PAD]", None);
}

#[test]
fn numbers_of_every_size() {
    let numbers = ROWS.as_flattened();
    let sizes: [(&str, Vec<u8>); 5] = [
        ("F64", numbers.iter().flat_map(|one| f64::from(*one).to_le_bytes()).collect()),
        ("F32", f32s(numbers)),
        ("F16", numbers.iter().flat_map(|one| half::f16::from_f32(*one).to_le_bytes()).collect()),
        ("BF16", numbers.iter().flat_map(|one| half::bf16::from_f32(*one).to_le_bytes()).collect()),
        ("I8", numbers.iter().flat_map(|one| ((*one * 2.0) as i8).to_le_bytes()).collect()),
    ];
    for (dtype, bytes) in sizes {
        let fixture = Fixture::new();
        fixture.write_model(&json!({}), &[("embeddings", dtype, vec![6, DIMENSIONS], bytes)]);
        let scale = if dtype == "I8" { 2.0 } else { 1.0 };
        check(&fixture.open().unwrap(), "kitten dog", Some([0.25, 0.25, 1.0].map(|one| one * scale)));
    }
}

#[test]
fn models_of_sentence_transformers() {
    let modules = |kind: &str| {
        json!([{"idx": 0, "path": "0_StaticEmbedding", "type": format!("sentence_transformers.models.{kind}")},
               {"idx": 1, "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}])
    };
    for folder in ["", "0_StaticEmbedding/"] {
        let fixture = Fixture::new();
        fixture.write("modules.json", modules("StaticEmbedding").to_string());
        fixture.write(&format!("{folder}tokenizer.json"), tokenizer().to_string());
        fixture.write(&format!("{folder}model.safetensors"), safetensors(&[matrix("embedding.weight")]));
        check(&fixture.open().unwrap(), "dog", Some([0.0, 0.0, 1.0]));
    }
    let fixture = Fixture::new();
    fixture.write_model(&json!({}), &[matrix("embeddings")]);
    fixture.write("modules.json", modules("Transformer").to_string());
    assert!(fixture.refusal().contains("networks run with source `huggingFace`"));
}

#[test]
fn tokenizers_without_an_unknown_token() {
    let fixture = Fixture::new();
    fixture.write_model(&json!({}), &[matrix("embeddings")]);
    let pieces: Vec<Value> =
        ["<pad>", "<unk>", "▁cat", "▁kitten", "▁dog", "s"].iter().map(|word| json!([word, -1.0])).collect();
    let mut unigram = tokenizer();
    unigram["normalizer"] = Value::Null;
    unigram["pre_tokenizer"] =
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true});
    unigram["model"] = json!({"type": "Unigram", "unk_id": 1, "vocab": pieces, "byte_fallback": false});
    fixture.write("tokenizer.json", unigram.to_string());
    check(&fixture.open().unwrap(), "cat ? dog", Some([0.5, 0.0, 1.0]));
    let fixture = Fixture::new();
    fixture.write_model(&json!({}), &[matrix("embeddings")]);
    let mut refusing = tokenizer();
    // Without its unknown token this kind refuses texts with unknown words.
    refusing["model"] = json!({"type": "WordLevel", "unk_token": "<none>", "vocab": {"cat": 2, "dog": 4}});
    fixture.write("tokenizer.json", refusing.to_string());
    check(&fixture.open().unwrap(), "cat ? dog", Some([0.5, 0.0, 1.0]));
}

#[test]
fn files_that_lie_are_refused() {
    let huge = u64::MAX / 2;
    let described = |dtype: &str, shape: &str, offsets: &str| {
        with_header(
            &format!(r#"{{"embeddings":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#),
            &[0; 72],
        )
    };
    let header_of = |length: u64| [&length.to_le_bytes()[..], b"{}"].concat();
    let files: [(Vec<u8>, &str); 16] = [
        (Vec::new(), "too short to have a header"),
        (header_of(huge), "its header has"),
        (header_of(3), "its header has 3 bytes by its own account, and may have 2"),
        (header_of(2), "no tensor `embeddings` or `embedding.weight`"),
        (with_header("[]", &[]), "its header is no JSON"),
        (with_header(r#"{"embeddings":{"dtype":"F32"}}"#, &[]), "missing field"),
        (described("F32", "[6,3]", "[0,71]"), "do not hold"),
        (described("F32", "[6,3]", "[8,80]"), "do not hold"),
        (described("F32", "[6,3]", "[72,0]"), "do not hold"),
        (described("F32", "[6,4]", "[0,72]"), "do not hold"),
        (described("F32", &format!("[{huge},{huge}]"), "[0,72]"), "do not hold"),
        (described("F32", "[18]", "[0,72]"), "should have two sizes"),
        (described("F32", "[0,3]", "[0,0]"), "has 0 rows of 3 dimensions"),
        (described("F32", "[18,0]", "[0,0]"), "has 18 rows of 0 dimensions"),
        (described("I8", "[1,72]", "[0,72]"), "it has 1 token, and the tokenizer 6"),
        (described("U4", "[6,3]", "[0,72]"), "type `U4`"),
    ];
    for (file, expected) in files {
        let fixture = Fixture::new();
        fixture.write_model(&json!({}), &[]);
        fixture.write("model.safetensors", &file);
        let refusal = fixture.refusal();
        assert!(refusal.contains(expected), "{refusal} is not about {expected}");
    }
    let fixture = Fixture::new();
    let wide = usize::try_from(DIMENSIONS_MAX).unwrap() + 1;
    fixture.write_model(&json!({}), &[("embeddings", "I8", vec![6, wide], vec![1; 6 * wide])]);
    assert!(fixture.refusal().contains("has 6 rows of 65537 dimensions, and may have 1 to 65536"));
}

#[test]
fn numbers_that_are_none_are_refused() {
    let mut rows = ROWS.as_flattened().to_vec();
    for bad in [f32::NAN, f32::INFINITY] {
        rows[7] = bad;
        let fixture = Fixture::new();
        fixture.write_model(&json!({}), &[("embeddings", "F32", vec![6, DIMENSIONS], f32s(&rows))]);
        assert!(fixture.refusal().contains("tensor `embeddings`: "), "{bad}");
    }
    let bad: [Stored; 6] = [
        ("mapping", "I64", vec![6], i64s(&[0, 1, 2, 3, 4, 6])),
        ("mapping", "I64", vec![6], i64s(&[0, 1, 2, 3, 4, -1])),
        ("mapping", "I64", vec![6, 1], i64s(&[0, 1, 2, 3, 4, 5])),
        ("mapping", "I64", vec![5], i64s(&[0, 1, 2, 3, 4])),
        ("weights", "F32", vec![6], f32s(&[1.0, 1.0, 1.0, 1.0, 1.0, f32::NAN])),
        ("weights", "F32", vec![5], f32s(&[1.0; 5])),
    ];
    for tensor in bad {
        let fixture = Fixture::new();
        fixture.write_model(&json!({}), &[matrix("embeddings"), tensor.clone()]);
        assert!(fixture.refusal().contains("`model.safetensors`: "), "{tensor:?}");
    }
    // Numbers that are fine one by one, and too large together.
    let fixture = Fixture::new();
    fixture.write_model(&json!({}), &[("embeddings", "F32", vec![6, DIMENSIONS], f32s(&[f32::MAX; 18]))]);
    check(&fixture.open().unwrap(), "cat dog", None);
}

#[test]
fn small_files_that_are_none_are_refused() {
    for (name, content) in [
        ("tokenizer.json", "{"),
        ("tokenizer.json", "{\"model\": {\"type\": \"None\"}}"),
        ("config.json", "{"),
        ("config.json", "{\"normalize\": 3}"),
        ("modules.json", "{}"),
    ] {
        let fixture = Fixture::new();
        fixture.write_model(&json!({}), &[matrix("embeddings")]);
        fixture.write(name, content);
        assert!(fixture.refusal().contains(&format!("`{name}`: ")), "{name} {content}");
    }
    // Files of 2 GB without content: nothing of them is read.
    for (name, expected) in [("tokenizer.json", "67108864"), ("config.json", "1048576"), ("modules.json", "1048576")] {
        let fixture = Fixture::new();
        fixture.write_model(&json!({}), &[matrix("embeddings")]);
        fixture.write(name, "");
        let file = fixture.folder.path().join("models/tiny/model").join(name);
        fs::File::options().write(true).open(file).unwrap().set_len(2 << 30).unwrap();
        assert!(fixture.refusal().contains(&format!("`{name}`: it has more than {expected} bytes")), "{name}");
    }
}

#[test]
fn what_is_no_model_is_reported() {
    let fixture = Fixture::new();
    let refusal = fixture.open().unwrap_err();
    assert!(
        refusal.starts_with("runtime error: model `tiny/model` is not on this server and could not be"),
        "{refusal}"
    );
    let at_hand = |model: &str| {
        let wanted = StaticName { model: model.to_owned(), revision: "main".to_owned() };
        fixture.models.at_hand(&wanted).unwrap_err().to_string()
    };
    assert_eq!(at_hand("tiny/model"), "runtime error: model `tiny/model` has not been loaded yet");
    for name in ["../model", "/etc", "tiny/model/../..", ""] {
        assert!(at_hand(name).contains("is not a valid model name"), "{name}");
    }
}

#[test]
fn a_model_is_in_memory_once() {
    let fixture = Fixture::new();
    let wanted = StaticName { model: "tiny/model".to_owned(), revision: "main".to_owned() };
    assert!(fixture.models.opened(&wanted).is_none());
    fixture.write_model(&json!({}), &[matrix("embeddings")]);
    let model = fixture.models.at_hand(&wanted).unwrap();
    assert!(Arc::ptr_eq(&model, &fixture.open().unwrap()));
    assert!(Arc::ptr_eq(&model, &fixture.models.opened(&wanted).unwrap()));
    let being_opened = fixture.models.opening(&wanted);
    let held = being_opened.lock();
    assert!(fixture.models.opened(&wanted).is_none(), "a search does not wait for it");
    drop(held);
    fixture.open().unwrap();
}

#[test]
fn many_texts_in_their_order() {
    let fixture = Fixture::new();
    fixture.write_model(&json!({}), &[matrix("embeddings")]);
    let model = fixture.open().unwrap();
    let texts: Vec<String> = (0..3000).map(|number| ["cat", "dog", "the"][number % 3].repeat(1 + number % 2)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let one_by_one: Vec<Option<Vec<f32>>> = texts.iter().map(|text| model.vector(text)).collect();
    assert_eq!(model.at_once(&texts).unwrap(), one_by_one);
    assert_eq!(model.at_once(&[]), Some(Vec::new()));
}

/// Serves the files of a folder as a hub does, until the process ends; the address.
fn hub(folder: std::path::PathBuf) -> String {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let path = first.split(' ').nth(1).unwrap().trim_start_matches("/tiny/model/resolve/main/");
            let (status, body) = fs::read(folder.join(path)).map_or((404, Vec::new()), |body| (200, body));
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        }
    });
    url
}

#[test]
fn models_are_downloaded_in_both_layouts() {
    for (settings, folder, matrix_name) in
        [("config.json", "", "embeddings"), ("modules.json", "0_StaticEmbedding/", "embedding.weight")]
    {
        let source = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| {
            let path = source.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        let fixture = Fixture::with_hub(&hub(source.path().to_owned()));
        let refusal = fixture.open().unwrap_err();
        assert!(refusal.contains("it has no `config.json` in revision `main`"), "{refusal}");
        write(settings, if folder.is_empty() { b"{}" } else { b"[]" });
        write(&format!("{folder}tokenizer.json"), tokenizer().to_string().as_bytes());
        let refusal = fixture.open().unwrap_err();
        assert!(refusal.contains(&format!("it has no `{folder}model.safetensors`")), "{refusal}");
        write(&format!("{folder}model.safetensors"), &safetensors(&[matrix(matrix_name)]));
        check(&fixture.open().unwrap(), "cat", Some([1.0, 0.0, 0.0]));
        drop(source);
        let wanted = StaticName { model: "tiny/model".to_owned(), revision: "main".to_owned() };
        fixture.models.opened.lock().clear();
        check(&fixture.models.at_hand(&wanted).unwrap(), "cat", Some([1.0, 0.0, 0.0]));
    }
}
