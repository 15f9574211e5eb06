//! Documents in which two words follow each other, of the pairs that were asked for lately.
//!
//! Finding them takes a scan of the token column of every document that holds both words, and people type the same
//! frequent words again and again: each key typed asks for the splits of all words before it once more.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;

use crate::bits::DocSet;
use crate::id::TermOrdinal;

/// Bytes of an entry besides its documents, roughly.
const ENTRY_BYTES: usize = 96;
/// The cache of a segment takes so many bytes, and one for every document, up to the maximum.
const BYTES_BASE: usize = 32 << 10;
const BYTES_MAX: usize = 1 << 20;
/// A set may take this share of the cache at most.
const ENTRY_SHARE: usize = 4;

type Pair = [TermOrdinal; 2];

/// A bounded cache; the oldest entries leave first.
pub(crate) struct PairCache {
    bytes_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sets: HashMap<Pair, Arc<DocSet>>,
    order: VecDeque<Pair>,
    bytes: usize,
}

impl PairCache {
    pub(super) fn new(doc_count: u32) -> PairCache {
        PairCache { bytes_max: (BYTES_BASE + doc_count as usize).min(BYTES_MAX), state: Mutex::default() }
    }

    /// The documents of a pair, from the cache or from `find`, which runs without a lock.
    pub(crate) fn get_or_find(&self, pair: Pair, find: impl FnOnce() -> DocSet) -> Arc<DocSet> {
        if let Some(docs) = self.state.lock().sets.get(&pair) {
            return docs.clone();
        }
        let docs = Arc::new(find().shrunk());
        let bytes = bytes_of(&docs);
        if bytes <= self.bytes_max / ENTRY_SHARE {
            let mut state = self.state.lock();
            if state.sets.insert(pair, docs.clone()).is_none() {
                state.order.push_back(pair);
                state.bytes += bytes;
            }
            while state.bytes > self.bytes_max {
                let Some(oldest) = state.order.pop_front() else { break };
                let removed = state.sets.remove(&oldest);
                state.bytes -= removed.map_or(0, |docs| bytes_of(&docs));
            }
        }
        docs
    }
}

fn bytes_of(docs: &DocSet) -> usize {
    ENTRY_BYTES + docs.heap_bytes()
}

impl std::fmt::Debug for PairCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PairCache(up to {} bytes)", self.bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_again_and_memory_is_bounded() {
        let cache = PairCache::new(1000);
        let set = |n: u32| DocSet::from_sorted((0..n).collect());
        assert_eq!(*cache.get_or_find([1, 2], || set(3)), set(3));
        assert_eq!(*cache.get_or_find([1, 2], || panic!("it is cached")), set(3));
        for first in 10..2000 {
            cache.get_or_find([first, 2], || set(20));
            assert!(cache.state.lock().bytes <= cache.bytes_max);
        }
        let state = cache.state.lock();
        assert_eq!(state.sets.len(), state.order.len());
        assert!(!state.sets.contains_key(&[1, 2]), "the oldest left");
        assert_eq!(state.bytes, state.sets.values().map(|docs| bytes_of(docs)).sum::<usize>());
    }

    #[test]
    fn large_sets_are_not_kept() {
        let cache = PairCache::new(0);
        let large = || DocSet::from_sorted((0..100_000).step_by(33).collect());
        assert!(bytes_of(&large()) > cache.bytes_max / ENTRY_SHARE);
        cache.get_or_find([1, 2], large);
        let mut asked = false;
        cache.get_or_find([1, 2], || {
            asked = true;
            large()
        });
        assert!(asked);
    }
}
