//! What a bare tantivy index does with the documents that Lamina is measured on.
//!
//! Measured: bulk load with two writer threads and a budget of 600 MB (documents parsed with serde_json, six text fields
//! with positions, everything stored, the other fields as fast fields), size on disk, and the top 20 with the count for a
//! few kinds of queries, best of 20 runs, in process. Run it in the same sitting as Lamina, on the same file:
//!
//! `cargo run --release --manifest-path benches/compare-tantivy/Cargo.toml -- corpus.ndjson`

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, FuzzyTermQuery, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, STORED, STRING, Schema, TEXT};
use tantivy::{Index, IndexReader, Searcher, TantivyDocument, Term};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const TEXT_FIELDS: [&str; 6] = ["title", "brand", "author", "category", "description", "sku"];
const NUMBER_FIELDS: [&str; 2] = ["price", "rating"];
const INTEGER_FIELDS: [&str; 3] = ["id", "released", "reviews"];
const WRITER_THREADS: usize = 2;
const WRITER_BYTES: usize = 600_000_000;
const RUNS: usize = 20;
const TOP: usize = 20;

struct Fields {
    text: Vec<(&'static str, Field)>,
    /// The same words once more as one value each: what a filter or a facet reads.
    values: Vec<(&'static str, Field)>,
    numbers: Vec<(&'static str, Field)>,
    integers: Vec<(&'static str, Field)>,
    in_stock: Field,
    lat: Field,
    lng: Field,
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let fields = Fields {
        text: TEXT_FIELDS.map(|name| (name, builder.add_text_field(name, TEXT | STORED))).into(),
        values: ["category", "brand", "tags"]
            .map(|name| (name, builder.add_text_field(&format!("{name}_value"), STRING | FAST)))
            .into(),
        numbers: NUMBER_FIELDS.map(|name| (name, builder.add_f64_field(name, FAST | STORED))).into(),
        integers: INTEGER_FIELDS.map(|name| (name, builder.add_i64_field(name, FAST | STORED))).into(),
        in_stock: builder.add_bool_field("in_stock", FAST | STORED),
        lat: builder.add_f64_field("lat", FAST | STORED),
        lng: builder.add_f64_field("lng", FAST | STORED),
    };
    (builder.build(), fields)
}

fn document(fields: &Fields, line: &str) -> Result<TantivyDocument> {
    let json: Value = serde_json::from_str(line)?;
    let mut document = TantivyDocument::new();
    for &(name, field) in &fields.text {
        if let Some(text) = json[name].as_str() {
            document.add_text(field, text);
        }
    }
    for &(name, field) in &fields.values {
        match &json[name] {
            Value::String(text) => document.add_text(field, text),
            Value::Array(values) => values.iter().filter_map(Value::as_str).for_each(|v| document.add_text(field, v)),
            _ => {}
        }
    }
    for &(name, field) in &fields.numbers {
        if let Some(number) = json[name].as_f64() {
            document.add_f64(field, number);
        }
    }
    for &(name, field) in &fields.integers {
        if let Some(number) = json[name].as_i64() {
            document.add_i64(field, number);
        }
    }
    if let Some(in_stock) = json["in_stock"].as_bool() {
        document.add_bool(fields.in_stock, in_stock);
    }
    if let (Some(lat), Some(lng)) = (json["_geo"]["lat"].as_f64(), json["_geo"]["lng"].as_f64()) {
        document.add_f64(fields.lat, lat);
        document.add_f64(fields.lng, lng);
    }
    Ok(document)
}

fn load(corpus: &Path, folder: &Path) -> Result<(IndexReader, Fields)> {
    let (schema, fields) = schema();
    let index = Index::create_in_dir(folder, schema)?;
    let mut writer = index.writer_with_num_threads(WRITER_THREADS, WRITER_BYTES)?;
    let start = Instant::now();
    let mut input = BufReader::with_capacity(1 << 20, File::open(corpus)?);
    let (mut line, mut documents, mut bytes) = (String::new(), 0u64, 0u64);
    while input.read_line(&mut line)? > 0 {
        writer.add_document(document(&fields, &line)?)?;
        documents += 1;
        bytes += line.len() as u64;
        line.clear();
    }
    writer.commit()?;
    let seconds = start.elapsed().as_secs_f64();
    writer.wait_merging_threads()?;
    let disk: u64 = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum();
    println!(
        "load: {documents} documents in {seconds:.1} s, {:.0}/s, {:.1} MB/s; disk / raw {:.2}",
        documents as f64 / seconds,
        bytes as f64 / 1e6 / seconds,
        disk as f64 / bytes as f64
    );
    Ok((index.reader()?, fields))
}

/// All words, each in any of the six fields.
fn words(fields: &Fields, words: &[&str], occur: Occur, fuzzy: bool) -> BooleanQuery {
    let word = |word: &&str| {
        let in_fields = fields.text.iter().map(|&(_, field)| {
            let term = Term::from_field_text(field, word);
            let query: Box<dyn Query> = if fuzzy {
                Box::new(FuzzyTermQuery::new_prefix(term, if word.len() < 5 { 0 } else { 1 }, true))
            } else {
                Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
            };
            (Occur::Should, query)
        });
        (occur, Box::new(BooleanQuery::new(in_fields.collect())) as Box<dyn Query>)
    };
    BooleanQuery::new(words.iter().map(word).collect())
}

fn measure(searcher: &Searcher, name: &str, query: &dyn Query) -> Result<()> {
    let mut best = Duration::MAX;
    let mut count = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        let (_, found) = searcher.search(query, &(TopDocs::with_limit(TOP).order_by_score(), Count))?;
        best = best.min(start.elapsed());
        count = found;
    }
    println!("{name:<28} {:>9.3} ms {count:>9} found", best.as_secs_f64() * 1e3);
    Ok(())
}

fn main() -> Result<()> {
    let corpus = std::env::args().nth(1).ok_or("usage: compare-tantivy corpus.ndjson")?;
    let folder = tempfile::tempdir()?;
    let (reader, fields) = load(Path::new(&corpus), folder.path())?;
    let searcher = reader.searcher();
    println!("{} segments", searcher.segment_readers().len());
    let all = Occur::Must;
    measure(&searcher, "one frequent word", &words(&fields, &["young"], all, false))?;
    measure(&searcher, "two words", &words(&fields, &["young", "detective"], all, false))?;
    measure(&searcher, "four frequent words", &words(&fields, &["the", "and", "of", "in"], all, false))?;
    measure(
        &searcher,
        "words of a question",
        &words(&fields, &["who", "stole", "diamond", "train"], Occur::Should, false),
    )?;
    measure(&searcher, "one fuzzy prefix", &words(&fields, &["detectiv"], all, true))?;
    measure(&searcher, "two fuzzy prefixes", &words(&fields, &["young", "detectiv"], all, true))?;
    let description = fields.text[4].1;
    let phrase = ["new", "york", "city"].map(|word| Term::from_field_text(description, word));
    measure(&searcher, "phrase in the description", &PhraseQuery::new(phrase.into()))?;
    Ok(())
}
