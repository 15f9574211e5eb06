//! `segment-format.md` and the code say the same.

use lamina_text::id::{GAP, Gap, SegmentId};

use super::format::*;
use super::*;
use crate::document::{Part, Position, Shape};
use crate::storage::{Directory, MemoryDirectory, OwnedBytes};
use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../../segment-format.md");

/// The segment of the worked example.
fn example(directory: &MemoryDirectory) -> SegmentMeta {
    let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
    writer.begin_document(5, "a", br#"{"id":"a"}"#);
    writer.word(0, "red", Gap::Soft);
    writer.word(0, "fox", Gap::Soft);
    writer.column_number(4, 1.5);
    writer.end_document();
    let shape = VectorShape { dimensions: 2, binary: false };
    writer.vectors("e", shape).set(0, VectorState::supplied(false), 0, &[[3.0, 4.0]]);
    writer.begin_document(9, "b", br#"{"id":"b"}"#);
    writer.word(0, "fox", Gap::Soft);
    writer.word(0, "ox", Gap::Hard);
    writer.word(1, "red", Gap::Soft);
    writer.column_string(4, "blue", "Blue");
    writer.column_null(4);
    writer.geo(48.5, 2.25);
    writer.shape(&Shape { parts: vec![Part::Point(Position { x: 2.25, y: 48.5 })] });
    writer.end_document();
    writer.finish(directory, SegmentId(1)).unwrap()
}

/// Name and bytes of the examples of the page.
fn examples() -> BTreeMap<&'static str, Vec<u8>> {
    let block = |block: &'static str| {
        let (name, rest) = block.split_once('\n').unwrap();
        let (hex, _) = rest.split_once("```").unwrap();
        let bytes = hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        (name, bytes)
    };
    PAGE.split("```hex ").skip(1).map(block).collect()
}

fn hex(bytes: &[u8]) -> String {
    let line = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    bytes.chunks(16).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_worked_example_is_what_is_written_and_read() {
    let directory = MemoryDirectory::new();
    let meta = example(&directory);
    SegmentReader::open(&directory, &meta).unwrap().verify().unwrap();
    let table = SectionTable::open(&directory, &meta.file).unwrap();
    let examples = examples();
    let mut compared = 0;
    for kind in SectionKind::ALL {
        if WRITTEN_BY_OTHERS.contains(&kind) {
            continue;
        }
        // Thousands of vectors or documents would be needed; these examples stand for themselves.
        let bytes = match kind {
            SectionKind::VectorCodes => super::vector_codes::tests::example(),
            SectionKind::VectorCodeSums => {
                OwnedBytes::from(crc32fast::hash(&super::vector_codes::tests::example()).to_le_bytes().to_vec())
            }
            SectionKind::Patches => OwnedBytes::from(super::patches::example()),
            SectionKind::NumberKeys => OwnedBytes::from(super::keys::numbers_example()),
            SectionKind::Pairs | SectionKind::Triples | SectionKind::NearPairs | SectionKind::Followers => {
                super::word_pairs::example(kind)
            }
            SectionKind::StorePieces => {
                let (section, text, json) = super::store::pieces_example();
                assert_eq!(text, b"\x007\x01Fox\x02");
                assert_eq!(json, br#"{"id":7,"title":"Fox"}"#);
                OwnedBytes::from(section)
            }
            kind => table.optional(kind).unwrap(),
        };
        let example = examples.get(kind.name()).unwrap_or_else(|| panic!("the page has no example of {}", kind.name()));
        assert_eq!(hex(example), hex(&bytes), "example of {}", kind.name());
        compared += 1;
    }
    assert_eq!(compared + WRITTEN_BY_OTHERS.len() + 1, examples.len(), "the frame is one more");
}

/// Sections that the fst crate and zstd write. They are read but not compared, because another version may write other
/// bytes for the same content.
const WRITTEN_BY_OTHERS: [SectionKind; 4] =
    [SectionKind::Terms, SectionKind::Keys, SectionKind::Store, SectionKind::StoreIndex];

#[test]
fn the_bytes_of_the_page_are_read() {
    let examples = examples();
    let directory = MemoryDirectory::new();
    let written = example(&directory);
    let table = SectionTable::open(&directory, &written.file).unwrap();
    let mut file = SectionWriter::create(&directory, segment_file_name(2)).unwrap();
    for (kind, parameter, _) in table.list() {
        let lacking = || {
            let bytes = table.optional(kind).unwrap();
            panic!("the page has no example of {}:\n{}", kind.name(), hex(&bytes))
        };
        let bytes = examples.get(kind.name()).unwrap_or_else(lacking);
        file.section(kind, parameter, bytes).unwrap();
    }
    let meta = SegmentMeta { id: 2, file: file.finish().unwrap(), ..written };
    let segment = SegmentReader::open(&directory, &meta).unwrap();
    segment.verify().unwrap();
    assert_eq!((segment.doc_count(), segment.internal_id(0), segment.internal_id(1)), (2, 5, 9));
    let ordinals = ["fox", "ox", "red"].map(|word| segment.terms().ordinal(word.as_bytes()));
    assert_eq!(ordinals, [Some(2), Some(3), Some(4)]);
    assert_eq!([2, 3, 4].map(|term| segment.postings().docs(term).to_vec()), [vec![0, 1], vec![1], vec![0, 1]]);
    let (mut fields, mut tokens) = (Vec::new(), Vec::new());
    segment.tokens().doc(1).decode(&mut fields, &mut tokens);
    assert_eq!((&*fields, &*tokens), (&[(0, 3), (1, 4)][..], &[2, GAP, 3, 4][..]));
    for (doc, key, json) in [(0, "a", r#"{"id":"a"}"#), (1, "b", r#"{"id":"b"}"#)] {
        let mut stored = Vec::new();
        segment.store().get(doc, &mut stored).unwrap();
        assert_eq!(std::str::from_utf8(&stored).unwrap(), json);
        assert_eq!(segment.keys().get(key.as_bytes()), Some(doc));
    }
}

#[test]
fn the_frame_of_the_page_is_read() {
    let examples = examples();
    let directory = MemoryDirectory::new();
    let mut file = SectionWriter::create(&directory, segment_file_name(3)).unwrap();
    file.section(SectionKind::Info, 0, &examples["info"]).unwrap();
    let written = file.finish().unwrap();
    let frame = &examples["frame"];
    assert_eq!(hex(&directory.open_read(&written.name).unwrap()), hex(frame));
    directory.overwrite(&written.name, frame.clone());
    let table = SectionTable::open(&directory, &written).unwrap();
    let whole = comparison::Comparison::new(&table, &written);
    let pieces = whole.pieces();
    let sums: Vec<PieceSum> = pieces.iter().map(|piece| whole.sum(piece)).collect();
    assert!(whole.judge(&pieces, &sums).is_empty());
    assert_eq!(table.list().collect::<Vec<_>>(), [(SectionKind::Info, 0, 24)]);
}

#[test]
fn the_tables_of_the_page_are_the_constants() {
    let rows: Vec<Vec<&str>> = PAGE
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let has = |name: &str, value: String| {
        assert!(rows.iter().any(|row| row[0] == name && row[1] == value), "the page lacks | {name} | {value} |");
    };
    has("magic", format!("`{}`", std::str::from_utf8(&MAGIC).unwrap()));
    has("version", VERSION.to_string());
    has("header bytes", HEADER_BYTES.to_string());
    has("entry bytes", ENTRY_BYTES.to_string());
    has("footer bytes", FOOTER_BYTES.to_string());
    has("alignment", ALIGNMENT.to_string());
    has("documents, at most", DOCS_MAX.to_string());
    has("bytes of postings, at most", POSTINGS_BYTES_MAX.to_string());
    has("bytes of a term, at most", TERM_BYTES_MAX.to_string());
    has("frequent words of the pairs, at most", super::word_pairs::FREQUENT_WORDS_MAX.to_string());
    has("dictionaries of a store, at most", super::store::DICTIONARIES_MAX.to_string());
    has("pieces of a dictionary, at most", super::store::PIECES_MAX.to_string());
    has("bytes of the pieces of a dictionary, at most", super::store::PIECES_BYTES_MAX.to_string());
    has("positions of a field, at most", POSITIONS_MAX.to_string());
    for kind in SectionKind::ALL {
        has(&(kind as u16).to_string(), kind.name().to_owned());
        assert!(PAGE.contains(&format!("\n### {}\n", kind.name())), "the page does not describe {}", kind.name());
    }
}
