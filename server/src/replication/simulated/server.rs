//! What a server does, without threads: it writes or follows, as the store says.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use lamina_engine::index::first_number;
use uuid::Uuid;

use super::model::{Index, Indexes, is_of_books, names};
use super::store::{Store, World};
use crate::replication::Role;
use crate::replication::apart::tasks_of;
use crate::replication::beat::{Pulse, Watch};
use crate::replication::chain::{Chain, Holder, Rules, Setback, newest_root};
use crate::replication::journal::Ledger;
use crate::replication::position::Position;
use crate::replication::prepare::may_publish;
use crate::replication::role::by_store;
use crate::replication::root::{PublishedIndex, Root};
use crate::replication::store::{ObjectError, Objects};

const RULES: Rules = Rules { names, roots_kept: 3 };
const TAKEOVER_AFTER: Duration = Duration::from_secs(10);

/// Something that runs by itself.
pub(super) struct Actor {
    pub(super) server: usize,
    pub(super) wake: u64,
    pub(super) future: Pin<Box<dyn Future<Output = ()>>>,
}

/// What outlives a process.
pub(super) struct Disk {
    uid: Uuid,
    followed: Option<u64>,
    pub(super) next_task: u32,
    batches: u32,
    indexes: Indexes,
    /// Tasks that were accepted and wait, by their uids.
    pub(super) queue: BTreeMap<u32, u32>,
}

impl Disk {
    fn forget_following(&mut self) {
        self.followed = None;
        self.indexes.films.forget_following();
        self.indexes.books.forget_following();
    }
}

/// The servers of a schedule.
pub(super) struct Group {
    world: Rc<World>,
    disks: Vec<Rc<RefCell<Disk>>>,
    shared: Rc<Shared>,
    pub(super) spawned: Rc<RefCell<Vec<Actor>>>,
}

/// What is given once in a schedule.
#[derive(Default)]
pub(super) struct Shared {
    nonces: Cell<u64>,
    folders: Cell<u64>,
    tasks: Cell<u32>,
}

impl Shared {
    fn next(count: &Cell<u64>) -> u64 {
        count.set(count.get() + 1);
        count.get()
    }

    pub(super) fn next_task(&self) -> u32 {
        self.tasks.set(self.tasks.get() + 1);
        self.tasks.get() - 1
    }
}

impl Group {
    pub(super) fn new(world: Rc<World>, servers: usize) -> Group {
        let shared = Rc::<Shared>::default();
        let disk = |server: usize| Disk {
            uid: Uuid::from_u64_pair(1, server as u64 + 1),
            followed: None,
            next_task: 0,
            batches: 0,
            indexes: Indexes::new(|| Shared::next(&shared.folders)),
            queue: BTreeMap::new(),
        };
        let disks = (0..servers).map(|server| Rc::new(RefCell::new(disk(server)))).collect();
        Group { world, disks, shared, spawned: Rc::default() }
    }

    /// A process that starts.
    pub(super) fn start(&self, server: usize, wake: u64) -> Actor {
        let process = Process {
            server,
            world: Rc::clone(&self.world),
            store: Store { world: Rc::clone(&self.world) },
            disk: Rc::clone(&self.disks[server]),
            shared: Rc::clone(&self.shared),
            spawned: Rc::clone(&self.spawned),
        };
        Actor { server, wake, future: Box::pin(process.live()) }
    }
}

pub(super) struct Process {
    pub(super) server: usize,
    pub(super) world: Rc<World>,
    pub(super) store: Store,
    pub(super) disk: Rc<RefCell<Disk>>,
    pub(super) shared: Rc<Shared>,
    pub(super) spawned: Rc<RefCell<Vec<Actor>>>,
}

impl Process {
    /// The same process, for another thread of it.
    pub(super) fn another(&self) -> Process {
        Process {
            server: self.server,
            world: Rc::clone(&self.world),
            store: self.store.clone(),
            disk: Rc::clone(&self.disk),
            shared: Rc::clone(&self.shared),
            spawned: Rc::clone(&self.spawned),
        }
    }

    async fn live(self) {
        loop {
            let (uid, has_followed) = (self.disk.borrow().uid, self.disk.borrow().followed.is_some());
            // A step that fails ends the process, which is started again.
            let _ = match by_store(newest_root(&self.store, 0).await, uid, has_followed) {
                Ok(Role::Publisher) => self.write().await,
                Ok(_) => self.follow().await,
                Err(error) => Err(error.into()),
            };
            self.world.sleep(100 + self.world.below(1_000)).await;
        }
    }

    fn who(&self) -> Holder {
        Holder {
            uid: self.disk.borrow().uid,
            nonce: Uuid::from_u64_pair(2, Shared::next(&self.shared.nonces)),
            url: None,
            takeover_after: Some(TAKEOVER_AFTER),
        }
    }

    async fn write(&self) -> Result<(), Setback> {
        let last = newest_root(&self.store, 0).await?.unwrap_or_else(Root::none);
        {
            let disk = self.disk.borrow();
            may_publish(&last, disk.uid, disk.followed, disk.next_task)?;
        }
        let has_followed = self.disk.borrow().followed.is_some();
        if has_followed {
            self.disk.borrow_mut().next_task += 10_000;
        }
        let chain = Chain::take_over(self.store.clone(), self.who(), last).await;
        let mut chain = chain.inspect_err(|setback| self.note(setback))?.with_rules(RULES);
        self.world.is_believed(chain.last());
        let first = first_number(chain.last().epoch).expect("few servers take over");
        self.disk.borrow_mut().indexes.number_from(first);
        chain.survey().await?;
        // Now and then a server is started with other options.
        let accepts = self.world.is_journaled && self.world.below(8) > 0;
        let mut ledger = None;
        if accepts || chain.last().journal.is_some() {
            let taken = self.take_journal(&mut chain, has_followed).await;
            let (desk, known) = taken.inspect_err(|setback| self.note(setback))?;
            ledger = Some((known, desk));
        }
        self.disk.borrow_mut().forget_following();
        let queue = self.disk.borrow().queue.clone();
        self.trace(format_args!("writes, from {queue:?}, accepts: {accepts}, {:?}", chain.last()));
        let is_over = self.pulse(&chain);
        let ledger = ledger.map(|(known, desk)| {
            if accepts {
                self.open(desk, &is_over);
            }
            known
        });
        while !is_over.get() {
            self.commit(accepts);
            if let Err(setback) = self.publish(&mut chain, ledger.as_deref()).await {
                self.note(&setback);
                if matches!(setback, Setback::TakenOver) {
                    break;
                }
            }
            let pause = if self.world.below(4) == 0 { 1_500_000 } else { 3_000 };
            self.world.sleep(self.world.below(pause)).await;
        }
        is_over.set(true);
        Ok(())
    }

    pub(super) fn trace(&self, what: std::fmt::Arguments<'_>) {
        self.world.trace(format_args!("server {}: {what}", self.server));
    }

    fn note(&self, setback: &Setback) {
        if matches!(setback, Setback::TakenOver) {
            self.world.counts.borrow_mut().refused += 1;
        }
    }

    /// Signs of life beside what the publisher does. Whether it is over.
    fn pulse(&self, chain: &Chain<Store>) -> Rc<Cell<bool>> {
        let is_over = Rc::new(Cell::new(false));
        let (mut pulse, store, own) = (Pulse::of(chain.last()), self.store.clone(), Rc::clone(&is_over));
        let beats = async move {
            while !own.get() {
                if let Err(Setback::TakenOver) = pulse.beat(&store).await {
                    own.set(true);
                }
                store.world.sleep(2_500).await;
            }
        };
        let actor = Actor { server: self.server, wake: self.world.millis(), future: Box::pin(beats) };
        self.spawned.borrow_mut().push(actor);
        is_over
    }

    fn commit(&self, accepts: bool) {
        let mut disk = self.disk.borrow_mut();
        // In any order, as tasks of several indexes are.
        for _ in 0..self.world.below(4) {
            let place = self.world.below(disk.queue.len().max(1) as u64) as usize;
            let Some(uid) = disk.queue.keys().nth(place).copied() else { break };
            let task = disk.queue.remove(&uid).expect("it is there");
            self.trace(format_args!("carries out {uid} (task {task})"));
            assert!(!disk.indexes.of(task).has(task), "task {uid} ({task}) is carried out twice");
            disk.batches += 1;
            disk.indexes.of(task).commit(task);
        }
        for _ in 0..if accepts { 0 } else { self.world.below(3) } {
            // A client may send again what another server has accepted.
            let task = match self.world.below(3) + u64::from(self.world.is_journaled) {
                0 if self.shared.tasks.get() > 0 => self.shared.tasks.get() - 1,
                _ => self.shared.next_task(),
            };
            disk.next_task += 1;
            disk.batches += 1;
            if !disk.indexes.of(task).has(task) {
                disk.indexes.of(task).commit(task);
            }
        }
        match self.world.below(8) {
            0 => disk.indexes.films.make_clone(Shared::next(&self.shared.folders)),
            1 => disk.indexes.films.remove_clone(),
            2 | 3 => disk.indexes.films.merge(),
            4 => disk.indexes.books.merge(),
            5 => disk.indexes.books.clear_and_restore(),
            _ => {}
        }
        self.world.means(&disk.indexes);
        if self.world.below(16) == 0 {
            disk.indexes.is_damaged ^= true;
        }
    }

    /// What the present state of the disk covers.
    pub(super) fn position(&self, ledger: &Ledger) -> Position {
        let disk = self.disk.borrow();
        ledger.position(disk.next_task, disk.queue.keys().copied().collect())
    }

    /// What a root covers that holds books back, or none.
    fn covered(&self, ledger: &Ledger, last: &Root, holds_back: bool) -> Position {
        let now = self.position(ledger);
        if !holds_back {
            return now;
        }
        let names =
            (0..self.shared.tasks.get()).filter(|task| is_of_books(*task)).map(|task| task.to_string()).collect();
        let nothing = Position::default();
        let between = ledger.between(last.journal.as_ref().unwrap_or(&nothing), &now);
        let tasks = tasks_of(&names, between, |_| Some(true)).expect("no task changes names");
        let waiting = self.disk.borrow().queue.keys().copied().chain(tasks).collect::<BTreeSet<u32>>();
        ledger.position(now.next_task, waiting.into_iter().collect())
    }

    async fn publish(&self, chain: &mut Chain<Store>, ledger: Option<&RefCell<Ledger>>) -> Result<(), Setback> {
        let (states, held_back, next_task, batches, journal) = {
            let disk = self.disk.borrow();
            let Indexes { films, books, is_damaged } = &disk.indexes;
            let mut states = films.states();
            states.extend((!is_damaged).then(|| books.states()).into_iter().flatten());
            let held_back = is_damaged.then(|| books.published(chain.last()));
            let journal = ledger.map(|ledger| self.covered(&ledger.borrow(), chain.last(), *is_damaged));
            (states, held_back, disk.next_task, disk.batches, journal)
        };
        let mut indexes: Vec<PublishedIndex> = held_back.iter().flatten().cloned().collect();
        for state in &states {
            indexes.push(chain.put_index(state).await?);
        }
        self.world.counts.borrow_mut().held_back += u64::from(held_back.is_some());
        let generation = if held_back.is_some() { chain.last().generation } else { Some(batches) };
        let root = Root { generation, next_task, indexes, journal, ..Root::none() };
        chain.publish(root, held_back.is_some()).await?;
        self.world.is_believed(chain.last());
        chain.collect(self.world.now(self.server)).await?;
        let (Some(ledger), Some(position)) = (ledger, &chain.last().journal) else { return Ok(()) };
        let over = ledger.borrow().over(position);
        for (number, keys) in over {
            for key in keys {
                self.store.remove(&key).await?;
            }
            ledger.borrow_mut().forget(number);
            self.world.counts.borrow_mut().trimmed += 1;
        }
        Ok(())
    }

    async fn follow(&self) -> Result<(), Setback> {
        self.disk.borrow_mut().queue.clear();
        self.disk.borrow_mut().indexes.start();
        let (who, mut watch) = (self.who(), Watch::new(self.world.now(self.server)));
        let mut newest: Option<Root> = None;
        loop {
            let after = newest.as_ref().map_or(0, |root| root.number);
            let looked_at = self.world.now(self.server);
            if let Some(root) = newest_root(&self.store, after).await? {
                // It tries again, or the process ends.
                match self.bring(&root).await {
                    Ok(()) => newest = Some(root),
                    Err(setback) if self.world.below(4) == 0 => return Err(setback),
                    Err(_) => self.world.counts.borrow_mut().tried_again += 1,
                }
            }
            if let Some(root) = &newest
                && (root.holder == who.uid || watch.is_silent(&self.store, root, looked_at).await?)
            {
                let taken = Chain::take_over(self.store.clone(), who.clone(), root.clone()).await;
                self.note_taken(&taken);
                let chain = taken?;
                self.world.is_believed(chain.last());
                return self.bring(&chain.last().clone()).await;
            }
            self.world.sleep(250 + self.world.below(2_500)).await;
        }
    }

    fn note_taken(&self, taken: &Result<Chain<Store>, Setback>) {
        if let Err(setback) = taken {
            self.note(setback);
        }
    }

    /// Fetches what a root names, and becomes it.
    async fn bring(&self, root: &Root) -> Result<(), Setback> {
        let followed = self.disk.borrow().followed;
        assert!(followed.is_none_or(|followed| followed <= root.number), "a replica goes back");
        if root.indexes.is_empty() {
            // It has what the root names, and nothing else: what it had as a writer, and did not publish, goes.
            self.disk.borrow_mut().indexes = Indexes::new(|| Shared::next(&self.shared.folders));
        }
        self.disk.borrow_mut().indexes.films.remove_clone();
        if root.indexes.iter().all(|index| index.uid != "books") {
            self.disk.borrow_mut().indexes.books = Index::new("books", Shared::next(&self.shared.folders));
        }
        let mut failure = None;
        for index in &root.indexes {
            // One that does not come keeps no other one from coming.
            match self.bring_one(index).await {
                Ok(()) => self.world.means(&self.disk.borrow().indexes),
                Err(error) => failure = Some(error),
            }
        }
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        let mut disk = self.disk.borrow_mut();
        disk.indexes.start();
        disk.next_task = disk.next_task.max(root.next_task);
        self.trace(format_args!("has followed to {root:?}"));
        disk.followed = Some(root.number);
        self.world.counts.borrow_mut().followed += 1;
        Ok(())
    }

    async fn bring_one(&self, index: &PublishedIndex) -> Result<(), ObjectError> {
        let manifest = self.fetch(&index.manifest_key()).await?;
        let (mut files, folder) = (Vec::new(), Shared::next(&self.shared.folders));
        for file in names(&manifest).expect("a manifest") {
            if index.uid == "books" {
                self.disk.borrow_mut().indexes.books.begin_to_fill(index, folder);
            }
            let bytes = self.fetch(&index.file_key(&file)).await?;
            files.push((file, bytes));
        }
        let fetched = (manifest, files);
        let mut disk = self.disk.borrow_mut();
        match index.uid.as_str() {
            "clone" => disk.indexes.films.follow_clone(index, fetched, folder),
            "books" => disk.indexes.books.follow(index, fetched, folder),
            _ => disk.indexes.films.follow(index, fetched, folder),
        }
        Ok(())
    }

    async fn fetch(&self, key: &str) -> Result<Vec<u8>, ObjectError> {
        let found = self.store.read(key).await;
        if matches!(found, Err(ObjectError::Missing(_))) {
            assert!(!self.world.is_named(key), "`{key}` is named, and not found");
        }
        found
    }
}
