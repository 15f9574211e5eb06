//! HTTP without routes: connections, bodies, codings, answers, the web pages that may ask.
//!
//! [`routing`] is rows of routes and the one filter that dispatches. [`payload`] decodes, checks and stores incoming documents as streams.
//! [`requests`] has requests with their bodies and the permissions of their keys, up to the response.

pub(crate) mod payload;
pub(crate) mod requests;
pub(crate) mod routing;

mod answer;
mod body;
mod busy;
mod codings;
mod compress;
mod decode;
mod etag;
mod events;
mod frames;
mod heads;
mod host;
mod listen;
mod origins;
mod received;
mod slow;
mod tls;

pub(crate) use answer::{json_answer, json_text, no_content};
#[cfg(test)]
pub(crate) use body::BodyBroken;
pub(crate) use body::{BodyStream, body_pieces, content_length};
pub(crate) use compress::AnswerBody;
pub(crate) use compress::{Compressing, without_body};
pub(crate) use decode::{Encoding, LimitedReader, ReadFailure};
pub(crate) use decode::{incomplete_body, payload_too_large};
pub(crate) use etag::EntityTag;
pub(crate) use events::{UNBUFFERED, arriving, as_events, events_answer};
pub(crate) use host::check_host;
pub(crate) use listen::{ConnectionLimits, listen, serve};
pub(crate) use origins::Origins;
pub(crate) use origins::Verdict;
pub(crate) use received::Received;
pub(crate) use tls::TlsError;
pub(crate) use tls::acceptor as tls_acceptor;
