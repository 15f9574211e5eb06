//! What is done without a request: batches of tasks, dumps and snapshots, exports, scrubbing.

pub(crate) mod backup;
pub(crate) mod export;
pub(crate) mod scrub;
pub(crate) mod worker;
