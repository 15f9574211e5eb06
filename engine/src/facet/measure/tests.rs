use std::collections::{BTreeMap, BTreeSet};

use lamina_index::index::DocumentAddress;
use lamina_text::text::NANOS_PER_SECOND;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::oracle::Corpus;

fn settings() -> Value {
    json!({ "filterableAttributes": ["price", "when", "_geo", "absent"] })
}

fn asked(facet: &str, scale: Scale) -> Measure {
    Measure { facet: facet.to_owned(), elements: None, scale, ranges: Vec::new(), histogram: None, statistics: None }
}

fn numbers(from: Option<f64>, to: Option<f64>) -> Span {
    Span { from: from.map(Key::Number), to: to.map(Key::Number) }
}

#[test]
fn fields_that_are_not_filterable_are_refused() {
    let corpus =
        Corpus::new(json!({ "filterableAttributes": ["price"] }), &[vec![json!({ "id": 1, "price": 2 })]], &[]);
    let origin = Coordinates::new(0.0, 0.0).unwrap();
    for wrong in [asked("name", Scale::Numbers), asked("_geo", Scale::Distances(origin))] {
        let refused = measure(&corpus.snapshot, &corpus.live(), &wrong, TimeLimit::NONE);
        assert!(matches!(refused, Err(FacetError::NotFilterable { .. })), "{refused:?}");
    }
    assert!(measure(&corpus.snapshot, &corpus.live(), &asked("price", Scale::Numbers), TimeLimit::NONE).is_ok());
}

#[test]
fn a_field_that_no_document_has_counts_nothing() {
    let corpus = Corpus::new(settings(), &[vec![json!({ "id": 1 })]], &[]);
    let asked = Measure {
        ranges: vec![numbers(None, Some(1.0))],
        histogram: Steps::new(1.0).map(Histogram::Steps),
        statistics: Some(Vec::new()),
        ..asked("absent", Scale::Numbers)
    };
    let found = measure(&corpus.snapshot, &corpus.live(), &asked, TimeLimit::NONE).unwrap();
    assert_eq!((&found.ranges[..], found.histogram.unwrap().len()), (&[0][..], 0));
    assert_eq!(found.statistics.unwrap().count, 0);
}

#[test]
fn histograms_have_a_limit() {
    let documents = |count: u64| -> Vec<Value> { (0..count).map(|id| json!({ "id": id, "price": id })).collect() };
    let buckets = |batches: &[Vec<Value>], length: f64| {
        let corpus = Corpus::new(settings(), batches, &[]);
        let histogram = Steps::new(length).map(Histogram::Steps);
        let asked = Measure { histogram, ..asked("price", Scale::Numbers) };
        measure(&corpus.snapshot, &corpus.live(), &asked, TimeLimit::NONE)
            .map(|measured| measured.histogram.unwrap().len())
    };
    let too_many = Err(FacetError::TooManyBuckets { facet: "price".to_owned(), most: 1000 });
    assert_eq!(buckets(&[documents(1000)], 1.0), Ok(1000));
    assert_eq!(buckets(&[documents(1001)], 1.0), too_many);
    let all = documents(1001);
    assert_eq!(buckets(&[all[..600].to_vec(), all[600..].to_vec()], 1.0), too_many, "each segment alone has fewer");
    assert_eq!(buckets(&[all], 2.0), Ok(501));
}

/// A date as a text with an offset, as a number, or, where that is possible, as a day alone.
#[derive(Clone, Copy, Debug)]
enum Written {
    Text { offset_minutes: i64 },
    Number,
    Day,
}

#[derive(Clone, Debug)]
struct Document {
    /// In hundredths.
    prices: Vec<i64>,
    /// Seconds since 1970.
    dates: Vec<(i64, Written)>,
    /// In hundredths of a degree.
    point: Option<(i64, i64)>,
}

impl Document {
    fn json(&self, id: usize) -> Value {
        let prices: Vec<Value> = self.prices.iter().map(|&cents| json!(cents as f64 / 100.0)).collect();
        let dates: Vec<Value> = self.dates.iter().map(|&(seconds, written)| date(seconds, written)).collect();
        let mut document = json!({ "id": id, "price": prices, "when": dates });
        if let Some((lat, lng)) = self.point {
            document["_geo"] = json!({ "lat": lat as f64 / 100.0, "lng": lng as f64 / 100.0 });
        }
        document
    }

    /// Returns the dates as the scan reads them: a day without a time is its midnight.
    fn seconds(&self) -> impl Iterator<Item = i64> + '_ {
        self.dates.iter().map(|&(seconds, written)| match written {
            Written::Day => seconds.div_euclid(86_400) * 86_400,
            _ => seconds,
        })
    }
}

fn date(seconds: i64, written: Written) -> Value {
    let text = |seconds: i64| lamina_text::text::local_text(i128::from(seconds) * NANOS_PER_SECOND).unwrap();
    match written {
        Written::Text { offset_minutes } => {
            let sign = if offset_minutes < 0 { '-' } else { '+' };
            let (hours, minutes) = (offset_minutes.abs() / 60, offset_minutes.abs() % 60);
            json!(format!("{}{sign}{hours:02}:{minutes:02}", text(seconds + offset_minutes * 60)))
        }
        Written::Number => json!(seconds),
        Written::Day => json!(text(seconds)[..10]),
    }
}

fn document() -> impl Strategy<Value = Document> {
    let written = prop_oneof![
        (-720_i64..=840).prop_map(|offset_minutes| Written::Text { offset_minutes }),
        Just(Written::Number),
        Just(Written::Day),
    ];
    let price = prop_oneof![-500_i64..500, -50_000_i64..50_000];
    let date = (prop_oneof![0_i64..200_000, 1_600_000_000_i64..1_700_000_000], written);
    (vec(price, 0..4), vec(date, 0..3), proptest::option::of((-9000_i64..=9000, -18_000_i64..=18_000)))
        .prop_map(|(prices, dates, point)| Document { prices, dates, point })
}

/// Counts, for each bucket, the sets in `sets` that have a key in it.
fn by_bucket(sets: impl Iterator<Item = BTreeSet<i64>>) -> BTreeMap<i64, u64> {
    let mut counts = BTreeMap::new();
    sets.flatten().for_each(|bucket| *counts.entry(bucket).or_insert(0) += 1);
    counts
}

/// An index of `documents` in two segments, candidates in it, and the documents that are among them.
fn chosen(
    mut documents: Vec<Document>,
    single: bool,
    (cut, deleted): (usize, &[u64]),
    kept: &[bool],
) -> (Corpus, Vec<DocSet>, Vec<Document>) {
    if single {
        for document in &mut documents {
            document.prices.truncate(1);
            document.dates.truncate(1);
        }
    }
    let written: Vec<Value> = documents.iter().enumerate().map(|(id, document)| document.json(id)).collect();
    let cut = cut.min(written.len());
    let deleted: Vec<u64> = deleted.iter().copied().filter(|id| (*id as usize) < written.len()).collect();
    let corpus = Corpus::new(settings(), &[written[..cut].to_vec(), written[cut..].to_vec()], &deleted);
    let mut candidates = corpus.live();
    for (segment, docs) in (0u32..).zip(&mut candidates) {
        docs.retain(|doc| kept[corpus.id(DocumentAddress { segment, doc }) as usize]);
    }
    let mut ids = 0u64..;
    documents.retain(|_| ids.next().is_some_and(|id| kept[id as usize] && !deleted.contains(&id)));
    (corpus, candidates, documents)
}

/// The day of a text in UTC, counted from 1970 on.
fn day_of(text: &str) -> i64 {
    let moment = Moment::parse(&format!("{text}T00:00:00Z")).expect("a date");
    i64::try_from(moment.nanos() / NANOS_PER_SECOND / 86_400).expect("not that far away")
}

/// By the rule as it is written in the law: summer time from the last Sunday of March to that of October, at one in the morning in
/// UTC. There was none in 1970.
fn offset_in_paris(seconds: i64) -> i64 {
    let year: i64 =
        lamina_text::text::local_text(i128::from(seconds) * NANOS_PER_SECOND).expect("a date")[..4].parse().unwrap();
    let change = |last_day: &str| {
        let day = day_of(&format!("{year}-{last_day}"));
        (day - (day - 3).rem_euclid(7)) * 86_400 + 3600
    };
    let is_summer = year > 1995 && (change("03-31")..change("10-31")).contains(&seconds);
    if is_summer { 7200 } else { 3600 }
}

/// The seconds at which a day begins in Paris, where clocks never change near midnight.
fn midnight_in_paris(day: i64) -> i64 {
    day * 86_400 - offset_in_paris(day * 86_400 - 7200)
}

/// The first day of the interval that a day is in.
fn first_day(unit: &str, day: i64) -> i64 {
    match unit {
        "day" => day,
        "week" => day - (day - 4).rem_euclid(7),
        _ => {
            let text = lamina_text::text::local_text(i128::from(day) * 86_400 * NANOS_PER_SECOND).expect("a date");
            let (length, rest) = if unit == "month" { (7, "-01") } else { (4, "-01-01") };
            day_of(&format!("{}{rest}", &text[..length]))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Days, weeks, months and years as the clocks of a place have them; distances in steps, with their percentiles.
    #[test]
    fn dates_of_a_zone_and_distances_are_those_of_a_scan(
        documents in vec(document(), 1..40),
        single in any::<bool>(),
        cut in 0usize..40,
        deleted in vec(0u64..40, 0..6),
        kept in vec(any::<bool>(), 40),
        unit in prop::sample::select(vec!["day", "week", "month", "year"]),
        step in prop_oneof![Just(1_000.0), Just(250_000.0), Just(3_000_000.0)],
        (lat, lng) in (-90.0..=90.0f64, -180.0..=180.0f64),
    ) {
        let (corpus, candidates, matching) = chosen(documents, single, (cut, &deleted), &kept);
        let dates = measure(&corpus.snapshot, &candidates, &Measure {
            histogram: Calendar::new(unit, Some("Europe/Paris")).unwrap().map(Histogram::Calendar),
            ..asked("when", Scale::Dates)
        }, TimeLimit::NONE).unwrap();
        // A day alone is a day in Paris.
        let day = |&(seconds, written): &(i64, Written)| match written {
            Written::Day => seconds.div_euclid(86_400),
            _ => (seconds + offset_in_paris(seconds)).div_euclid(86_400),
        };
        let starts = matching.iter().map(|document| document.dates.iter().map(|date| first_day(unit, day(date))).collect());
        let expected: Vec<(i128, u64)> = by_bucket(starts)
            .into_iter()
            .map(|(day, count)| (i128::from(midnight_in_paris(day)) * NANOS_PER_SECOND, count))
            .collect();
        let buckets: Vec<(i128, u64)> = dates.histogram.unwrap().iter().map(|bucket| match bucket.from {
            Key::Moment(moment) => (moment.nanos(), bucket.count),
            Key::Number(_) => (-1, 0),
        }).collect();
        prop_assert_eq!(buckets, expected, "{}", unit);

        let percentiles: Vec<Percentile> = [0.0, 25.0, 50.0, 99.0].iter().filter_map(|&p| Percentile::new(p)).collect();
        let far = measure(&corpus.snapshot, &candidates, &Measure {
            histogram: Steps::new(step).map(Histogram::Steps),
            statistics: Some(percentiles),
            ..asked("_geo", Scale::Distances(Coordinates::new(lat, lng).unwrap()))
        }, TimeLimit::NONE).unwrap();
        let degrees = |hundredths: i64| hundredths as f64 / 100.0;
        let distance = |(to_lat, to_lng): (i64, i64)| crate::geo::distance_m((lat, lng), (degrees(to_lat), degrees(to_lng)));
        let mut distances: Vec<f64> = matching.iter().filter_map(|document| document.point).map(distance).collect();
        distances.sort_unstable_by(f64::total_cmp);
        let steps = distances.iter().map(|distance| BTreeSet::from([(distance / step).floor() as i64]));
        let expected: Vec<(f64, u64)> =
            by_bucket(steps).into_iter().map(|(number, count)| (number as f64 * step, count)).collect();
        let buckets: Vec<(f64, u64)> = far.histogram.unwrap().iter().map(|bucket| match bucket.from {
            Key::Number(from) => (from, bucket.count),
            Key::Moment(_) => (-1.0, 0),
        }).collect();
        prop_assert_eq!(buckets, expected);
        let statistics = far.statistics.unwrap();
        prop_assert_eq!(statistics.count, distances.len() as u64);
        prop_assert_eq!((statistics.min, statistics.max), (distances.first().copied(), distances.last().copied()));
        prop_assert!((statistics.sum - distances.iter().sum::<f64>()).abs() < 1e-3);
        for (percentile, value) in statistics.percentiles {
            let enough = |at: usize| (at + 1) as f64 * 100.0 >= distances.len() as f64 * percentile.percent();
            prop_assert_eq!(value, (0..distances.len()).find(|&at| enough(at)).map(|at| distances[at]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Everything is what a scan counts, in integers.
    #[test]
    fn measures_are_those_of_a_scan(
        documents in vec(document(), 1..40),
        single in any::<bool>(),
        cut in 0usize..40,
        deleted in vec(0u64..40, 0..6),
        kept in vec(any::<bool>(), 40),
        interval in prop_oneof![Just(1_i64), Just(10), Just(25), Just(333), Just(1000), Just(12_345)],
        bounds in vec((proptest::option::of(-600_i64..600), proptest::option::of(-600_i64..600)), 0..6),
        seconds in prop_oneof![Just(("minute", 60_i64)), Just(("hour", 3600)), Just(("day", 86_400))],
    ) {
        let (corpus, candidates, documents) = chosen(documents, single, (cut, &deleted), &kept);
        let matching: Vec<&Document> = documents.iter().collect();

        let price = |cents: i64| cents as f64 / 100.0;
        let percentiles: Vec<Percentile> = [1.0, 50.0, 90.0, 99.5].iter().filter_map(|&p| Percentile::new(p)).collect();
        let prices = measure(&corpus.snapshot, &candidates, &Measure {
            ranges: bounds.iter().map(|(from, to)| numbers(from.map(price), to.map(price))).collect(),
            histogram: Steps::new(price(interval)).map(Histogram::Steps),
            statistics: Some(percentiles.clone()),
            ..asked("price", Scale::Numbers)
        }, TimeLimit::NONE).unwrap();
        for ((from, to), count) in bounds.iter().zip(&prices.ranges) {
            let within = |cents: &i64| from.is_none_or(|from| from <= *cents) && to.is_none_or(|to| *cents < to);
            let expected = matching.iter().filter(|document| document.prices.iter().any(within)).count();
            prop_assert_eq!(*count, expected as u64, "{:?} {:?}", from, to);
        }
        let steps = matching.iter().map(|document| document.prices.iter().map(|cents| cents.div_euclid(interval)).collect());
        let expected: Vec<(f64, u64)> =
            by_bucket(steps).into_iter().map(|(step, count)| (price(step * interval), count)).collect();
        let found = |key: Key| match key { Key::Number(number) => number, Key::Moment(moment) => moment.nanos() as f64 };
        let buckets: Vec<(f64, u64)> =
            prices.histogram.unwrap().iter().map(|bucket| (found(bucket.from), bucket.count)).collect();
        prop_assert_eq!(buckets, expected);

        let mut values: Vec<i64> = Vec::new();
        for document in &matching {
            values.extend(document.prices.iter().collect::<BTreeSet<_>>());
        }
        values.sort_unstable();
        let statistics = prices.statistics.unwrap();
        prop_assert_eq!(statistics.count, values.len() as u64);
        prop_assert!((statistics.sum - price(values.iter().sum())).abs() < 1e-9);
        prop_assert_eq!(statistics.min.zip(statistics.max), values.first().zip(values.last()).map(|(a, b)| (price(*a), price(*b))));
        for (percentile, value) in statistics.percentiles {
            // The first that at least so many are not greater than.
            let enough = |at: usize| ((at + 1) * 1000) as f64 >= values.len() as f64 * percentile.percent() * 10.0;
            let expected = (0..values.len()).find(|&at| enough(at)).map(|at| price(values[at]));
            prop_assert_eq!(value, expected);
        }

        let (unit, length) = seconds;
        let dates = measure(&corpus.snapshot, &candidates, &Measure {
            histogram: Calendar::new(unit, None).unwrap().map(Histogram::Calendar),
            ..asked("when", Scale::Dates)
        }, TimeLimit::NONE).unwrap();
        let steps = matching.iter().map(|document| document.seconds().map(|seconds| seconds.div_euclid(length)).collect());
        let expected: Vec<(i128, u64)> = by_bucket(steps)
            .into_iter()
            .map(|(step, count)| (i128::from(step * length) * NANOS_PER_SECOND, count))
            .collect();
        let buckets: Vec<(i128, u64)> = dates.histogram.unwrap().iter().map(|bucket| match bucket.from {
            Key::Moment(moment) => (moment.nanos(), bucket.count),
            Key::Number(_) => (-1, 0),
        }).collect();
        prop_assert_eq!(buckets, expected);

        let origin = Coordinates::new(10.0, 20.0).unwrap();
        let near = measure(&corpus.snapshot, &candidates, &Measure {
            ranges: vec![numbers(None, Some(5e6)), numbers(Some(5e6), None)],
            statistics: Some(Vec::new()),
            ..asked("_geo", Scale::Distances(origin))
        }, TimeLimit::NONE).unwrap();
        let distance = |(lat, lng): (i64, i64)| crate::geo::distance_m((10.0, 20.0), (price(lat), price(lng)));
        let distances: Vec<f64> = matching.iter().filter_map(|document| document.point).map(distance).collect();
        let within = distances.iter().filter(|distance| **distance < 5e6).count() as u64;
        prop_assert_eq!(near.ranges, vec![within, distances.len() as u64 - within]);
        prop_assert_eq!(near.statistics.unwrap().max, distances.iter().copied().reduce(f64::max));
    }
}
