//! Numbers that nothing has, under valid checksums: they are refused or read as something, and never become memory or time.

use std::process::Command;
use std::sync::LazyLock;

use lamina_text::id::SegmentId;

use super::damage_tests::{open, sections, sign, trusted, use_everything};
use super::tests::many_docs;
use super::*;
use crate::bits::bitpack::pack;
use crate::bits::monotone::put_monotone;
use crate::storage::{Directory, MemoryDirectory};

/// Bytes with which a number is overwritten: little-endian, or of a varying length.
const HUGE: [&[u8]; 3] = [&[0xff; 4], &[0xff; 8], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]];
/// Each place at the start of a section is overwritten, where numbers of all kinds are.
const EACH_UP_TO: usize = 128;
/// So many of those behind it.
const MORE: usize = 24;
/// Limits of the whole test process: memory in KiB, and processor time in seconds.
const MEMORY_KIB: u32 = 1 << 20;
const SECONDS: u32 = 600;
/// Set where the limits hold.
const IS_LIMITED: &str = "LAMINA_TEST_IS_LIMITED";

/// Documents with everything that has a section.
fn segment() -> &'static (SegmentMeta, Vec<u8>) {
    static SEGMENT: LazyLock<(SegmentMeta, Vec<u8>)> = LazyLock::new(|| {
        let directory = MemoryDirectory::new();
        let options = SegmentWriterOptions { list_thresholds: ListThresholds::SMALL, ..Default::default() };
        let mut writer = SegmentWriter::new(options);
        let shape = VectorShape { dimensions: 33, binary: false };
        for (doc, document) in (0_u32..).zip(many_docs(60)) {
            document.write(&mut writer);
            writer.end_document();
            let vector: Vec<f32> = (0..33_u32).map(|place| ((doc * 31 + place * 17) % 23) as f32 - 11.0).collect();
            writer.vectors("e", shape).set(doc, VectorState::supplied(false), 0, &[vector]);
        }
        let meta = writer.finish(&directory, SegmentId(1)).expect("memory takes it");
        let bytes = directory.open_read(&meta.file.name).expect("it was written").to_vec();
        (meta, bytes)
    });
    &SEGMENT
}

fn use_with(at: usize, number: &[u8]) {
    let (meta, bytes) = segment();
    let (mut meta, mut bytes) = (meta.clone(), bytes.clone());
    bytes[at..at + number.len()].copy_from_slice(number);
    sign(&mut bytes, &mut meta);
    let directory = MemoryDirectory::new();
    directory.overwrite(&meta.file.name, bytes);
    if let Ok(segment) = open(&directory, &meta) {
        let _ = segment.verify();
        use_everything(&segment, &directory);
    }
}

#[test]
fn numbers_that_nothing_has_take_neither_memory_nor_time() {
    if std::env::var_os(IS_LIMITED).is_some() {
        let trusted = trusted(&segment().1);
        for (_, section, _) in sections(&segment().1) {
            if trusted.contains(&section) {
                continue;
            }
            let more = section.len().saturating_sub(EACH_UP_TO).div_ceil(MORE).max(1);
            let first = section.start..section.end.min(section.start + EACH_UP_TO);
            let places = first.step_by(2).chain((section.start + EACH_UP_TO..section.end).step_by(more));
            for (at, number) in places.flat_map(|at| HUGE.map(|number| (at, number))) {
                if at + number.len() <= section.end {
                    use_with(at, number);
                }
            }
        }
        return;
    }
    let this = std::env::current_exe().expect("a test has an executable");
    let test = std::thread::current().name().expect("tests have names").to_owned();
    let limits = format!("ulimit -v {MEMORY_KIB} && ulimit -t {SECONDS}");
    let limited = format!("{limits} && exec \"$0\" --exact \"$1\" --nocapture --test-threads 1");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(limited).arg(this).arg(test).env(IS_LIMITED, "1");
    let output = shell.output().expect("a shell");
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// Offsets that go back and forth give the same values to many documents: a small file could be merged into any length.
#[test]
fn values_that_documents_share_are_not_merged() {
    let (meta, bytes) = segment();
    // Two values a document, but for the first one.
    let ends: Vec<u64> = (0..=60_u64).map(|doc| (2 * doc).saturating_sub(1)).collect();
    let mut offsets = Vec::new();
    put_monotone(&mut offsets, &ends);
    let at = bytes.windows(offsets.len()).position(|window| window == offsets).expect("the column of two numbers");
    let width = usize::from(offsets[8 + 15]);
    assert!(width > 0);
    assert_eq!(offsets.len(), 8 + 16 + (61 * width).div_ceil(8) + 8);
    let (mut meta, mut bytes) = (meta.clone(), bytes.clone());
    let mut swinging = Vec::new();
    pack(&mut swinging, (0..61).map(|doc| if doc % 2 == 0 { 0 } else { (1 << width) - 1 }), width as u8);
    // The slope is as steep as can be: the higher ones are behind the end.
    bytes[at + 8 + 12] = 0;
    bytes[at + 24..at + 24 + swinging.len()].copy_from_slice(&swinging);
    sign(&mut bytes, &mut meta);
    let directory = MemoryDirectory::new();
    directory.overwrite(&meta.file.name, bytes);
    let segment = open(&directory, &meta).expect("its lengths are right");
    let inputs = [MergeInput { segment: &segment, deleted: None }];
    let refused = merge(&inputs, &directory, SegmentId(2), &MergeOptions::default()).expect_err("damaged");
    assert!(matches!(refused, SegmentError::Corrupt { section: "column", .. }), "{refused}");
}
