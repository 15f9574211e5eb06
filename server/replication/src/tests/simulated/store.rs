//! A store in memory whose requests take their time, fail before or after they were carried out, are carried out twice, or much
//! later; and that goes away from a server, as a file system that is not mounted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use super::before::Old;
use super::world::{Effect, World};
use crate::store::{Anchor, Content, ObjectError, Objects};

/// The store as one server sees it.
#[derive(Clone)]
pub(super) struct Store {
    pub(super) world: Rc<World>,
    server: usize,
    anchor: Rc<RefCell<Option<Anchor>>>,
}

impl Store {
    /// Returns the store of a process that starts.
    pub(super) fn new(world: Rc<World>, server: usize) -> Store {
        Store { world, server, anchor: Rc::default() }
    }

    /// Fails where this is not the store of before.
    fn is_of_before(&self) -> Result<(), ObjectError> {
        let anchor = self.anchor.borrow();
        let Some(Anchor { key, .. }) = anchor.as_ref().filter(|_| !self.world.has(Old::Anchor)) else { return Ok(()) };
        let objects = self.world.objects_of(self.server);
        let whole = || objects.get(key).cloned().ok_or_else(|| ObjectError::Missing(key.clone()));
        let behind = |kind: &str| Ok(list(&objects, kind, key));
        if anchor.as_ref().map_or(Ok(false), |anchor| anchor.is_gone(whole(), whole, behind))? {
            self.world.counts.borrow_mut().gone += 1;
            return Err(ObjectError::Gone { place: "there".to_owned(), key: key.clone() });
        }
        Ok(())
    }

    /// Makes the folders of a store.
    pub(super) fn prepare(&self) -> Result<(), ObjectError> {
        self.is_of_before()?;
        self.world.prepare(self.server);
        Ok(())
    }

    /// Changes the store that was looked at, as if it was an open folder.
    fn carry_out(&self, effect: &Effect) -> Result<(), ObjectError> {
        if !self.world.has(Old::Looked) {
            self.is_of_before()?;
        }
        self.world.carry_out(self.world.is_away(self.server), effect)
    }

    /// Asks for a change.
    async fn change(&self, effect: Effect) -> Result<(), ObjectError> {
        let world = &self.world;
        let failed = || Err(ObjectError::Refused("503".to_owned()));
        self.is_of_before()?;
        world.sleep(world.delay()).await;
        match if world.fails(13) { world.below(13) } else { 13 } {
            // Refused, and nothing has happened.
            0..=3 => failed(),
            // Done, and the answer is lost.
            4..=7 => {
                drop(self.carry_out(&effect));
                world.sleep(world.delay()).await;
                failed()
            }
            // Not done yet, and given up.
            8..=9 => {
                self.is_of_before()?;
                let due = world.millis() + 1 + world.below(20_000);
                world.late.borrow_mut().push((due, world.is_away(self.server), effect));
                failed()
            }
            // The answer is lost, and the client asks again.
            10..=12 => {
                drop(self.carry_out(&effect));
                world.sleep(world.delay()).await;
                self.carry_out(&effect)
            }
            _ => {
                let done = self.carry_out(&effect);
                world.sleep(world.delay()).await;
                done
            }
        }
    }

    /// Asks without changing anything.
    async fn look<T>(&self, look: impl FnOnce(&BTreeMap<String, Vec<u8>>) -> T) -> Result<T, ObjectError> {
        let world = &self.world;
        world.sleep(world.delay()).await;
        if world.fails(3) {
            return Err(ObjectError::Refused("503".to_owned()));
        }
        let found = look(&world.objects_of(self.server));
        world.sleep(world.delay()).await;
        Ok(found)
    }
}

/// Returns the first keys in `folder` behind `after`.
fn list(objects: &BTreeMap<String, Vec<u8>>, folder: &str, after: &str) -> Vec<String> {
    let behind = objects.range::<str, _>((Bound::Excluded(after), Bound::Unbounded)).map(|(key, _)| key);
    behind.filter(|key| key.starts_with(folder)).take(7).cloned().collect()
}

impl Objects for Store {
    async fn create(&self, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
        let Content::Bytes(bytes) = content else { panic!("there are no files") };
        self.change(Effect::Create(key.to_owned(), bytes.to_vec())).await?;
        self.is_of_before()
    }

    async fn put(&self, key: &str, bytes: &[u8]) -> Result<(), ObjectError> {
        self.change(Effect::Put(key.to_owned(), bytes.to_vec())).await
    }

    async fn read(&self, key: &str) -> Result<Vec<u8>, ObjectError> {
        let found = self.look(|objects| objects.get(key).cloned()).await?;
        found.ok_or_else(|| ObjectError::Missing(key.to_owned()))
    }

    async fn list(&self, folder: &str, after: &str) -> Result<Vec<String>, ObjectError> {
        self.look(|objects| list(objects, folder, after)).await
    }

    async fn remove(&self, key: &str) -> Result<(), ObjectError> {
        self.change(Effect::Remove(key.to_owned())).await
    }

    fn rest_on(&self, anchor: Anchor) {
        *self.anchor.borrow_mut() = Some(anchor);
    }
}
