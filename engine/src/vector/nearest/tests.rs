//! Against comparing everything.

use lamina_segment::segment::{
    ListThresholds, MergeInput, MergeOptions, SegmentReader, SegmentWriter, SegmentWriterOptions, VectorShape,
    VectorState, merge,
};
use lamina_segment::storage::MemoryDirectory;
use lamina_text::id::SegmentId;

use super::*;

const DIMENSIONS: usize = 48;
const WANTED: usize = 10;

/// Numbers that look random, the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        // Twelve even ones make a normal one.
        let mut sum = -6.0;
        for _ in 0..12 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += (self.0 >> 40) as f32 / (1u32 << 24) as f32;
        }
        sum
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| self.next()).collect()
    }
}

/// Vectors around `centre_count` places, or anywhere when there are none.
fn vectors(count: usize, centre_count: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut noise = Noise(seed);
    let mut places = Noise(7);
    let centres: Vec<Vec<f32>> = (0..centre_count).map(|_| places.vector()).collect();
    (0..count)
        .map(|index| {
            let mut vector = noise.vector();
            if let Some(centre) = centres.get(index % centre_count.max(1)) {
                vector.iter_mut().zip(centre).for_each(|(value, centre)| *value = *value * 0.6 + centre);
            }
            vector
        })
        .collect()
}

/// A segment in which document d has the vectors `of(d)`; internal ids from `first` on, every `step`-th.
fn segment(directory: &MemoryDirectory, id: u64, first: u64, step: u64, documents: &[&[Vec<f32>]]) -> SegmentReader {
    let mut writer = SegmentWriter::new(SegmentWriterOptions {
        list_thresholds: ListThresholds::SMALL,
        ..SegmentWriterOptions::default()
    });
    let shape = VectorShape { dimensions: DIMENSIONS as u32, binary: false };
    for (doc, vectors) in (0u32..).zip(documents) {
        let internal = first + u64::from(doc) * step;
        writer.begin_document(internal, &format!("k{internal}"), b"{}");
        writer.end_document();
        writer.vectors("e", shape).set(doc, VectorState::supplied(false), 0, vectors);
    }
    let meta = writer.finish(directory, SegmentId(id)).unwrap();
    let reader = SegmentReader::open(directory, &meta).unwrap();
    reader.verify().unwrap();
    reader
}

fn one_each(vectors: &[Vec<f32>]) -> Vec<&[Vec<f32>]> {
    vectors.iter().map(std::slice::from_ref).collect()
}

fn nearest_of(mut found: Vec<(DocId, f32)>) -> Vec<DocId> {
    found.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    found.into_iter().take(WANTED).map(|(doc, _)| doc).collect()
}

/// Nearly all of the nearest documents are found, over all `queries`.
#[track_caller]
fn check(reader: &SegmentReader, queries: &[Vec<f32>], docs: &DocSet, what: &str) {
    let recall = recall(reader, queries, docs);
    assert!(recall >= 0.99, "{what}: {recall}");
}

fn recall(reader: &SegmentReader, queries: &[Vec<f32>], docs: &DocSet) -> f64 {
    let vectors = reader.vectors_of("e").unwrap();
    let (mut found, mut expected) = (0, 0);
    for query in queries {
        let query = [QueryVector::new(query)];
        let mut all = Vec::new();
        similarities(vectors, &query, Pairing::All, docs, |doc, similarity| {
            all.extend(similarity.map(|similarity| (doc, similarity)));
        });
        let all = nearest_of(all);
        let near = nearest(vectors, &query, Pairing::All, docs, WANTED).expect("there are enough documents");
        let near = nearest_of(near);
        assert_eq!(near.len(), WANTED);
        expected += all.len();
        found += all.iter().filter(|doc| near.contains(doc)).count();
    }
    found as f64 / expected as f64
}

fn every(step: u32, count: u32) -> DocSet {
    (0..count).filter(|doc| doc % step == 0).collect()
}

#[test]
fn word_pairs_are_found_without_lists() {
    let directory = MemoryDirectory::new();
    for centre_count in [0, 20] {
        let all = vectors(3_000, centre_count, 1);
        let reader = segment(&directory, centre_count as u64, 0, 1, &one_each(&all));
        let queries = vectors(20, centre_count, 2);
        check(&reader, &queries, &DocSet::full(3_000), &format!("{centre_count} centres"));
        check(&reader, &queries, &every(2, 3_000), &format!("{centre_count} centres, half of them"));
    }
}

#[test]
fn word_pairs_are_found_in_lists_and_after_a_merge() {
    let directory = MemoryDirectory::new();
    let all = vectors(7_000, 30, 1);
    let (most, rest) = all.split_at(5_000);
    let readers = [segment(&directory, 1, 0, 2, &one_each(most)), segment(&directory, 2, 1, 6, &one_each(rest))];
    let queries = vectors(20, 30, 2);
    assert!(readers[0].vectors_of("e").unwrap().codes().unwrap().reach() > 0.0);
    check(&readers[0], &queries, &DocSet::full(5_000), "all");
    check(&readers[0], &queries, &every(7, 5_000), "under a filter");
    check(&readers[0], &vectors(10, 0, 3), &DocSet::full(5_000), "far from all of them");

    let deleted = every(3, 5_000);
    let inputs = [
        MergeInput { segment: &readers[0], deleted: Some(&deleted) },
        MergeInput { segment: &readers[1], deleted: None },
    ];
    let options = MergeOptions { list_thresholds: ListThresholds::SMALL, ..MergeOptions::default() };
    let merged = merge(&inputs, &directory, SegmentId(3), &options).unwrap();
    let merged = SegmentReader::open(&directory, &merged.meta.unwrap()).unwrap();
    merged.verify().unwrap();
    check(&merged, &queries, &DocSet::full(merged.doc_count()), "merged");
}

#[test]
fn documents_with_several_vectors_or_none() {
    let directory = MemoryDirectory::new();
    let all = vectors(4_800, 20, 1);
    // By turns three vectors, none and one.
    let mut documents: Vec<&[Vec<f32>]> = Vec::new();
    for four in all.chunks_exact(4) {
        documents.extend([&four[..3], &[], &four[3..]]);
    }
    let reader = segment(&directory, 1, 0, 1, &documents);
    let count = documents.len() as u32;
    check(&reader, &vectors(20, 20, 2), &DocSet::full(count), "all");
    check(&reader, &vectors(20, 20, 2), &every(2, count), "all");
}

#[test]
fn what_is_compared_one_by_one() {
    let directory = MemoryDirectory::new();
    let all = vectors(3_000, 5, 1);
    let reader = segment(&directory, 1, 0, 1, &one_each(&all));
    let vectors = reader.vectors_of("e").unwrap();
    let query = [QueryVector::new(&all[3])];
    let near = |docs: &DocSet, count| nearest(vectors, &query, Pairing::All, docs, count);
    assert!(near(&DocSet::full(3_000), 5).is_some());
    assert!(near(&DocSet::full(3_000), 1_001).is_none(), "many hits");
    let two = [query[0].clone(), query[0].clone()];
    assert!(nearest(vectors, &two, Pairing::All, &DocSet::full(3_000), 5).is_none(), "two queries");
}

#[test]
fn equal_vectors_are_no_trouble() {
    let directory = MemoryDirectory::new();
    let one = Noise(1).vector();
    let zeros = vec![0.0; DIMENSIONS];
    let all: Vec<Vec<f32>> = (0..5_000).map(|i| if i % 2 == 0 { one.clone() } else { zeros.clone() }).collect();
    let reader = segment(&directory, 1, 0, 1, &one_each(&all));
    let query = [QueryVector::new(&one)];
    let vectors = reader.vectors_of("e").unwrap();
    let found = nearest(vectors, &query, Pairing::All, &DocSet::full(5_000), WANTED).unwrap();
    assert!(found.iter().all(|(doc, _)| doc % 2 == 0));
    assert!(found.iter().all(|(_, similarity)| *similarity > 0.999));
    assert_eq!(nearest_of(found)[0], 0, "the first of those that are equally near");
}
