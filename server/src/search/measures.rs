//! Ranges, histograms and statistics of facets: measured, and as they are shown.

use std::time::{Duration, Instant};

use lamina_engine::bits::DocSet;
use lamina_engine::facet::{Bucket, Histogram, Key, Measured, Statistics, measure, measure_bytes};
use lamina_engine::index::Snapshot;
use serde_json::{Map, Value, json};

use crate::budget::AnswerBudget;
use crate::engine_errors::Sentence;
use crate::error::{ApiError, ApiResult, Code};
use crate::wire::search::FacetMeasure;

/// A bucket as an object, and in the body.
const BUCKET_BYTES: usize = 600;

/// Measures what is `asked` of `candidates` (one set per segment), and says in `steps` how long it took.
///
/// # Errors
/// `invalid_search_facets` for fields that are not filterable and for too many buckets; more values than there is memory for.
pub(super) fn run(
    snapshot: &Snapshot,
    candidates: &[DocSet],
    asked: &[FacetMeasure],
    budget: &AnswerBudget,
    steps: &mut Vec<(&'static str, Duration)>,
) -> ApiResult<Vec<Measured>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let start = Instant::now();
    let mut measured = Vec::with_capacity(asked.len());
    for FacetMeasure { measure: asked, .. } in asked {
        let mut working = budget.hold(measure_bytes(snapshot, asked, candidates))?;
        let one = measure(snapshot, candidates, asked)
            .map_err(|error| ApiError::new(Code::InvalidSearchFacets, error.sentence()))?;
        working.shrink(0);
        let buckets = one.ranges.len() + one.histogram.as_ref().map_or(0, Vec::len);
        budget.take(buckets.saturating_mul(BUCKET_BYTES))?;
        measured.push(one);
    }
    steps.push(("facetDetails", start.elapsed()));
    Ok(measured)
}

/// `facetDetails`: an object for each one of `facets`.
pub(super) fn shown(asked: &[FacetMeasure], measured: &[Measured]) -> Value {
    asked.iter().zip(measured).map(|(asked, measured)| one(asked, measured)).collect()
}

fn one(asked: &FacetMeasure, measured: &Measured) -> Value {
    let mut fields = Map::new();
    fields.insert("facet".into(), json!(asked.measure.facet));
    if !measured.ranges.is_empty() {
        let range = |(written, count): (&Value, &u64)| {
            let mut range = Map::new();
            for name in ["label", "from", "to"] {
                if let Some(value) = written.get(name).filter(|value| !value.is_null()) {
                    range.insert(name.to_owned(), value.clone());
                }
            }
            range.insert("count".into(), json!(count));
            Value::Object(range)
        };
        fields.insert("ranges".into(), asked.written_ranges.iter().zip(&measured.ranges).map(range).collect());
    }
    if let (Some(histogram), Some(buckets)) = (&asked.measure.histogram, &measured.histogram) {
        let bucket = |bucket: &Bucket| json!({ "from": key(histogram, bucket.from), "to": key(histogram, bucket.to), "count": bucket.count });
        fields.insert("histogram".into(), buckets.iter().map(bucket).collect());
    }
    if let Some(found) = &measured.statistics {
        fields.insert("statistics".into(), statistics(found));
    }
    Value::Object(fields)
}

fn key(histogram: &Histogram, key: Key) -> Value {
    match (histogram, key) {
        (Histogram::Calendar(calendar), Key::Moment(moment)) => json!(calendar.written(moment)),
        (_, Key::Number(number)) => json!(number),
        (_, Key::Moment(_)) => Value::Null,
    }
}

fn statistics(found: &Statistics) -> Value {
    let mut fields = Map::new();
    fields.insert("count".into(), json!(found.count));
    fields.insert("sum".into(), json!(found.sum));
    fields.insert("mean".into(), json!(found.mean));
    fields.insert("min".into(), json!(found.min));
    fields.insert("max".into(), json!(found.max));
    if !found.percentiles.is_empty() {
        let named =
            found.percentiles.iter().map(|(percentile, value)| (percentile.percent().to_string(), json!(value)));
        fields.insert("percentiles".into(), named.collect::<Map<_, _>>().into());
    }
    Value::Object(fields)
}
