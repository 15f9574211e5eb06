//! Recorded searches with the hits that were shown and the clicks on them, a line each: what `lamina judge` reads.

use std::collections::HashMap;
use std::time::Instant;

use lamina_base::budget::AnswerBudget;
use lamina_base::error::{ApiError, ApiResult};
use lamina_data::events::{SEARCH_KIND, TEXT_BYTES_MAX, fields};
use lamina_engine::index::{DocumentAddress, Snapshot};
use lamina_protocol::wire::analytics::AnalyticsQuery;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::columns::Columns;
use super::{ENTRY_BYTES, Work};

/// Fields of a document of the store.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    #[serde(default)]
    pub(super) queries: Vec<Uuid>,
    pub(super) user: Option<String>,
    /// Seconds since 1970.
    pub(super) at: i64,
    #[serde(default)]
    pub(super) text: String,
    pub(super) filter: Option<String>,
    #[serde(default)]
    pub(super) hits: Vec<String>,
    #[serde(default)]
    offset: u64,
    pub(super) object: Option<String>,
    position: Option<u32>,
    /// Group of the user, in an experiment.
    pub(super) group: Option<String>,
    #[serde(default)]
    pub(super) teams: String,
    #[serde(default)]
    pub(super) fell_back: bool,
}

/// Reads a document of the store.
pub(super) fn record(snapshot: &Snapshot, segment: u32, doc: u32) -> ApiResult<Record> {
    let document = snapshot.document(DocumentAddress { segment, doc })?;
    serde_json::from_slice(&document).map_err(|error| ApiError::internal(error.to_string()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    query_uid: Option<&'a Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    q: &'a str,
    /// Milliseconds since 1970.
    at: i64,
    offset: u64,
    search: Map<String, Value>,
    hits: &'a [String],
    clicks: Vec<&'a Click>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Click {
    object_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u32>,
    /// Milliseconds since 1970.
    at: i64,
}

/// The searches that were recorded in the time that is asked for, as lines. `filter` selects the documents of an index. Searches of which
/// no hit is known, or no whole text, are left out.
///
/// # Errors
/// More time or memory than one answer may take.
pub(crate) fn searches(
    snapshot: &Snapshot,
    filter: &str,
    query: &AnalyticsQuery,
    budget: &AnswerBudget,
) -> ApiResult<Vec<u8>> {
    let work = Work { query, list: None, budget, begun: Instant::now() };
    let selected = work.selected(snapshot, filter)?;
    let mut clicks: HashMap<Uuid, Vec<Click>> = HashMap::new();
    let mut out = Vec::new();
    // All clicks come before the first search.
    for kind in ["click", SEARCH_KIND] {
        for ((number, segment), docs) in (0u32..).zip(&snapshot.segments).zip(&selected) {
            let columns = Columns::of(snapshot, segment);
            work.each(docs, |doc| {
                if columns.text(fields::KIND, doc) != kind {
                    return Ok(());
                }
                let record = record(snapshot, number, doc)?;
                match kind {
                    SEARCH_KIND => work.add_line(&record, &clicks, &mut out),
                    _ => work.add_click(record, &mut clicks),
                }
            })?;
        }
    }
    Ok(out)
}

impl Work<'_> {
    fn add_click(&self, record: Record, clicks: &mut HashMap<Uuid, Vec<Click>>) -> ApiResult<()> {
        if let (Some(search), Some(object_id)) = (record.queries.first(), record.object) {
            self.budget.take(ENTRY_BYTES + object_id.len())?;
            let click = Click { object_id, position: record.position, at: record.at * 1000 };
            clicks.entry(*search).or_default().push(click);
        }
        Ok(())
    }

    fn add_line(&self, record: &Record, clicks: &HashMap<Uuid, Vec<Click>>, out: &mut Vec<u8>) -> ApiResult<()> {
        // What was cut off is another query.
        let is_whole = |text: &str| text.len() + char::MAX.len_utf8() <= TEXT_BYTES_MAX;
        let is_known = is_whole(&record.text) && record.filter.as_deref().is_none_or(is_whole);
        let is_in_time = u64::try_from(record.at).is_ok_and(|at| self.is_in_time(at));
        if !is_known || !is_in_time || record.hits.is_empty() {
            return Ok(());
        }
        let filter = record.filter.iter().map(|text| {
            let filter = serde_json::from_str(text).ok().filter(Value::is_array);
            ("filter".to_owned(), filter.unwrap_or_else(|| text.as_str().into()))
        });
        let line = Line {
            query_uid: record.queries.last(),
            user_id: record.user.as_deref(),
            q: &record.text,
            at: record.at * 1000,
            offset: record.offset,
            search: filter.collect(),
            hits: &record.hits,
            clicks: record.queries.iter().filter_map(|uid| clicks.get(uid)).flatten().collect(),
        };
        let before = out.len();
        serde_json::to_writer(&mut *out, &line).expect("memory takes everything");
        out.push(b'\n');
        self.budget.take((out.len() - before) * 2)
    }
}
