//! What fuzzers and the bounded test of the stable toolchain (`engine/tests/fuzz.rs`) call: one function per kind of
//! bytes that come from outside. Each panics when a promise is broken; what it answers is of no interest.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use lamina_engine::document::{
    DocumentBytesMax, DocumentError, DocumentParser, DocumentVisitor, Leaf, Number, PathId, PayloadFormat, Shape,
    document_id, infer_primary_key, merge_documents, normalize_payload,
};
use lamina_engine::filter::{Coordinates, Filter};
use lamina_engine::geo::{Area, Circle, Region, ShapeRegion};
use lamina_engine::highlight::{CropSelection, FormatOptions, Formatter, Projection, Selection};
use lamina_engine::id::{FIRST_TERM, Gap, SegmentId};
use lamina_engine::index::{CommitNote, Index, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};
use lamina_engine::query::{ParseOptions, parse_query};
use lamina_engine::search::{MatchingStrategy, SearchRequest, search};
use lamina_engine::segment::{BoxRelation, SegmentMeta, SegmentReader, SegmentWriter, SegmentWriterOptions};
use lamina_engine::storage::{Directory, MemoryDirectory, write_file};
use lamina_engine::text::{TextOptions, Tokenizer};
use serde_json::{Value, json};

/// An index of which filters may ask everything.
static VALUES: LazyLock<Index> = LazyLock::new(|| {
    let options = IndexOptions { background_merges: false, ..IndexOptions::default() };
    let index = Index::create_in(Arc::new(MemoryDirectory::default()), options).expect("memory takes it");
    let everything = json!({ "attributePatterns": ["*"], "features": { "filter": { "comparison": true } } });
    let settings = json!({ "filterableAttributes": ["_geo", "_geojson", everything] });
    let line = json!({ "type": "LineString", "coordinates": [[179, -1], [-179, 1]] });
    let values = [
        json!({ "a": 1, "b": 2.5, "c": ["x", "y z", "É"], "d": null, "genres": "Horror", "year": 1985 }),
        json!({ "a": -9_007_199_254_740_993_i64, "b": "2024-02-29T23:30:00+01:00", "c": { "e": [{ "f": 1 }, {}] }, "_geojson": line }),
        json!({ "a": u64::MAX, "b": "", "c": [], "d": "2024-02-29T22:30:00Z", "_geo": { "lat": 48.8, "lng": 2.3 } }),
        json!({ "a": "1", "b": [1e300, -0.0, "OR"], "c": {}, "year": "1990", "_geo": { "lat": -90, "lng": 180 } }),
        json!({}),
    ];
    let lines = values.into_iter().enumerate().map(|(id, mut document)| {
        document["id"] = json!(id);
        format!("{document}\n")
    });
    let upsert = Operation::Upsert(Upsert {
        payload: Payload::Bytes(lines.collect::<String>().into_bytes().into()),
        method: WriteMethod::Replace,
        primary_key: Some("id".to_owned()),
        skip_creation: false,
    });
    let settings = Operation::Settings(Box::new(serde_json::from_value(settings).expect("settings")));
    for (batch, operation) in [settings, upsert].into_iter().enumerate() {
        let note = CommitNote::new(batch as u64, |_| Vec::new());
        index.apply(&[operation], note, &Progress::default(), &AtomicBool::new(false)).expect("memory takes it");
    }
    index
});

/// Filters, as text and as JSON: what is accepted says the same when written down and read again, and each document passes
/// the filter or its negation.
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
            let snapshot = VALUES.snapshot();
            let passing = |filter: Filter| {
                let request = SearchRequest { filter: Some(filter), limit: 0, ..Default::default() };
                search(&snapshot, &request).ok().map(|found| found.total)
            };
            // Settings allow everything but some names.
            let Some(count) = passing(filter.clone()) else { return };
            assert_eq!(passing(again), Some(count));
            assert_eq!(passing(!filter), Some(snapshot.document_count() - count), "{written}");
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
        assert!(token.range.start >= end, "tokens follow each other");
        assert!(token.range.end <= text.len(), "tokens follow each other");
        assert!(text.is_char_boundary(token.range.start));
        assert!(text.is_char_boundary(token.range.end));
        end = token.range.end;
    }
    for prefix_search in [false, true] {
        let stop_words = Default::default();
        let options = ParseOptions {
            languages: &[],
            stop_words: &stop_words,
            prefix_search,
            possessives: prefix_search,
            terms_max: 100,
        };
        parse_query(&text, &TOKENIZER, &options);
    }
    // Long queries are bounded by their terms, not by this target's patience.
    let query: String = text.chars().take(200).collect();
    let strategies =
        [MatchingStrategy::Last, MatchingStrategy::All, MatchingStrategy::Frequency, MatchingStrategy::Any];
    for matching in strategies {
        let request =
            SearchRequest { query: Some(query.clone()), matching, matching_terms: true, ..Default::default() };
        let found = search(&INDEX.snapshot(), &request).expect("nothing but words is asked for");
        assert!(found.total <= 6);
        assert!(found.hits.len() as u64 <= found.total);
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
        let point = json!({ "type": "Point", "coordinates": [id, id] });
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
    let (center, radius_m) = (Coordinates::new(10.0, 20.0).expect("on the globe"), 1e6);
    if let Some(geo) = segment.geo() {
        geo.search(|_| BoxRelation::Crossing, |_, _| true);
        Circle { center, radius_m }.documents(geo);
    }
    if let Some(shapes) = segment.shapes() {
        ShapeRegion::circle(center, radius_m, 8).documents(shapes, &|| false);
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

/// Payloads; the first byte is the format. What passes is one JSON object a line, which everything later can read.
pub fn payload(data: &[u8]) {
    let Some((&format, data)) = data.split_first() else { return };
    let format = match format % 4 {
        0 => PayloadFormat::Json,
        1 => PayloadFormat::NdJson,
        2 => PayloadFormat::Csv { delimiter: b',' },
        _ => PayloadFormat::Csv { delimiter: b';' },
    };
    let mut lines = Vec::new();
    let Ok(count) = normalize_payload(format, data, &mut lines, &mut DocumentBytesMax(usize::MAX)) else { return };
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

/// GeoJSON: a segment finds the shapes that touch a region, and no others.
pub fn shape(data: &[u8]) {
    let Ok(value) = serde_json::from_slice(data) else { return };
    let Ok(Some(shape)) = Shape::from_geojson(&value) else { return };
    assert!(shape.positions().all(|position| position.x.is_finite()));
    assert!(shape.positions().all(|position| position.y.is_finite()));
    let directory = MemoryDirectory::default();
    let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
    writer.begin_document(0, "0", b"{}");
    writer.shape(&shape);
    writer.end_document();
    let meta = writer.finish(&directory, SegmentId(1)).expect("memory takes it");
    let segment = SegmentReader::open(&directory, &meta).expect("what was written can be read");
    let shapes = segment.shapes().expect("a shape");
    let at = |latitude, longitude| Coordinates::new(latitude, longitude).expect("on the globe");
    for region in [
        ShapeRegion::circle(at(1.0, 2.0), 200_000.0, 16),
        ShapeRegion::circle(at(89.0, -179.0), 3e6, 5),
        ShapeRegion::circle(at(0.0, 0.0), 2e7, 3),
        ShapeRegion::Area(Area::between(at(3.0, 3.0), at(-1.0, 0.5))),
        ShapeRegion::Area(Area::between(at(80.0, -100.0), at(-80.0, 100.0))),
        ShapeRegion::Area(Area::polygon(&[at(0.0, 0.0), at(0.0, 0.0), at(4.0, 4.0), at(0.0, 4.0)])),
    ] {
        assert_eq!(region.documents(shapes, &|| false).len() == 1, region.touches(&shape), "{region:?} {shape:?}");
    }
}

/// Checks the formatted document of a hit. `data`: a query, a line break, and the document. Apart from tags and
/// markers, each text must be a part of the text of the document.
pub fn format(data: &[u8]) {
    const TAGS: [char; 3] = ['\u{e000}', '\u{e001}', '\u{e002}'];
    let text = String::from_utf8_lossy(data);
    let Some((query, document)) = text.split_once('\n') else { return };
    let Ok(parsed @ Value::Object(_)) = serde_json::from_str(document) else { return };
    if document.contains(TAGS) || document.contains("\\u") {
        return;
    }
    let query: String = query.chars().take(200).collect();
    let request = SearchRequest { query: Some(query), matching_terms: true, limit: 0, ..Default::default() };
    let found = search(&INDEX.snapshot(), &request).expect("nothing but words is asked for");
    let projection = Projection { displayed: Selection::All, retrieved: Selection::All, with_vectors: true };
    for length in [1, 3, 100] {
        let options = FormatOptions {
            highlight: Selection::All,
            crop: CropSelection::new(&["*"], length),
            pre_tag: TAGS[0].to_string(),
            post_tag: TAGS[1].to_string(),
            crop_marker: TAGS[2].to_string(),
            with_positions: true,
        };
        let formatter = Formatter {
            projection: &projection,
            options: &options,
            terms: found.matching_terms.as_ref().expect("they were asked for"),
            tokenizer: &TOKENIZER,
            languages: &|_| Vec::new(),
            may_take: &|_| true,
        };
        let formatted = formatter.format(document.trim().as_bytes()).expect("a document");
        let shown = serde_json::from_slice(&formatted.document.expect("a copy")).expect("JSON");
        check_shown(&shown, &parsed, &TAGS);
        serde_json::from_slice::<Value>(&formatted.positions.expect("positions")).expect("JSON");
    }
}

fn check_shown(shown: &Value, original: &Value, tags: &[char; 3]) {
    match (shown, original) {
        (Value::Object(shown), Value::Object(original)) => {
            // A document can hold a key twice.
            shown.iter().for_each(|(key, value)| check_shown(value, &original[key], tags));
        }
        (Value::Array(shown), Value::Array(original)) => {
            assert_eq!(shown.len(), original.len());
            shown.iter().zip(original).for_each(|(shown, original)| check_shown(shown, original, tags));
        }
        (Value::String(shown), Value::String(original)) => {
            let [opened, closed] = [tags[0], tags[1]].map(|tag| shown.matches(tag).count());
            assert_eq!(opened, closed, "{shown:?}");
            assert!(original.contains(&shown.replace(tags, "")), "{shown:?} {original:?}");
        }
        (Value::String(_), Value::Number(_)) => {}
        (shown, original) => assert_eq!(shown, original),
    }
}
