//! What receivers get: one task per line.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use lamina_base::budget::AnswerBudget;
use lamina_base::error::{ApiResult, ErrorDocs};
use lamina_protocol::wire::tasks::{Paging, TaskFilter};
use reqwest::Body;

use crate::tasks::TaskQueue;

/// Tasks that are held in memory at once.
const PAGE: u64 = 1000;

/// A batch on its way into a body, page by page: it may hold a million tasks.
pub(super) struct Lines {
    queue: Arc<TaskQueue>,
    docs: ErrorDocs,
    batch: u32,
    /// Start of the next page; `None` after the last one.
    from: Option<u32>,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

impl Lines {
    pub(super) fn new(queue: Arc<TaskQueue>, docs: ErrorDocs, batch: u32, with_gzip: bool) -> Lines {
        let gzip = with_gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
        Lines { queue, docs, batch, from: Some(0), gzip }
    }

    /// The body; `None` when the tasks have been deleted meanwhile. One of few tasks has a known length, which simple
    /// receivers want.
    pub(super) async fn into_body(mut self) -> ApiResult<Option<Body>> {
        let first = self.next_piece().await?;
        if first.is_empty() {
            return Ok(None);
        }
        if self.from.is_none() {
            return Ok(Some(first.into()));
        }
        let pieces = stream::unfold((self, Some(first)), |(mut lines, ready)| async move {
            let piece = match ready {
                Some(piece) => Ok(piece),
                None if lines.from.is_none() => return None,
                None => lines.next_piece().await,
            };
            if piece.is_err() {
                lines.from = None;
            }
            Some((piece, (lines, None)))
        });
        Ok(Some(Body::wrap_stream(pieces)))
    }

    async fn next_piece(&mut self) -> ApiResult<Bytes> {
        let filter = TaskFilter { batch_uids: Some(vec![self.batch]), ..TaskFilter::default() };
        let paging = Paging { limit: PAGE, from: self.from, reverse: true };
        let page = self.queue.tasks(filter, paging, AnswerBudget::UNLIMITED).await?;
        self.from = page.next;
        let mut text = Vec::new();
        for task in &page.results {
            serde_json::to_writer(&mut text, &task.view(&self.docs)).expect("tasks are JSON");
            text.push(b'\n');
        }
        let Some(gzip) = &mut self.gzip else { return Ok(text.into()) };
        if !text.is_empty() {
            gzip.write_all(&text)?;
            if self.from.is_none() {
                gzip.try_finish()?;
            }
        }
        Ok(std::mem::take(gzip.get_mut()).into())
    }
}
