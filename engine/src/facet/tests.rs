use std::collections::BTreeMap;

use lamina_index::index::settings::{FacetOrder, Settings};
use lamina_segment::bits::DocSet;
use lamina_segment::document::FieldMap;
use lamina_text::text::Language;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::oracle::{Corpus, Facts, documents, normal, settings};

const FIELDS: [&str; 7] = ["tag", "size", "big", "mixed", "deep.a", "deep.b.c", "maybe"];

fn names(facets: &[&str]) -> Vec<String> {
    facets.iter().map(|facet| (*facet).to_owned()).collect()
}

/// The names that `facets` selects among `known` under these `filterableAttributes`.
fn selected(filterable: Value, known: &[&str], facets: &[&str]) -> Result<Vec<String>, FacetError> {
    let settings: Settings = serde_json::from_value(json!({ "filterableAttributes": filterable })).unwrap();
    let fields = FieldMap::from_names(known).unwrap().snapshot();
    let selected = select_facets(&names(facets), &settings, &fields)?;
    Ok(selected.into_iter().map(|facet| facet.name).collect())
}

#[test]
fn facets_are_selected_by_name_pattern_or_parent() {
    let known = ["title", "genre", "genre_main", "doggos", "doggos.name", "other", "_geo"];
    let plain = json!(["genre", "doggos", "_geo", "genre_main"]);
    assert_eq!(selected(plain.clone(), &known, &["genre"]).unwrap(), ["genre"]);
    assert_eq!(selected(plain.clone(), &known, &["doggos"]).unwrap(), ["doggos", "doggos.name"]);
    assert_eq!(selected(plain.clone(), &known, &["genre*"]).unwrap(), ["genre", "genre_main"]);
    assert_eq!(selected(plain.clone(), &known, &["*"]).unwrap(), ["doggos", "doggos.name", "genre", "genre_main"]);
    assert_eq!(selected(plain, &known, &[]).unwrap(), [""; 0]);
    assert_eq!(selected(json!([]), &known, &["*"]).unwrap(), [""; 0]);
    let patterns = json!([{ "attributePatterns": ["doggos", "doggos.*"] }]);
    assert_eq!(selected(patterns, &known, &["doggos"]).unwrap(), ["doggos", "doggos.name"]);
    let children = json!([{ "attributePatterns": ["doggos.*"] }]);
    assert!(selected(children, &known, &["doggos"]).is_err());
}

#[test]
fn facets_that_select_nothing_are_refused() {
    let refused = |filterable: Value, facets: &[&str]| match selected(filterable, &[], facets) {
        Err(FacetError::NotFilterable { patterns, available }) => (patterns, available.shown().to_vec()),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(json!(["title", "genres"]), &["doggo"]), (names(&["doggo"]), names(&["genres", "title"])));
    assert_eq!(refused(json!([]), &["b", "a"]), (names(&["a", "b"]), Vec::new()));
    let disabled =
        json!([{ "attributePatterns": ["x"], "features": { "filter": { "equality": false, "comparison": false } } }]);
    let refused = selected(disabled, &["x"], &["x"]);
    assert_eq!(refused, Err(FacetError::FilteringDisabled { attribute: "x".to_owned(), rule: 0 }));
}

fn counted(corpus: &Corpus, candidates: &[DocSet], name: &str) -> FieldFacet {
    let snapshot = &corpus.snapshot;
    let Some(field) = snapshot.fields.get(name) else {
        return FieldFacet {
            name: name.to_owned(),
            values: Vec::new(),
            numbers: Vec::new(),
            stats: None,
            is_cut: false,
        };
    };
    let values_max = snapshot.settings.faceting.max_values_per_facet;
    distribution(snapshot, candidates, &FacetField::new(name, field), Listing::up_to(values_max))
}

#[test]
fn values_are_listed_as_first_written_numbers_first() {
    let documents = [
        json!({ "id": 1, "mixed": ["Red", 12, "b"] }),
        json!({ "id": 2, "mixed": [" red", 2.5, -1] }),
        json!({ "id": 3, "mixed": [true, "12", "RED", "red"] }),
    ];
    let corpus = Corpus::new(settings(), &[documents[..1].to_vec(), documents[1..].to_vec()], &[]);
    let facet = counted(&corpus, &corpus.live(), "mixed");
    let expected = [("-1", 1), ("12", 2), ("2.5", 1), ("b", 1), ("Red", 3), ("true", 1)];
    assert_eq!(facet.values, expected.map(|(value, count)| (value.to_owned(), count)));
    assert_eq!(facet.stats, Some(FacetStats { min: -1.0, max: 12.0 }));
}

/// Numbers and strings that look alike, in documents with one and with several values.
#[test]
fn look_alikes_are_one_value() {
    let values =
        [json!(308), json!(308), json!("308"), json!("308 SW"), json!([3008, "3008"]), json!("3008"), json!(0.5)];
    let more = [json!("0.5"), json!(" 0.5"), json!("0.50"), json!([7, "7"]), json!("07")];
    let documents: Vec<Value> =
        (0u64..).zip(values.iter().chain(&more)).map(|(id, value)| json!({ "id": id, "mixed": value })).collect();
    let with = |order: &str, limit: usize| {
        let mut settings = settings();
        settings["faceting"] = json!({ "maxValuesPerFacet": limit, "sortFacetValuesBy": { "*": order } });
        let corpus = Corpus::new(settings, &[documents[..5].to_vec(), documents[5..].to_vec()], &[]);
        let facet = counted(&corpus, &corpus.live(), "mixed");
        let hits = search_facet(&corpus.snapshot, &corpus.live(), "mixed", Some("3"), &[]).unwrap().hits;
        let values = |values: FacetValues| {
            values.into_iter().map(|(value, count)| format!("{value}:{count}")).collect::<Vec<_>>().join(" ")
        };
        (values(facet.values), facet.is_cut, values(hits.into_iter().map(|hit| (hit.value, hit.count)).collect()))
    };
    let all = "0.5:3 3008:2 308:3 7:1 0.50:2 07:2 308 SW:1";
    assert_eq!(with("alpha", 100), (all.to_owned(), false, "3008:2 308:3 308 SW:1".to_owned()));
    assert_eq!(with("alpha", 3).0, "0.5:3 3008:2 308:3");
    let by_count = "0.5:3 308:3 3008:2 0.50:2 07:2 7:1 308 SW:1";
    assert_eq!(with("count", 100), (by_count.to_owned(), false, "308:3 3008:2 308 SW:1".to_owned()));
    assert_eq!(with("count", 2), ("0.5:3 308:3".to_owned(), true, "308:3 3008:2".to_owned()));
}

/// Many candidates, so that counting stops early: what looks like a number that is listed stands far behind.
#[test]
fn look_alikes_behind_the_last_listed_value() {
    let documents: Vec<Value> = (0..4000u64)
        .map(|id| {
            let value = match id % 4 {
                0 | 1 => json!(id / 4 % 90),
                2 => json!((id / 4 % 90).to_string()),
                _ => json!(format!("{:04}x", id / 4 % 300)),
            };
            json!({ "id": id, "mixed": value })
        })
        .collect();
    let corpus = Corpus::new(settings(), &[documents[..1800].to_vec(), documents[1800..].to_vec()], &[]);
    let expected = naive_counts(&documents.iter().collect::<Vec<_>>(), "mixed");
    let facet = counted(&corpus, &corpus.live(), "mixed");
    assert_eq!((facet.values.len(), facet.is_cut, facet.numbers.len()), (100, true, 90));
    for (text, count) in &facet.values {
        assert_eq!(expected.get(text), Some(count), "{text}");
    }
    assert_eq!(facet.values[99].0, "0009x");
}

#[test]
fn the_settings_order_and_limit_values() {
    let tags = ["a", "b", "b", "c", "c", "d", "d", "d"];
    let documents: Vec<Value> = (0u64..).zip(tags).map(|(id, tag)| json!({ "id": id, "tag": tag })).collect();
    let with = |faceting: Value| {
        let mut settings = settings();
        settings["faceting"] = faceting;
        let corpus = Corpus::new(settings, &[documents[..4].to_vec(), documents[4..].to_vec()], &[]);
        let values = counted(&corpus, &corpus.live(), "tag").values;
        values.into_iter().map(|(value, count)| format!("{value}{count}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(with(json!({})), "a1 b2 c2 d3");
    assert_eq!(with(json!({ "maxValuesPerFacet": 2 })), "a1 b2");
    assert_eq!(with(json!({ "sortFacetValuesBy": { "tag": "count" } })), "d3 b2 c2 a1");
    assert_eq!(with(json!({ "sortFacetValuesBy": { "*": "count" }, "maxValuesPerFacet": 2 })), "d3 b2");
    assert_eq!(with(json!({ "maxValuesPerFacet": 0 })), "");
}

#[test]
fn many_candidates_list_numbers_by_value() {
    let documents: Vec<Value> = (0..3001).map(|id| json!({ "id": id, "size": id })).collect();
    let corpus = Corpus::new(settings(), &[documents[..500].to_vec(), documents[500..].to_vec()], &[]);
    let first = |candidates: &[DocSet]| -> Vec<String> {
        let values = counted(&corpus, candidates, "size").values;
        assert_eq!(values.len(), 100);
        values.into_iter().take(4).map(|(value, _)| value).collect()
    };
    assert_eq!(first(&corpus.live()), ["0", "1", "2", "3"]);
    let mut fewer = corpus.live();
    fewer[1].retain(|doc| doc > 0);
    assert_eq!(first(&fewer), ["0", "1", "10", "100"]);
}

/// Extremes are those of all numbers, and more values than are listed are reported, where counting stops at the last one listed.
#[test]
fn many_values_are_cut_but_not_their_extremes() {
    let documents: Vec<Value> = (0..4000).map(|id| json!({ "id": id, "size": id % 1500, "big": id % 100 })).collect();
    let corpus = Corpus::new(settings(), &[documents[..1800].to_vec(), documents[1800..].to_vec()], &[]);
    let mut candidates = corpus.live();
    for (segment, docs) in (0u32..).zip(&mut candidates) {
        docs.retain(|doc| {
            let size = corpus.id(lamina_index::index::DocumentAddress { segment, doc }) % 1500;
            (7..1490).contains(&size)
        });
    }
    let sizes = counted(&corpus, &candidates, "size");
    assert_eq!((sizes.values.len(), sizes.is_cut), (100, true));
    assert_eq!(sizes.values[0], ("7".to_owned(), 3));
    assert_eq!(sizes.stats, Some(FacetStats { min: 7.0, max: 1489.0 }));
    let bigs = counted(&corpus, &candidates, "big");
    assert_eq!((bigs.values.len(), bigs.is_cut), (100, false));
}

/// Large enough for values with bitsets; candidates from a few to almost all make every way of counting run.
#[test]
fn counts_of_many_documents() {
    let document = |id: u64| {
        let tags: Vec<String> = [(2, 0), (3, 1), (97, 5)]
            .iter()
            .filter(|(step, rest)| id % step == *rest)
            .map(|(step, _)| format!("every {step}"))
            .collect();
        json!({ "id": id, "tag": tags, "size": id % 40, "mixed": if id.is_multiple_of(7) { json!(id / 5) } else { json!(null) } })
    };
    let documents: Vec<Value> = (0..5000).map(document).collect();
    let corpus = Corpus::new(settings(), &[documents[..1500].to_vec(), documents[1500..].to_vec()], &[]);
    for (step, rest) in [(1, 1), (2, 1), (3, 0), (20, 7), (40, 3), (700, 0), (4000, 3999)] {
        // All but a few, and a few.
        let is_candidate = |id: u64| if step == 1 { id % 1000 != rest } else { id % step == rest };
        let candidates: Vec<DocSet> = (0u32..)
            .zip(corpus.live())
            .map(|(segment, mut live)| {
                live.retain(|doc| is_candidate(corpus.id(lamina_index::index::DocumentAddress { segment, doc })));
                live
            })
            .collect();
        let matching: Vec<&Value> = documents.iter().filter(|d| is_candidate(d["id"].as_u64().unwrap())).collect();
        for name in ["tag", "size", "mixed"] {
            let facet = counted(&corpus, &candidates, name);
            let expected = naive_counts(&matching, name);
            for (value, count) in &facet.values {
                assert_eq!(expected.get(value), Some(count), "{name} {value} {step}");
            }
            assert_eq!(facet.values.len(), expected.len().min(100), "{name} {step}");
            let numbers = matching.iter().flat_map(|document| Facts::of(document, name).numbers);
            let extremes = numbers.fold(None, |known: Option<FacetStats>, n| {
                Some(
                    known
                        .map_or(FacetStats { min: n, max: n }, |s| FacetStats { min: s.min.min(n), max: s.max.max(n) }),
                )
            });
            assert_eq!(facet.stats, extremes, "{name} {step}");
        }
    }
}

#[test]
fn facet_search_finds_prefixes_and_typos() {
    let tags = ["Science Fiction", "Fiction", "fiction ", "Fantasy", "Éclair", "Western", "42"];
    let documents: Vec<Value> =
        (0u64..).zip(tags).map(|(id, tag)| json!({ "id": id, "tag": tag, "size": id })).collect();
    let corpus = Corpus::new(settings(), &[documents[..3].to_vec(), documents[3..].to_vec()], &[]);
    let found = |query: Option<&str>| {
        let found = search_facet(&corpus.snapshot, &corpus.live(), "tag", query, &[]).unwrap();
        assert!(!found.is_cut);
        found.hits.into_iter().map(|hit| format!("{}:{}", hit.value, hit.count)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found(Some("fic")), "Fiction:2");
    assert_eq!(found(Some("FICT")), "Fiction:2");
    assert_eq!(found(Some("ecl")), "Éclair:1");
    assert_eq!(found(Some("wst")), "");
    assert_eq!(found(Some("wesn")), "", "four letters are too few for a typo");
    assert_eq!(found(Some("westn")), "Western:1", "five are enough");
    assert_eq!(found(Some("westrn")), "Western:1");
    assert_eq!(found(Some("zestern")), "Western:1");
    assert_eq!(found(Some("42")), "42:1");
    assert_eq!(found(None), "42:1 Éclair:1 Fantasy:1 Fiction:2 Science Fiction:1 Western:1");
    assert_eq!(search_facet(&corpus.snapshot, &corpus.live(), "size", None, &[]).unwrap().hits, []);
    let nothing: Vec<DocSet> = corpus.live().iter().map(|_| DocSet::empty()).collect();
    assert_eq!(search_facet(&corpus.snapshot, &nothing, "tag", Some("fic"), &[]).unwrap().hits, []);
}

#[test]
fn facet_search_reports_that_it_was_cut() {
    let documents: Vec<Value> = (0..9).map(|id| json!({ "id": id, "tag": format!("v{}", id / 2) })).collect();
    let with = |limit: usize, order: &str, query: &str| {
        let mut settings = settings();
        settings["faceting"] = json!({ "maxValuesPerFacet": limit, "sortFacetValuesBy": { "tag": order } });
        let corpus = Corpus::new(settings, &[documents[..4].to_vec(), documents[4..].to_vec()], &[]);
        let found = search_facet(&corpus.snapshot, &corpus.live(), "tag", Some(query), &[]).unwrap();
        let values: Vec<String> = found.hits.into_iter().map(|hit| format!("{}:{}", hit.value, hit.count)).collect();
        (values.join(" "), found.is_cut)
    };
    for order in ["alpha", "count"] {
        assert_eq!(with(5, order, "v"), ("v0:2 v1:2 v2:2 v3:2 v4:1".to_owned(), false));
        assert_eq!(with(4, order, "v"), ("v0:2 v1:2 v2:2 v3:2".to_owned(), true));
        assert_eq!(with(1, order, "v4"), ("v4:1".to_owned(), false));
    }
}

#[test]
fn facet_search_folds_as_the_language_asks() {
    let found = |rules: Value, languages: &[Language]| {
        let mut settings = settings();
        settings["localizedAttributes"] = rules;
        let corpus = Corpus::new(settings, &[vec![json!({ "id": 1, "tag": "Ångström" })]], &[]);
        !search_facet(&corpus.snapshot, &corpus.live(), "tag", Some("ang"), languages).unwrap().hits.is_empty()
    };
    let swedish = json!([{ "attributePatterns": ["t*"], "locales": ["swe"] }]);
    assert!(found(Value::Null, &[]));
    assert!(!found(Value::Null, &[Language::Swe]));
    assert!(!found(swedish.clone(), &[]));
    assert!(found(swedish, &[Language::Eng]));
}

#[test]
fn facet_search_needs_the_feature() {
    let refused = |settings: Value| {
        let corpus = Corpus::new(settings, &[], &[]);
        search_facet(&corpus.snapshot, &[], "x", None, &[]).unwrap_err()
    };
    assert_eq!(refused(json!({ "facetSearch": false })), FacetSearchError::Disabled);
    let unlisted = refused(json!({ "filterableAttributes": ["genres"] }));
    assert!(
        matches!(unlisted, FacetSearchError::NotFacetSearchable { available, .. } if available.shown() == ["genres"])
    );
    let lacking = refused(json!({ "filterableAttributes": [{ "attributePatterns": ["x"] }] }));
    assert!(matches!(lacking, FacetSearchError::FeatureDisabled { rule: 0, .. }), "{lacking:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Listings of parts, merged, are the listing of the whole.
    #[test]
    fn merged_parts_are_the_whole(
        (batches, deleted) in documents(),
        first in vec(0u64..60, 0..40),
        values_max in 0usize..8,
        by_count in any::<bool>(),
    ) {
        let mut settings = settings();
        let order = if by_count { FacetOrder::Count } else { FacetOrder::Alpha };
        settings["faceting"] = json!({ "sortFacetValuesBy": { "*": order } });
        let corpus = Corpus::new(settings, &batches, &deleted);
        let part = |of_first: bool| -> Vec<DocSet> {
            let mut live = corpus.live();
            for (segment, docs) in (0u32..).zip(&mut live) {
                docs.retain(|doc| {
                    first.contains(&corpus.id(lamina_index::index::DocumentAddress { segment, doc })) == of_first
                });
            }
            live
        };
        for name in FIELDS {
            let Some(field) = corpus.snapshot.fields.get(name) else { continue };
            let field = FacetField::new(name, field);
            let listing = Listing { values_max, to_be_merged: true };
            let parts = [true, false].map(|of_first| distribution(&corpus.snapshot, &part(of_first), &field, listing));
            let merged = merge_facets(name, &parts.each_ref(), order, values_max);
            let whole = distribution(&corpus.snapshot, &corpus.live(), &field, Listing { values_max: usize::MAX, ..listing });
            let texts = |facet: &FieldFacet| -> FacetValues {
                let listed = facet.values.iter().take(values_max);
                listed.map(|(text, count)| (normal(text), *count)).collect()
            };
            prop_assert_eq!(texts(&merged), texts(&whole), "{} {:?}", name, order);
            prop_assert_eq!(merged.is_cut, whole.values.len() > values_max);
            prop_assert_eq!(merged.stats, whole.stats);
        }
    }
}

/// Per value as text (strings in their normalised form): how many of `documents` a filter by it finds.
fn naive_counts(documents: &[&Value], name: &str) -> BTreeMap<String, u64> {
    let facts: Vec<(Vec<f64>, Vec<String>)> = documents
        .iter()
        .map(|document| Facts::of(document, name))
        .map(|facts| (facts.numbers, facts.strings.iter().map(|string| normal(string)).collect()))
        .collect();
    let numbers = facts.iter().flat_map(|(numbers, _)| numbers.iter().map(|number| (number + 0.0).to_string()));
    let values: Vec<String> = numbers.chain(facts.iter().flat_map(|(_, strings)| strings.clone())).collect();
    let count = |value: &String| {
        let number = value.parse::<f64>().ok();
        let has = |(numbers, strings): &&(Vec<f64>, Vec<String>)| {
            strings.contains(value) || numbers.iter().any(|own| Some(*own) == number)
        };
        facts.iter().filter(has).count() as u64
    };
    values.into_iter().map(|value| (value.clone(), count(&value))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Counts and extremes are those of a scan, for any candidates.
    #[test]
    fn counts_are_those_of_a_scan(
        (batches, deleted) in documents(),
        kept in vec(vec(0u64..60, 0..30), 3),
    ) {
        let corpus = Corpus::new(settings(), &batches, &deleted);
        let everything: Vec<u64> = (0..60).collect();
        for ids in kept.iter().chain([&everything]) {
            let candidates: Vec<DocSet> = (0u32..).zip(corpus.live()).map(|(segment, mut live)| {
                live.retain(|doc| ids.contains(&corpus.id(lamina_index::index::DocumentAddress { segment, doc })));
                live
            }).collect();
            let documents: Vec<&Value> =
                corpus.documents.iter().filter(|document| ids.contains(&document["id"].as_u64().unwrap())).collect();
            for name in FIELDS {
                let facet = counted(&corpus, &candidates, name);
                let expected = naive_counts(&documents, name);
                let found: BTreeMap<String, u64> =
                    facet.values.iter().map(|(text, count)| (normal(text), *count)).collect();
                prop_assert_eq!(found.len(), facet.values.len(), "a value is listed once");
                prop_assert_eq!(&found, &expected, "{}", name);
                let all = documents.iter().flat_map(|document| Facts::of(document, name).numbers);
                let extremes = all.fold(None, |known: Option<(f64, f64)>, number| {
                    Some(known.map_or((number, number), |(min, max)| (min.min(number), max.max(number))))
                });
                prop_assert_eq!(facet.stats.map(|stats| (stats.min, stats.max)), extremes);
            }
        }
    }
}
