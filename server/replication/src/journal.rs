//! The journal: tasks in the store before they are acknowledged, so that another server can carry them out.
//!
//! ```text
//! journal/<number, 20 digits>   created once, one after the other: a record of tasks, or a fence
//! journal-payload/<name>        documents of a task that are too many for its record
//! ```
//!
//! * A writer creates record n+1 when it knows that n is there, and acknowledges the tasks of a record when that is created.
//! * Who takes over creates the next root first, and then a *fence* at the first free number. The record that the writer before
//!   was about to create is refused from then on; what is before the fence is all that was acknowledged.
//! * Each root says which records are covered by it ([`Position`]). Those are removed; fences stay, so that the number of a
//!   fence is never free again for a writer that was stopped for long.

use std::collections::{BTreeMap, BTreeSet};

use lamina_base::stored_names::PayloadName;
use lamina_base::timestamp::Timestamp;
use lamina_data::tasks::{Content as Work, NewTask, UidSet};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::chain::Setback;
use super::position::Position;
use super::quarantined::Concern;
use super::root::number_of;
use super::store::{Content, ObjectError, Objects};

/// The form of records that this program writes, and the newest that it reads.
const FORMAT: u32 = 1;
/// Prefix of the keys of records.
pub(super) const JOURNAL: &str = "journal/";
/// Prefix of the keys of documents.
pub(super) const PAYLOADS: &str = "journal-payload/";
/// Fences that stay: a writer would have to sleep through so many takeovers to find the number of one free.
const FENCES_KEPT: usize = 1000;

/// All have as many digits, so that a store lists them in their order.
pub(super) fn record_key(number: u64) -> String {
    format!("{JOURNAL}{number:020}")
}

/// The number of a record's key; `None` for other keys.
pub(super) fn record_number(key: &str) -> Option<u64> {
    number_of(key.strip_prefix(JOURNAL)?)
}

/// The key of the documents of a task.
pub(super) fn payload_key(name: &PayloadName) -> String {
    format!("{PAYLOADS}{}", name.as_str())
}

/// A task in a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    uid: u32,
    index_uid: Option<String>,
    enqueued_at: Timestamp,
    content: Work,
    custom_metadata: Option<String>,
    /// Bytes of its documents behind the head.
    documents: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    format: u32,
    epoch: u64,
    /// Nonce of the process that wrote the record.
    nonce: Uuid,
    is_fence: bool,
    tasks: Vec<Entry>,
}

/// Content read under the key of a record.
#[derive(Clone, Debug)]
pub(super) struct Record {
    epoch: u64,
    nonce: Uuid,
    is_fence: bool,
    /// With the uids that they were given, and when they were accepted.
    pub(super) tasks: Vec<(NewTask, Timestamp)>,
}

impl Record {
    /// Reads what is stored under the key of record `number`.
    ///
    /// # Errors
    /// [`ObjectError::Damaged`]
    pub(super) fn read(number: u64, bytes: &[u8]) -> Result<Record, ObjectError> {
        let damaged = |reason| ObjectError::Damaged { key: record_key(number), reason };
        let line = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
        let (sum, rest) = bytes.split_at(line(bytes).ok_or_else(|| damaged("it is no record"))?);
        let rest = &rest[1..];
        if sum != format!("{:08x}", crc32fast::hash(rest)).as_bytes() {
            return Err(damaged("its checksum does not match"));
        }
        let (head, mut documents) = rest.split_at(line(rest).ok_or_else(|| damaged("it is no record"))? + 1);
        let head: Head = serde_json::from_slice(head).map_err(|_| damaged("it is no record of this version"))?;
        if head.format > FORMAT {
            return Err(damaged("a later version of this program has written it"));
        }
        let mut tasks = Vec::with_capacity(head.tasks.len());
        for entry in head.tasks {
            let inline_payload = match entry.documents {
                None => None,
                Some(bytes) => {
                    let bytes = usize::try_from(bytes).ok().and_then(|bytes| documents.split_at_checked(bytes));
                    let (own, others) = bytes.ok_or_else(|| damaged("it is cut"))?;
                    documents = others;
                    Some(own.to_vec())
                }
            };
            let Entry { uid, index_uid, enqueued_at, content, custom_metadata, .. } = entry;
            let new = NewTask { index_uid, content, custom_metadata, inline_payload, uid: Some(uid) };
            tasks.push((new, enqueued_at));
        }
        Ok(Record { epoch: head.epoch, nonce: head.nonce, is_fence: head.is_fence, tasks })
    }
}

impl Record {
    /// The record, unless it is of a later epoch than this: then a server has taken over since this one created its root, and has
    /// ended the journal. A fence behind that one would have this server acknowledge what no other reads.
    fn of_epoch(self, epoch: u64) -> Result<Record, Setback> {
        if self.epoch > epoch { Err(Setback::TakenOver) } else { Ok(self) }
    }
}

/// Known records in the journal.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Records with tasks, and some that came to nothing.
    records: BTreeMap<u64, Written>,
    fences: Vec<u64>,
    /// No record has this number or a higher one.
    next: u64,
    /// Position that the newest root covers.
    covered: Position,
}

#[derive(Debug, Default)]
struct Written {
    tasks: Vec<(u32, Concern)>,
    payloads: Vec<PayloadName>,
}

impl Ledger {
    /// A record is about to be created.
    pub(super) fn begin<'a>(&mut self, number: u64, tasks: impl Iterator<Item = &'a NewTask>) {
        let mut written = Written::default();
        for task in tasks {
            written.tasks.extend(task.uid.map(|uid| (uid, Concern::of(task))));
            written.payloads.extend(task.content.payload_file().cloned());
        }
        self.records.insert(number, written);
        self.next = self.next.max(number + 1);
    }

    /// The tasks of a record are not accepted.
    pub(super) fn revoke(&mut self, number: u64) {
        if let Some(written) = self.records.get_mut(&number) {
            written.tasks.clear();
        }
    }

    /// Returns the position of a root. In it, all tasks below `next_task` have ended, except for those that are
    /// `waiting`. Both must be determined before this call: a record that is begun in between is not covered.
    pub(super) fn position(&self, next_task: u32, waiting: UidSet) -> Position {
        let mut position = Position { from: self.next, next_task, waiting, fences: self.fences.clone() };
        let is_open = |written: &Written| written.tasks.iter().any(|(uid, _)| !position.covers(*uid));
        if let Some((number, _)) = self.records.iter().find(|(_, written)| is_open(written)) {
            position.from = *number;
        }
        position
    }

    /// A root with this position is the newest one.
    pub(super) fn cover(&mut self, position: &Position) {
        self.covered.clone_from(position);
    }

    /// Returns whether the newest root covers a task.
    pub(super) fn covers(&self, uid: u32) -> bool {
        self.covered.covers(uid)
    }

    /// The tasks that the position `last` does not cover, and the position `now` does.
    pub(super) fn between<'a>(
        &'a self,
        last: &'a Position,
        now: &'a Position,
    ) -> impl Iterator<Item = (u32, &'a Concern)> {
        let tasks = self.records.values().flat_map(|written| &written.tasks);
        let between = tasks.filter(|(uid, _)| !last.covers(*uid) && now.covers(*uid));
        between.map(|(uid, concern)| (*uid, concern))
    }

    /// The keys of what a published position needs no more, by record.
    pub(super) fn over(&self, position: &Position) -> Vec<(u64, Vec<String>)> {
        let keys = |(number, written): (&u64, &Written)| {
            let payloads = written.payloads.iter().map(payload_key);
            (*number, payloads.chain([record_key(*number)]).collect())
        };
        self.records.range(..position.from).map(keys).collect()
    }

    /// Removes a record from the ledger, once its parts are removed.
    pub(super) fn forget(&mut self, number: u64) {
        self.records.remove(&number);
    }

    /// Number of records that are there.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Keys of documents that records need.
    pub(super) fn payload_keys(&self) -> impl Iterator<Item = String> {
        self.records.values().flat_map(|written| &written.payloads).map(payload_key)
    }

    fn learn(&mut self, number: u64, record: &Record) {
        self.begin(number, record.tasks.iter().map(|(task, _)| task));
        if record.is_fence {
            self.records.remove(&number);
            self.add_fence(number);
        }
    }

    fn add_fence(&mut self, number: u64) {
        self.fences.push(number);
        let too_many = self.fences.len().saturating_sub(FENCES_KEPT);
        self.fences.drain(..too_many);
        self.next = self.next.max(number + 1);
    }
}

/// Outcome of an attempt to create a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Appended {
    /// The record is there.
    This,
    /// An earlier attempt of this writer was there first.
    Earlier,
}

/// The end of the journal, where one writer adds to it.
#[derive(Debug)]
pub(super) struct Journal<S> {
    store: S,
    epoch: u64,
    nonce: Uuid,
    next: u64,
}

impl<S: Objects> Journal<S> {
    /// Creates the fence of the publisher `nonce` of this epoch, which has created a root: no other server adds to the journal
    /// from now on. Answers what is known of it, and the records that a root with this position does not cover.
    ///
    /// # Errors
    /// [`Setback::TakenOver`], or what the store says; damage of a record.
    pub(super) async fn take_over(
        store: S,
        epoch: u64,
        nonce: Uuid,
        position: Option<&Position>,
    ) -> Result<(Journal<S>, Ledger, Vec<Record>), Setback> {
        let mut ledger = Ledger::default();
        ledger.fences.extend(position.into_iter().flat_map(|position| &position.fences));
        // Without a position no record is acknowledged any more.
        let from = position.map(|position| position.from.max(1));
        let mut journal = Journal { store, epoch, nonce, next: from.unwrap_or(1) };
        let mut records = Vec::new();
        let mut last = record_key(journal.next - 1);
        loop {
            let keys = journal.store.list(JOURNAL, &last).await?;
            let Some(key) = keys.last() else { break };
            last.clone_from(key);
            for number in keys.iter().filter_map(|key| record_number(key)) {
                if from.is_some() && number != journal.next {
                    let (key, reason) = (record_key(journal.next), "it is missing, and a later record is there");
                    return Err(ObjectError::Damaged { key, reason }.into());
                }
                journal.next = number + 1;
                if from.is_some() {
                    let record = journal.read(number).await?.of_epoch(epoch)?;
                    ledger.learn(number, &record);
                    records.push(record);
                }
            }
        }
        if from.is_none() && journal.next > 1 {
            journal.read(journal.next - 1).await?.of_epoch(epoch)?;
        }
        let fence = journal.bytes(true, &[], Timestamp::now());
        loop {
            let number = journal.next;
            match journal.store.create(&record_key(number), Content::Bytes(&fence)).await {
                Ok(()) => break,
                Err(ObjectError::Exists(_)) => {}
                Err(error) => return Err(error.into()),
            }
            let record = journal.read(number).await?;
            if record.nonce == nonce {
                break;
            }
            let record = record.of_epoch(epoch)?;
            ledger.learn(number, &record);
            records.push(record);
            journal.next += 1;
        }
        ledger.add_fence(journal.next);
        journal.next += 1;
        Ok((journal, ledger, records))
    }

    /// Keys of objects that are there and of no use: what a removal that was cut short has left, and documents of tasks that no
    /// record names. After the fence, and before anything is added. Without a position no record is removed: their numbers would
    /// be given again, and a removal that is still on its way would meet the record of another writer.
    ///
    /// # Errors
    /// What the store says.
    pub(super) async fn leftovers(&self, ledger: &Ledger, position: Option<&Position>) -> Result<Vec<String>, Setback> {
        let needed: BTreeSet<String> = ledger.payload_keys().collect();
        let from = position.map_or(0, |position| position.from);
        let is_over = |key: &String| match record_number(key) {
            Some(number) => number < from && !ledger.fences.contains(&number),
            None => !needed.contains(key),
        };
        let mut over = Vec::new();
        for folder in [JOURNAL, PAYLOADS] {
            let mut last = folder.to_owned();
            loop {
                let keys = self.store.list(folder, &last).await?;
                let Some(key) = keys.last() else { break };
                last.clone_from(key);
                over.extend(keys.into_iter().filter(|key| is_over(key)));
            }
        }
        Ok(over)
    }

    async fn read(&self, number: u64) -> Result<Record, ObjectError> {
        Record::read(number, &self.store.read(&record_key(number)).await?)
    }

    /// The number of the next record.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The bytes of a record of these tasks, which have their uids. Of none: it only takes its number.
    pub(super) fn record(&self, tasks: &[NewTask], at: Timestamp) -> Vec<u8> {
        self.bytes(false, tasks, at)
    }

    fn bytes(&self, is_fence: bool, tasks: &[NewTask], enqueued_at: Timestamp) -> Vec<u8> {
        let entry = |task: &NewTask| Entry {
            uid: task.uid.unwrap_or_default(),
            index_uid: task.index_uid.clone(),
            enqueued_at,
            content: task.content.clone(),
            custom_metadata: task.custom_metadata.clone(),
            documents: task.inline_payload.as_ref().map(|documents| documents.len() as u64),
        };
        let tasks_in_head = tasks.iter().map(entry).collect();
        let head = Head { format: FORMAT, epoch: self.epoch, nonce: self.nonce, is_fence, tasks: tasks_in_head };
        let mut rest = serde_json::to_vec(&head).expect("a record has string keys only");
        rest.push(b'\n');
        tasks.iter().filter_map(|task| task.inline_payload.as_ref()).for_each(|documents| rest.extend(documents));
        let mut bytes = format!("{:08x}\n", crc32fast::hash(&rest)).into_bytes();
        bytes.append(&mut rest);
        bytes
    }

    /// Tries once to create the next record, of bytes that [`Journal::record`] has made since the one before.
    ///
    /// # Errors
    /// [`Setback::TakenOver`]: what the record holds is not accepted, nor is anything later. After other errors it may be there:
    /// try again, with the same bytes or with those of a record of no tasks.
    pub(super) async fn append(&mut self, bytes: &[u8]) -> Result<Appended, Setback> {
        let key = record_key(self.next);
        match self.store.create(&key, Content::Bytes(bytes)).await {
            Ok(()) => {
                self.next += 1;
                return Ok(Appended::This);
            }
            Err(ObjectError::Exists(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let there = match self.store.read(&key).await {
            Ok(there) => there,
            // A server that has taken over has removed it since.
            Err(ObjectError::Missing(_)) => return Err(Setback::TakenOver),
            Err(error) => return Err(error.into()),
        };
        let record = Record::read(self.next, &there)?;
        if (record.epoch, record.nonce, record.is_fence) != (self.epoch, self.nonce, false) {
            return Err(Setback::TakenOver);
        }
        self.next += 1;
        Ok(if there == bytes { Appended::This } else { Appended::Earlier })
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::{MemoryObjects, blocking};
    use super::*;

    fn journal() -> Journal<MemoryObjects> {
        Journal { store: MemoryObjects::default(), epoch: 2, nonce: Uuid::from_u64_pair(1, 2), next: 7 }
    }

    fn task(uid: u32, documents: Option<&str>) -> NewTask {
        let inline_payload = documents.map(|text| text.as_bytes().to_vec());
        NewTask { uid: Some(uid), inline_payload, ..NewTask::for_index("films", Work::Clear { mark: None }) }
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        let at = Timestamp::from_nanos(5);
        let bytes = journal().record(&[task(3, Some("{}\n")), task(4, None), task(5, Some("[]"))], at);
        let record = Record::read(7, &bytes).unwrap();
        let uids: Vec<Option<u32>> = record.tasks.iter().map(|(task, _)| task.uid).collect();
        assert_eq!((uids, record.tasks[0].1, record.is_fence), (vec![Some(3), Some(4), Some(5)], at, false));
        assert_eq!(record.tasks[0].0.inline_payload.as_deref(), Some(&b"{}\n"[..]));
        assert_eq!(record.tasks[1].0.inline_payload, None);
        assert_eq!(record.tasks[2].0.inline_payload.as_deref(), Some(&b"[]"[..]));
        let reason = |bytes: &[u8]| Record::read(7, bytes).unwrap_err().to_string();
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            reason(&damaged);
            reason(&bytes[..place]);
        }
        let later = String::from_utf8(bytes).unwrap().replacen("\"format\":1", "\"format\":2", 1);
        let rest = later.split_once('\n').unwrap().1;
        let later = format!("{:08x}\n{rest}", crc32fast::hash(rest.as_bytes()));
        assert!(reason(later.as_bytes()).contains("later version"));
    }

    #[test]
    fn a_root_covers_records_up_to_the_first_task_that_has_not_ended() {
        let mut ledger = Ledger::default();
        ledger.add_fence(1);
        ledger.begin(2, [task(0, None), task(1, None)].iter());
        ledger.begin(3, [task(2, None)].iter());
        ledger.begin(4, [task(3, None)].iter());
        let from =
            |ledger: &Ledger, next: u32, waiting: &[u32]| ledger.position(next, waiting.iter().copied().collect()).from;
        assert_eq!(from(&ledger, 0, &[]), 2);
        assert_eq!(from(&ledger, 4, &[1, 3]), 2, "one of two");
        assert_eq!(from(&ledger, 4, &[3]), 4);
        assert_eq!(from(&ledger, 3, &[]), 4, "not stored in the queue yet");
        assert_eq!(from(&ledger, 4, &[]), 5);
        ledger.revoke(4);
        let position = ledger.position(3, UidSet::default());
        assert_eq!((position.from, position.fences.as_slice()), (5, &[1][..]));
        assert_eq!(ledger.over(&position).iter().map(|(number, _)| *number).collect::<Vec<_>>(), [2, 3, 4]);
        assert!(position.covers(2));
        assert!(!position.covers(3));
        ledger.forget(2);
        assert_eq!(ledger.len(), 2);
    }

    #[test]
    fn a_number_is_given_once() {
        let mut journal = journal();
        let at = Timestamp::from_nanos(5);
        let [one, other] = [3, 4].map(|uid| journal.record(&[task(uid, None)], at));
        assert!(matches!(blocking(journal.append(&one)), Ok(Appended::This)));
        // The answer was lost, and the attempt after it is of something else.
        journal.next = 7;
        assert!(matches!(blocking(journal.append(&other)), Ok(Appended::Earlier)));
        journal.next = 7;
        assert!(matches!(blocking(journal.append(&one)), Ok(Appended::This)));
        journal.store.is_away.set(true);
        assert!(matches!(blocking(journal.append(&other)), Err(Setback::Object(_))));
        journal.store.is_away.set(false);
        // What another server has created there.
        (journal.next, journal.epoch) = (7, 3);
        assert!(matches!(blocking(journal.append(&other)), Err(Setback::TakenOver)));
    }

    #[test]
    fn keys_of_records_sort_like_their_numbers() {
        assert!(record_key(9) < record_key(10));
        assert_eq!(record_number(&record_key(i64::MAX as u64)), Some(i64::MAX as u64));
        assert_eq!(record_number(&record_key(u64::MAX)), None);
        for other in ["journal/1", "journal-payload/0", "root/00000000000000000001"] {
            assert_eq!(record_number(other), None, "{other}");
        }
        assert!(!payload_key(&PayloadName::random()).starts_with(JOURNAL));
    }
}
