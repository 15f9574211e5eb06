//! "I have a document: what does it say, word by word?"
//!
//! The token column keeps, per document and field, the term ordinals in reading order. The ranking rules that look at
//! words inside a document (proximity, attribute, exactness) need one scan of it, whatever the number of typos and
//! synonyms a query word stands for.
//!
//! **Token codes.** Ordinals follow the alphabet, so a fixed width would cost about twenty bits per word. Instead the
//! terms that are in most documents get *short codes*: the code table lists them by falling document frequency (the gap
//! token first), and it is cut into three classes with 2^w0, 2^w1 and 2^w2 entries; everything else is class 3 and
//! carries its ordinal in full. A token is two bits of class and the bits of its class. The widths are chosen per
//! segment to make the column smallest: about 12 bits per word for English text.
//!
//! The classes of a document come before its values, so that the position of the next value never waits for a load, and
//! decoding costs one to two nanoseconds per token. Good for whole documents and fields; random access to a single token
//! must count the classes before it.
//!
//! The layout is in `segment-format.md`.

mod codes;
mod decoder;
mod lengths;
mod nearest;
mod places;
mod reader;
mod sequence;
mod wanted;
mod writer;

pub(crate) use codes::TokenCodes;
pub use lengths::{FieldLength, FieldLengths};
pub use nearest::Nearest;
pub use reader::Span;
pub use reader::{Run, TokenColumn, TokensOfDoc};
pub use sequence::Sequence;
pub use wanted::WantedTerms;
pub(crate) use writer::TokensBuilder;

/// Zeros behind the last document, so that 64 bits can be loaded wherever a value starts.
const PADDING_BYTES: usize = 8;
