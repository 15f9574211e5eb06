use super::lists::{Centres, Lists};
use super::rows::RowSource;
use super::write::write_section;
use super::*;
use crate::segment::format::{SectionKind, SectionTable, SectionWriter};
use crate::segment::{SegmentReader, SegmentWriter, SegmentWriterOptions, VectorState, Vectors};
use crate::storage::{MemoryDirectory, OwnedBytes};

fn row_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The section of `vectors`, whatever their number; with lists as they come.
fn section(vectors: &[Vec<f32>], has_lists: bool) -> OwnedBytes {
    let directory = MemoryDirectory::new();
    let bytes: Vec<Vec<u8>> = vectors.iter().map(|vector| row_bytes(vector)).collect();
    let rows: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let rows = RowSource::new(vectors[0].len(), &rows);
    let centres = has_lists.then(|| Centres::train(&rows, &|| Ok(())).unwrap());
    let lists = centres.map(|centres| Lists::sort(&rows, centres, &|_| None, &|| Ok(())).unwrap());
    let mut file = SectionWriter::create(&directory, "x".into()).unwrap();
    write_section(&mut file, 0, &rows, lists.as_ref(), &|| Ok(())).unwrap();
    let meta = file.finish().unwrap();
    SectionTable::open(&directory, &meta).unwrap().required(SectionKind::VectorCodes).unwrap()
}

/// The section of the worked example.
pub(in super::super) fn example() -> OwnedBytes {
    section(&[vec![3.0, 4.0], vec![0.0, 2.0], vec![-1.0, 0.0], vec![-2.0, 0.0]], true)
}

/// The vectors that codes are to belong to.
fn stored(vectors: &[Vec<f32>]) -> Vectors {
    let directory = MemoryDirectory::new();
    let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
    let shape = VectorShape { dimensions: u32::try_from(vectors[0].len()).unwrap(), binary: false };
    for (doc, vector) in (0u32..).zip(vectors) {
        writer.begin_document(u64::from(doc), &doc.to_string(), b"{}");
        writer.end_document();
        writer.vectors("e", shape).set(doc, VectorState::supplied(false), 0, &[vector]);
    }
    let meta = writer.finish(&directory, lamina_text::id::SegmentId(1)).unwrap();
    SegmentReader::open(&directory, &meta).unwrap().vectors_of("e").unwrap().clone()
}

fn some_vectors() -> Vec<Vec<f32>> {
    (0..60).map(|row| (0..40).map(|place| ((row * 31 + place * 17) % 23) as f32 - 11.0).collect()).collect()
}

#[test]
fn estimates_are_near_the_cosines() {
    let vectors = some_vectors();
    let vectors = [vectors, vec![vec![0.0; 40]]].concat();
    let known = stored(&vectors);
    let codes = VectorCodes::open(section(&vectors, false), &known).unwrap();
    codes.validate(&known).unwrap();
    // All are wanted, so all are candidates, the nearest of all among them.
    let length = vectors[7].iter().map(|value| value * value).sum::<f32>().sqrt();
    let unit: Vec<f32> = vectors[7].iter().map(|value| value / length).collect();
    let mut all = codes.candidates(&unit, vectors.len(), |_| true);
    all.sort_unstable();
    assert_eq!(all, (0..61).collect::<Vec<u32>>());
    let few = codes.candidates(&unit, 1, |_| true);
    assert!(few.contains(&7), "{few:?}");
    assert!(few.len() < 20, "{few:?}");
    assert!(!codes.candidates(&unit, 1, |row| row != 7).contains(&7));
}

#[test]
fn a_damaged_section_is_no_panic() {
    let vectors = some_vectors();
    let known = stored(&vectors);
    let unit = vec![0.15; 40];
    for has_lists in [false, true] {
        let bytes = section(&vectors, has_lists);
        let whole = VectorCodes::open(bytes.clone(), &known).unwrap();
        whole.validate(&known).unwrap();
        let (mut refused, mut noticed) = (0, 0);
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 0xff;
            match VectorCodes::open(damaged.into(), &known) {
                Ok(codes) => {
                    codes.candidates(&unit, 5, |row| row % 2 == 0);
                    codes.lists_of_rows();
                    noticed += usize::from(codes.validate(&known).is_err());
                }
                Err(_) => refused += 1,
            }
        }
        assert!(refused >= 8, "{refused} refused, {noticed} noticed of {}", bytes.len());
        assert!(noticed > bytes.len() / 2, "{refused} refused, {noticed} noticed of {}", bytes.len());
        for length in 0..bytes.len() {
            assert!(VectorCodes::open(bytes[..length].to_vec().into(), &known).is_err(), "{length}");
        }
        let fewer = stored(&vectors[1..]);
        assert!(VectorCodes::open(bytes, &fewer).is_err(), "of other vectors");
    }
}
