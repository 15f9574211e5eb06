//! The clock and the chance of a schedule, and what there is of a store. It checks what must hold of every root and of every removal.

use std::cell::{Cell, Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use lamina_base::options::StoreAddress;

use super::before::Old;
use super::counts::Counts;
use super::folder::Readable;
use super::published::{keys_of, numbers, tasks_of};
use super::{Kind, SERVERS};
use crate::chain::REMAINS;
use crate::journal::{Record, record_key, record_number};
use crate::root::{ROOTS, Root, root_number};
use crate::store::ObjectError;

/// Maximum jump of a server's clock, in milliseconds. `FAR` is the distance of a clock from its beginning.
const JUMP_MAX: u64 = 36 * 3_600_000;
const FAR: u64 = 1000 * 24 * 3_600_000;
/// Number of classes of objects. One class at a time can be unreadable.
const CLASSES: u64 = 6;

/// A root that was the newest one.
struct Valid {
    root: Root,
    keys: BTreeSet<String>,
    tasks: BTreeSet<u32>,
    superseded_at: Option<u64>,
}

/// A change that is still on its way.
#[derive(Clone)]
pub(super) enum Effect {
    Create(String, Vec<u8>),
    Put(String, Vec<u8>),
    Remove(String),
}

/// Access of a server to its store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mount {
    /// For all that the server knows, any store is the one.
    Unknown,
    There,
    /// Address leads to another folder.
    Away,
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
    /// Advance of the clock of each server, in milliseconds; `None` where all clocks are right.
    clocks: Option<RefCell<Vec<i64>>>,
    /// Time at which the running actor wants to run again.
    pub(super) wake: Cell<u64>,
    objects: RefCell<BTreeMap<String, Vec<u8>>>,
    pub(super) late: RefCell<Vec<(u64, bool, Effect)>>,
    /// By server, where stores go away.
    mounts: Option<RefCell<Vec<Mount>>>,
    /// Objects that servers find while their store is away. It accepts objects if it has the folders of a store.
    bare: RefCell<BTreeMap<String, Vec<u8>>>,
    has_bare_folders: Cell<bool>,
    /// Objects of this class cannot be read by who follows, until then.
    unreadable: Cell<(u32, u64)>,
    /// Calls of the store so far, and the only one that fails, if only one does.
    calls: Cell<u64>,
    only_failure: Option<u64>,
    /// Rules of before.
    pub(super) old: &'static [Old],
    pub(super) address: StoreAddress,
    valid: RefCell<Vec<Valid>>,
    /// True if writes are acknowledged when they are in the journal.
    pub(super) is_journaled: bool,
    /// Histories get long: nothing takes hours.
    pub(super) is_long: bool,
    /// Tasks that were acknowledged, and are in no root yet.
    acknowledged: RefCell<BTreeSet<u32>>,
    /// Tasks that each state number of an index stands for, on any server.
    meanings: RefCell<BTreeMap<(&'static str, u64), BTreeSet<u32>>>,
    pub(super) counts: RefCell<Counts>,
    /// True if events are printed.
    is_traced: bool,
}

impl World {
    pub(super) fn new(kind: &Kind, base: Instant, old: &'static [Old], is_traced: bool) -> World {
        World {
            clocks: kind.has_jumps.then(|| RefCell::new(vec![0; SERVERS])),
            mounts: kind.has_mounts.then(|| RefCell::new(vec![Mount::Unknown; SERVERS])),
            has_bare_folders: Cell::new(kind.has_bare_folders),
            only_failure: kind.only_failure,
            is_journaled: kind.is_journaled,
            is_long: kind.is_long,
            seed: Cell::new(kind.chance),
            is_traced,
            base,
            old,
            address: "file:///store".parse().expect("an address"),
            acknowledged: RefCell::default(),
            meanings: RefCell::default(),
            now: Cell::new(0),
            wake: Cell::new(0),
            objects: RefCell::default(),
            late: RefCell::default(),
            bare: RefCell::default(),
            unreadable: Cell::default(),
            calls: Cell::new(0),
            valid: RefCell::default(),
            counts: RefCell::default(),
        }
    }

    pub(super) fn has(&self, old: Old) -> bool {
        self.old.contains(&old)
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

    /// Has the store of a server that knows it go away or come back now and then, and a class of objects be unreadable for a while.
    pub(super) fn disturb_store(&self) {
        if self.below(if self.is_long { 600 } else { 150 }) == 0 {
            self.unreadable.set((self.below(CLASSES) as u32, self.millis() + self.below(600_000)));
        }
        let Some(mounts) = self.mounts.as_ref().filter(|_| self.below(50) == 0) else { return };
        let server = self.below(SERVERS as u64) as usize;
        let mount = &mut mounts.borrow_mut()[server];
        *mount = match mount {
            Mount::Unknown => return,
            Mount::There => Mount::Away,
            Mount::Away => Mount::There,
        };
        self.counts.borrow_mut().away += u64::from(*mount == Mount::Away);
        self.trace(format_args!("the store of server {server} is away: {}", *mount == Mount::Away));
    }

    /// Notes that the server remembers from now on that it has a store.
    pub(super) fn knows(&self, server: usize) {
        let Some(mounts) = &self.mounts else { return };
        let mount = &mut mounts.borrow_mut()[server];
        if *mount == Mount::Unknown {
            *mount = Mount::There;
        }
    }

    /// Returns whether stores go away.
    pub(super) fn has_mounts(&self) -> bool {
        self.mounts.is_some()
    }

    pub(super) fn is_away(&self, server: usize) -> bool {
        self.mounts.as_ref().is_some_and(|mounts| mounts.borrow()[server] == Mount::Away)
    }

    /// Returns what a server finds in its store.
    pub(super) fn objects_of(&self, server: usize) -> Ref<'_, BTreeMap<String, Vec<u8>>> {
        if self.is_away(server) { self.bare.borrow() } else { self.objects.borrow() }
    }

    /// Makes the folders of a store where it has none.
    pub(super) fn prepare(&self, server: usize) {
        if self.is_away(server) {
            self.has_bare_folders.set(true);
        }
    }

    pub(super) fn is_unreadable(&self, key: &str) -> bool {
        let (class, until) = self.unreadable.get();
        let is_it = self.millis() < until && u64::from(crc32fast::hash(key.as_bytes())) % CLASSES == u64::from(class);
        self.counts.borrow_mut().unreadable += u64::from(is_it);
        is_it
    }

    /// Returns whether a call of the store fails; `often`: of a hundred.
    pub(super) fn fails(&self, often: u64) -> bool {
        let call = self.calls.replace(self.calls.get() + 1);
        match self.only_failure {
            Some(only) => {
                self.counts.borrow_mut().failed_once += u64::from(call == only);
                call == only
            }
            None => self.below(100) < often,
        }
    }

    /// Lets the clock go on to `millis`: what was on its way until then arrives.
    pub(super) fn go_on_to(&self, millis: u64) {
        self.now.set(self.now.get().max(millis));
        let mut late = self.late.borrow_mut();
        if late.is_empty() {
            return;
        }
        let (due, later) = std::mem::take(&mut *late).into_iter().partition(|(at, ..)| *at <= self.now.get());
        *late = later;
        drop(late);
        let due: Vec<(u64, bool, Effect)> = due;
        due.into_iter().for_each(|(_, is_away, effect)| drop(self.carry_out(is_away, &effect)));
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

    /// Returns the duration of a part of a request: mostly short, rarely longer than objects remain.
    pub(super) fn delay(&self) -> u64 {
        match self.below(100) {
            0..=89 => 1 + self.below(40),
            90..=97 => 1 + self.below(5_000),
            _ if self.is_long => 1,
            _ => self.below(3 * 3_600_000),
        }
    }

    pub(super) fn carry_out(&self, is_away: bool, effect: &Effect) -> Result<(), ObjectError> {
        if is_away {
            return self.carry_out_elsewhere(effect);
        }
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

    /// Changes what is there where a store is away: objects are of no meaning, what counts is what a server makes of them.
    fn carry_out_elsewhere(&self, effect: &Effect) -> Result<(), ObjectError> {
        let (what, key) = effect.named();
        self.trace(format_args!("{what} {key} where the store is away"));
        let mut bare = self.bare.borrow_mut();
        match effect {
            Effect::Remove(key) => drop(bare.remove(key)),
            _ if !self.has_bare_folders.get() => return Err(ObjectError::Refused("no such folder".to_owned())),
            Effect::Create(key, _) if bare.contains_key(key) => return Err(ObjectError::Exists(key.clone())),
            Effect::Create(key, bytes) | Effect::Put(key, bytes) => drop(bare.insert(key.clone(), bytes.clone())),
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

    /// Checks that acknowledged tasks are in the newest root, or in the journal from where a successor reads on.
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

    /// Checks that the number of a state means the same on all servers for ever, and that states that are kept can be read.
    pub(super) fn means(&self, states: impl Iterator<Item = Readable>) {
        let mut meanings = self.meanings.borrow_mut();
        for Readable { uid, contents, generation, tasks } in states {
            for ((_, number), before) in meanings.range((uid, contents)..=(uid, generation)) {
                if self.has(Old::Between) || *number == contents {
                    assert_eq!(*before, tasks, "state {number} of {uid} was another one");
                    self.counts.borrow_mut().met_again += 1;
                }
            }
            meanings.entry((uid, contents)).or_insert(tasks);
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

    /// Checks that objects named by the newest root stay, and that those of other roots stay for a while.
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

    /// Reports whether the newest root names `key`.
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
