//! Ranges, histograms and statistics of facets: measured, and as they are shown.

use std::time::{Duration, Instant};

use lamina_base::budget::AnswerBudget;
use lamina_base::budget::costs::{BUCKET_BYTES, SENT_VALUE_BYTES};
use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::bits::DocSet;
use lamina_engine::facet::{
    Bucket, Histogram, Key, Measure, Measured, Statistics, measure, measure_bytes, measure_together, merge_measured,
};
use lamina_engine::index::Snapshot;
use lamina_protocol::wire::filter::check_contains;
use lamina_protocol::wire::search::FacetMeasure;
use serde_json::{Map, Value, json};

use super::{Context, filter_time};

/// Different values of a field that a server sends to another one for percentiles.
pub(crate) const SENT_VALUES_MAX: usize = 100_000;

/// Measures what is `asked` of `candidates` (one set per segment), and says in `steps` how long it took.
///
/// # Errors
/// `invalid_search_facets` for fields that are not filterable and for too many buckets; more values than there is memory for.
pub(super) fn run(
    snapshot: &Snapshot,
    candidates: &[DocSet],
    asked: &[FacetMeasure],
    context: &Context,
    steps: &mut Vec<(&'static str, Duration)>,
) -> ApiResult<Vec<Measured>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let start = Instant::now();
    let mut measured = Vec::with_capacity(asked.len());
    let (budget, limit) = (&context.budget, filter_time());
    for FacetMeasure { measure: asked, .. } in asked {
        check_elements(asked, context)?;
        let mut working = budget.hold(measure_bytes(snapshot, asked, candidates))?;
        let mut one = measure(snapshot, candidates, asked, limit)
            .map_err(|error| ApiError::new(Code::InvalidSearchFacets, error.sentence()))?;
        if let Some(statistics) = &mut one.statistics {
            statistics.values = Vec::new();
        }
        working.shrink(0);
        let buckets = one.ranges.len() + one.histogram.as_ref().map_or(0, Vec::len);
        budget.take(buckets.saturating_mul(BUCKET_BYTES))?;
        measured.push(one);
    }
    steps.push(("facetDetails", start.elapsed()));
    Ok(measured)
}

/// Measures the candidates of several indexes together; another server that merges them gets what that takes.
///
/// # Errors
/// The errors of [`run`]; more values than are sent to be merged.
pub(super) fn run_together(
    parts: &[(&Snapshot, &[DocSet])],
    asked: &FacetMeasure,
    context: &Context,
) -> ApiResult<Value> {
    check_elements(&asked.measure, context)?;
    let budget = &context.budget;
    let bytes = parts.iter().map(|(snapshot, candidates)| measure_bytes(snapshot, &asked.measure, candidates)).sum();
    let _working = budget.hold(bytes)?;
    let measured = measure_together(parts, &asked.measure, filter_time())
        .map_err(|error| ApiError::new(Code::InvalidMultiSearchFacetsByIndex, error.sentence()))?;
    let buckets = measured.ranges.len() + measured.histogram.as_ref().map_or(0, Vec::len);
    budget.take(buckets.saturating_mul(BUCKET_BYTES))?;
    if context.values_wanted.is_some() { sent(asked, &measured, budget) } else { Ok(one(asked, &measured)) }
}

fn check_elements(asked: &Measure, context: &Context) -> ApiResult<()> {
    asked.elements.iter().try_for_each(|field| check_contains(&field.filter, context.contains_filter))
}

/// Returns the measure in the form that another server reads with [`read`].
fn sent(asked: &FacetMeasure, measured: &Measured, budget: &AnswerBudget) -> ApiResult<Value> {
    let mut fields = json!({ "facet": asked.measure.facet, "ranges": measured.ranges });
    if let Some(buckets) = &measured.histogram {
        let bucket = |bucket: &Bucket| json!([bucket.from.as_number(), bucket.to.as_number(), bucket.count]);
        fields["histogram"] = buckets.iter().map(bucket).collect();
    }
    let Some(found) = &measured.statistics else { return Ok(fields) };
    fields["statistics"] = statistics(found);
    if !found.percentiles.is_empty() {
        let count = found.values.len();
        if count > SENT_VALUES_MAX {
            return Err(ApiError::new(
                Code::InvalidMultiSearchFacetsByIndex,
                format!(
                    "Percentiles of `{}` over several servers need all of its values, and {count} different ones are more \
                     than {SENT_VALUES_MAX}: leave `percentiles` out, or ask one server.",
                    asked.measure.facet
                ),
            ));
        }
        budget.take(count * SENT_VALUE_BYTES)?;
        fields["statistics"]["values"] = json!(found.values);
    }
    Ok(fields)
}

/// Reads what another server measured; `None` if it is not what is asked for.
pub(crate) fn read(asked: &FacetMeasure, value: &Value) -> Option<Measured> {
    let list = |name: &str| value[name].as_array();
    let ranges = list("ranges")?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>()?;
    if value["facet"] != asked.measure.facet || ranges.len() != asked.measure.ranges.len() {
        return None;
    }
    let key = |value: &Value| asked.measure.key_of_number(value.as_f64()?);
    let bucket =
        |bucket: &Value| Some(Bucket { from: key(&bucket[0])?, to: key(&bucket[1])?, count: bucket[2].as_u64()? });
    let histogram = match asked.measure.histogram {
        Some(_) => Some(list("histogram")?.iter().map(bucket).collect::<Option<Vec<Bucket>>>()?),
        None => None,
    };
    let statistics = match &asked.measure.statistics {
        Some(percentiles) => Some(read_statistics(&value["statistics"], !percentiles.is_empty())?),
        None => None,
    };
    Some(Measured { ranges, histogram, statistics })
}

fn read_statistics(value: &Value, with_values: bool) -> Option<Statistics> {
    let counted = |value: &Value| Some((value[0].as_f64()?, value[1].as_u64()?));
    let values = match value["values"].as_array() {
        Some(values) => values.iter().map(counted).collect::<Option<Vec<(f64, u64)>>>()?,
        None if with_values => return None,
        None => Vec::new(),
    };
    Some(Statistics {
        count: value["count"].as_u64()?,
        sum: value["sum"].as_f64()?,
        mean: value["mean"].as_f64(),
        min: value["min"].as_f64(),
        max: value["max"].as_f64(),
        percentiles: Vec::new(),
        values,
    })
}

/// Merges the measures of all servers, in the form that is shown.
///
/// # Errors
/// Fails if the histogram has too many buckets together.
pub(crate) fn merged(asked: &FacetMeasure, parts: Vec<Measured>) -> ApiResult<Value> {
    let measured = merge_measured(&asked.measure, parts)
        .map_err(|error| ApiError::new(Code::InvalidMultiSearchFacetsByIndex, error.sentence()))?;
    Ok(one(asked, &measured))
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
        fields.insert("ranges".into(), asked.written_ranges().iter().zip(&measured.ranges).map(range).collect());
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
