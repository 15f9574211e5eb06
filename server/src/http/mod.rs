//! HTTP without routes: connections, bodies, codings, answers, the web pages that may ask.

mod answer;
mod body;
mod busy;
mod codings;
mod compress;
mod decode;
mod etag;
mod frames;
mod listen;
mod origins;
mod received;
mod slow;
mod tls;

pub(crate) use answer::LIMITS_HEADER;
pub use answer::{json_answer, json_text, no_content};
#[cfg(test)]
pub(crate) use body::BodyBroken;
pub(crate) use body::{BodyStream, body_pieces, content_length};
pub use compress::AnswerBody;
pub(crate) use compress::Compressing;
pub use decode::{Encoding, LimitedReader, ReadFailure};
pub(crate) use decode::{incomplete_body, payload_too_large};
pub(crate) use etag::EntityTag;
pub use listen::{ConnectionLimits, listen, serve};
pub use origins::Origins;
pub(crate) use origins::Verdict;
pub use received::Received;
pub use tls::TlsError;
pub(crate) use tls::acceptor as tls_acceptor;
