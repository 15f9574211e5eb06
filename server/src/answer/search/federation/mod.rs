//! Several searches merged into one list of hits.

mod around;
mod check;
mod details;
mod distinct;
mod explain;
mod facets;
mod merge;
mod order;

use std::time::{Duration, Instant};

use lamina_data::observe::SearchOutcomes;
use lamina_engine::rank::ScoreDetail;
use lamina_engine::search::Hit;
use serde_json::json;

/// Items that merging across servers shares with merging across queries.
pub(crate) mod federated {
    pub(crate) use super::super::answer::paging;
    pub(crate) use super::super::explanation::{HIT, NOT_DISTINCT, OUTSIDE};
    pub(crate) use super::super::measures::{merged as merged_measures, read as read_measured};
    pub(crate) use super::super::pinned_positions::PinnedPositions;
    pub(crate) use super::PINNED_POSITION;
    pub(crate) use super::details::different;
    pub(crate) use super::distinct::{DISTINCT_VALUES, DistinctValues, distinct_values};
    pub(crate) use super::explain::EXPLAINED;
    pub(crate) use super::facets::{IndexFacets, agree, index_of, merged as merged_facets};
    pub(crate) use super::order::Weighted;
}

use lamina_base::budget::{VALUE_BYTES, json_heap_bytes};
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_protocol::wire::multi_search::{Federation, IndexQuery};
use lamina_protocol::wire::search::{SearchQuery, Window};

use self::around::Around;
use self::distinct::{DISTINCT_VALUES, distinct_values};
use self::explain::EXPLAINED;
pub(crate) use self::facets::ValuesWanted;
use self::facets::{count_by_index, unused_note};
use self::merge::{Candidates, Merged, MergedHit, add_candidates, merge};
use self::order::Weighted;
use super::multi::{Written, at_query, target};
use super::pins::{self, Pinned};
use super::{Context, Found, HitWriter, Reach, Target, refusal, run_window};
use crate::answer::points_in_time::Snapshots;

/// The member of `_federation` in which a server says to another one to which place a hit is pinned.
pub(crate) const PINNED_POSITION: &str = "pinnedPosition";

/// With `distinct`, queries of up to this many hits give all of them, so that the total of the merged list is exact
/// whatever values documents have. A hybrid search gives what it is asked for: its hits depend on their number.
const ALL_HITS_MAX: usize = 1000;
/// A hit that waits to be merged: where its document is, its score, and where what it is compared by is.
const KEY_BYTES: usize = size_of::<Hit>() + size_of::<Weighted>() + 1;

/// One query of a federated search that has run.
#[derive(Debug)]
struct Ran<'a> {
    target: Target<'a>,
    query: &'a SearchQuery,
    /// Position of the query in the original request, if this request is a part of it.
    position: Option<usize>,
    weight: f64,
    found: Found,
    /// Sort keys of the hits. Pinned hits, which come after the others, have none.
    weighted: Vec<Weighted>,
    /// True if the list holds all that the query matches.
    is_complete: bool,
    /// Flag for each hit: true if its vectors found it.
    semantic: Vec<bool>,
}

/// Runs the queries, merges their hits and writes the answer.
///
/// # Errors
/// What no federated query may ask for, queries whose orders can't be compared, or the first query that fails.
pub(crate) fn run_federated(
    snapshots: &Snapshots,
    queries: &[IndexQuery],
    federation: &Federation,
    context: &Context,
    with_metadata: bool,
) -> ApiResult<Written> {
    for (position, asked) in queries.iter().enumerate() {
        check::query(asked, federation, position)
            .map_err(|error| at_query(error, asked.query_position.unwrap_or(position)))?;
    }
    let targets = targets(snapshots, queries)?;
    check::comparable(&targets, queries)?;
    let around = Around { federation, context, with_metadata };
    let (mut ran, candidates) = run_each(&targets, queries, around)?;
    let has_facets = !federation.facets_by_index.is_empty();
    let matched = federation.distinct.as_ref().filter(|_| has_facets).map(|_| candidates.clone());
    let writers = writers(&mut ran, context)?;
    let merged = merge(&ran, candidates, federation.distinct.as_deref(), federation.window);
    let mut out = Written::default();
    let took = write_hits(&ran, &writers, &merged, around, &mut out)?;
    for (one, took) in ran.iter_mut().zip(took) {
        one.found.steps.push(("format", took));
    }
    for one in &ran {
        out.cut_by(one.found.cuts());
        out.outcomes += SearchOutcomes::of_one(one.found.result.degraded, one.found.result.total);
    }
    let counted = count_by_index(snapshots, federation, &merged.candidates, matched.as_ref(), context)?;
    let mut fields = around.fields(&ran, &merged, &counted, &mut out)?;
    details::put(snapshots, federation, &merged.candidates, context, &mut fields)?;
    for (key, value) in fields {
        out.append_field(&key, &value);
    }
    Ok(out)
}

fn targets<'a>(snapshots: &'a Snapshots, queries: &'a [IndexQuery]) -> ApiResult<Vec<Target<'a>>> {
    let named = queries.iter().enumerate();
    named
        .map(|(position, asked)| {
            target(snapshots, &asked.index_uid)
                .map_err(|error| at_query(error, asked.query_position.unwrap_or(position)))
        })
        .collect()
}

/// Runs the queries one after the other; with the documents that they match together.
fn run_each<'a>(
    targets: &[Target<'a>],
    queries: &'a [IndexQuery],
    around: Around<'_>,
) -> ApiResult<(Vec<Ran<'a>>, Candidates<'a>)> {
    let (offset, limit) = around.federation.window.bounds(usize::MAX);
    // What one query pins is passed over among the hits of another.
    let rules = around.context.rules.as_ref().filter(|_| queries.len() > 1);
    let passed_over = rules.map_or(0, |rules| rules.fuel.pin_actions);
    let wanted = offset.saturating_add(limit).saturating_add(passed_over);
    let mut ran = Vec::with_capacity(queries.len());
    let mut candidates = Candidates::new();
    for (position, (asked, &target)) in queries.iter().zip(targets).enumerate() {
        let mut one = one(target, asked, around.federation, around.context, wanted)
            .map_err(|error| at_query(error, asked.query_position.unwrap_or(position)))?;
        add_candidates(&mut candidates, &mut one);
        ran.push(one);
    }
    Ok((ran, candidates))
}

/// Creates the writers for the hits of each query.
fn writers<'a>(ran: &mut [Ran<'a>], context: &Context) -> ApiResult<Vec<HitWriter<'a>>> {
    let writer = |one: &mut Ran<'a>| {
        HitWriter::new(one.target, one.query, &mut one.found, &context.budget).with_foreign(context)
    };
    ran.iter_mut().map(writer).collect()
}

fn one<'a>(
    target: Target<'a>,
    asked: &'a IndexQuery,
    federation: &Federation,
    context: &Context,
    wanted: usize,
) -> ApiResult<Ran<'a>> {
    let takes_all = federation.distinct.is_some() && asked.query.hybrid.is_none();
    let limit = if takes_all { wanted.max(ALL_HITS_MAX) } else { wanted };
    let window = Window::Offset { offset: 0, limit };
    // Of what another server asks for, the page is not known.
    let total_max = target.snapshot.settings.pagination.max_total_hits;
    let page_limit = if context.proxied { usize::MAX } else { Reach::new(federation.window, total_max).page_limit };
    let window = Reach { page_limit, ..Reach::new(window, total_max) };
    let mut found = match &federation.distinct {
        Some(attribute) => {
            let query = SearchQuery { distinct: Some(attribute.clone()), ..asked.query.clone() };
            run_window(target, &query, context, window)?
        }
        None => run_window(target, &asked.query, context, window)?,
    };
    let weight = asked.options.unwrap_or_default().weight;
    let listed = (found.result.hits.len() + found.pinned.len()) as u64;
    let result = &mut found.result;
    let is_complete = listed == result.total && !result.degraded;
    let weighted: Vec<Weighted> = result.hits.iter().map(|hit| Weighted::new(hit, weight)).collect();
    let is_semantic = |hit: &Hit| hit.details.iter().any(is_by_vectors);
    let semantic = result.hits.iter().map(is_semantic).collect();
    // Until all queries have run, only what hits are merged by is kept of each, unless more is shown.
    if !asked.query.show_ranking_score_details && asked.query.explain.is_none() {
        result.hits.iter_mut().for_each(|hit| hit.details = Vec::new());
        result.hits.shrink_to_fit();
        found.held.shrink(weighted.iter().map(Weighted::heap_bytes).sum::<usize>() + KEY_BYTES * weighted.len());
    }
    found.result.hits.extend(found.pinned.iter().map(Pinned::hit));
    if let Some(document) = found.result.explanation.as_mut().and_then(|explanation| explanation.document.as_mut()) {
        // The place that it was given; that of others is the one in the list of this query.
        pins::explain(document, &found.pinned, |pin| found.pinned[pin].position as usize, |rank| rank);
    }
    Ok(Ran {
        target,
        query: &asked.query,
        position: asked.query_position,
        weight,
        found,
        weighted,
        is_complete,
        semantic,
    })
}

/// Begins the answer with the hits of the merged list; how long those of each query took.
fn write_hits(
    ran: &[Ran<'_>],
    writers: &[HitWriter<'_>],
    merged: &Merged<'_>,
    around: Around<'_>,
    out: &mut Written,
) -> ApiResult<Vec<Duration>> {
    let mut took = vec![Duration::ZERO; ran.len()];
    out.body.extend_from_slice(b"{\"hits\":[");
    for (place, merged) in merged.hits.iter().enumerate() {
        if place > 0 {
            out.body.push(b',');
        }
        let start = Instant::now();
        out.body.append(&mut written(ran, writers, merged, around.federation, around.context)?);
        took[merged.query] += start.elapsed();
    }
    out.body.extend_from_slice(b"]}");
    Ok(took)
}

fn written(
    ran: &[Ran<'_>],
    writers: &[HitWriter<'_>],
    merged: &MergedHit,
    federation: &Federation,
    context: &Context,
) -> ApiResult<Vec<u8>> {
    let one = &ran[merged.query];
    let hit = &one.found.result.hits[merged.hit];
    let mut out = writers[merged.query].hit(hit, one.found.result.explanation.as_deref())?;
    let mut federation_fields = json!({
        "indexUid": one.target.name,
        "queriesPosition": one.position.unwrap_or(merged.query),
        "weightedRankingScore": hit.score * one.weight,
    });
    if context.proxied {
        let pin = merged.hit.checked_sub(one.weighted.len()).map(|pin| &one.found.pinned[pin]);
        match pin {
            Some(pin) => {
                federation_fields["weightedScoreValues"] = Weighted::new(hit, one.weight).to_json();
                federation_fields[PINNED_POSITION] = pin.position.into();
            }
            None => federation_fields["weightedScoreValues"] = one.weighted[merged.hit].to_json(),
        }
        let asking = explain::asking(ran, (one.target.uid, hit.address));
        if !asking.is_empty() {
            federation_fields[EXPLAINED] = asking.into();
        }
        if let Some(attribute) = &federation.distinct {
            let bytes = one.target.snapshot.document_bytes(hit.address)?;
            let mut held = context.budget.hold(bytes * 2)?;
            let document = one.target.snapshot.document(hit.address)?;
            held.grow(json_heap_bytes(&document, VALUE_BYTES))?;
            let document = serde_json::from_slice(&document).map_err(refusal::unretrievable)?;
            federation_fields[DISTINCT_VALUES] = distinct_values(&document, attribute).into();
        }
    }
    lamina_engine::highlight::append_field(&mut out, "_federation", federation_fields.to_string().as_bytes());
    Ok(out)
}

/// A facet of `federation.facetsByIndex` that can't be counted.
fn at_facets(error: ApiError, uid: &str, is_used: bool) -> ApiError {
    let note = if is_used { String::new() } else { unused_note(uid) };
    let mut error = error.prefixed(format_args!("Inside `.federation.facetsByIndex.{uid}`: "));
    error.message.push_str(&note);
    if error.code == Code::IndexNotFound { error.with_status(400) } else { error }
}

/// Reports whether a hit counts as found by its vectors: they contributed more than its words.
fn is_by_vectors(detail: &ScoreDetail) -> bool {
    match detail {
        ScoreDetail::Vector(_) => true,
        ScoreDetail::Fusion { words, nearness: Some(nearness), .. } => {
            words.is_none_or(|words| words.share < nearness.share)
        }
        _ => false,
    }
}
