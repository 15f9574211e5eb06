//! `pagination`: merged field by field.

use lamina_base::error::{ApiResult, Code};
use lamina_engine::index::settings::{PaginationPatch, SettingId};
use serde_json::json;

use super::kind::{Figure, Reference, SettingKind, WriteVerb};
use super::values::{parts, sent, setting, size};
use crate::wire::json::At;
use crate::wire::schema;

pub(super) const PAGINATION: SettingKind = SettingKind {
    id: SettingId::Pagination,
    key: "pagination",
    route: "pagination",
    verb: WriteVerb::Patch,
    code: Code::InvalidSettingsPagination,
    read: |at, patch| {
        patch.pagination = setting(at, read)?;
        Ok(())
    },
    written: |settings| json!({ "maxTotalHits": settings.pagination.max_total_hits }),
    sent: |patch| {
        sent(&patch.pagination, |patch| parts([("maxTotalHits", sent(&patch.max_total_hits, |hits| json!(hits)))]))
    },
    schema: || schema::exactly([("maxTotalHits", schema::or_null(schema::at_least(1)))], &[]),
    figures: |patch| {
        let hits = patch.pagination.as_set().and_then(|pagination| pagination.max_total_hits.as_set());
        hits.map(|hits| ("pagination.max_total_hits", Figure::Last(json!(hits)))).into_iter().collect()
    },
    reference: Reference {
        purpose: "the number of hits that paging can reach",
        value: "object: `maxTotalHits`, an integer from 1",
        example: r#"{"maxTotalHits": 5000}"#,
    },
    ..SettingKind::PLAIN
};

fn read(at: At<'_>) -> ApiResult<PaginationPatch> {
    let mut patch = PaginationPatch::default();
    at.fields(&["maxTotalHits"], |_, field| {
        patch.max_total_hits = setting(field, |field| match size(field)? {
            0 => Err(field
                .invalid("a non-zero integer value lower than `18446744073709551615` was expected, but found a zero")),
            hits => Ok(hits),
        })?;
        Ok(())
    })?;
    Ok(patch)
}
