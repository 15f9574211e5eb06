//! A byte per document that a ranking derives from the text of a segment.

use std::sync::Arc;

use parking_lot::Mutex;

/// Holds one such list at a time, by a key of what it was derived with.
#[derive(Debug, Default)]
pub struct MaxImpactCache(Mutex<MaxImpacts>);

#[derive(Debug, Default)]
struct MaxImpacts {
    known: Option<(u64, Arc<[u8]>)>,
    begun: Option<u64>,
}

impl MaxImpactCache {
    /// The list of this key.
    pub fn get(&self, key: u64) -> Option<Arc<[u8]>> {
        let state = self.0.lock();
        state.known.as_ref().filter(|(known, _)| *known == key).map(|(_, bytes)| Arc::clone(bytes))
    }

    /// Reports whether the caller has to compute the list of this key, because no other thread has started to.
    pub fn begin(&self, key: u64) -> bool {
        let mut state = self.0.lock();
        let is_first = state.begun != Some(key);
        state.begun = Some(key);
        is_first
    }

    /// Keeps a list instead of the one before.
    pub fn put(&self, key: u64, bytes: Arc<[u8]>) {
        let mut state = self.0.lock();
        state.known = Some((key, bytes));
        state.begun = None;
    }
}
