//! What clients read of the engine's errors, in the words of the protocol.

use lamina_engine::index::settings::AvailableAttributes;

/// An error of the engine that a request can cause. Its `Display` is for engineers, this is for clients.
pub trait Sentence {
    /// The whole message, without the name of an index.
    fn sentence(&self) -> String;
}

/// Stands for the names that must not be shown.
const HIDDEN: &str = "<..hidden-attributes>";

/// `a, b`, the hidden ones as one marker at the end.
pub(super) fn joined(available: &AvailableAttributes) -> String {
    names(available).collect::<Vec<_>>().join(", ")
}

/// `` `a`, `b` ``, as [`joined`].
pub(super) fn each_quoted(available: &AvailableAttributes) -> String {
    names(available).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn names(available: &AvailableAttributes) -> impl Iterator<Item = &str> {
    available.shown().iter().map(String::as_str).chain(available.has_hidden().then_some(HIDDEN))
}
