//! What is done without a request. [`worker`] runs tasks in batches; [`backup`] makes dumps and snapshots, and starts from them; [`export`]
//! sends indexes to another server; [`scrub`] compares files with their checksums in the background.

pub(crate) mod backup;
pub(crate) mod export;
pub(crate) mod scrub;
pub(crate) mod worker;
