//! A store in memory whose requests take their time, fail before or after they were carried out, are carried out twice, or much
//! later; and the clock and the chance of a schedule. It checks what must hold of every root and of every removal.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::model::{Indexes, keys_of, numbers, tasks_of};
use crate::replication::chain::REMAINS;
use crate::replication::journal::{Record, record_key, record_number};
use crate::replication::root::{ROOTS, Root, root_number};
use crate::replication::store::{Content, ObjectError, Objects};

/// What the clock of a server jumps by at most, in milliseconds, and how far from its beginning it is.
const JUMP_MAX: u64 = 36 * 3_600_000;
const FAR: u64 = 1000 * 24 * 3_600_000;

/// What happened in a schedule, or in many.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) roots: u64,
    pub(super) takeovers: u64,
    /// Roots that were created behind newer ones.
    pub(super) stale: u64,
    pub(super) refused: u64,
    pub(super) removed: u64,
    /// Files whose own keys could not be relied on.
    pub(super) moved: u64,
    /// Files of clones that were named and not put.
    pub(super) shared: u64,
    pub(super) followed: u64,
    /// Tasks that were acknowledged when they were in the journal, and of those, or nearly, what another server has carried out.
    pub(super) acknowledged: u64,
    pub(super) replayed: u64,
    /// Records that were removed.
    pub(super) trimmed: u64,
    pub(super) crashes: u64,
    /// Clocks of servers that went to another time.
    pub(super) jumps: u64,
    /// Publications that held an index back.
    pub(super) held_back: u64,
    /// Attempts to follow after one that failed in the same process.
    pub(super) tried_again: u64,
    /// Numbers of states that more than one server had.
    pub(super) met_again: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        self.roots += other.roots;
        self.takeovers += other.takeovers;
        self.stale += other.stale;
        self.refused += other.refused;
        self.removed += other.removed;
        self.moved += other.moved;
        self.shared += other.shared;
        self.followed += other.followed;
        self.acknowledged += other.acknowledged;
        self.replayed += other.replayed;
        self.trimmed += other.trimmed;
        self.crashes += other.crashes;
        self.jumps += other.jumps;
        self.held_back += other.held_back;
        self.tried_again += other.tried_again;
        self.met_again += other.met_again;
    }
}

/// A root that was the newest one.
struct Valid {
    root: Root,
    keys: BTreeSet<String>,
    tasks: BTreeSet<u32>,
    superseded_at: Option<u64>,
}

/// A change that is still on its way.
#[derive(Clone)]
enum Effect {
    Create(String, Vec<u8>),
    Put(String, Vec<u8>),
    Remove(String),
}

impl Effect {
    fn named(&self) -> (&'static str, &String) {
        match self {
            Effect::Create(key, _) => ("create", key),
            Effect::Put(key, _) => ("put", key),
            Effect::Remove(key) => ("remove", key),
        }
    }
}

/// The clock, the chance and the store of one schedule.
pub(super) struct World {
    base: Instant,
    now: Cell<u64>,
    seed: Cell<u64>,
    /// How far the clock of each server is ahead, in milliseconds; `None` where all clocks are right.
    clocks: Option<RefCell<Vec<i64>>>,
    /// When the actor that runs wants to run again.
    pub(super) wake: Cell<u64>,
    objects: RefCell<BTreeMap<String, Vec<u8>>>,
    late: RefCell<Vec<(u64, Effect)>>,
    valid: RefCell<Vec<Valid>>,
    /// Whether writes are acknowledged when they are in the journal.
    pub(super) is_journaled: bool,
    /// Tasks that were acknowledged, and are in no root yet.
    acknowledged: RefCell<BTreeSet<u32>>,
    /// What the number of a state of an index has meant, on any server.
    meanings: RefCell<BTreeMap<(&'static str, u64), BTreeSet<u32>>>,
    pub(super) counts: RefCell<Counts>,
    /// Whether what happens is printed.
    is_traced: bool,
}

impl World {
    /// `clocks`: of so many servers, if they jump.
    pub(super) fn new(
        seed: u64,
        base: Instant,
        (is_journaled, clocks): (bool, Option<usize>),
        is_traced: bool,
    ) -> World {
        World {
            clocks: clocks.map(|servers| RefCell::new(vec![0; servers])),
            is_traced,
            is_journaled,
            acknowledged: RefCell::default(),
            meanings: RefCell::default(),
            base,
            now: Cell::new(0),
            seed: Cell::new(seed),
            wake: Cell::new(0),
            objects: RefCell::default(),
            late: RefCell::default(),
            valid: RefCell::default(),
            counts: RefCell::default(),
        }
    }

    /// Prints what happens, in the schedule that is repeated.
    pub(super) fn trace(&self, what: std::fmt::Arguments<'_>) {
        if self.is_traced {
            println!("{:>12} {what}", self.now.get());
        }
    }

    /// A number below `end`, by chance.
    pub(super) fn below(&self, end: u64) -> u64 {
        self.seed.set(self.seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut mixed = self.seed.get();
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    pub(super) fn millis(&self) -> u64 {
        self.now.get()
    }

    /// The time as a server has it.
    pub(super) fn now(&self, server: usize) -> Instant {
        let ahead = self.clocks.as_ref().map_or(0, |clocks| clocks.borrow()[server]);
        // Far from the beginning, so that a clock can go back.
        let millis = (FAR + self.now.get()).saturating_add_signed(ahead);
        self.base + Duration::from_millis(millis)
    }

    /// Now and then the clock of a server goes on or back by hours.
    pub(super) fn disturb_clocks(&self) {
        let Some(clocks) = self.clocks.as_ref().filter(|_| self.below(40) == 0) else { return };
        let mut clocks = clocks.borrow_mut();
        let server = self.below(clocks.len() as u64) as usize;
        let jump = self.below(2 * JUMP_MAX).cast_signed() - JUMP_MAX.cast_signed();
        clocks[server] = (clocks[server] + jump).max(-FAR.cast_signed());
        self.counts.borrow_mut().jumps += 1;
        self.trace(format_args!("the clock of server {server} jumps by {jump}"));
    }

    /// Lets the clock go on to `millis`: what was on its way until then arrives.
    pub(super) fn go_on_to(&self, millis: u64) {
        self.now.set(self.now.get().max(millis));
        let mut late = self.late.borrow_mut();
        let (due, later) = std::mem::take(&mut *late).into_iter().partition(|(at, _)| *at <= self.now.get());
        *late = later;
        drop(late);
        let due: Vec<(u64, Effect)> = due;
        due.into_iter().for_each(|(_, effect)| drop(self.carry_out(&effect)));
    }

    pub(super) async fn sleep(&self, millis: u64) {
        let mut begun = false;
        poll_fn(|_| {
            if std::mem::replace(&mut begun, true) {
                return Poll::Ready(());
            }
            self.wake.set(self.now.get() + millis);
            Poll::Pending
        })
        .await;
    }

    /// How long a part of a request takes: mostly little, seldom longer than objects remain.
    fn delay(&self) -> u64 {
        match self.below(100) {
            0..=89 => 1 + self.below(40),
            90..=97 => 1 + self.below(5_000),
            _ => self.below(3 * 3_600_000),
        }
    }

    fn carry_out(&self, effect: &Effect) -> Result<(), ObjectError> {
        let (what, key) = effect.named();
        self.trace(format_args!("{what} {key}, there: {}", self.objects.borrow().contains_key(key)));
        match effect {
            Effect::Create(key, bytes) => {
                if self.objects.borrow().contains_key(key) {
                    return Err(ObjectError::Exists(key.clone()));
                }
                if key.starts_with(ROOTS) {
                    self.root_is_created(key, bytes);
                }
                self.objects.borrow_mut().insert(key.clone(), bytes.clone());
            }
            Effect::Put(key, bytes) => drop(self.objects.borrow_mut().insert(key.clone(), bytes.clone())),
            Effect::Remove(key) => {
                self.is_removed(key);
                self.objects.borrow_mut().remove(key);
            }
        }
        Ok(())
    }

    /// One epoch a number, one publisher an epoch; all that is named is there; nothing that was published is gone.
    fn root_is_created(&self, key: &str, bytes: &[u8]) {
        let root = Root::read(root_number(key).expect("a number"), bytes).expect("a root");
        let mut valid = self.valid.borrow_mut();
        let objects = self.objects.borrow();
        let mut counts = self.counts.borrow_mut();
        if let Some(newest) = valid.last_mut() {
            if root.number < newest.root.number {
                counts.stale += 1;
                return;
            }
            assert_eq!(root.number, newest.root.number + 1, "no gap");
            assert!(root.epoch >= newest.root.epoch, "an epoch that was over publishes: {root:?}");
            if root.epoch == newest.root.epoch {
                assert_eq!(root.nonce, newest.root.nonce, "one publisher an epoch");
            } else {
                counts.takeovers += 1;
            }
            newest.superseded_at = Some(self.now.get());
        }
        counts.roots += 1;
        counts.shared += root.indexes.iter().map(|index| index.shared.len() as u64).sum::<u64>();
        counts.moved += root.indexes.iter().map(|index| index.moved.len() as u64).sum::<u64>();
        let keys = keys_of(&root, &objects);
        for key in &keys {
            assert!(objects.contains_key(key), "`{key}` is named and not there: {root:?}");
        }
        let tasks = tasks_of(&root, &objects);
        if let Some(before) = valid.last() {
            let lost: Vec<&u32> = before.tasks.difference(&tasks).collect();
            assert!(lost.is_empty(), "{lost:?} were published, and are lost by {root:?}");
        }
        self.is_kept(&root, &tasks, &objects);
        valid.push(Valid { root, keys, tasks, superseded_at: None });
    }

    /// What was acknowledged is in the newest root, or in the journal where who takes over from it reads on.
    fn is_kept(&self, root: &Root, tasks: &BTreeSet<u32>, objects: &BTreeMap<String, Vec<u8>>) {
        let mut acknowledged = self.acknowledged.borrow_mut();
        acknowledged.retain(|task| !tasks.contains(task));
        if acknowledged.is_empty() {
            return;
        }
        let position = root.journal.as_ref().expect("a root of a group with a journal says where it goes on");
        let mut lost = acknowledged.clone();
        for (key, bytes) in objects.range(record_key(position.from)..) {
            let Some(number) = record_number(key) else { break };
            for (task, _) in Record::read(number, bytes).expect("a record").tasks {
                let (uid, task) = numbers(&task);
                if !position.covers(uid) {
                    lost.remove(&task);
                }
            }
        }
        assert!(lost.is_empty(), "{lost:?} were acknowledged, and are lost by {root:?}");
    }

    /// The number of a state means the same on all servers for ever; states that are kept can be read.
    pub(super) fn means(&self, indexes: &Indexes) {
        let mut meanings = self.meanings.borrow_mut();
        for (uid, number, tasks) in indexes.films.readable().chain(indexes.books.readable()) {
            match meanings.get(&(uid, number)) {
                Some(before) => {
                    assert_eq!(*before, tasks, "state {number} of {uid} was another one");
                    self.counts.borrow_mut().met_again += 1;
                }
                None => drop(meanings.insert((uid, number), tasks)),
            }
        }
    }

    /// A client knows so.
    pub(super) fn is_acknowledged(&self, tasks: impl Iterator<Item = u32>) {
        let before = self.acknowledged.borrow().len();
        self.acknowledged.borrow_mut().extend(tasks);
        self.counts.borrow_mut().acknowledged += (self.acknowledged.borrow().len() - before) as u64;
        self.newest_keeps_all();
    }

    fn newest_keeps_all(&self) {
        let valid = self.valid.borrow();
        let newest = valid.last().expect("a root before a record");
        self.is_kept(&newest.root, &newest.tasks, &self.objects.borrow());
    }

    /// What the newest root names stays, and what others named stays for a while.
    fn is_removed(&self, key: &str) {
        let recently = |at: u64| self.now.get() - at < REMAINS.as_millis() as u64;
        for valid in self.valid.borrow().iter().rev() {
            // A clock that jumps is too early.
            if valid.superseded_at.is_some_and(|at| self.clocks.is_some() || !recently(at)) {
                break;
            }
            assert!(!valid.keys.contains(key), "`{key}` is removed, and named by {:?}", valid.root);
        }
        if !key.starts_with(ROOTS) && self.objects.borrow().contains_key(key) {
            self.counts.borrow_mut().removed += 1;
        }
    }

    /// A publisher believes that its root `number` is there, and the newest one.
    pub(super) fn is_believed(&self, root: &Root) {
        let valid = self.valid.borrow();
        let is_valid = valid.iter().any(|valid| valid.root == *root);
        assert!(is_valid, "{root:?} is believed to be published");
    }

    /// Whether the newest root names `key`.
    pub(super) fn is_named(&self, key: &str) -> bool {
        self.valid.borrow().last().is_some_and(|valid| valid.keys.contains(key))
    }

    /// Everything arrives in the end; what the newest root names is there.
    pub(super) fn end(&self) {
        self.go_on_to(u64::MAX / 2);
        let objects = self.objects.borrow();
        if let Some(newest) = self.valid.borrow().last() {
            for key in &newest.keys {
                assert!(objects.contains_key(key), "`{key}` is named and not there");
            }
            self.newest_keeps_all();
        }
    }
}

/// The store as one server sees it.
#[derive(Clone)]
pub(super) struct Store {
    pub(super) world: Rc<World>,
}

impl Store {
    /// Asks for a change.
    async fn change(&self, effect: Effect) -> Result<(), ObjectError> {
        let world = &self.world;
        let failed = || Err(ObjectError::Refused("503".to_owned()));
        world.sleep(world.delay()).await;
        match world.below(100) {
            // Refused, and nothing has happened.
            0..=3 => failed(),
            // Done, and the answer is lost.
            4..=7 => {
                drop(world.carry_out(&effect));
                world.sleep(world.delay()).await;
                failed()
            }
            // Not done yet, and given up.
            8..=9 => {
                let due = world.millis() + 1 + world.below(20_000);
                world.late.borrow_mut().push((due, effect));
                failed()
            }
            // The answer is lost, and the client asks again.
            10..=12 => {
                drop(world.carry_out(&effect));
                world.sleep(world.delay()).await;
                world.carry_out(&effect)
            }
            _ => {
                let done = world.carry_out(&effect);
                world.sleep(world.delay()).await;
                done
            }
        }
    }

    /// Asks without changing anything.
    async fn look<T>(&self, look: impl FnOnce(&BTreeMap<String, Vec<u8>>) -> T) -> Result<T, ObjectError> {
        let world = &self.world;
        world.sleep(world.delay()).await;
        if world.below(100) < 3 {
            return Err(ObjectError::Refused("503".to_owned()));
        }
        let found = look(&world.objects.borrow());
        world.sleep(world.delay()).await;
        Ok(found)
    }
}

impl Objects for Store {
    async fn create(&self, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
        let Content::Bytes(bytes) = content else { panic!("there are no files") };
        self.change(Effect::Create(key.to_owned(), bytes.to_vec())).await
    }

    async fn put(&self, key: &str, bytes: &[u8]) -> Result<(), ObjectError> {
        self.change(Effect::Put(key.to_owned(), bytes.to_vec())).await
    }

    async fn read(&self, key: &str) -> Result<Vec<u8>, ObjectError> {
        let found = self.look(|objects| objects.get(key).cloned()).await?;
        found.ok_or_else(|| ObjectError::Missing(key.to_owned()))
    }

    async fn list(&self, folder: &str, after: &str) -> Result<Vec<String>, ObjectError> {
        let range = after.to_owned()..;
        let begins = |key: &&String| key.starts_with(folder) && key.as_str() > after;
        self.look(|objects| objects.range(range).map(|(key, _)| key).filter(begins).take(7).cloned().collect()).await
    }

    async fn remove(&self, key: &str) -> Result<(), ObjectError> {
        self.change(Effect::Remove(key.to_owned())).await
    }
}
