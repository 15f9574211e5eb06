//! Tasks on their way into the journal: requests that meet go together in one record, and are answered when it is there.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_base::backoff::JOURNAL;
use lamina_base::error::{ApiError, Code};
use lamina_base::stored_names::PayloadName;
use lamina_base::timestamp::Timestamp;
use lamina_data::tasks::{Acceptance, Content as Work, NewTask, Store, StoreError, Task, Upsert, uid_for};
use parking_lot::Mutex;

use super::Replication;
use super::chain::Setback;
use super::fenced::step_down;
use super::journal::{Appended, Journal, Ledger, payload_key};
use super::store::{Checksum, Content, ObjectError, ObjectStore, WrittenFile, blocking};

/// Documents of tasks that go together.
const GROUP_BYTES: usize = 8 << 20;
/// Tasks that go together.
const GROUP_TASKS: usize = 1000;
/// Maximum size of a record, which is read as a whole.
const RECORD_BYTES_MAX: usize = 48 << 20;
/// Documents are given a second more for so many bytes.
const BYTES_A_SECOND: u64 = 1 << 20;

/// Accepts the tasks of a writer.
#[derive(Debug)]
pub(super) struct GroupCommit {
    waiting: Mutex<Vec<Waiting>>,
    order: Mutex<Order>,
    ledger: Arc<Mutex<Ledger>>,
    store: ObjectStore,
    patience: Duration,
    payloads: PathBuf,
    replication: Arc<Replication>,
    begins_again: bool,
}

/// A request that waits for its task.
#[derive(Debug)]
struct Waiting {
    new: NewTask,
    since: Instant,
    answer: Answer,
}

type Answer = Arc<Mutex<Option<Result<Task, StoreError>>>>;

/// State that determines the place of the next record.
#[derive(Debug)]
struct Order {
    journal: Journal<ObjectStore>,
    /// Above every uid that a record has given.
    next_task: u32,
    unsettled: Option<Unsettled>,
}

/// A record that may be there.
#[derive(Debug)]
struct Unsettled {
    tasks: Vec<NewTask>,
    at: Timestamp,
    /// True if the record was found in the store.
    is_there: bool,
}

/// Context in which a writer accepts tasks.
pub(super) struct Place {
    pub(super) store: ObjectStore,
    pub(super) journal: Journal<ObjectStore>,
    pub(super) ledger: Arc<Mutex<Ledger>>,
    pub(super) patience: Duration,
    /// The folder of large documents.
    pub(super) payloads: PathBuf,
    pub(super) replication: Arc<Replication>,
    pub(super) begins_again: bool,
}

/// Reason why a task is not accepted.
enum Refusal {
    /// Another server writes.
    TakenOver,
    /// The record was not sent, or is certainly not there.
    Undone(String),
    /// The record may be there.
    Unknown(String),
    /// The record is there, and could not be stored here.
    Kept(String),
}

impl Acceptance for GroupCommit {
    fn accept(&self, new: NewTask, store: &Store) -> Result<Task, StoreError> {
        store.check_room(&new.content)?;
        let since = Instant::now();
        if let Work::Upsert(upsert) = &new.content
            && let Some(name) = new.content.payload_file()
            && let Err(refusal) = self.keep_payload(name, upsert)
        {
            self.remove_payloads(&[new]);
            return Err(self.refused(&refusal));
        }
        let answer = Answer::default();
        self.waiting.lock().push(Waiting { new, since, answer: Arc::clone(&answer) });
        let mut order = self.order.lock();
        loop {
            // The holder before may have taken our task along.
            if let Some(result) = answer.lock().take() {
                return result;
            }
            let group = self.group();
            self.carry(&mut order, group, store);
            self.replication.journal().note_length(self.ledger.lock().len());
        }
    }

    fn covers(&self, task: u32) -> bool {
        self.ledger.lock().covers(task)
    }
}

impl GroupCommit {
    pub(super) fn new(place: Place) -> GroupCommit {
        let Place { store, journal, ledger, patience, payloads, replication, begins_again } = place;
        let order = Order { journal, next_task: 0, unsettled: None };
        GroupCommit {
            waiting: Mutex::default(),
            order: Mutex::new(order),
            ledger,
            store,
            patience,
            payloads,
            replication,
            begins_again,
        }
    }

    /// The first of those that wait, as many as go into a record.
    fn group(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting.lock();
        let (mut count, mut bytes) = (0, 0);
        for one in waiting.iter().take(GROUP_TASKS) {
            bytes += one.new.inline_payload.as_ref().map_or(0, Vec::len);
            if bytes > GROUP_BYTES {
                break;
            }
            count += 1;
        }
        let count = count.max(1).min(waiting.len());
        waiting.drain(..count).collect()
    }

    /// Puts tasks into a record, and answers all of them.
    fn carry(&self, order: &mut Order, group: Vec<Waiting>, store: &Store) {
        let (group, late): (Vec<Waiting>, Vec<Waiting>) =
            group.into_iter().partition(|one| one.since.elapsed() < self.patience);
        let busy = Refusal::Undone("others waited before it".to_owned());
        late.into_iter().for_each(|one| *one.answer.lock() = Some(Err(self.refused(&busy))));
        let Some(since) = group.iter().map(|one| one.since).min() else { return };
        let deadline = since + self.patience;
        let settled = self.settle(order, deadline, store);
        let (tasks, answers) = match self.with_uids(order, group, store) {
            Ok(with_uids) => with_uids,
            Err(()) => return,
        };
        let carried = settled.and_then(|()| self.record(order, &tasks, deadline));
        let at = match carried {
            Ok(at) => at,
            Err(refusal) => {
                if !matches!(refusal, Refusal::Unknown(_)) {
                    self.remove_payloads(&tasks);
                }
                self.replication.journal().note_refused(tasks.len());
                answers.iter().for_each(|answer| *answer.lock() = Some(Err(self.refused(&refusal))));
                return;
            }
        };
        match store.enqueue_given(&tasks, at) {
            Ok(stored) => {
                self.replication.journal().note_record(stored.len(), since.elapsed());
                answers.iter().zip(stored).for_each(|(answer, task)| *answer.lock() = Some(Ok(task)));
            }
            Err(error) => {
                // The record holds them for good: they are stored here before anything else is accepted, or by a start.
                order.unsettled = Some(Unsettled { tasks, at, is_there: true });
                let refusal = Refusal::Kept(error.to_string());
                answers.iter().for_each(|answer| *answer.lock() = Some(Err(self.refused(&refusal))));
            }
        }
    }

    /// Gives tasks their uids. Those that want one that is taken are answered; nothing where all are.
    fn with_uids(&self, order: &Order, group: Vec<Waiting>, store: &Store) -> Result<(Vec<NewTask>, Vec<Answer>), ()> {
        let mut next = match store.uid_for(None) {
            Ok(next) => next.max(order.next_task),
            Err(error) => {
                let error = Arc::new(error);
                let shared = || Some(Err(StoreError::Shared(Arc::clone(&error))));
                group.iter().for_each(|one| *one.answer.lock() = shared());
                return Err(());
            }
        };
        let (mut tasks, mut answers) = (Vec::with_capacity(group.len()), Vec::with_capacity(group.len()));
        for one in group {
            let uid = uid_for(one.new.uid, next);
            match uid.and_then(|uid| Ok((uid, uid.checked_add(1).ok_or(StoreError::Exhausted)?))) {
                Ok((uid, after)) => {
                    next = after;
                    tasks.push(NewTask { uid: Some(uid), ..one.new });
                    answers.push(one.answer);
                }
                Err(error) => *one.answer.lock() = Some(Err(error)),
            }
        }
        if tasks.is_empty() { Err(()) } else { Ok((tasks, answers)) }
    }

    /// Creates the next record; when its tasks were accepted.
    fn record(&self, order: &mut Order, tasks: &[NewTask], deadline: Instant) -> Result<Timestamp, Refusal> {
        let at = Timestamp::now();
        let bytes = order.journal.record(tasks, at);
        if bytes.len() > RECORD_BYTES_MAX {
            let text =
                format!("what it says takes more than {} MiB, the most that a record has", RECORD_BYTES_MAX >> 20);
            return Err(Refusal::Undone(text));
        }
        // Before it can be there, so that no root covers it.
        self.ledger.lock().begin(order.journal.next(), tasks.iter());
        order.next_task = tasks.last().and_then(|task| task.uid).map_or(order.next_task, |uid| uid.saturating_add(1));
        match self.append(&mut order.journal, &bytes, deadline) {
            Ok(Appended::This) => Ok(at),
            Ok(Appended::Earlier) => Err(Refusal::Undone("another record had its number".to_owned())),
            Err(refusal) => {
                if matches!(refusal, Refusal::Unknown(_)) {
                    order.unsettled = Some(Unsettled { tasks: tasks.to_vec(), at, is_there: false });
                }
                Err(refusal)
            }
        }
    }

    /// Finds out what became of a record that the store did not confirm: it takes its number, or finds it there.
    fn settle(&self, order: &mut Order, deadline: Instant, store: &Store) -> Result<(), Refusal> {
        let Order { journal, unsettled, .. } = order;
        let Some(before) = unsettled else { return Ok(()) };
        let undone = |refusal| match refusal {
            Refusal::Unknown(reason) => Refusal::Undone(reason),
            other => other,
        };
        if !before.is_there {
            let (number, nothing) = (journal.next(), journal.record(&[], before.at));
            match self.append(journal, &nothing, deadline).map_err(undone)? {
                Appended::This => {
                    self.ledger.lock().revoke(number);
                    self.remove_payloads(&before.tasks);
                    *unsettled = None;
                    return Ok(());
                }
                Appended::Earlier => before.is_there = true,
            }
        }
        store.enqueue_given(&before.tasks, before.at).map_err(|error| Refusal::Undone(error.to_string()))?;
        *unsettled = None;
        Ok(())
    }

    fn append(&self, journal: &mut Journal<ObjectStore>, bytes: &[u8], deadline: Instant) -> Result<Appended, Refusal> {
        let mut pauses = JOURNAL;
        loop {
            let pause = pauses.next_pause();
            match blocking(journal.append(bytes)) {
                Ok(appended) => return Ok(appended),
                Err(Setback::TakenOver) => {
                    step_down(&self.store, &self.replication, self.begins_again);
                    return Err(Refusal::TakenOver);
                }
                Err(Setback::Object(error)) if Instant::now() + pause >= deadline => {
                    return Err(Refusal::Unknown(error.to_string()));
                }
                Err(Setback::Object(_)) => std::thread::sleep(pause),
            }
        }
    }

    /// Puts documents of a task that is not in the journal yet.
    fn keep_payload(&self, name: &PayloadName, upsert: &Upsert) -> Result<(), Refusal> {
        let limit = self.patience + Duration::from_secs(upsert.payload_bytes / BYTES_A_SECOND);
        let (store, deadline) = (self.store.within(limit), Instant::now() + limit);
        let path = self.payloads.join(name);
        let checksum = Checksum::Xxh3(upsert.payload_checksum);
        let documents = WrittenFile { path: &path, bytes: upsert.payload_bytes, checksum };
        let mut pauses = JOURNAL;
        loop {
            let pause = pauses.next_pause();
            match store.create(&payload_key(name), Content::File(documents)) {
                // Names are given once.
                Ok(()) | Err(ObjectError::Exists(_)) => return Ok(()),
                Err(error @ ObjectError::DamagedFile { .. }) => return Err(Refusal::Undone(error.to_string())),
                Err(error) if Instant::now() + pause >= deadline => return Err(Refusal::Undone(error.to_string())),
                Err(_) => std::thread::sleep(pause),
            }
        }
    }

    fn remove_payloads(&self, tasks: &[NewTask]) {
        for name in tasks.iter().filter_map(|task| task.content.payload_file()) {
            if let Err(error) = std::fs::remove_file(self.payloads.join(name)) {
                tracing::warn!(%error, file = name.as_str(), "cannot remove a refused payload");
            }
        }
    }

    fn refused(&self, refusal: &Refusal) -> StoreError {
        let (code, text) = match refusal {
            Refusal::TakenOver => {
                let text = "This server was the writer until another one took over: this write was not carried out. Send it \
                            to the server that writes.";
                (Code::ReplicaTakesNoWrites, text.to_owned())
            }
            Refusal::Undone(reason) => {
                let text =
                    format!("The store did not take this write, and it was not carried out: {reason}. Send it again.");
                (Code::StoreNotReached, text)
            }
            Refusal::Kept(reason) => {
                let text = format!(
                    "The store has taken this write, but this server could not put it into its own queue: {reason}. It is \
                     carried out as soon as the server can do so: look for it among the tasks, and do not send it again."
                );
                (Code::Internal, text)
            }
            Refusal::Unknown(reason) => {
                let text = format!(
                    "The store did not say within {} s that it has taken this write: {reason}. It is carried out as a \
                     whole or not at all: look for it among the tasks when the store works again, or send it again.",
                    self.patience.as_secs_f64()
                );
                (Code::StoreNotReached, text)
            }
        };
        StoreError::Refused(ApiError::new(code, text))
    }
}
