//! What one answer may take.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use super::all_taken;
use super::pool::{Lease, Pool};
use crate::error::{ApiError, ApiResult, Code};
use crate::options::ByteSize;

/// The memory of one answer, from the search to the last byte that is sent. Cheap to clone: all clones are the same one.
#[derive(Clone, Debug)]
pub struct AnswerBudget(Option<Arc<Mutex<Account>>>);

#[derive(Debug)]
struct Account {
    one_max: usize,
    used: usize,
    lease: Lease,
    /// True if the pool lacked memory for all concurrent responses.
    is_short: bool,
}

/// Bytes are leased in steps of this many.
const STEP_BYTES: usize = 64 << 10;

impl AnswerBudget {
    /// Without bounds, for work that no client asked for.
    pub const UNLIMITED: AnswerBudget = AnswerBudget(None);

    pub(super) fn of(pool: &Arc<Pool>) -> AnswerBudget {
        let account = Account { one_max: pool.one_max(), used: 0, lease: pool.lease(), is_short: false };
        AnswerBudget(Some(Arc::new(Mutex::new(account))))
    }

    /// Counts `bytes` that are about to be taken, or were just taken where they are few.
    ///
    /// # Errors
    /// `answer_too_large`; `too_many_search_requests` while others have what is left.
    pub fn take(&self, bytes: usize) -> ApiResult<()> {
        match &self.0 {
            Some(account) => account.lock().take(bytes),
            None => Ok(()),
        }
    }

    /// Takes `bytes` like [`AnswerBudget::take`], and gives them back when the result is dropped.
    ///
    /// # Errors
    /// Same as [`AnswerBudget::take`].
    pub fn hold(&self, bytes: usize) -> ApiResult<Reservation> {
        self.take(bytes)?;
        Ok(Reservation { budget: self.clone(), bytes })
    }

    /// Returns the number of bytes that this response may still take.
    pub fn left(&self) -> usize {
        self.0.as_ref().map_or(usize::MAX, |account| {
            let account = account.lock();
            account.one_max - account.used
        })
    }

    fn give_back(&self, bytes: usize) {
        if let Some(account) = &self.0 {
            let mut account = account.lock();
            account.used = account.used.saturating_sub(bytes);
        }
    }

    /// Reports whether the last refusal was caused by other requests. Another try may then succeed after
    /// [`AnswerBudget::reserve`].
    pub fn is_short(&self) -> bool {
        self.0.as_ref().is_some_and(|account| account.lock().is_short)
    }

    /// Begins anew, with all that one answer may take. Waits for others some seconds.
    ///
    /// # Errors
    /// `too_many_search_requests`
    pub async fn reserve(&self) -> ApiResult<()> {
        let Some(account) = &self.0 else { return Ok(()) };
        let (mut lease, one_max) = {
            let mut account = account.lock();
            (account.used, account.is_short) = (0, false);
            // Who waits holds nothing, so that all who wait can go on one after the other.
            account.lease.shrink(0);
            (account.lease.empty(), account.one_max)
        };
        if !lease.grow_patiently(one_max).await {
            return Err(all_taken("answers"));
        }
        account.lock().lease = lease;
        Ok(())
    }

    /// The body of an answer, whose memory is counted until it is sent, and nothing else of this budget.
    pub fn body(self, body: Vec<u8>) -> Bytes {
        let Some(account) = self.0 else { return body.into() };
        {
            let mut account = account.lock();
            account.used = body.capacity();
            let kept = account.used.min(account.lease.bytes());
            account.lease.shrink(kept);
        }
        Bytes::from_owner(Sent { body, _account: account })
    }
}

impl Account {
    fn take(&mut self, bytes: usize) -> ApiResult<()> {
        let used = self.used.saturating_add(bytes);
        if used > self.one_max {
            return Err(too_large(self.one_max));
        }
        if used > self.lease.bytes() {
            let wanted = used.next_multiple_of(STEP_BYTES).min(self.one_max.max(used));
            if !self.lease.grow(wanted) {
                self.is_short = true;
                return Err(all_taken("answers"));
            }
        }
        self.used = used;
        Ok(())
    }
}

/// The refusal of an answer that would take more than `bytes_max`.
fn too_large(bytes_max: usize) -> ApiError {
    ApiError::new(
        Code::AnswerTooLarge,
        format!(
            "The answer takes more than the {} of memory that one may take. Ask for fewer results at once (`limit`, \
             `hitsPerPage`, fewer queries or facets) or for less of each (`attributesToRetrieve`, `fields`, \
             `attributesToHighlight`, `attributesToCrop`), or start the server with a larger `--max-answer-memory`.",
            ByteSize::new(bytes_max as u64)
        ),
    )
}

/// Bytes of a budget that are given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: AnswerBudget,
    bytes: usize,
}

impl Reservation {
    /// Keeps only `bytes`.
    pub fn shrink(&mut self, bytes: usize) {
        let rest = self.bytes.saturating_sub(bytes);
        self.bytes -= rest;
        self.budget.give_back(rest);
    }

    /// Takes `more` as well.
    ///
    /// # Errors
    /// The errors of [`AnswerBudget::take`].
    pub fn grow(&mut self, more: usize) -> ApiResult<()> {
        self.budget.take(more)?;
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// A body on its way to the client.
struct Sent {
    body: Vec<u8>,
    _account: Arc<Mutex<Account>>,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn an_answer_is_counted_until_it_is_sent() {
        let pool = Arc::new(Pool::new(MIB));
        let budget = AnswerBudget::of(&pool);
        budget.take(100).unwrap();
        let held = budget.hold(500_000).unwrap();
        let error = budget.take(600_000).unwrap_err();
        assert_eq!((error.code, error.status()), (Code::AnswerTooLarge, 400));
        assert!(error.message.contains("`--max-answer-memory`"), "{}", error.message);
        drop(held);
        budget.take(600_000).unwrap();
        let sent = budget.body(vec![7; 1000]);
        assert_eq!((pool.used(), sent.len()), (1000, 1000));
        let part = sent.slice(10..20);
        drop(sent);
        assert_eq!(pool.used(), 1000);
        drop(part);
        assert_eq!(pool.used(), 0);
    }

    #[tokio::test]
    async fn answers_wait_for_each_other() {
        let pool = Arc::new(Pool::new(MIB));
        let (one, other) = (AnswerBudget::of(&pool), AnswerBudget::of(&pool));
        one.take(MIB).unwrap();
        let error = other.take(MIB).unwrap_err();
        assert_eq!((error.status(), error.retry_after_seconds()), (503, Some(10)));
        assert!(other.is_short());
        let sent = one.body(vec![0; MIB / 2]);
        other.reserve().await.unwrap();
        other.take(MIB).unwrap();
        assert!(!other.is_short());
        drop((sent, other));
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn nothing_is_counted_without_bounds() {
        AnswerBudget::UNLIMITED.take(usize::MAX).unwrap();
        assert_eq!(AnswerBudget::UNLIMITED.body(vec![1]), [1][..]);
    }
}
