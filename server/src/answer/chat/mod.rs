//! Conversations in which a model searches.

mod conversation;
mod events;
mod provider;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) use conversation::{Conversation, SearchCall, SearchOutcome, TIME_MAX, check_size};
pub(crate) use events::{Events, Fault};

/// Conversations at a time.
const CONVERSATIONS_MAX: usize = 64;

/// Turns of conversations, so that many do not take all threads.
#[derive(Debug)]
pub(crate) struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Turns {
        Turns(Arc::new(Semaphore::new(CONVERSATIONS_MAX)))
    }
}

impl Turns {
    /// Returns the right to hold a conversation.
    ///
    /// # Errors
    /// `too_many_search_requests`
    pub(crate) fn take(&self) -> ApiResult<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| {
            let message = format!("{CONVERSATIONS_MAX} conversations are running, the maximum.");
            ApiError::new(Code::TooManySearchRequests, message)
        })
    }
}
