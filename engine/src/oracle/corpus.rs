//! Small random indexes: documents whose values collide often, spread over segments, some deleted or replaced.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_index::index::{
    CommitNote, Index, IndexOptions, Operation, Payload, Progress, SettingsPatch, Snapshot, Upsert, WriteMethod,
};
use lamina_segment::bits::DocSet;
use lamina_segment::segment::ListThresholds;
use lamina_segment::storage::MemoryDirectory;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// An index and the documents that should be in it.
pub(crate) struct Corpus {
    pub(crate) snapshot: Arc<Snapshot>,
    /// In order of first insertion.
    pub(crate) documents: Vec<Value>,
    _index: Index,
}

impl Corpus {
    /// Applies `settings`, then each of `batches` in a commit of its own (so that segments stay apart), then deletes
    /// the documents whose id is in `deleted`. The id of a document is its `id`.
    pub(crate) fn new(settings: Value, batches: &[Vec<Value>], deleted: &[u64]) -> Corpus {
        let options = IndexOptions {
            indexing_memory_bytes: 16 << 20,
            indexing_threads: 1,
            background_merges: false,
            list_thresholds: ListThresholds::SMALL,
            ..IndexOptions::default()
        };
        let index = Index::create_in(Arc::new(MemoryDirectory::default()), options).expect("an empty directory");
        let patch: SettingsPatch = serde_json::from_value(settings).expect("test settings are valid");
        apply(&index, Operation::Settings(Box::new(patch)));
        let mut expected: Vec<(String, Value)> = Vec::new();
        for batch in batches.iter().filter(|batch| !batch.is_empty()) {
            let lines: String = batch.iter().map(|document| format!("{document}\n")).collect();
            apply(
                &index,
                Operation::Upsert(Upsert {
                    payload: Payload::Bytes(Arc::from(lines.into_bytes())),
                    method: WriteMethod::Replace,
                    primary_key: Some("id".to_owned()),
                    skip_creation: false,
                }),
            );
            for document in batch {
                let key = document["id"].to_string();
                match expected.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, known)) => *known = document.clone(),
                    None => expected.push((key, document.clone())),
                }
            }
        }
        let deleted: Vec<String> = deleted.iter().map(u64::to_string).collect();
        expected.retain(|(key, _)| !deleted.contains(key));
        apply(&index, Operation::DeleteIds(deleted));
        let documents = expected.into_iter().map(|(_, document)| document).collect();
        Corpus { snapshot: index.snapshot(), documents, _index: index }
    }

    /// The ids of documents given as one set per segment, ascending.
    pub(crate) fn ids(&self, sets: &[DocSet]) -> Vec<u64> {
        let addresses = self.snapshot.documents_among(sets, 0, u64::MAX).into_iter();
        let mut ids: Vec<u64> = addresses.map(|address| self.id(address)).collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn id(&self, address: lamina_index::index::DocumentAddress) -> u64 {
        let document = self.snapshot.document(address).expect("documents can be read");
        let document: Value = serde_json::from_slice(&document).expect("documents are JSON");
        document["id"].as_u64().expect("ids are numbers")
    }

    /// The ids of the documents that `keep` accepts, ascending.
    pub(crate) fn expected_ids(&self, keep: impl Fn(&Value) -> bool) -> Vec<u64> {
        let kept = self.documents.iter().filter(|document| keep(document));
        let mut ids: Vec<u64> = kept.map(|document| document["id"].as_u64().expect("ids are numbers")).collect();
        ids.sort_unstable();
        ids
    }

    /// The live documents, one set per segment.
    pub(crate) fn live(&self) -> Vec<DocSet> {
        self.snapshot.segments.iter().map(|segment| segment.live_set()).collect()
    }
}

fn apply(index: &Index, operation: Operation) {
    let note = CommitNote::new(0, |_| Vec::new());
    let results = index.apply(&[operation], note, &Progress::new(), &AtomicBool::new(false)).expect("memory is enough");
    for result in results {
        result.expect("test operations are valid");
    }
}

/// Settings under which every field of the documents of [`documents`] can be filtered and sorted.
pub(crate) fn settings() -> Value {
    json!({
        "filterableAttributes": ["tag", "size", "big", "mixed", "deep", "maybe", "_geo", "_geojson"],
        "sortableAttributes": ["tag", "size", "big", "mixed", "deep", "maybe", "_geo"],
        "rankingRules": ["sort"],
    })
}

/// Longer than what columns keep of a string.
pub(crate) const LONG: usize = 500;

fn word() -> impl Strategy<Value = String> {
    let long = prop::sample::select(vec!["x".repeat(LONG), "x".repeat(LONG) + "y", "é".repeat(LONG)]);
    let usual = prop::sample::select(vec![
        "red",
        "Red",
        " RED ",
        "green",
        "Éclair",
        "éclair",
        "ab",
        "abc",
        "12",
        "10",
        "true",
        "é",
        "2024-03-01",
        "2024-03-01T00:30:00+02:00",
        "2024-02-29T22:30:00Z",
        "2024-02-29T23:00:00.5Z",
        "2024-02-29T12:00:00-12:30",
        "2024-02-29 23:30:00-08:00",
        "2024-02-29T23:30:00",
    ])
    .prop_map(str::to_owned);
    prop_oneof![30 => usual, 1 => long]
}

/// Integers that share a float with their neighbours, and some that do not.
fn big() -> impl Strategy<Value = Value> {
    let integer = prop_oneof![
        4 => (0u64..4).prop_map(|more| Value::from((1u64 << 53) + more)),
        2 => (0u64..3).prop_map(|less| Value::from(u64::MAX - less)),
        2 => (0i64..3).prop_map(|more| Value::from(i64::MIN + more)),
        1 => (0i64..3).prop_map(|more| Value::from(-(1i64 << 53) - more)),
        1 => number(),
        1 => word().prop_map(Value::from),
    ];
    prop_oneof![4 => integer.clone(), 1 => vec(integer, 0..4).prop_map(Value::from)]
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3i64..15).prop_map(Value::from),
        prop::sample::select(vec![0.5, -0.0, 10.0, 1e10, 2.5]).prop_map(Value::from),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![4 => word().prop_map(Value::from), 4 => number(), 1 => any::<bool>().prop_map(Value::from)]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => scalar(),
        3 => vec(scalar(), 0..4).prop_map(Value::from),
        1 => vec(vec(scalar(), 0..3), 0..3).prop_map(|arrays| json!([arrays, arrays.first()])),
        1 => prop::sample::select(vec![json!([""]), json!([[]]), json!([{}]), json!([null]), json!(["", null, {}])]),
        1 => Just(Value::Null),
        1 => Just(json!("")),
        1 => Just(json!({})),
        1 => Just(json!("  ")),
        1 => Just(json!([null, 1])),
    ]
}

fn deep() -> impl Strategy<Value = Value> {
    let object = || {
        (scalar(), prop::option::of(scalar())).prop_map(|(a, c)| match c {
            Some(c) => json!({ "a": a, "b": { "c": c } }),
            None => json!({ "a": a }),
        })
    };
    prop_oneof![object(), vec(object(), 1..3).prop_map(Value::from), Just(json!({})), scalar()]
}

/// Points, lines and polygons of whole degrees, so that they meet the borders of regions.
fn geojson() -> impl Strategy<Value = Value> {
    let position = || (-9i8..=9, -9i8..=9).prop_map(|(x, y)| json!([x, y]));
    prop_oneof![
        position().prop_map(|point| json!({ "type": "Point", "coordinates": point })),
        vec(position(), 2..5).prop_map(|line| json!({ "type": "LineString", "coordinates": line })),
        vec(position(), 3..6)
            .prop_map(|ring| json!({ "type": "Feature", "geometry": { "type": "Polygon", "coordinates": [ring] } })),
        Just(Value::Null),
    ]
}

/// A document with some of the fields of [`settings`].
fn document(id: u64) -> impl Strategy<Value = Value> {
    // Poles, both sides of the antimeridian, places less than a metre apart.
    let longitude = prop_oneof![
        2 => -180.0..=180.0f64,
        3 => prop::sample::select(vec![10.0, 10.000_005, 0.0, -90.0, 180.0, -180.0]),
    ];
    let geo = (prop::sample::select(vec![0.0, 1.0, 45.5, -89.0, 90.0, -90.0]), longitude, any::<bool>());
    let geo = geo.prop_map(|(lat, lng, as_text)| match as_text {
        true => json!({ "lat": lat.to_string(), "lng": lng.to_string() }),
        false => json!({ "lat": lat, "lng": lng }),
    });
    let fields = (
        prop::option::of(word().prop_map(Value::from)),
        prop::option::of(number()),
        prop::option::of(big()),
        prop::option::of(value()),
        prop::option::of(deep()),
        prop::option::weighted(0.1, scalar()),
        prop::option::weighted(0.2, value()),
        prop::option::of(geo),
        prop::option::of(geojson()),
    );
    fields.prop_map(move |(tag, size, big, mixed, deep, deep_a, maybe, geo, geojson)| {
        let named = [
            ("id", Some(Value::from(id))),
            ("tag", tag),
            ("size", size),
            ("big", big),
            ("mixed", mixed),
            ("deep", deep),
            // A name with a dot is the path that it reads like.
            ("deep.a", deep_a),
            ("maybe", maybe),
            ("_geo", geo),
            ("_geojson", geojson),
        ];
        let present = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(present.collect::<Map<String, Value>>())
    })
}

/// Batches of documents with ids that repeat now and then, and ids to delete.
pub(crate) fn documents() -> impl Strategy<Value = (Vec<Vec<Value>>, Vec<u64>)> {
    let batch = vec((0u64..60).prop_flat_map(document), 0..40).prop_map(|documents| {
        // The last one of equal ids counts, as in a payload.
        let unique: BTreeMap<u64, Value> =
            documents.into_iter().map(|document| (document["id"].as_u64().expect("a number"), document)).collect();
        unique.into_values().collect()
    });
    (vec(batch, 1..4), vec(0u64..60, 0..8))
}
