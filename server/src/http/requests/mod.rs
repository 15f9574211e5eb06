//! Between HTTP and the routes: requests with their bodies and the rights of their keys, and the way to an answer.

mod body_memory;
mod endpoint;
pub(crate) mod metadata;
mod replication;
mod request;
mod respond;
mod standing;

pub(crate) use body_memory::Charged;
pub(crate) use endpoint::Endpoint;
pub(crate) use replication::Replication;
pub(crate) use request::{Origin, Request};
pub(crate) use respond::{Handler, accepted, accepted_task, error_answer, respond};
