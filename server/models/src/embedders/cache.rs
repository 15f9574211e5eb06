//! Vectors of texts that were searched for before.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

/// Remembers the latest texts of each configuration. Entries are bounded by number; vectors all have some kilobytes.
pub(super) struct VectorCache {
    entry_count_max: usize,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    vectors: HashMap<(String, String), Arc<[f32]>>,
    /// Oldest first.
    order: VecDeque<(String, String)>,
}

impl VectorCache {
    /// Zero entries: remembers nothing.
    pub(super) fn new(entry_count_max: usize) -> VectorCache {
        VectorCache { entry_count_max, entries: Mutex::default() }
    }

    pub(super) fn get(&self, configuration: &str, text: &str) -> Option<Arc<[f32]>> {
        if self.entry_count_max == 0 {
            return None;
        }
        self.entries.lock().vectors.get(&(configuration.to_owned(), text.to_owned())).cloned()
    }

    pub(super) fn insert(&self, configuration: String, text: &str, vector: Arc<[f32]>) {
        if self.entry_count_max == 0 {
            return;
        }
        let mut entries = self.entries.lock();
        let key = (configuration, text.to_owned());
        if entries.vectors.insert(key.clone(), vector).is_none() {
            entries.order.push_back(key);
        }
        while entries.order.len() > self.entry_count_max {
            if let Some(oldest) = entries.order.pop_front() {
                entries.vectors.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_texts_are_forgotten() {
        let cache = VectorCache::new(2);
        for text in ["a", "b", "a", "c"] {
            cache.insert("e".into(), text, [1.0].into());
        }
        assert!(cache.get("e", "a").is_none());
        assert!(cache.get("e", "b").is_some());
        assert!(cache.get("e", "c").is_some());
        assert!(cache.get("f", "b").is_none());
        let none = VectorCache::new(0);
        none.insert("e".into(), "a", [1.0].into());
        assert!(none.get("e", "a").is_none());
    }
}
