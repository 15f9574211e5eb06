//! A store in memory that answers at once, for tests that need no more.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::{Content, ObjectError, Objects};

/// Holds objects, while it answers.
#[derive(Debug, Default)]
pub(crate) struct MemoryObjects {
    objects: RefCell<BTreeMap<String, Vec<u8>>>,
    pub(crate) is_away: Cell<bool>,
}

impl MemoryObjects {
    fn reachable(&self) -> Result<&RefCell<BTreeMap<String, Vec<u8>>>, ObjectError> {
        if self.is_away.get() { Err(ObjectError::Refused("away".to_owned())) } else { Ok(&self.objects) }
    }
}

impl Objects for MemoryObjects {
    async fn create(&self, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
        let Content::Bytes(bytes) = content else { panic!("there are no files") };
        let mut objects = self.reachable()?.borrow_mut();
        match objects.contains_key(key) {
            true => Err(ObjectError::Exists(key.to_owned())),
            false => {
                objects.insert(key.to_owned(), bytes.to_vec());
                Ok(())
            }
        }
    }

    async fn put(&self, key: &str, bytes: &[u8]) -> Result<(), ObjectError> {
        self.reachable()?.borrow_mut().insert(key.to_owned(), bytes.to_vec());
        Ok(())
    }

    async fn read(&self, key: &str) -> Result<Vec<u8>, ObjectError> {
        self.reachable()?.borrow().get(key).cloned().ok_or_else(|| ObjectError::Missing(key.to_owned()))
    }

    async fn list(&self, folder: &str, after: &str) -> Result<Vec<String>, ObjectError> {
        let objects = self.reachable()?.borrow();
        let keys = objects.range(after.to_owned()..).map(|(key, _)| key);
        Ok(keys.filter(|key| key.starts_with(folder) && key.as_str() > after).cloned().collect())
    }

    async fn remove(&self, key: &str) -> Result<(), ObjectError> {
        self.reachable()?.borrow_mut().remove(key);
        Ok(())
    }
}
