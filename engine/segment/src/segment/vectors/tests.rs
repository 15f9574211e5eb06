use super::*;
use crate::segment::{
    ListThresholds, MergeInput, MergeOptions, SegmentReader, SegmentWriter, SegmentWriterOptions, merge,
};
use crate::storage::{Directory, MemoryDirectory};
use lamina_text::id::{InternalId, SegmentId};
use proptest::prelude::*;

const FULL: VectorShape = VectorShape { dimensions: 3, binary: false };
const BITS: VectorShape = VectorShape { dimensions: 70, binary: true };

/// Vectors of one document, as a test writes them down.
type Given = Option<(VectorState, u64, Vec<Vec<f32>>)>;

fn segment(
    directory: &MemoryDirectory,
    id: u64,
    shape: VectorShape,
    documents: &[(InternalId, Given)],
) -> SegmentReader {
    let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
    for (internal_id, given) in documents {
        writer.begin_document(*internal_id, &format!("k{internal_id}"), b"{}");
        writer.end_document();
        if let Some((state, hash, vectors)) = given {
            let doc = writer.doc_count() - 1;
            writer.vectors("e", shape).set(doc, *state, *hash, vectors);
        }
    }
    let meta = writer.finish(directory, SegmentId(id)).unwrap();
    let reader = SegmentReader::open(directory, &meta).unwrap();
    reader.verify().unwrap();
    reader
}

fn given(vectors: &[[f32; 3]]) -> Given {
    Some((VectorState::supplied(false), 0, vectors.iter().map(|vector| vector.to_vec()).collect()))
}

#[test]
fn what_is_written_is_read() {
    let directory = MemoryDirectory::new();
    let hashed = Some((VectorState::generated().hashed(), 77, vec![vec![0.0, 3.0, 4.0]]));
    // Out of order on purpose.
    let documents = [(5, given(&[[1.0, 2.0, 2.0], [0.0; 3]])), (2, None), (3, given(&[])), (4, hashed)];
    let reader = segment(&directory, 1, FULL, &documents);
    let vectors = reader.vectors_of("e").unwrap();
    assert_eq!((vectors.shape(), vectors.vector_count()), (FULL, 3));
    assert_eq!(vectors.state(0), VectorState::ABSENT);
    assert!(vectors.state(1).is_present());
    assert!(vectors.of(1).is_empty());
    assert!(vectors.state(2).regenerates());
    assert!(!vectors.state(2).is_user_provided());
    assert_eq!(vectors.get(2).unwrap().text_hash, 77);
    assert_eq!(vectors.decoded(3).unwrap(), [vec![1.0, 2.0, 2.0], vec![0.0; 3]]);
    assert_eq!(vectors.inverse_norm(vectors.of(3).start), 1.0 / 3.0);
    assert_eq!(vectors.inverse_norm(vectors.of(3).start + 1), 0.0);
    assert_eq!(vectors.state(4), VectorState::ABSENT, "past the end");
    assert!(reader.vectors_of("other").is_none());
}

#[test]
fn bits_are_signs() {
    let vector: Vec<f32> = (0..70).map(|i| if i % 3 == 0 { 0.5 } else { -0.5 }).collect();
    let mut row = Vec::new();
    BITS.encode(&vector, &mut row);
    assert_eq!(row.len(), 16);
    let expected: Vec<f32> = (0..70).map(|i| if i % 3 == 0 { 1.0 } else { 0.0 }).collect();
    assert_eq!(BITS.decode(&row), expected);
}

#[test]
fn a_damaged_section_is_no_panic() {
    let directory = MemoryDirectory::new();
    let reader = segment(&directory, 1, FULL, &[(0, given(&[[1.0, 2.0, 3.0]])), (1, given(&[[1.0, 2.0, 3.0]]))]);
    let whole = reader.vectors_of("e").unwrap();
    let mut builder = VectorsBuilder::new("e", FULL);
    (0..2).for_each(|doc| builder.copy(doc, whole.get(doc).unwrap(), FULL));
    let mut file = crate::segment::format::SectionWriter::create(&directory, "x".into()).unwrap();
    builder.finish(&mut file, 0, None, 2, &ListThresholds::default()).unwrap();
    let meta = file.finish().unwrap();
    let table = crate::segment::format::SectionTable::open(&directory, &meta).unwrap();
    let bytes = table.required(crate::segment::format::SectionKind::Vectors).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 0xff;
        if let Ok(vectors) = Vectors::open(damaged.into(), 2) {
            for doc in 0..3 {
                let _ = (vectors.decoded(doc), vectors.get(doc));
            }
            let _ = vectors.validate();
        }
    }
    for length in 0..bytes.len() {
        assert!(Vectors::open(bytes[..length].to_vec().into(), 2).is_err(), "{length}");
    }
}

#[test]
fn rows_that_could_not_be_put_aside_are_still_there() {
    use crate::storage::{Fault, FaultyDirectory};
    for fault in [Fault::PowerLossAtSync(0), Fault::NoSpaceAtWrite(1)] {
        let directory = FaultyDirectory::new(fault);
        let mut builder = VectorsBuilder::new("e", FULL);
        builder.set(0, VectorState::supplied(false), 0, &[vec![1.0, 2.0, 2.0]]);
        assert!(
            matches!(builder.put_aside(&directory, "aside"), Err(crate::segment::SegmentError::Io { .. })),
            "{fault:?}"
        );
        assert_eq!(builder.movable_bytes(), 16);
        builder.put_aside(&MemoryDirectory::new(), "aside").unwrap();
        assert_eq!(builder.movable_bytes(), 0);
        let directory = MemoryDirectory::new();
        let mut file = crate::segment::format::SectionWriter::create(&directory, "x".into()).unwrap();
        builder.finish(&mut file, 0, None, 1, &ListThresholds::default()).unwrap();
        file.finish().unwrap();
    }
}

fn any_given() -> impl Strategy<Value = Given> {
    let vectors = prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 3), 0..3);
    prop::option::of((any::<bool>(), any::<u64>(), vectors).prop_map(|(user, hash, vectors)| {
        let state = if user { VectorState::supplied(true) } else { VectorState::generated() };
        (state.hashed(), hash, vectors)
    }))
}

proptest! {
    #[test]
    fn a_merge_keeps_every_vector(one in prop::collection::vec(any_given(), 1..20), other in prop::collection::vec(any_given(), 1..20)) {
        let directory = MemoryDirectory::new();
        let even: Vec<(u64, Given)> = (0..).zip(&one).map(|(i, given)| (i * 2, given.clone())).collect();
        let odd: Vec<(u64, Given)> = (0..).zip(&other).map(|(i, given)| (i * 2 + 1, given.clone())).collect();
        let readers = [segment(&directory, 1, FULL, &even), segment(&directory, 2, FULL, &odd)];
        let inputs = readers.each_ref().map(|segment| MergeInput { segment, deleted: None });
        let merged = merge(&inputs, &directory, SegmentId(3), &MergeOptions::default()).unwrap();
        let merged = SegmentReader::open(&directory, &merged.meta.unwrap()).unwrap();
        merged.verify().unwrap();
        let mut all: Vec<(u64, Given)> = even.into_iter().chain(odd).collect();
        all.sort_by_key(|(id, _)| *id);
        for (doc, (_, given)) in (0..).zip(all) {
            let found = merged.vectors_of("e").map_or_else(StoredVectors::default, |vectors| vectors.get(doc).unwrap());
            let (state, hash, vectors) = given.unwrap_or_default();
            prop_assert_eq!(found.state, state);
            prop_assert_eq!(found.text_hash, hash);
            let decoded = merged.vectors_of("e").map_or_else(Vec::new, |vectors| vectors.decoded(doc).unwrap());
            prop_assert_eq!(decoded, vectors);
        }
    }

    #[test]
    fn rows_in_files_are_written_like_those_in_memory(
        given in prop::collection::vec((any_given(), any::<bool>()), 1..30), binary in any::<bool>(), again in 0usize..30
    ) {
        let shape = VectorShape { binary, ..FULL };
        let written = |puts_aside: bool| {
            let directory = MemoryDirectory::new();
            let mut builder = VectorsBuilder::new("e", shape);
            // One document is said twice.
            let documents = (0u32..).zip(&given).chain(given.get(again).map(|given| (again as u32, given)));
            for (number, (doc, (given, then_aside))) in documents.enumerate() {
                let Some((state, hash, vectors)) = given else { continue };
                builder.set(doc, *state, *hash, vectors);
                if puts_aside && *then_aside && builder.movable_bytes() > 0 {
                    builder.put_aside(&directory, &format!("aside {number}")).unwrap();
                }
            }
            assert_eq!(directory.list().unwrap(), [""; 0], "no file keeps its name");
            let mut file = crate::segment::format::SectionWriter::create(&directory, "x".into()).unwrap();
            builder.finish(&mut file, 0, None, given.len() as u32, &ListThresholds::default()).unwrap();
            file.finish().unwrap();
            directory.open_read("x").unwrap().to_vec()
        };
        prop_assert_eq!(written(true), written(false));
    }
}

#[test]
fn dimensions_that_no_vector_has_are_refused() {
    let directory = MemoryDirectory::new();
    segment(&directory, 1, FULL, &[(1, given(&[])), (2, given(&[]))]);
    let file = directory.list().unwrap().remove(0);
    let bytes = directory.open_read(&file).unwrap().to_vec();
    let kind = crate::segment::format::SectionKind::Vectors as u16;
    let (_, place, _) =
        crate::segment::damage_tests::sections(&bytes).into_iter().find(|(found, ..)| *found == kind).unwrap();
    let with = |dimensions: u32| {
        let mut section = bytes[place.clone()].to_vec();
        section[4..8].copy_from_slice(&dimensions.to_le_bytes());
        Vectors::open(section.into(), 2).map(|vectors| vectors.shape().dimensions)
    };
    // Without a vector no length contradicts them.
    assert_eq!(with(crate::segment::DIMENSIONS_MAX).unwrap(), crate::segment::DIMENSIONS_MAX);
    for dimensions in [0, crate::segment::DIMENSIONS_MAX + 1, u32::MAX] {
        assert!(with(dimensions).is_err(), "{dimensions}");
    }
}
