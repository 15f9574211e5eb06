//! How much memory requests and answers take: each of them, and all of them at once.
//!
//! Whatever a client asks for, what it takes to read the request and to make the answer is counted before it is taken. One
//! answer that needs more than its share is refused with a sentence that says what to ask for instead. Where many need
//! much at once, each waits a moment for the others, and is asked to come back after that.

mod answer;
pub mod costs;
mod json;
mod pool;
mod receiving;

use std::sync::Arc;

pub use answer::{AnswerBudget, Reservation};
pub use costs::VALUE_BYTES;
pub use json::json_heap_bytes;
pub use pool::Lease;
pub use pool::Pool;
pub use receiving::ReceivingMemory;
use receiving::receiving_bytes;

use tokio::sync::Semaphore;

use crate::error::{ApiError, Code};
use crate::options::{ByteSize, Options, core_count};

/// So many pieces of answers are written at the same time, also on one core: one of them may wait for the disk.
const WRITING_MIN: usize = 2;

/// The memory of requests and answers. One per process.
#[derive(Debug)]
pub struct Budgets {
    requests: Arc<Pool>,
    answers: Arc<Pool>,
    documents: Arc<Pool>,
    document_bytes_max: usize,
    writing: Arc<Semaphore>,
}

impl Budgets {
    /// Creates the budgets that the options define.
    pub fn new(options: &Options) -> Budgets {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let (searching, document_bytes_max) = (&options.searching, options.indexing.document_bytes_max());
        Budgets {
            requests: Arc::new(Pool::new(size(searching.request_memory_bytes()))),
            answers: Arc::new(Pool::new(size(searching.answer_memory_bytes()))),
            documents: Arc::new(Pool::new(receiving_bytes(document_bytes_max))),
            document_bytes_max,
            writing: Arc::new(Semaphore::new(core_count().max(WRITING_MIN))),
        }
    }

    /// For one answer that is about to be made.
    pub fn answer(&self) -> AnswerBudget {
        AnswerBudget::of(&self.answers)
    }

    /// Turns to write the next piece of an answer that is sent while it is written. Each thread that has done so keeps some
    /// megabytes in the allocator, and the runtime would start one for each client that waits.
    pub fn writing(&self) -> &Arc<Semaphore> {
        &self.writing
    }

    /// Returns the memory budget for payloads while they are received.
    pub fn receiving(&self) -> ReceivingMemory {
        ReceivingMemory::of(&self.documents, self.document_bytes_max)
    }

    /// Memory of JSON bodies.
    pub fn requests(&self) -> &Arc<Pool> {
        &self.requests
    }
}

/// The refusal of a request that would take more than `bytes_max`.
pub fn request_too_large(bytes_max: usize) -> ApiError {
    ApiError::new(
        Code::PayloadTooLarge,
        format!(
            "The request takes more than the {} of memory that one may take. Send less at once, or start the server \
             with a larger `--max-request-memory`. Documents that are added are not meant: each has a limit of its own.",
            ByteSize::new(bytes_max as u64)
        ),
    )
}

/// Too many are large at the same time.
pub fn all_taken(what: &str) -> ApiError {
    ApiError::new(
        Code::TooManySearchRequests,
        format!("Other requests use all the memory for {what}. Retry after 10s, or request less at once."),
    )
}
