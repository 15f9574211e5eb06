//! What surrounds the hits of a merged list.

use lamina_base::error::ApiResult;
use lamina_protocol::wire::multi_search::Federation;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::facets::{IndexFacets, merged as merged_facets};
use super::merge::{Merged, MergedHit};
use super::{Ran, explain};
use crate::answer::search::answer::{paging, report_degraded};
use crate::answer::search::multi::Written;
use crate::answer::search::{Context, Metadata, Shown, total_of};

/// Parts of the request besides its queries.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) federation: &'a Federation,
    pub(super) context: &'a Context,
    /// True if the response carries its metadata.
    pub(super) with_metadata: bool,
}

impl Around<'_> {
    /// Everything but the hits; limits of facets are added to those of `out`.
    pub(super) fn fields(
        self,
        ran: &[Ran<'_>],
        merged: &Merged<'_>,
        counted: &[IndexFacets],
        out: &mut Written,
    ) -> ApiResult<Map<String, Value>> {
        let mut fields = Map::new();
        put_vectors(ran, &mut fields);
        let millis = u64::try_from(self.context.received.elapsed().as_millis()).unwrap_or(u64::MAX);
        fields.insert("processingTimeMs".into(), json!(millis));
        paging(self.federation.window, usize::MAX, self.total(ran, merged), &mut fields);
        if ran.iter().any(|one| one.found.semantic_hit_count.is_some()) {
            let is_semantic = |merged: &&MergedHit| ran[merged.query].semantic.get(merged.hit) == Some(&true);
            fields.insert("semanticHitCount".into(), json!(merged.hits.iter().filter(is_semantic).count()));
        }
        self.put_facets(counted, out, &mut fields)?;
        report_degraded(ran.iter().flat_map(|one| &one.found.limits), &mut fields);
        let explanations = explain::explanations(ran, merged);
        if !explanations.is_empty() {
            fields.insert("explanations".into(), explanations.into());
        }
        fields.insert("requestUid".into(), json!(Uuid::now_v7()));
        let uids: Vec<Option<Uuid>> = ran.iter().map(|_| self.with_metadata.then(Uuid::now_v7)).collect();
        for (one, uid) in ran.iter().zip(&uids) {
            // Where its hits are in the merged list is not known here.
            self.context.record(one.target, one.query, *uid, (one.found.result.total, &Shown::default()));
        }
        if self.with_metadata {
            let each = ran.iter().zip(uids.into_iter().flatten());
            let each = each.map(|(one, uid)| Metadata::new(one.target, one.query, uid).into_value());
            fields.insert("metadata".into(), Value::Array(each.collect()));
        }
        if self.federation.show_performance_details {
            fields.insert("performanceDetails".into(), Value::Object(steps(ran)));
        }
        Ok(fields)
    }

    /// The hits that the merged list counts.
    fn total(self, ran: &[Ran<'_>], merged: &Merged<'_>) -> u64 {
        let totals = merged.candidates.iter().map(|(uid, segments)| {
            let found = segments.iter().map(|docs| u64::from(docs.len())).sum();
            let one = ran.iter().find(|one| one.target.uid == *uid);
            one.map_or(found, |one| total_of(self.federation.window, one.target.snapshot.settings.pagination, found))
        });
        totals.sum()
    }

    /// The counts of facets: merged, or for each index.
    fn put_facets(self, counted: &[IndexFacets], out: &mut Written, fields: &mut Map<String, Value>) -> ApiResult<()> {
        match self.federation.merge_facets {
            Some(options) => {
                let facets = merged_facets(counted, options.values_max())?;
                out.cut_by(facets.cuts());
                fields.insert("facetDistribution".into(), facets.distribution());
                fields.insert("facetStats".into(), facets.stats());
            }
            None if !counted.is_empty() => {
                let is_merged_elsewhere = self.context.values_wanted.is_some();
                if !is_merged_elsewhere {
                    out.cut_by(counted.iter().flat_map(|one| one.facets.cuts()));
                }
                let shown = if is_merged_elsewhere { IndexFacets::to_be_merged } else { IndexFacets::shown };
                let by_index = counted.iter().map(|one| (one.name.clone(), shown(one)));
                fields.insert("facetsByIndex".into(), Value::Object(by_index.collect()));
            }
            None => {}
        }
        Ok(())
    }
}

/// The vectors that queries were compared by, of those that ask for them.
fn put_vectors(ran: &[Ran<'_>], fields: &mut Map<String, Value>) {
    let vectors: Map<String, Value> = (0..)
        .zip(ran)
        .filter(|(_, one)| one.query.retrieve_vectors)
        .filter_map(|(position, one): (usize, _)| Some((position.to_string(), json!(one.found.vector.as_ref()?))))
        .collect();
    if !vectors.is_empty() {
        fields.insert("queryVectors".into(), Value::Object(vectors));
    }
}

/// Returns the duration of each step of each query.
fn steps(ran: &[Ran<'_>]) -> Map<String, Value> {
    let steps = ran.iter().enumerate().flat_map(|(position, one)| {
        let named = move |(step, took): &(&str, std::time::Duration)| {
            (format!("queries[{position}] > {step}"), json!(format!("{took:.2?}")))
        };
        one.found.steps.iter().map(named)
    });
    steps.collect()
}
