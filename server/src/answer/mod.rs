//! What answers searches: one index, several, or several servers.

pub(crate) mod chat;
pub(crate) mod distributed;
pub(crate) mod points_in_time;
pub(crate) mod query_log;
pub(crate) mod search;
pub(crate) mod search_pool;
#[cfg(test)]
pub(crate) mod tests;
