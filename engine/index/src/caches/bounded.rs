//! A cache bounded in bytes.

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;

/// Bytes of an entry besides what key and value have on the heap, roughly. A key stands in it twice.
const ENTRY_BYTES: usize = 128;
/// The cache of a segment takes so many bytes, and some for every document, up to the maximum.
const BYTES_BASE: usize = 32 << 10;
const BYTES_PER_DOC: usize = 8;
const BYTES_MAX: usize = 6 << 20;
/// A cache that is filled to this share, as a fraction, is called full.
const FULL_SHARE: [usize; 2] = [7, 8];
/// Entries that a new one passes over at most, because they were asked for: a search waits meanwhile.
const SECOND_CHANCES: usize = 8;
/// An entry may take this share of the cache at most.
const ENTRY_SHARE: usize = 4;

/// A column of one value a document takes less.
const COLUMN_BYTES_PER_DOC: usize = 20;
const COLUMN_BYTES_BASE: usize = 32 << 10;
const COLUMN_BYTES_MAX: usize = 20 << 20;

/// Memory that a key or a value of a cache takes.
pub trait HeapBytes {
    /// Allocated beside the size of the type, as far as the bound of a cache counts it.
    fn heap_bytes(&self) -> usize;
}

/// A cache bounded in bytes; the oldest entries leave first, but for those asked for since they were last the oldest.
pub struct BoundedCache<K, V> {
    bytes_max: usize,
    entry_bytes_max: usize,
    state: Mutex<Kept<K, V>>,
}

struct Kept<K, V> {
    entries: HashMap<K, Entry<V>>,
    order: VecDeque<K>,
    bytes: usize,
}

struct Entry<V> {
    value: Arc<V>,
    was_asked_for: bool,
}

impl<K: Clone + Eq + Hash + HeapBytes, V: HeapBytes> BoundedCache<K, V> {
    pub(super) fn new(doc_count: u32) -> BoundedCache<K, V> {
        let bytes_max = (BYTES_BASE + BYTES_PER_DOC * doc_count as usize).min(BYTES_MAX);
        BoundedCache::bounded(bytes_max, bytes_max / ENTRY_SHARE)
    }

    /// Creates a cache of whole columns, with room for two.
    pub(super) fn of_columns(doc_count: u32) -> BoundedCache<K, V> {
        let entry_bytes_max = (COLUMN_BYTES_BASE + COLUMN_BYTES_PER_DOC * doc_count as usize).min(COLUMN_BYTES_MAX);
        BoundedCache::bounded(2 * entry_bytes_max, entry_bytes_max)
    }

    fn bounded(bytes_max: usize, entry_bytes_max: usize) -> BoundedCache<K, V> {
        let state = Kept { entries: HashMap::new(), order: VecDeque::new(), bytes: 0 };
        BoundedCache { bytes_max, entry_bytes_max, state: Mutex::new(state) }
    }

    /// Reports whether new entries are about to evict older ones.
    pub(crate) fn is_full(&self) -> bool {
        self.state.lock().bytes > self.bytes_max / FULL_SHARE[1] * FULL_SHARE[0]
    }

    /// Reports whether the cache holds the value of a key.
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.state.lock().entries.contains_key(key)
    }

    /// The value of a key, if it is at hand.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        let mut state = self.state.lock();
        let entry = state.entries.get_mut(key)?;
        entry.was_asked_for = true;
        Some(entry.value.clone())
    }

    /// The value of a key, from the cache or from `find`, which runs without a lock.
    pub fn get_or_find(&self, key: K, find: impl FnOnce() -> V) -> Arc<V> {
        if let Some(entry) = self.state.lock().entries.get_mut(&key) {
            entry.was_asked_for = true;
            return entry.value.clone();
        }
        let value = Arc::new(find());
        let bytes = bytes_of(&key, &*value);
        if bytes <= self.entry_bytes_max {
            let mut state = self.state.lock();
            let entry = Entry { value: value.clone(), was_asked_for: false };
            if state.entries.insert(key.clone(), entry).is_none() {
                state.order.push_back(key);
                state.bytes += bytes;
            }
            let mut chances = SECOND_CHANCES;
            while state.bytes > self.bytes_max {
                state.drop_oldest(&mut chances);
            }
        }
        value
    }
}

impl<K: Clone + Eq + Hash + HeapBytes, V: HeapBytes> Kept<K, V> {
    /// Drops the oldest entry, or gives it a second chance if there is one left.
    fn drop_oldest(&mut self, chances: &mut usize) {
        let Some(oldest) = self.order.pop_front() else {
            self.bytes = 0;
            return;
        };
        match self.entries.get_mut(&oldest) {
            Some(entry) if entry.was_asked_for && *chances > 0 => {
                *chances -= 1;
                entry.was_asked_for = false;
                self.order.push_back(oldest);
            }
            _ => {
                let removed = self.entries.remove(&oldest);
                self.bytes -= removed.map_or(0, |entry| bytes_of(&oldest, &*entry.value));
            }
        }
    }
}

fn bytes_of(key: &impl HeapBytes, value: &impl HeapBytes) -> usize {
    ENTRY_BYTES + 2 * key.heap_bytes() + value.heap_bytes()
}

impl<K, V> std::fmt::Debug for BoundedCache<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BoundedCache(up to {} bytes)", self.bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use lamina_segment::bits::DocSet;

    use super::super::{CutCache, PairCache};
    use super::*;

    #[test]
    fn entries_are_found_again_and_memory_is_bounded() {
        let cache = PairCache::new(1000);
        let set = |n: u32| DocSet::from_sorted((0..n).collect());
        assert_eq!(*cache.get_or_find([1, 2], || set(3)), set(3));
        assert_eq!(*cache.get_or_find([1, 2], || panic!("it is cached")), set(3));
        assert!(!cache.is_full());
        for first in 10..2000 {
            cache.get_or_find([first, 2], || set(20));
            assert!(cache.state.lock().bytes <= cache.bytes_max);
            assert!(cache.is_full() || cache.contains(&[1, 2]), "nothing leaves before");
        }
        assert!(cache.is_full());
        let state = cache.state.lock();
        assert_eq!(state.entries.len(), state.order.len());
        assert!(!state.entries.contains_key(&[1, 2]), "the oldest left");
        assert_eq!(state.bytes, state.entries.iter().map(|(key, entry)| bytes_of(key, &*entry.value)).sum::<usize>());
    }

    #[test]
    fn what_is_asked_for_again_stays() {
        let cache = CutCache::new(0);
        for word in 0..1000 {
            cache.get_or_find(format!("{word:0400}").into(), Vec::new);
            cache.get_or_find("often".into(), Vec::new);
            assert!(cache.contains("often"));
        }
        for word in 0..1000 {
            cache.get_or_find(format!("{word:0401}").into(), Vec::new);
        }
        assert!(!cache.contains("often"), "not for ever");
    }

    #[test]
    fn keys_count() {
        let cache = CutCache::new(0);
        for word in 0..1000 {
            cache.get_or_find(format!("{word:0400}").into(), Vec::new);
        }
        let kept = cache.state.lock().entries.len();
        assert!(kept * 800 <= cache.bytes_max, "{kept} keys are kept");
        assert!(cache.contains(format!("{:0400}", 999).as_str()));
        assert!(!cache.contains(format!("{:0400}", 0).as_str()));
    }

    #[test]
    fn large_sets_are_not_kept() {
        let cache = PairCache::new(0);
        let large = || DocSet::from_sorted((0..100_000).step_by(33).collect());
        assert!(bytes_of(&[1, 2], &large()) > cache.bytes_max / ENTRY_SHARE);
        cache.get_or_find([1, 2], large);
        let mut asked = false;
        cache.get_or_find([1, 2], || {
            asked = true;
            large()
        });
        assert!(asked);
    }
}
