//! Changed settings reach the documents that are there already.

use lamina_segment::storage::MemoryDirectory;
use serde_json::json;

use super::*;

fn films() -> Index {
    let index = create(&MemoryDirectory::default());
    apply_one(
        &index,
        add(&[
            json!({"id": 1, "title": "Brazil", "year": 1985, "tags": ["Dream", "office"], "who": {"name": "Sam"}}),
            json!({"id": 2, "title": "Stalker", "year": 1979, "tags": [], "who": {"name": "Zone"}}),
        ]),
    )
    .expect("added");
    apply_one(&index, add(&[json!({"id": 3, "title": "Brazil again", "rating": true})])).expect("added");
    index
}

fn columns(index: &Index, field: &str) -> Vec<(String, Vec<String>)> {
    column_values(&index.snapshot(), field)
}

fn values(expected: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    expected
        .iter()
        .map(|(id, values)| ((*id).to_owned(), values.iter().map(|value| (*value).to_owned()).collect()))
        .collect()
}

#[test]
fn columns_are_added_without_touching_the_segments() {
    let index = films();
    let before: Vec<String> =
        index.snapshot().segments.iter().map(|segment| segment.reader.meta().file.name.clone()).collect();
    apply_one(&index, settings(json!({"filterableAttributes": ["tags", "who"], "sortableAttributes": ["year"]})))
        .expect("set");
    apply_one(&index, settings(json!({"rankingRules": ["words", "rating:desc"]}))).expect("set");
    let after: Vec<String> =
        index.snapshot().segments.iter().map(|segment| segment.reader.meta().file.name.clone()).collect();
    assert_eq!(before, after);
    assert_eq!(columns(&index, "tags"), values(&[("1", &["dream", "office"])]));
    assert_eq!(columns(&index, "who.name"), values(&[("1", &["sam"]), ("2", &["zone"])]));
    assert_eq!(columns(&index, "year"), values(&[("1", &["1985"]), ("2", &["1979"])]));
    assert_eq!(columns(&index, "rating"), values(&[("3", &["true"])]));

    // New documents get theirs at once, merged segments keep all of them, and so does a restart.
    apply_one(&index, add(&[json!({"id": 4, "year": 2000, "tags": "Office"})])).expect("added");
    index.compact(&AtomicBool::new(false)).expect("merges");
    assert_eq!(columns(&index, "year"), values(&[("1", &["1985"]), ("2", &["1979"]), ("4", &["2000"])]));
    assert_eq!(columns(&index, "tags"), values(&[("1", &["dream", "office"]), ("4", &["office"])]));
    assert_eq!(columns(&index, "rating"), values(&[("3", &["true"])]));
}

#[test]
fn a_field_that_comes_back_has_all_its_values() {
    let index = films();
    let year = json!({"filterableAttributes": ["year"]});
    apply_one(&index, settings(year.clone())).expect("set");
    apply_one(&index, settings(json!({"filterableAttributes": null}))).expect("reset");
    apply_one(&index, add(&[json!({"id": 4, "year": 2000})])).expect("added");
    apply_one(&index, settings(year)).expect("set again");
    assert_eq!(columns(&index, "year"), values(&[("1", &["1985"]), ("2", &["1979"]), ("4", &["2000"])]));
}

#[test]
fn dropped_columns_do_not_survive_a_merge_half_filled() {
    let index = films();
    let year = json!({"filterableAttributes": ["year"]});
    apply_one(&index, settings(year.clone())).expect("set");
    apply_one(&index, settings(json!({"filterableAttributes": null}))).expect("reset");
    apply_one(&index, add(&[json!({"id": 4, "year": 2000})])).expect("added");
    index.compact(&AtomicBool::new(false)).expect("merges");
    apply_one(&index, settings(year)).expect("set again");
    assert_eq!(columns(&index, "year"), values(&[("1", &["1985"]), ("2", &["1979"]), ("4", &["2000"])]));
}

#[test]
fn a_rare_field_keeps_its_column_through_merges() {
    let index = films();
    apply_one(&index, settings(json!({"filterableAttributes": [{"attributePatterns": ["*"]}]}))).expect("set");
    apply_one(&index, add(&[json!({"id": 4, "rare": "yes"})])).expect("added");
    index.compact(&AtomicBool::new(false)).expect("merges");
    assert_eq!(columns(&index, "rare"), values(&[("4", &["yes"])]));
    assert_eq!(columns(&index, "title").len(), 3);
}

#[test]
fn positions_are_read_once_they_are_wanted() {
    let index = create(&MemoryDirectory::default());
    apply_one(&index, add(&[json!({"id": 1, "_geo": {"lat": 1.5, "lng": "2"}}), json!({"id": 2, "_geo": {"lat": 1}})]))
        .expect("positions are not looked at yet");
    let points = |index: &Index| -> Vec<Option<(f64, f64)>> {
        let snapshot = index.snapshot();
        let read = |segment: &super::super::SegmentView| {
            (0..segment.reader.doc_count()).map(|doc| segment.reader.geo()?.point(doc)).collect::<Vec<_>>()
        };
        snapshot.segments.iter().flat_map(read).collect()
    };
    let sortable = || settings(json!({"sortableAttributes": ["_geo"]}));
    assert!(matches!(try_apply(&index, 5, &[sortable()]), Err(IndexError::Geo(_))));
    assert!(index.snapshot().settings.sortable_attributes.is_empty());
    apply(&index, &[delete(&["2"]), sortable()]);
    assert_eq!(points(&index)[0], Some((1.5, 2.0)));
    apply_one(&index, add(&[json!({"id": 3, "_geo": {"lat": 3, "lng": 4}})])).expect("added");
    index.compact(&AtomicBool::new(false)).expect("merges");
    assert_eq!(points(&index), [Some((1.5, 2.0)), Some((3.0, 4.0))]);
}

#[test]
fn another_way_to_cut_text_reaches_old_documents() {
    let index = films();
    apply_one(&index, add(&[json!({"id": 5, "title": "onezztwo"})])).expect("added");
    let before = observe(&index.snapshot());
    assert_eq!(ids_with_word(&index.snapshot(), "two"), [""; 0]);
    apply_one(&index, settings(json!({"separatorTokens": ["zz"]}))).expect("set");
    assert_eq!(ids_with_word(&index.snapshot(), "two"), ["5"]);
    assert_eq!(ids_with_word(&index.snapshot(), "brazil"), ["1", "3"]);
    assert_eq!(ids_with_word(&index.snapshot(), "onezztwo"), [""; 0]);
    let after = observe(&index.snapshot());
    assert_eq!(after.documents, before.documents);
    assert_eq!(after.field_distribution, before.field_distribution);
    apply_one(&index, settings(json!({"separatorTokens": null}))).expect("reset");
    assert_eq!(ids_with_word(&index.snapshot(), "onezztwo"), ["5"]);
}

#[test]
fn narrowing_the_searchable_fields_is_free_and_widening_is_complete() {
    let index = films();
    let files = |index: &Index| -> Vec<String> {
        index.snapshot().segments.iter().map(|segment| segment.reader.meta().file.name.clone()).collect()
    };
    let before = files(&index);
    apply_one(&index, settings(json!({"searchableAttributes": ["title"]}))).expect("set");
    assert_eq!(files(&index), before);
    assert_eq!(ids_with_word(&index.snapshot(), "office"), [""; 0]);
    // Written while `tags` was not searchable.
    apply_one(&index, add(&[json!({"id": 4, "tags": ["office"], "title": "four"})])).expect("added");
    apply_one(&index, settings(json!({"searchableAttributes": ["tags", "title"]}))).expect("set");
    assert_eq!(ids_with_word(&index.snapshot(), "office"), ["1", "4"]);
    apply_one(&index, settings(json!({"searchableAttributes": ["title", "tags"]}))).expect("only the order");
    let ordered = files(&index);
    apply_one(&index, settings(json!({"searchableAttributes": ["*"]}))).expect("set");
    assert_ne!(files(&index), ordered);
    assert_eq!(ids_with_word(&index.snapshot(), "sam"), ["1"]);
}

#[test]
fn settings_that_contradict_each_other_fail_alone() {
    let index = films();
    let results = apply(
        &index,
        &[
            settings(json!({"typoTolerance": {"minWordSizeForTypos": {"oneTypo": 50}}})),
            settings(json!({"stopWords": ["the"]})),
        ],
    );
    assert!(matches!(&results[0], Err(OperationError::Settings(_))));
    assert!(results[1].is_ok());
    let stored = &index.snapshot().settings;
    assert_eq!(stored.typo_tolerance, Default::default());
    assert_eq!(stored.stop_words.len(), 1);
}

#[test]
fn columns_of_a_large_segment_are_read_by_all_threads_and_stay_in_order() {
    let index = create(&MemoryDirectory::default());
    let films: Vec<Value> = (0..6000)
        .map(|id| json!({"id": id, "n": id % 7, "name": format!("Name {}", id % 5), "text": "word ".repeat(100)}))
        .collect();
    apply_one(&index, add(&films)).expect("added");
    apply_one(&index, delete(&["0", "3001", "5999"])).expect("deleted");
    index.compact(&AtomicBool::new(false)).expect("merges");
    apply_one(&index, delete(&["2049"])).expect("deleted");
    let meta_bytes = index.snapshot().segments[0].reader.meta().raw_bytes;
    assert!(meta_bytes > 2 << 20, "{meta_bytes} bytes");
    assert_eq!(index.snapshot().segments.len(), 1, "{meta_bytes} bytes");
    apply_one(&index, settings(json!({"filterableAttributes": ["n", "name"]}))).expect("set");
    let mut expected: Vec<(String, Vec<String>)> = (0..6000)
        .filter(|id| ![0, 2049, 3001, 5999].contains(id))
        .map(|id| (id.to_string(), vec![format!("name {}", id % 5)]))
        .collect();
    expected.sort();
    assert_eq!(columns(&index, "name"), expected);
    assert_eq!(columns(&index, "n").len(), 5996);
}
