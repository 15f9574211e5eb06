use super::*;
use lamina_segment::segment::{SegmentReader, SegmentWriter, SegmentWriterOptions, VectorState};
use lamina_segment::storage::MemoryDirectory;
use lamina_text::id::SegmentId;
use proptest::prelude::*;

fn segment(binary: bool, documents: &[Vec<Vec<f32>>]) -> SegmentReader {
    let directory = MemoryDirectory::new();
    let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
    let shape = VectorShape { dimensions: 5, binary };
    for (doc, vectors) in (0..).zip(documents) {
        writer.begin_document(u64::from(doc), &format!("k{doc}"), b"{}");
        writer.end_document();
        writer.vectors("e", shape).set(doc, VectorState::supplied(false), 0, vectors);
    }
    let meta = writer.finish(&directory, SegmentId(1)).unwrap();
    SegmentReader::open(&directory, &meta).unwrap()
}

fn naive(query: &[f32], vector: &[f32], binary: bool) -> f32 {
    let sign = |value: &f32| if *value > 0.0 { 1.0 } else { -1.0 };
    let read = |vector: &[f32]| -> Vec<f64> {
        vector.iter().map(|value| f64::from(if binary { sign(value) } else { *value })).collect()
    };
    let (a, b) = (read(query), read(vector));
    let product: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
    let norm = |vector: &[f64]| vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    let cosine = if norm(&a) * norm(&b) > 0.0 { product / (norm(&a) * norm(&b)) } else { 0.0 };
    ((1.0 + cosine) / 2.0) as f32
}

#[test]
fn the_example_of_the_protocol() {
    let shape = VectorShape { dimensions: 2, binary: false };
    let directory = MemoryDirectory::new();
    let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
    writer.begin_document(0, "k", b"{}");
    writer.end_document();
    writer.vectors("e", shape).set(0, VectorState::supplied(false), 0, &[[2.0, 3.0]]);
    let meta = writer.finish(&directory, SegmentId(1)).unwrap();
    let reader = SegmentReader::open(&directory, &meta).unwrap();
    let mut found = Vec::new();
    let query = [QueryVector::new(&[1.0, 1.0])];
    similarities(reader.vectors_of("e").unwrap(), &query, Pairing::All, &DocSet::full(1), |doc, similarity| {
        found.push((doc, similarity.unwrap()));
    });
    assert!((found[0].1 - 0.990_29).abs() < 1e-5, "{found:?}");
}

#[test]
fn pairs_compare_vectors_of_the_same_place() {
    let one = |at: usize| (0..5).map(|i| if i == at { 1.0 } else { 0.0 }).collect::<Vec<f32>>();
    let reader = segment(false, &[vec![one(0), one(1)], vec![one(1), one(0)], vec![one(1)]]);
    let queries = [QueryVector::new(&one(0)), QueryVector::new(&one(1))];
    let found = |pairing| {
        let mut found = Vec::new();
        let vectors = reader.vectors_of("e").unwrap();
        similarities(vectors, &queries, pairing, &DocSet::full(3), |_, similarity| found.push(similarity.unwrap()));
        found
    };
    assert_eq!(found(Pairing::All), [1.0, 1.0, 1.0]);
    assert_eq!(found(Pairing::ByPosition), [1.0, 0.5, 0.5]);
}

proptest! {
    #[test]
    fn the_best_vector_of_each_document(
        documents in prop::collection::vec(prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 5), 0..3), 1..600),
        query in prop::collection::vec(-1.0f32..1.0, 5),
        binary in any::<bool>(),
        left_out in any::<u32>(),
    ) {
        let reader = segment(binary, &documents);
        let docs: Vec<u32> = (0..documents.len() as u32).filter(|doc| left_out >> (doc % 32) & 1 == 0).collect();
        let mut expected = Vec::new();
        for &doc in &docs {
            let best = documents[doc as usize].iter().map(|vector| naive(&query, vector, binary)).reduce(f32::max);
            expected.push((doc, best));
        }
        let mut found = Vec::new();
        let query = [QueryVector::new(&query)];
        let vectors = reader.vectors_of("e").unwrap();
        let docs = DocSet::from_sorted(docs);
        similarities(vectors, &query, Pairing::All, &docs, |doc, similarity| found.push((doc, similarity)));
        prop_assert_eq!(found.len(), expected.len());
        for ((doc, similarity), (expected_doc, expected)) in found.into_iter().zip(expected) {
            prop_assert_eq!(doc, expected_doc);
            prop_assert_eq!(similarity.is_some(), expected.is_some());
            prop_assert!((similarity.unwrap_or(0.0) - expected.unwrap_or(0.0)).abs() < 1e-4);
        }
    }

    #[test]
    fn the_nearest_are_those_of_all_similarities(
        documents in prop_oneof![
            prop::collection::vec(prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 5), 0..3), 1..600),
            // A vector for each document, as most collections have it.
            prop::collection::vec(prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 5), 1), 300..1500),
        ],
        queries in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 5), 1..3),
        is_by_position in any::<bool>(),
        binary in any::<bool>(),
        left_out in prop_oneof![Just(0), any::<u32>()],
        within in (0u32..200, 100u32..2000),
        count in prop_oneof![Just(1usize), Just(10), 0usize..40, Just(usize::MAX)],
    ) {
        let reader = segment(binary, &documents);
        let vectors = reader.vectors_of("e").unwrap();
        let queries: Vec<QueryVector> = queries.iter().map(|query| QueryVector::new(query)).collect();
        let pairing = if is_by_position { Pairing::ByPosition } else { Pairing::All };
        let within = within.0..within.1.max(within.0);
        let docs: Vec<u32> = (0..documents.len() as u32).filter(|doc| left_out >> (doc % 32) & 1 == 0).collect();
        let docs = DocSet::from_sorted(docs);
        let mut expected = Vec::new();
        similarities(vectors, &queries, pairing, &docs, |doc, similarity| expected.push((doc, similarity)));
        expected.retain(|(doc, _)| within.contains(doc));
        // Equal ones, of which bits have many, stay in the order of the documents.
        expected.sort_by(|one, other| other.1.partial_cmp(&one.1).unwrap());
        expected.truncate(count);
        for docs in [docs.clone(), docs.into_bitset(documents.len() as u32)] {
            let mut found = nearest_by_scan(vectors, &queries, pairing, &docs, within.clone(), count);
            found.sort_by(|one, other| other.1.partial_cmp(&one.1).unwrap().then(one.0.cmp(&other.0)));
            prop_assert_eq!(&found, &expected);
        }
    }
}

#[test]
fn a_document_whose_similarity_is_none_comes_last() {
    // The sum of the products is larger than any number, and so is the length: neither says how near it is.
    let reader = segment(false, &[vec![vec![f32::MAX; 5]], vec![vec![1.0; 5]], vec![vec![-1.0; 5]]]);
    let query = [QueryVector::new(&[1.0; 5])];
    let found = nearest_by_scan(reader.vectors_of("e").unwrap(), &query, Pairing::All, &DocSet::full(3), 0..3, 3);
    let docs: Vec<DocId> = found.iter().map(|(doc, _)| *doc).collect();
    assert_eq!(docs, [0, 1, 2], "none is left out: {found:?}");
}
