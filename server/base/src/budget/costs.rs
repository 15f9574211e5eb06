//! Bytes that parts of requests and answers take in memory, roughly: what is counted with a budget before it is taken.

/// A value of JSON in a list or an object that grew, which holds up to twice as many as it needs, with its share of what a
/// name takes.
pub const VALUE_BYTES: usize = 144;

/// A document that is read takes that of its block, its own, and what is shown of it.
pub const READING_FACTOR: usize = 3;
/// A document that is rendered is a value of JSON and two of a template, beside the text that it is read from and the one
/// that it was read from.
pub const RENDERING_FACTOR: usize = 3;

/// A hit, and the key that it was found by.
pub const HIT_BYTES: usize = 96;
/// The details of all ranking rules for a hit.
pub const SCORES_BYTES: usize = 640;
/// The explanation of a hit, at least.
pub const EXPLAINED_BYTES: usize = 4096;
/// The explanation of a hit, for each word of the query.
pub const EXPLAINED_WORD_BYTES: usize = 768;

/// A value of a facet with its count: in a list, and as a member of an object.
pub const FACET_VALUE_BYTES: usize = 200;
/// Copies of the text of such a value: in the list, in the object, and in the body.
pub const FACET_VALUE_TEXTS: usize = 3;
/// A hit of a facet search, beside its text: in a list, and as an object.
pub const FACET_HIT_BYTES: usize = 512;
/// A bucket of a measure as an object, and in the body.
pub const BUCKET_BYTES: usize = 600;
/// A value and its count, as another server gets them.
pub const SENT_VALUE_BYTES: usize = 200;
/// A completion in a list and as an object, beside its text.
pub const COMPLETION_BYTES: usize = 256;

/// Copies of listed tasks and batches: the stored form, and the body, which takes up to twice as much while it grows.
pub const LISTED_COPIES: usize = 3;
/// A batch without its details.
pub const BATCH_BYTES: usize = 512;

/// Copies of the answer of a tool: as it was made, as a text in the message, and twice as long in the text of the message at
/// most.
pub const TOOL_COPIES: usize = 4;
