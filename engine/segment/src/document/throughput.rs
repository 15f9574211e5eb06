//! How fast documents are read and cut into words, on one core. Not part of the ordinary tests; run with
//! `LAMINA_CORPUS=<file.ndjson> cargo test --release -p lamina-engine throughput -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use lamina_text::text::{TextBuffer, Tokenizer};

use super::{
    DocumentBytesMax, DocumentError, DocumentParser, DocumentVisitor, Leaf, Number, PathId, PayloadFormat,
    normalize_payload,
};

/// Runs that are measured; the fastest counts.
const RUNS: usize = 5;

/// Counts what it is given; cuts text into words if it has a tokenizer.
#[derive(Default)]
struct Counter {
    tokenizer: Option<Tokenizer>,
    buffer: TextBuffer,
    leaves: u64,
    words: u64,
    text_bytes: u64,
}

impl Counter {
    fn text(&mut self, text: &str) -> Result<(), DocumentError> {
        self.leaves += 1;
        self.text_bytes += text.len() as u64;
        if let Some(tokenizer) = &self.tokenizer {
            tokenizer.words(text, &[], &mut self.buffer, &mut |word, _| {
                self.words += u64::from(!std::hint::black_box(word).is_empty());
            });
        }
        Ok(())
    }
}

impl DocumentVisitor for Counter {
    type Error = DocumentError;

    fn new_path(&mut self, _: PathId, _: &str) -> Result<(), DocumentError> {
        Ok(())
    }
    fn string(&mut self, _: Leaf, value: &str) -> Result<(), DocumentError> {
        self.text(value)
    }
    fn number(&mut self, _: Leaf, value: Number<'_>) -> Result<(), DocumentError> {
        std::hint::black_box(value.value);
        self.text(value.text)
    }
    fn boolean(&mut self, _: Leaf, value: bool) -> Result<(), DocumentError> {
        self.text(if value { "true" } else { "false" })
    }
}

fn fastest<T>(mut run: impl FnMut() -> T) -> (Duration, T) {
    let once = |run: &mut dyn FnMut() -> T| {
        let start = Instant::now();
        let result = run();
        (start.elapsed(), result)
    };
    let runs = (0..RUNS).map(|_| once(&mut run));
    runs.min_by_key(|(time, _)| *time).expect("there is at least one run")
}

#[test]
#[ignore = "measures; needs a corpus and a release build"]
fn documents_per_second() {
    let corpus = std::env::var_os("LAMINA_CORPUS").expect("LAMINA_CORPUS names an ndjson file");
    let corpus = std::fs::read(corpus).unwrap();
    let lines: Vec<&[u8]> = corpus.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let report = |what: &str, time: Duration| {
        let micros = time.as_secs_f64() * 1e6 / lines.len() as f64;
        let megabytes = corpus.len() as f64 / 1e6 / time.as_secs_f64();
        println!("{what:<28} {micros:7.3} µs/document {megabytes:8.0} MB/s");
    };
    let (time, count) = fastest(|| {
        normalize_payload(PayloadFormat::NdJson, &corpus[..], std::io::sink(), &mut DocumentBytesMax(usize::MAX))
            .unwrap()
    });
    assert_eq!(count, lines.len() as u64);
    report("check the payload", time);
    let (time, _) = fastest(|| lines.iter().filter(|line| super::document_id(line, "id").is_ok()).count());
    report("find the id", time);
    for (what, tokenizer) in [("visit", None), ("visit and cut into words", Some(Tokenizer::default()))] {
        let (time, counter) = fastest(|| {
            let mut counter = Counter { tokenizer: tokenizer.clone(), ..Counter::default() };
            let mut parser = DocumentParser::new();
            lines.iter().for_each(|line| parser.visit(line, &mut counter).unwrap());
            counter
        });
        report(what, time);
        let Counter { leaves, words, text_bytes, .. } = counter;
        println!("{leaves} leaves, {words} words, {text_bytes} bytes of text");
    }
    let (text, tokenizer) = (std::str::from_utf8(&corpus).unwrap(), Tokenizer::default());
    let (time, _) = fastest(|| {
        let (mut buffer, mut bytes) = (TextBuffer::default(), 0);
        text.lines().for_each(|line| {
            tokenizer.words(line, &[], &mut buffer, &mut |word, _| bytes += std::hint::black_box(word).len());
        });
        bytes
    });
    report("words of the raw text", time);
    let (time, _) = fastest(|| text.lines().map(|line| tokenizer.tokens(line, &[]).len()).sum::<usize>());
    report("tokens of the raw text", time);
}
