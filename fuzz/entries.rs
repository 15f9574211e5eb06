//! What fuzzers and the bounded test of the stable toolchain (`engine/tests/fuzz.rs`) call: one function per kind of
//! bytes that come from outside. Each panics when a promise is broken; what it answers is of no interest.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use lamina_engine::document::{
    DocumentError, DocumentParser, DocumentVisitor, Leaf, Number, PathId, PayloadFormat, Shape, document_id,
    infer_primary_key, merge_documents, normalize_payload,
};
use lamina_engine::filter::Filter;
use lamina_engine::id::{FIRST_TERM, Gap, SegmentId};
use lamina_engine::index::{CommitNote, Index, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};
use lamina_engine::query::parse_query;
use lamina_engine::search::{MatchingStrategy, SearchRequest, search};
use lamina_engine::segment::{BoxRelation, SegmentMeta, SegmentReader, SegmentWriter, SegmentWriterOptions};
use lamina_engine::storage::{Directory, MemoryDirectory, write_file};
use lamina_engine::text::{TextOptions, Tokenizer};

/// Filters, as text and as JSON: what is accepted says the same when written down and read again.
pub fn filter(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parsed = match serde_json::from_str(&text) {
        Ok(value) => Filter::from_json(&value),
        Err(_) => Filter::parse(&text),
    };
    match parsed {
        Ok(Some(filter)) => {
            let written = filter.to_string();
            let again = Filter::parse(&written).expect("what was written can be read").expect("it is not blank");
            assert_eq!(again.to_string(), written);
        }
        Ok(None) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer::new(&TextOptions::default()));

/// An index whose words are cut, glued and misspelt easily.
static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let options = IndexOptions { background_merges: false, ..IndexOptions::default() };
    let index = Index::create_in(Arc::new(MemoryDirectory::default()), options).expect("memory takes it");
    let lines = ["sun flower", "sunflower seeds", "moon light", "the moonlight", "東京の寿司", "C++ and don't"];
    let lines = lines.iter().enumerate().map(|(id, text)| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n"));
    let operation = Operation::Upsert(Upsert {
        payload: Payload::Bytes(lines.collect::<String>().into_bytes().into()),
        method: WriteMethod::Replace,
        primary_key: Some("id".to_owned()),
        skip_creation: false,
    });
    let note = CommitNote::new(0, |_| Vec::new());
    index.apply(&[operation], note, &Progress::default(), &AtomicBool::new(false)).expect("memory takes it");
    index
});

/// Queries: parsed, and searched for.
pub fn query(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let tokens = TOKENIZER.tokens(&text, &[]);
    let mut end = 0;
    for token in &tokens {
        assert!(token.range.start >= end && token.range.end <= text.len(), "tokens follow each other");
        assert!(text.is_char_boundary(token.range.start) && text.is_char_boundary(token.range.end));
        end = token.range.end;
    }
    for prefix_search in [false, true] {
        parse_query(&text, &TOKENIZER, &[], &Default::default(), prefix_search);
    }
    // Long queries are bounded by their terms, not by this target's patience.
    let query: String = text.chars().take(200).collect();
    let strategies =
        [MatchingStrategy::Last, MatchingStrategy::All, MatchingStrategy::Frequency, MatchingStrategy::Any];
    for matching in strategies {
        let request =
            SearchRequest { query: Some(query.clone()), matching, matching_terms: true, ..Default::default() };
        let found = search(&INDEX.snapshot(), &request).expect("nothing but words is asked for");
        assert!(found.total <= 6 && found.hits.len() as u64 <= found.total);
    }
}

static SEGMENT: LazyLock<(SegmentMeta, Vec<u8>)> = LazyLock::new(|| {
    let directory = MemoryDirectory::default();
    let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
    for id in 0..40u32 {
        writer.begin_document(u64::from(id), &id.to_string(), format!("{{\"id\":{id}}}").as_bytes());
        for word in 0..id % 7 {
            writer.word(0, &format!("w{}", (id * 7 + word) % 23), if word == 3 { Gap::Hard } else { Gap::Soft });
        }
        writer.column_number(1, f64::from(id % 5));
        writer.column_string(1, "red", "Red");
        writer.geo(f64::from(id), f64::from(id * 2));
        let point = serde_json::json!({ "type": "Point", "coordinates": [id, id] });
        writer.shape(&Shape::from_geojson(&point).expect("a point").expect("a shape"));
        writer.end_document();
    }
    let meta = writer.finish(&directory, SegmentId(1)).expect("memory takes it");
    let bytes = directory.open_read(&meta.file.name).expect("it was written").to_vec();
    (meta, bytes)
});

/// A segment with some bytes overwritten (`data` is a list of place, place, byte) and cut (what is left over): opening
/// refuses it, or reading from it does no harm.
pub fn segment(data: &[u8]) {
    let (meta, bytes) = &*SEGMENT;
    let (mut meta, mut bytes) = (meta.clone(), bytes.clone());
    let edits = data.chunks_exact(3);
    if let [cut, ..] = edits.remainder() {
        bytes.truncate(bytes.len() - usize::from(*cut));
        meta.file.bytes = bytes.len() as u64;
    }
    for edit in edits {
        let at = usize::from(edit[0]) << 8 | usize::from(edit[1]);
        let length = bytes.len();
        bytes[at % length] = edit[2];
    }
    let directory = MemoryDirectory::default();
    write_file(&directory, &meta.file.name, &bytes).expect("memory takes it");
    let Ok(segment) = SegmentReader::open(&directory, &meta) else { return };
    let docs = segment.doc_count();
    let (mut fields, mut tokens, mut json, mut ordinals) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for doc in 0..docs {
        segment.internal_id(doc);
        segment.tokens().doc(doc).decode(&mut fields, &mut tokens);
        let _ = segment.store().get(doc, &mut json);
        segment.keys().get(doc.to_string().as_bytes());
    }
    for ordinal in FIRST_TERM..FIRST_TERM + segment.terms().len() {
        segment.terms().term(ordinal);
        segment.postings().for_each(ordinal, |doc, _| assert!(doc < docs));
    }
    if let Some(column) = segment.columns().get(1) {
        (0..docs).for_each(|doc| column.ordinals_of(doc, &mut ordinals));
        (0..column.value_count()).for_each(|ordinal| assert!(column.docs_of(ordinal).all(|doc| doc < docs)));
    }
    if let Some(geo) = segment.geo() {
        geo.search(|_| BoxRelation::Crossing, |_, _| true);
    }
    if let Some(shapes) = segment.shapes() {
        shapes.search(|_| BoxRelation::Crossing, |_| true);
    }
    let _ = segment.verify();
}

/// Visits a document and wants nothing.
struct Nothing;

impl DocumentVisitor for Nothing {
    type Error = DocumentError;

    fn new_path(&mut self, _: PathId, _: &str) -> Result<(), DocumentError> {
        Ok(())
    }
    fn string(&mut self, _: Leaf, _: &str) -> Result<(), DocumentError> {
        Ok(())
    }
    fn number(&mut self, _: Leaf, number: Number<'_>) -> Result<(), DocumentError> {
        assert!(number.value.is_finite());
        Ok(())
    }
    fn boolean(&mut self, _: Leaf, _: bool) -> Result<(), DocumentError> {
        Ok(())
    }
}

/// Payloads; the first byte tells the format. What passes is one JSON object a line, which everything later can read.
pub fn payload(data: &[u8]) {
    let Some((&format, data)) = data.split_first() else { return };
    let format = match format % 4 {
        0 => PayloadFormat::Json,
        1 => PayloadFormat::NdJson,
        2 => PayloadFormat::Csv { delimiter: b',' },
        _ => PayloadFormat::Csv { delimiter: b';' },
    };
    let mut lines = Vec::new();
    let Ok(count) = normalize_payload(format, data, &mut lines) else { return };
    let lines: Vec<&[u8]> = lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len() as u64, count);
    let mut parser = DocumentParser::new();
    for line in &lines {
        std::str::from_utf8(line).expect("documents are text");
        let _ = (document_id(line, "id"), document_id(line, "a.id"), infer_primary_key(line));
        parser.visit(line, &mut Nothing).expect("what was checked can be visited");
        let merged = merge_documents(lines[0], line).expect("what was checked can be merged");
        parser.visit(&merged, &mut Nothing).expect("what was merged can be visited");
    }
}

/// GeoJSON, and the encoded shapes of segments.
pub fn shape(data: &[u8]) {
    if let Ok(value) = serde_json::from_slice(data)
        && let Ok(Some(shape)) = Shape::from_geojson(&value)
    {
        assert!(shape.positions().all(|position| position.x.is_finite() && position.y.is_finite()));
    }
}
