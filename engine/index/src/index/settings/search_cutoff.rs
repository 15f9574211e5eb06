//! `searchCutoffMs`: the time of a search.

use super::SettingsError;
use super::definition::{Definition, Effect};

/// Time after which a search answers with the best so far when the index sets no other, in milliseconds.
pub const DEFAULT_SEARCH_CUTOFF_MS: u64 = 1500;

/// Time limit of a search, after which it returns what it has found.
#[derive(Debug)]
pub struct SearchCutoffMs;

impl Definition for SearchCutoffMs {
    const NAME: &'static str = "searchCutoffMs";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = Option<u64>;
    type Patch = u64;

    fn default_value() -> Option<u64> {
        None
    }

    fn applied(_: &Option<u64>, sent: &u64) -> Result<Option<u64>, SettingsError> {
        Ok(Some(*sent))
    }
}
