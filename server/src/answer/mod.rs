//! What answers searches: one index, several, or several servers.
//!
//! [`search`] runs searches and writes their answers, on the threads of [`search_pool`] and on states that [`points_in_time`] may hold.
//! [`distributed`] splits requests over several servers and merges their responses. [`chat`] is conversations in which a model searches.
//! [`query_log`] counts earlier queries, for completions. [`analytics`] sums up recorded searches and events.

pub(crate) mod analytics;
pub(crate) mod chat;
pub(crate) mod distributed;
pub(crate) mod points_in_time;
pub(crate) mod query_log;
pub(crate) mod search;
pub(crate) mod search_pool;
#[cfg(test)]
pub(crate) mod tests;
