//! Lists of documents that are written while they are sent: the first ones before the answer begins, so that what is wrong
//! can still be said, and the others piece by piece, as the client reads.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use lamina_base::budget::costs::READING_FACTOR;
use lamina_base::budget::{AnswerBudget, Reservation};
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::tasks::blocking;
use lamina_engine::bits::DocSet;
use lamina_engine::highlight::{Projection, append_field};
use lamina_engine::index::settings::VECTORS_FIELD;
use lamina_engine::index::{DocumentAddress, Snapshot};
use tokio::sync::Semaphore;
use warp::Reply;
use warp::http::{HeaderValue, header};
use warp::reply::Response;

/// Size of the pieces in which a list is sent. A smaller list is sent with its length.
const PIECE_BYTES: usize = 256 << 10;
/// A document that takes no more is read on the spot.
pub(super) const SMALL_BYTES: usize = 1 << 20;
/// Places of documents that are looked up at a time.
const PLACES: u64 = 50_000;

/// Writes documents as lists show them.
#[derive(Debug)]
pub(super) struct DocumentWriter {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) projection: Projection,
    pub(super) with_vectors: bool,
}

impl DocumentWriter {
    /// The memory that it takes to write a document.
    pub(super) fn bytes(&self, address: DocumentAddress) -> ApiResult<usize> {
        let bytes = self.snapshot.document_bytes(address)?;
        let vectors = if self.with_vectors { self.snapshot.vectors_json_bytes(address) } else { 0 };
        Ok(bytes.saturating_mul(READING_FACTOR).saturating_add(vectors))
    }

    pub(super) fn write(&self, address: DocumentAddress, body: &mut Vec<u8>) -> ApiResult<()> {
        let document = self.snapshot.document(address)?;
        let start = body.len();
        self.projection.write(&document, body).map_err(unretrievable)?;
        if self.with_vectors {
            let mut shown = body.split_off(start);
            let vectors = self.snapshot.vectors_json(address, &document)?;
            append_field(&mut shown, VECTORS_FIELD, &vectors);
            body.append(&mut shown);
        }
        Ok(())
    }
}

fn unretrievable(error: impl std::fmt::Display) -> ApiError {
    ApiError::new(Code::UnretrievableDocument, error.to_string())
}

/// Addresses of the documents of a list, in its order.
#[derive(Debug)]
pub(super) struct Page {
    /// The next ones.
    places: VecDeque<DocumentAddress>,
    source: Source,
    /// The memory of those that are known beforehand.
    _held: Option<Reservation>,
}

/// Source of further addresses.
#[derive(Debug)]
enum Source {
    /// In order of insertion, among some documents or all.
    Insertion { sets: Option<Vec<DocSet>>, offset: u64, limit: u64 },
    /// There are no more.
    End,
}

impl Page {
    /// `limit` of all documents, from the `offset`-th on.
    pub(super) fn all(offset: u64, limit: u64) -> Page {
        Page { places: VecDeque::new(), source: Source::Insertion { sets: None, offset, limit }, _held: None }
    }

    /// Selects like [`Page::all`], but from these documents: one set for each segment.
    pub(super) fn among(sets: Vec<DocSet>, offset: u64, limit: u64) -> Page {
        Page { places: VecDeque::new(), source: Source::Insertion { sets: Some(sets), offset, limit }, _held: None }
    }

    /// Returns a page of these documents, whose memory is `held`.
    pub(super) fn these(places: Vec<DocumentAddress>, held: Reservation) -> Page {
        Page { places: places.into(), source: Source::End, _held: Some(held) }
    }

    fn next(&mut self, snapshot: &Snapshot) -> Option<DocumentAddress> {
        if self.places.is_empty() {
            self.look_up(snapshot);
        }
        self.places.pop_front()
    }

    fn look_up(&mut self, snapshot: &Snapshot) {
        let Source::Insertion { sets, offset, limit } = &mut self.source else { return };
        let wanted = PLACES.min(*limit);
        let found = match sets {
            Some(sets) => snapshot.documents_among(sets, *offset, wanted),
            None => snapshot.documents(*offset, wanted),
        };
        (*offset, *limit) = (*offset + found.len() as u64, *limit - found.len() as u64);
        if (found.len() as u64) < wanted || *limit == 0 {
            self.source = Source::End;
        }
        self.places = found.into();
    }

    /// Calls `f` with all that are left, which stay.
    fn try_for_each(&self, snapshot: &Snapshot, mut f: impl FnMut(DocumentAddress) -> ApiResult<()>) -> ApiResult<()> {
        self.places.iter().copied().try_for_each(&mut f)?;
        let Source::Insertion { sets, offset, limit } = &self.source else { return Ok(()) };
        let source = Source::Insertion { sets: sets.clone(), offset: *offset, limit: *limit };
        let mut rest = Page { places: VecDeque::new(), source, _held: None };
        while let Some(address) = rest.next(snapshot) {
            f(address)?;
        }
        Ok(())
    }
}

/// The documents of a page, with commas between them, all at once; and their number.
///
/// # Errors
/// A document that can't be read, or they take more memory than there is.
pub(super) fn written_at_once(
    writer: &DocumentWriter,
    mut page: Page,
    budget: &AnswerBudget,
) -> ApiResult<(Vec<u8>, u64)> {
    let (mut written, mut count) = (Vec::new(), 0);
    while let Some(address) = page.next(&writer.snapshot) {
        budget.take(writer.bytes(address)?)?;
        if count > 0 {
            written.push(b',');
        }
        writer.write(address, &mut written)?;
        count += 1;
    }
    Ok((written, count))
}

/// The body of a list.
pub(super) enum Listed {
    /// A short one, written at once.
    Whole(Vec<u8>),
    /// The beginning, and how it goes on.
    Begun(Begun),
}

/// A list of which the beginning was written.
pub(super) struct Begun {
    written: Vec<u8>,
    writer: DocumentWriter,
    page: Page,
    is_first: bool,
    /// Text after the documents; `None` once it is written.
    end: Option<String>,
}

impl Begun {
    /// Writes the documents of `page`, and `end` behind them; if they are many, the first of them.
    ///
    /// # Errors
    /// A document that can't be read; one of those that are left takes more memory than there is.
    pub(super) fn list(writer: DocumentWriter, page: Page, end: String, budget: &AnswerBudget) -> ApiResult<Listed> {
        let written = b"{\"results\":[".to_vec();
        let mut begun = Begun { written, writer, page, is_first: true, end: Some(end) };
        budget.take(2 * PIECE_BYTES + PLACES as usize * size_of::<DocumentAddress>())?;
        let reading = begun.write(|bytes| budget.hold(bytes).map(drop))?;
        budget.take(reading)?;
        if begun.end.is_none() {
            return Ok(Listed::Whole(begun.written));
        }
        // What can't be sent is said before anything is, damage included.
        begun.check_rest()?;
        let most = begun.reading_max()?;
        budget.take(most)?;
        Ok(Listed::Begun(begun))
    }

    /// Compares the documents that are left with their checksums.
    fn check_rest(&self) -> ApiResult<()> {
        let DocumentWriter { snapshot, with_vectors, .. } = &self.writer;
        self.page.try_for_each(snapshot, |address| Ok(snapshot.check_document(address, *with_vectors)?))
    }

    /// Returns the memory for writing the largest remaining document.
    fn reading_max(&self) -> ApiResult<usize> {
        let most = self.writer.snapshot.document_bytes_max()?.saturating_mul(READING_FACTOR);
        if most <= PIECE_BYTES && !self.writer.with_vectors {
            return Ok(most);
        }
        let mut most = 0;
        self.page.try_for_each(&self.writer.snapshot, |address| {
            most = most.max(self.writer.bytes(address)?);
            Ok(())
        })?;
        Ok(most)
    }

    /// Writes as many documents as a piece holds; at the end of the list, that too. `may_read` is asked before a document
    /// is read that takes much. Answers what the largest takes beyond its piece.
    fn write(&mut self, may_read: impl Fn(usize) -> ApiResult<()>) -> ApiResult<usize> {
        let mut most = 0;
        // Growing would touch pages of many sizes, which the allocator keeps.
        self.written.reserve(PIECE_BYTES + PIECE_BYTES / 16);
        while self.written.len() < PIECE_BYTES {
            let Some(address) = self.page.next(&self.writer.snapshot) else {
                self.written.extend_from_slice(self.end.take().unwrap_or_default().as_bytes());
                break;
            };
            let bytes = self.writer.bytes(address)?;
            if bytes > PIECE_BYTES {
                may_read(bytes)?;
                most = most.max(bytes);
            }
            if !std::mem::take(&mut self.is_first) {
                self.written.push(b',');
            }
            self.writer.write(address, &mut self.written)?;
        }
        Ok(most)
    }

    /// The answer, which is written on while it is sent. `budget` is that of all of it, `turns` those to write a piece.
    pub(super) fn into_answer(self, budget: AnswerBudget, turns: Arc<Semaphore>) -> Response {
        let mut answer = warp::reply::stream(self.pieces(budget, turns)).into_response();
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        answer
    }

    fn pieces(self, budget: AnswerBudget, turns: Arc<Semaphore>) -> impl Stream<Item = io::Result<Bytes>> + Send {
        futures_util::stream::try_unfold((self, budget, turns), |(mut begun, budget, turns)| async move {
            if !begun.written.is_empty() {
                return Ok(Some((Bytes::from(std::mem::take(&mut begun.written)), (begun, budget, turns))));
            }
            if begun.end.is_none() {
                return Ok(None);
            }
            let turn = turns.acquire().await.map_err(io::Error::other)?;
            let written = blocking(move || begun.write(|_| Ok(())).map(|_| begun)).await;
            drop(turn);
            let mut begun = written.and_then(|written| written).map_err(|error| {
                tracing::error!(error = %error.message, "sending a list of documents failed");
                io::Error::other(error.message)
            })?;
            Ok(Some((Bytes::from(std::mem::take(&mut begun.written)), (begun, budget, turns))))
        })
    }
}
