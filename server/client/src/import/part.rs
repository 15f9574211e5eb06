//! Which share of the input a request carries.

use super::place::Place;
use super::split::Batch;

/// The share of the input that one request carries.
#[derive(Clone)]
pub(super) struct Part {
    /// Number of its file among the inputs.
    pub(super) input: usize,
    pub(super) place: Place,
    /// Bytes of the input, as they are on the disk.
    pub(super) bytes: u64,
}

impl Part {
    /// The share of `batch`, which holds some of its documents.
    pub(super) fn of(&self, batch: &Batch) -> Part {
        let bytes = self.bytes * batch.place.document_count / self.place.document_count.max(1);
        Part { input: self.input, place: batch.place.clone(), bytes }
    }
}
