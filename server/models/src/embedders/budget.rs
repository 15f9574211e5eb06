//! How many requests and tokens a provider is sent a minute.
//!
//! Providers limit each account; who goes over is refused for a while and has lost time. So requests are spread evenly:
//! each waits until those before it are paid for. In no minute more goes out than the limit and the one request that
//! went over it.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_base::options::RateLimits;
use parking_lot::Mutex;

const MINUTE: Duration = Duration::from_secs(60);

/// An address and a key.
type Account = (String, Option<String>);

/// The budgets of all accounts.
#[derive(Default)]
pub(super) struct Budgets {
    limits: RateLimits,
    accounts: Mutex<HashMap<Account, Arc<Budget>>>,
}

impl Budgets {
    pub(super) fn new(limits: RateLimits) -> Budgets {
        Budgets { limits, accounts: Mutex::default() }
    }

    /// The budget of an account, shared by all who use it.
    pub(super) fn of(&self, url: &str, key: Option<&str>) -> Arc<Budget> {
        let account = (url.to_owned(), key.map(str::to_owned));
        let limits = self.limits;
        Arc::clone(self.accounts.lock().entry(account).or_insert_with(|| Arc::new(Budget::new(limits))))
    }
}

/// The budget of one account.
#[derive(Debug, Default)]
pub(super) struct Budget {
    limits: RateLimits,
    /// Times at which all requests, and all tokens, that were sent are paid for.
    paid_at: Mutex<[Option<Instant>; 2]>,
}

impl Budget {
    pub(super) fn new(limits: RateLimits) -> Budget {
        Budget { limits, paid_at: Mutex::default() }
    }

    /// Puts a request of `tokens` tokens on the bill; it may go out after the time that is returned.
    pub(super) fn spend(&self, tokens: usize, now: Instant) -> Duration {
        let price = |limit: Option<NonZeroU32>, units: usize| {
            limit.map_or(Duration::ZERO, |limit| MINUTE.mul_f64(units as f64 / f64::from(limit.get())))
        };
        let prices = [price(self.limits.requests_per_minute, 1), price(self.limits.tokens_per_minute, tokens)];
        let mut paid_at = self.paid_at.lock();
        let start = paid_at.iter().flatten().copied().fold(now, Instant::max);
        for (paid_at, price) in paid_at.iter_mut().zip(prices).filter(|(_, price)| !price.is_zero()) {
            *paid_at = Some(start + price);
        }
        start - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(requests: u32, tokens: u32) -> RateLimits {
        RateLimits { requests_per_minute: NonZeroU32::new(requests), tokens_per_minute: NonZeroU32::new(tokens) }
    }

    #[test]
    fn requests_are_spread_over_the_minute() {
        let (budget, now) = (Budget::new(limits(60, 0)), Instant::now());
        let waits: Vec<u64> = (0..4).map(|_| budget.spend(1_000_000, now).as_secs()).collect();
        assert_eq!(waits, [0, 1, 2, 3]);
        assert_eq!(budget.spend(1, now + Duration::from_secs(10)), Duration::ZERO, "time that passed pays");
    }

    #[test]
    fn long_texts_keep_the_next_request_waiting() {
        let (budget, now) = (Budget::new(limits(600, 6000)), Instant::now());
        let waits: Vec<u128> = [500, 1, 1].into_iter().map(|tokens| budget.spend(tokens, now).as_millis()).collect();
        assert_eq!(waits, [0, 5000, 5100], "first the tokens decide, then the requests");
    }

    #[test]
    fn no_minute_sees_more_than_its_limit() {
        let (budget, start) = (Budget::new(limits(100, 0)), Instant::now());
        let sent: Vec<Duration> = (0..1000).map(|_| budget.spend(0, start)).collect();
        for window in sent.windows(102) {
            assert!(window[101] - window[0] > MINUTE, "{:?}", window[0]);
        }
    }

    #[test]
    fn accounts_have_budgets_of_their_own() {
        let budgets = Budgets::new(limits(1, 0));
        let now = Instant::now();
        assert_eq!(budgets.of("a", None).spend(0, now), Duration::ZERO);
        assert_eq!(budgets.of("a", Some("key")).spend(0, now), Duration::ZERO);
        assert_eq!(budgets.of("a", None).spend(0, now), MINUTE);
        let free = Budget::default();
        assert!((0..1000).all(|_| free.spend(1 << 20, now).is_zero()));
    }
}
