//! The best `k` documents of one segment, and the order that "best" means.

use std::cmp::Ordering;

use lamina_text::id::DocId;
use parking_lot::Mutex;

use crate::rank::key::Key;

/// One step of the comparison of two documents of the same segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPart {
    /// Costs of consecutive graph rules.
    Graph(Key),
    /// Index into [`Entry::sorts`].
    Sort(usize),
}

/// A ranked document; smaller is better in every part.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    /// Keys of the sort columns, local to the segment; empty when the request has none.
    pub(crate) sorts: Vec<u64>,
    /// Level of the `words` rule the document matches.
    pub(crate) level: u16,
    pub(crate) doc: DocId,
}

/// Compares by `parts`, in order, and not by document.
pub(crate) fn compare(parts: &[KeyPart], a: (Key, &[u64]), b: (Key, &[u64])) -> Ordering {
    for part in parts {
        let ordering = match *part {
            KeyPart::Graph(mask) => (a.0 & mask).cmp(&(b.0 & mask)),
            KeyPart::Sort(i) => a.1[i].cmp(&b.1[i]),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

/// Worst key that still counts, shared by several collectors. A document that is worse than the `k` best of one segment
/// is not among the best of all.
#[derive(Debug)]
pub(crate) struct SharedBar(Mutex<Key>);

impl SharedBar {
    pub(crate) fn new() -> SharedBar {
        SharedBar(Mutex::new(Key::MAX))
    }
}

/// A bounded collector: keeps the `k` smallest entries, ties by document.
///
/// Entries are buffered up to twice `k`, then cut with a selection, so a push costs amortised constant time.
#[derive(Debug)]
pub(crate) struct TopK {
    k: usize,
    parts: Vec<KeyPart>,
    entries: Vec<Entry>,
    /// The worst entry that still counts, once `k` are known.
    threshold: Option<Entry>,
    /// The worst key that still counts in other segments, as far as it has been asked for. Of the only part, if that is one
    /// of costs: sort keys mean something in their segment alone.
    shared: Key,
}

impl TopK {
    pub(crate) fn new(k: usize, parts: Vec<KeyPart>) -> TopK {
        TopK { k, parts, entries: Vec::new(), threshold: None, shared: Key::MAX }
    }

    /// Shares the worst key that still counts here, and takes that of the others.
    pub(crate) fn exchange(&mut self, bar: &SharedBar) {
        if let [KeyPart::Graph(mask)] = *self.parts {
            let mut bar = bar.0.lock();
            *bar = self.threshold.as_ref().map_or(*bar, |worst| (worst.key & mask).min(*bar));
            self.shared = self.shared.min(*bar);
        }
    }

    /// Reports whether a document with this key would come after enough documents of other segments.
    fn is_behind_others(&self, key: Key) -> bool {
        matches!(*self.parts, [KeyPart::Graph(mask)] if key & mask > self.shared)
    }

    /// Reports whether a document with this key could enter.
    pub(crate) fn admits(&self, key: Key, sorts: &[u64], doc: DocId) -> bool {
        if self.is_behind_others(key) {
            return false;
        }
        match &self.threshold {
            _ if self.k == 0 => false,
            None => true,
            Some(worst) => {
                compare(&self.parts, (key, sorts), (worst.key, &worst.sorts)).then(doc.cmp(&worst.doc)).is_lt()
            }
        }
    }

    /// Reports whether any document from `first` on whose costs are at least those of `bound` could enter, whatever its
    /// sort values.
    pub(crate) fn admits_any(&self, bound: Key, first: DocId) -> bool {
        if self.is_behind_others(bound) {
            return false;
        }
        let Some(worst) = &self.threshold else { return self.k > 0 };
        for part in &self.parts {
            let KeyPart::Graph(mask) = *part else { return true };
            match (bound & mask).cmp(&(worst.key & mask)) {
                Ordering::Less => return true,
                Ordering::Equal => {}
                Ordering::Greater => return false,
            }
        }
        first < worst.doc
    }

    /// Key of the worst entry that still counts, once `k` are known.
    pub(crate) fn bar(&self) -> Option<Key> {
        self.threshold.as_ref().map(|worst| worst.key)
    }

    /// Counts the collected documents that come before all with this key, as far as the costs before the first sort
    /// decide it.
    pub(crate) fn count_below(&self, bound: Key) -> usize {
        let Some(KeyPart::Graph(mask)) = self.parts.first() else { return 0 };
        self.entries.iter().filter(|entry| entry.key & mask < bound & mask).count()
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        if self.k == 0 {
            return;
        }
        self.entries.push(entry);
        let full = if self.threshold.is_none() { self.k } else { self.k.saturating_mul(2).max(self.k + 16) };
        if self.entries.len() >= full {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let order =
            |a: &Entry, b: &Entry| compare(&parts, (a.key, &a.sorts), (b.key, &b.sorts)).then(a.doc.cmp(&b.doc));
        self.entries.select_nth_unstable_by(self.k - 1, order);
        self.entries.truncate(self.k);
        self.threshold = Some(self.entries[self.k - 1].clone());
        self.parts = parts;
    }

    /// An empty collector with the same bar.
    pub(crate) fn fork(&self) -> TopK {
        TopK {
            k: self.k,
            parts: self.parts.clone(),
            entries: Vec::new(),
            threshold: self.threshold.clone(),
            shared: self.shared,
        }
    }

    /// Adds what a fork has collected.
    pub(crate) fn absorb(&mut self, fork: TopK) {
        fork.entries.into_iter().for_each(|e| self.push(e));
    }

    /// Documents collected so far, `k` at most.
    pub(crate) fn len(&self) -> usize {
        self.entries.len().min(self.k)
    }

    /// The best entries, unordered.
    pub(crate) fn into_entries(mut self) -> Vec<Entry> {
        if self.k > 0 && self.entries.len() > self.k {
            self.cut();
        }
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_the_smallest(keys in proptest::collection::vec((0u8..20, 0u8..4), 0..200), k in 0usize..30) {
            let parts = vec![KeyPart::Sort(0), KeyPart::Graph(Key::MAX)];
            let mut top = TopK::new(k, parts);
            for (doc, &(key, sort)) in keys.iter().enumerate() {
                let (key, sorts) = (Key::from(key), vec![u64::from(sort)]);
                if top.admits(key, &sorts, doc as DocId) {
                    top.push(Entry { key, sorts, level: 0, doc: doc as DocId });
                }
            }
            let mut got: Vec<_> = top.into_entries().iter().map(|e| (e.sorts[0], e.key, e.doc)).collect();
            got.sort_unstable();
            let mut want: Vec<_> =
                keys.iter().enumerate().map(|(d, &(k, s))| (u64::from(s), Key::from(k), d as DocId)).collect();
            want.sort_unstable();
            want.truncate(k);
            prop_assert_eq!(got, want);
        }
    }
}
