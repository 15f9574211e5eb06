//! Between the connection and the routes: requests with their bodies, answers, what every answer carries.

mod answer;
mod body_memory;
mod busy;
mod codings;
mod compress;
mod decode;
mod etag;
mod frames;
mod front;
mod listen;
pub(crate) mod metadata;
mod origins;
mod received;
mod replication;
mod request;
mod slow;
mod tls;

pub(crate) use answer::LIMITS_HEADER;
pub use answer::{accepted, error_answer, json_answer, json_text, no_content, respond};
pub use body_memory::{BodyMemory, Counted};
pub use compress::{AnswerBody, BoxError, Compressed};
pub use decode::{Encoding, LimitedReader, ReadFailure};
pub(crate) use decode::{incomplete_body, payload_too_large};
pub(crate) use etag::EntityTag;
pub(crate) use front::unrouted;
pub use front::{Front, Routes};
pub use listen::{ConnectionLimits, listen, serve};
pub use origins::Origins;
pub use received::Received;
pub(crate) use replication::Replication;
#[cfg(test)]
pub(crate) use request::BodyBroken;
pub(crate) use request::{BodyStream, content_length};
pub use request::{Request, request};
pub use tls::TlsError;
pub(crate) use tls::acceptor as tls_acceptor;
