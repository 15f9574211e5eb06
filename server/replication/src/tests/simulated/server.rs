//! What a server does, without threads: it writes or follows, as the store says.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use lamina_engine::index::first_number;
use uuid::Uuid;

use super::SERVERS;
use super::before::Old;
use super::model::{Indexes, is_of_books};
use super::published::names;
use super::store::Store;
use super::world::World;
use crate::Role;
use crate::chain::{Chain, Holder, Rules, Setback, newest_root};
use crate::heartbeat::Pulse;
use crate::journal::Ledger;
use crate::known::{Known, newest_to_go_on_from};
use crate::known_root::KnownRoot;
use crate::position::Position;
use crate::prepare::may_publish;
use crate::quarantined::tasks_of;
use crate::role::by_store;
use crate::root::{PublishedIndex, Root};
use crate::store::Objects;

const RULES: Rules = Rules { names, roots_kept: 3 };
const TAKEOVER_AFTER: Duration = Duration::from_secs(10);

/// Something that runs by itself.
pub(super) struct Actor {
    pub(super) server: usize,
    pub(super) wake: u64,
    pub(super) future: Pin<Box<dyn Future<Output = ()>>>,
}

/// State that outlives a process.
pub(super) struct Disk {
    pub(super) uid: Uuid,
    pub(super) followed: Option<u64>,
    /// By which it knows its store again.
    pub(super) known: Option<Known>,
    pub(super) next_task: u32,
    batches: u32,
    /// States that it keeps of each index.
    pub(super) keeps: usize,
    pub(super) indexes: Indexes,
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

/// Counters of values that are given once in a schedule.
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

    pub(super) fn next_folder(&self) -> u64 {
        Shared::next(&self.folders)
    }

    pub(super) fn next_task(&self) -> u32 {
        self.tasks.set(self.tasks.get() + 1);
        self.tasks.get() - 1
    }
}

impl Group {
    pub(super) fn new(world: Rc<World>) -> Group {
        let shared = Rc::<Shared>::default();
        // None, two or four.
        let disk = |server: usize, keeps: usize| Disk {
            uid: Uuid::from_u64_pair(1, server as u64 + 1),
            followed: None,
            known: None,
            next_task: 0,
            batches: 0,
            keeps,
            indexes: Indexes::new(|| shared.next_folder(), keeps),
            queue: BTreeMap::new(),
        };
        let disks =
            (0..SERVERS).map(|server| Rc::new(RefCell::new(disk(server, 2 * world.below(3) as usize)))).collect();
        Group { world, disks, shared, spawned: Rc::default() }
    }

    /// A process that starts.
    pub(super) fn start(&self, server: usize, wake: u64) -> Actor {
        let process = Process {
            server,
            world: Rc::clone(&self.world),
            store: Store::new(Rc::clone(&self.world), server),
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

    async fn live(mut self) {
        loop {
            self.store = Store::new(Rc::clone(&self.world), self.server);
            self.disk.borrow_mut().indexes.start(&self.world);
            let (uid, has_known) =
                (self.disk.borrow().uid, self.disk.borrow().followed.is_some() || self.known().is_some());
            // A step that fails ends the process, which is started again.
            let _ = match by_store(newest_root(&self.store, 0).await, uid, has_known) {
                Ok(Role::Publisher) => self.write().await,
                Ok(_) => self.follow().await,
                Err(error) => Err(error.into()),
            };
            self.world.sleep(100 + self.world.below(1_000)).await;
        }
    }

    pub(super) fn who(&self) -> Holder {
        Holder {
            uid: self.disk.borrow().uid,
            nonce: Uuid::from_u64_pair(2, Shared::next(&self.shared.nonces)),
            url: None,
            takeover_after: Some(TAKEOVER_AFTER),
        }
    }

    pub(super) fn known(&self) -> Option<Known> {
        self.disk.borrow().known.clone().filter(|_| !self.world.has(Old::Known))
    }

    /// Remembers the store by a root of it.
    pub(super) fn remember(&self, root: &Root) {
        self.disk.borrow_mut().known = Some(Known::of(KnownRoot::of(root, &self.world.address)));
        self.world.knows(self.server);
    }

    async fn write(&self) -> Result<(), Setback> {
        let (known, uid) = (self.known(), self.disk.borrow().uid);
        let last = newest_to_go_on_from(&self.store, uid, known.as_ref(), "there").await?;
        self.store.prepare()?;
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
        if has_followed {
            self.world.counts.borrow_mut().above += self.disk.borrow().indexes.with_files_above();
        }
        chain.survey().await?;
        // Now and then a server is started with other options.
        let accepts = self.world.is_journaled && self.world.below(8) > 0;
        let mut ledger = None;
        if accepts || chain.last().journal.is_some() {
            let taken = self.take_journal(&mut chain, has_followed).await;
            let (desk, known) = taken.inspect_err(|setback| self.note(setback))?;
            ledger = Some((known, desk));
        }
        self.remember(chain.last());
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
            let pause = if !self.world.is_long && self.world.below(4) == 0 { 1_500_000 } else { 3_000 };
            self.world.sleep(self.world.below(pause)).await;
        }
        is_over.set(true);
        Ok(())
    }

    pub(super) fn trace(&self, what: std::fmt::Arguments<'_>) {
        self.world.trace(format_args!("server {}: {what}", self.server));
    }

    pub(super) fn note(&self, setback: &Setback) {
        if matches!(setback, Setback::TakenOver) {
            self.world.counts.borrow_mut().refused += 1;
        }
    }

    /// Signs of life beside what the publisher does. Whether it is over.
    fn pulse(&self, chain: &Chain<Store>) -> Rc<Cell<bool>> {
        let is_over = Rc::new(Cell::new(false));
        let (mut pulse, store, own) = (Pulse::of(chain.last()), self.store.clone(), Rc::clone(&is_over));
        let heartbeats = async move {
            while !own.get() {
                if let Err(Setback::TakenOver) = pulse.send(&store).await {
                    own.set(true);
                }
                store.world.sleep(2_500).await;
            }
        };
        let actor = Actor { server: self.server, wake: self.world.millis(), future: Box::pin(heartbeats) };
        self.spawned.borrow_mut().push(actor);
        is_over
    }

    fn commit(&self, accepts: bool) {
        let mut disk = self.disk.borrow_mut();
        // In any order, as tasks of several indexes are.
        let is_idle = self.world.is_long && self.world.below(2) == 0;
        for _ in 0..if is_idle { 0 } else { self.world.below(4) } {
            let place = self.world.below(disk.queue.len().max(1) as u64) as usize;
            let Some(uid) = disk.queue.keys().nth(place).copied() else { break };
            let task = disk.queue.remove(&uid).expect("it is there");
            self.trace(format_args!("carries out {uid} (task {task})"));
            assert!(!disk.indexes.of(task).has(task), "task {uid} ({task}) is carried out twice");
            disk.batches += 1;
            disk.indexes.of(task).commit(task, &self.world);
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
                disk.indexes.of(task).commit(task, &self.world);
            }
        }
        // In long histories, files go and come back.
        match self.world.below(if self.world.is_long { 16 } else { 10 }) {
            0 => disk.indexes.films.make_clone(self.shared.next_folder()),
            1 => disk.indexes.films.remove_clone(),
            2 | 3 => disk.indexes.films.merge(&self.world),
            4 => disk.indexes.books.merge(&self.world),
            5 => disk.indexes.books.clear_and_restore(&self.world),
            6 | 10..=13 => disk.indexes.books.add_or_take_away(&self.world),
            7 | 14.. => disk.indexes.films.add_or_take_away(&self.world),
            _ => {}
        }
        disk.indexes.read(&self.world);
        disk.indexes.check(&self.world);
        if self.world.below(16) == 0 {
            disk.indexes.is_damaged ^= true;
        }
    }

    /// Returns the position that the current state of the disk covers.
    pub(super) fn position(&self, ledger: &Ledger) -> Position {
        let disk = self.disk.borrow();
        ledger.position(disk.next_task, disk.queue.keys().copied().collect())
    }

    /// Returns the position that a root covers, whether or not it holds books back.
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
}
