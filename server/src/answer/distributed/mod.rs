//! Searches, and reads of documents, that are spread over other servers.

mod answers;
mod documents;
mod measures;
mod remote;
mod search;

pub(crate) use documents::RemotePage;
pub(crate) use remote::{PROXY_HEADER, VALUES_HEADER, values_wanted};
pub(crate) use search::{NetworkSearch, asks_network};
