//! Names of fields (dotted paths) and their numbers in an index.

use std::sync::Arc;

use hashbrown::HashMap;
use lamina_text::id::FieldId;
use parking_lot::RwLock;
use thiserror::Error;

/// Most fields an index can have.
pub(crate) const FIELD_COUNT_MAX: usize = 65_535;

/// Most bytes that the names of all fields of an index have together: each commit writes them, and each thread that
/// indexes holds those that it has met.
pub(crate) const FIELD_NAMES_BYTES_MAX: usize = 8 << 20;

/// Limit that keeps an index from having one more field.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldLimit {
    #[error("an index has at most {FIELD_COUNT_MAX} fields")]
    Count,
    #[error("the names of the fields of an index have at most {FIELD_NAMES_BYTES_MAX} bytes together")]
    NamesBytes,
}

/// Append-only table of field names, shared by the indexing threads. Ids are dense, given at first sight, and never
/// reused.
#[derive(Debug, Default)]
pub struct FieldMap {
    names: RwLock<Arc<FieldMapSnapshot>>,
}

/// The fields known at one moment; a cheap `Arc` of what [`FieldMap`] holds.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FieldMapSnapshot {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, FieldId, foldhash::fast::RandomState>,
    names_bytes: usize,
}

impl FieldMap {
    /// A map that holds `names`, the first with id 0, however long they are.
    pub fn from_names<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<FieldMap, FieldLimit> {
        let mut map = FieldMapSnapshot::default();
        for name in names {
            map.get_or_insert(name.as_ref(), usize::MAX)?;
        }
        Ok(FieldMap { names: RwLock::new(Arc::new(map)) })
    }

    /// The id of `name`, given now if it has none. Takes a write lock only for a new name.
    pub fn get_or_insert(&self, name: &str) -> Result<FieldId, FieldLimit> {
        if let Some(id) = self.names.read().get(name) {
            return Ok(id);
        }
        Arc::make_mut(&mut self.names.write()).get_or_insert(name, FIELD_NAMES_BYTES_MAX)
    }

    pub fn get(&self, name: &str) -> Option<FieldId> {
        self.names.read().get(name)
    }

    /// Returns the current table of fields. While a snapshot is held, later insertions copy the table.
    pub fn snapshot(&self) -> Arc<FieldMapSnapshot> {
        Arc::clone(&self.names.read())
    }
}

impl From<Arc<FieldMapSnapshot>> for FieldMap {
    /// Continues from a snapshot; the first insertion copies it.
    fn from(names: Arc<FieldMapSnapshot>) -> FieldMap {
        FieldMap { names: RwLock::new(names) }
    }
}

impl FieldMapSnapshot {
    /// All names may have `names_bytes_max` bytes.
    fn get_or_insert(&mut self, name: &str, names_bytes_max: usize) -> Result<FieldId, FieldLimit> {
        if let Some(id) = self.get(name) {
            return Ok(id);
        }
        if self.names.len() >= FIELD_COUNT_MAX {
            return Err(FieldLimit::Count);
        }
        let names_bytes = self.names_bytes + name.len();
        if names_bytes > names_bytes_max {
            return Err(FieldLimit::NamesBytes);
        }
        self.names_bytes = names_bytes;
        let id = FieldId::try_from(self.names.len()).expect("FIELD_COUNT_MAX ids fit the type");
        let name: Arc<str> = Arc::from(name);
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, id);
        Ok(id)
    }

    pub fn get(&self, name: &str) -> Option<FieldId> {
        self.ids.get(name).copied()
    }

    pub fn name(&self, id: FieldId) -> Option<&str> {
        self.names.get(usize::from(id)).map(|name| &**name)
    }

    /// All names; the position is the id. What is stored and given back to [`FieldMap::from_names`].
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_dense_and_stay() {
        let map = FieldMap::default();
        assert_eq!(map.get_or_insert("title"), Ok(0));
        let before = map.snapshot();
        assert_eq!(map.get_or_insert("a.b"), Ok(1));
        assert_eq!(map.get_or_insert("title"), Ok(0));
        assert_eq!(before.len(), 1, "a snapshot does not change");
        assert_eq!(before.get("a.b"), None);
        let after = map.snapshot();
        assert_eq!(after.names().collect::<Vec<_>>(), ["title", "a.b"]);
        assert_eq!(after.name(1), Some("a.b"));
        assert_eq!(after.name(2), None);
        let again = FieldMap::from_names(after.names()).unwrap();
        assert_eq!(*again.snapshot(), *after);
    }

    #[test]
    fn the_last_id_is_given_and_no_more() {
        let map = FieldMap::from_names((0..FIELD_COUNT_MAX - 1).map(|n| n.to_string())).unwrap();
        assert_eq!(map.get_or_insert("last"), Ok(65_534));
        assert_eq!(map.get_or_insert("one more"), Err(FieldLimit::Count));
        assert_eq!(map.get_or_insert("last"), Ok(65_534));
    }

    #[test]
    fn threads_agree() {
        let map = FieldMap::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..500).all(|n| map.get_or_insert(&format!("field{n}")).is_ok()));
            }
        });
        let all = map.snapshot();
        assert_eq!(all.len(), 500);
        for (id, name) in all.names().enumerate() {
            assert_eq!(map.get(name).map(usize::from), Some(id));
        }
    }

    #[test]
    fn names_are_bounded_together() {
        let map = FieldMap::default();
        map.get_or_insert(&"a".repeat(FIELD_NAMES_BYTES_MAX - 1)).unwrap();
        assert_eq!(map.get_or_insert("bc"), Err(FieldLimit::NamesBytes));
        assert_eq!(map.get_or_insert("b"), Ok(1));
        assert_eq!((map.get_or_insert("b"), map.get_or_insert("c")), (Ok(1), Err(FieldLimit::NamesBytes)));
        // What is stored is not measured again.
        let stored = FieldMap::from_names(["d".repeat(FIELD_NAMES_BYTES_MAX), "e".to_owned()]).unwrap();
        assert_eq!((stored.get("e"), stored.get_or_insert("f")), (Some(1), Err(FieldLimit::NamesBytes)));
    }
}
