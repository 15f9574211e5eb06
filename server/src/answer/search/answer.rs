//! The answer to a search: hits and what surrounds them, in the order of the protocol.

use std::io::Write;
use std::time::Instant;

use lamina_base::error::ApiResult;
use lamina_protocol::wire::search::{SearchQuery, Window};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{Context, Found, HitWriter, Target, explanation, measures, total_of};

/// Fields that `Meili-Include-Metadata: true` adds to a response.
#[derive(Clone, Debug)]
pub(crate) struct Metadata(Map<String, Value>);

impl Metadata {
    /// For one query, with its own identifier, and with the text that was searched for, if one was sent.
    pub(crate) fn new(target: Target<'_>, query: &SearchQuery, query_uid: Uuid) -> Metadata {
        let mut metadata = Map::new();
        if let Some(text) = &query.q {
            metadata.insert("query".into(), json!(text));
        }
        metadata.insert("queryUid".into(), json!(query_uid));
        metadata.insert("indexUid".into(), json!(target.name));
        if let Some(key) = &target.snapshot.primary_key {
            metadata.insert("primaryKey".into(), json!(**key));
        }
        Metadata(metadata)
    }

    /// The JSON object.
    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// A search and everything its answer is written from.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    /// The index.
    pub target: Target<'a>,
    /// Search of the request.
    pub query: &'a SearchQuery,
    /// Context of the search, including its time.
    pub context: &'a Context,
    /// Result of the search.
    pub found: Found,
    /// True if the response names its index, which those of a multi-search do.
    pub names_index: bool,
    /// Metadata, if the request asked for it.
    pub metadata: Option<Metadata>,
}

/// An answer that is written but for what differs each time: how long it took, and its identifier.
#[derive(Debug)]
pub(crate) struct WrittenAnswer {
    /// The body without those two.
    text: Vec<u8>,
    /// Offset at which the milliseconds are inserted.
    millis_at: usize,
    /// Offset at which the identifier is inserted, after them.
    request_uid_at: usize,
}

const MILLIS: &str = "processingTimeMs";
const REQUEST_UID: &str = "requestUid";
/// Room for what differs: twenty digits, an identifier and its quotes.
const DIFFERENT_BYTES: usize = 64;

impl WrittenAnswer {
    /// The hits, written up to their end, and the fields after them.
    fn new(mut text: Vec<u8>, around: &Map<String, Value>) -> WrittenAnswer {
        let (mut millis_at, mut request_uid_at) = (text.len(), text.len());
        for (key, value) in around {
            text.push(b',');
            text.extend_from_slice(json!(key).to_string().as_bytes());
            text.push(b':');
            match key.as_str() {
                MILLIS => millis_at = text.len(),
                REQUEST_UID => request_uid_at = text.len(),
                _ => text.extend_from_slice(value.to_string().as_bytes()),
            }
        }
        text.push(b'}');
        WrittenAnswer { text, millis_at, request_uid_at }
    }

    /// The body of the answer to a request that came in at `received`.
    pub(crate) fn body(&self, received: Instant) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text.len() + DIFFERENT_BYTES);
        out.extend_from_slice(&self.text[..self.millis_at]);
        self.put_rest(received, &self.text[self.millis_at..], &mut out);
        out
    }

    /// Returns the same as [`WrittenAnswer::body`], without a copy of the hits.
    pub(super) fn into_body(mut self, received: Instant) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.text);
        let rest = out.split_off(self.millis_at);
        self.put_rest(received, &rest, &mut out);
        out
    }

    /// Puts the milliseconds, and the `rest` of the text with the identifier in it.
    fn put_rest(&self, received: Instant, rest: &[u8], out: &mut Vec<u8>) {
        let (between, end) = rest.split_at(self.request_uid_at - self.millis_at);
        let millis = u64::try_from(received.elapsed().as_millis()).unwrap_or(u64::MAX);
        write!(out, "{millis}").expect("memory takes everything");
        out.extend_from_slice(between);
        out.push(b'"');
        out.extend_from_slice(Uuid::now_v7().hyphenated().encode_lower(&mut Uuid::encode_buffer()).as_bytes());
        out.push(b'"');
        out.extend_from_slice(end);
    }

    /// Bytes that it takes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.text.capacity()
    }
}

impl Answer<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// A stored document that can't be read, or not in the memory that there is.
    pub(crate) fn write(mut self) -> ApiResult<WrittenAnswer> {
        let writer = HitWriter::new(self.target, self.query, &mut self.found, &self.context.budget);
        let writer = writer.with_foreign(self.context)?;
        let mut out = Vec::with_capacity(1024);
        out.push(b'{');
        if self.names_index {
            out.extend_from_slice(format!("\"indexUid\":{},", json!(self.target.name)).as_bytes());
        }
        out.extend_from_slice(b"\"hits\":[");
        let start = std::time::Instant::now();
        writer.write_all(&self.found.result, &mut out)?;
        self.found.steps.push(("format", start.elapsed()));
        out.push(b']');
        Ok(WrittenAnswer::new(out, &self.around()))
    }

    /// Everything but the hits.
    fn around(&mut self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("query".into(), json!(self.query.q.as_deref().unwrap_or("")));
        if let Some(vector) = self.found.vector.as_ref().filter(|_| self.query.retrieve_vectors) {
            fields.insert("queryVector".into(), json!(vector));
        }
        fields.insert(MILLIS.into(), Value::Null);
        let pagination = self.target.snapshot.settings.pagination;
        let window = self.query.window();
        let total = total_of(window, pagination, self.found.result.total);
        paging(window, pagination.max_total_hits, total, &mut fields);
        if let Some(groups) = self.found.result.groups.filter(|_| self.query.distinct_limit.is_some()) {
            fields.insert("totalGroups".into(), json!(groups));
        }
        if let Some(better) = &self.found.did_you_mean {
            better.add_to(&mut fields);
        }
        if let Some(facets) = &self.found.facets {
            fields.insert("facetDistribution".into(), facets.distribution());
            fields.insert("facetStats".into(), facets.stats());
        }
        if !self.query.measures.is_empty() {
            fields.insert("facetDetails".into(), measures::shown(&self.query.measures, &self.found.measured));
        }
        fields.insert(REQUEST_UID.into(), Value::Null);
        if let Some(metadata) = self.metadata.take() {
            fields.insert("metadata".into(), metadata.into_value());
        }
        if let Some(assigned) = self.context.assigned(self.target, self.query) {
            fields.insert("experiment".into(), assigned.shown());
        }
        if self.query.show_performance_details {
            let steps = self.found.steps.iter().map(|(step, took)| ((*step).to_owned(), json!(format!("{took:.2?}"))));
            fields.insert("performanceDetails".into(), Value::Object(steps.collect()));
        }
        report_degraded(&self.found.limits, &mut fields);
        if self.query.explain.is_some() {
            let on_page = |place| explanation::on_page(&self.found, place);
            let explained = explanation::of_search(self.target, &self.found, on_page);
            fields.insert("explanation".into(), explained);
        }
        if let Some(count) = self.found.semantic_hit_count {
            fields.insert("semanticHitCount".into(), json!(count));
        }
        fields
    }
}

/// Adds the reasons why the work of a search was cut, if any: each once.
pub(super) fn report_degraded<'l>(limits: impl IntoIterator<Item = &'l &'static str>, fields: &mut Map<String, Value>) {
    let mut reasons: Vec<&str> = Vec::new();
    for &reason in limits {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if !reasons.is_empty() {
        fields.insert("degraded".into(), json!(true));
        fields.insert("degradedReasons".into(), json!(reasons));
    }
}

/// Adds the position of the hits among all: the offset in use, and the limit of the request.
pub(crate) fn paging(window: Window, total_max: usize, total: u64, fields: &mut Map<String, Value>) {
    match window {
        Window::Offset { offset, limit } => {
            fields.insert("limit".into(), json!(limit));
            fields.insert("offset".into(), json!(offset.min(total_max)));
            fields.insert("estimatedTotalHits".into(), json!(total));
        }
        Window::Page { page, hits_per_page } => {
            let pages = if hits_per_page == 0 { 0 } else { total.div_ceil(hits_per_page as u64) };
            fields.insert("hitsPerPage".into(), json!(hits_per_page));
            fields.insert("page".into(), json!(page));
            fields.insert("totalPages".into(), json!(pages));
            fields.insert("totalHits".into(), json!(total));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paging_of_both_modes() {
        let shown = |window, total| {
            let mut fields = Map::new();
            paging(window, 1000, total, &mut fields);
            Value::Object(fields).to_string()
        };
        assert_eq!(
            shown(Window::Offset { offset: 2000, limit: 5 }, 3000),
            r#"{"limit":5,"offset":1000,"estimatedTotalHits":3000}"#
        );
        assert_eq!(
            shown(Window::Page { page: 2, hits_per_page: 2 }, 5),
            r#"{"hitsPerPage":2,"page":2,"totalPages":3,"totalHits":5}"#
        );
        assert_eq!(
            shown(Window::Page { page: 1, hits_per_page: 0 }, 5),
            r#"{"hitsPerPage":0,"page":1,"totalPages":0,"totalHits":5}"#
        );
    }
}
