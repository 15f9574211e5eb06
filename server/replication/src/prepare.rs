//! What a publisher does before the first task is carried out: it takes over from what published before, with the tasks that were
//! acknowledged there.

use std::path::Path;
use std::sync::Arc;

use lamina_base::options::{Options, StoreAddress};
use lamina_base::outbound::Outbound;
use lamina_base::plural::counted;
use lamina_data::instance::Instance;
use lamina_data::tasks::{Content, Store, StoreError, TaskQueue};
use lamina_engine::index::{epoch_of, first_number, newest_generation};
use parking_lot::Mutex;
use uuid::Uuid;

use super::Replication;
use super::chain::{Chain, Holder, Setback};
use super::group_commit::{GroupCommit, Place};
use super::journal::{Journal, Ledger, Record, payload_key};
use super::known::{Known, newest_to_go_on_from};
use super::known_root::KnownRoot;
use super::position::Position;
use super::replica_state::{ReplicaState, followed_root, forget_following};
use super::root::Root;
use super::store::{ObjectError, ObjectStore, blocking};

/// A publisher before it publishes.
#[derive(Debug)]
pub struct Prepared {
    pub(super) chain: Chain<ObjectStore>,
    pub(super) ledger: Option<Arc<Mutex<Ledger>>>,
    pub(super) begins_again: bool,
}

/// Place where the writer keeps what it takes over.
pub struct Taking<'a> {
    pub instance: &'a Instance,
    pub queue: &'a TaskQueue,
    pub replication: &'a Arc<Replication>,
}

fn refused(setback: Setback) -> ObjectError {
    match setback {
        Setback::TakenOver => ObjectError::TakenOver("another server has just begun to publish to it"),
        Setback::Object(error) => error,
    }
}

fn of_queue(error: StoreError) -> ObjectError {
    ObjectError::Refused(error.to_string())
}

impl Prepared {
    /// Checks that the store can be used, takes over from what published before, and brings the tasks that were accepted there.
    /// From here on tasks are accepted as the options say.
    ///
    /// # Errors
    /// What the store says, or [`ObjectError::Unfit`]; [`ObjectError::Refused`] where another server's state would be lost.
    pub fn new(
        address: &StoreAddress,
        options: &Options,
        outbound: &Outbound,
        taking: &Taking<'_>,
    ) -> Result<Prepared, ObjectError> {
        let Taking { instance, queue, replication } = taking;
        let store = ObjectStore::open(address, &options.object_storage, outbound, replication.traffic())?;
        let (uid, followed) = (instance.uid(), followed_root(instance.folder()));
        let known = Known::read(instance.folder()).filter(|known| !known.is_elsewhere(address));
        let last = blocking(newest_to_go_on_from(&store, uid, known.as_ref(), &store.shown()))?;
        store.probe()?;
        let (next_task, _) = queue.store().next_uids().map_err(of_queue)?;
        may_publish(&last, uid, followed, next_task)?;
        has_what_it_followed(instance)?;
        let last = above_numbers(instance, last);
        let who = Holder::of(&options.replication, uid);
        let nonce = who.nonce;
        let mut chain = blocking(Chain::take_over(store.clone(), who, last)).map_err(refused)?;
        give_numbers(instance, chain.last().epoch)?;
        blocking(chain.survey()).map_err(refused)?;
        let begins_again = options.replication.standby;
        let is_to_be_in_store = options.replication.is_to_be_in_store();
        let mut ledger = None;
        if is_to_be_in_store || chain.last().journal.is_some() {
            let patience = options.replication.durability_timeout;
            let limited = store.within(patience);
            let (journal, known) = take_journal(&mut chain, limited.clone(), nonce, taking, followed.is_some())?;
            let known = Arc::new(Mutex::new(known));
            ledger = Some(Arc::clone(&known));
            if is_to_be_in_store {
                let place = Place {
                    store: limited,
                    journal,
                    ledger: known,
                    patience,
                    payloads: instance.payload_folder(),
                    replication: Arc::clone(replication),
                    begins_again,
                };
                queue.accept_at(Arc::new(GroupCommit::new(place)));
            }
        }
        // Before it forgets what it has followed: there is no moment at which it knows nothing.
        let seen = KnownRoot::of(chain.last(), address).write(instance.folder());
        seen.and_then(|()| forget_following(instance.folder()))
            .map_err(|error| ObjectError::Refused(error.to_string()))?;
        Ok(Prepared { chain, ledger, begins_again })
    }
}

/// Refuses to publish indexes in other states than those that this server has followed: what was published would be lost.
fn has_what_it_followed(instance: &Instance) -> Result<(), ObjectError> {
    let has = ReplicaState::read(instance.folder()).unwrap_or_default();
    has.other_than_followed(instance).map_or(Ok(()), |other| {
        Err(ObjectError::Refused(format!(
            "the index `{}` in this folder is not in the state that was published. Start this server with `--follow`: it fetches the \
             index again",
            other.published.uid
        )))
    })
}

/// The root with an epoch that is not below those in the numbers of indexes here, which may come from another store.
fn above_numbers(instance: &Instance, last: Root) -> Root {
    let folders = instance.folders().into_iter().map(|(_, folder)| instance.index_folder(&folder));
    let highest = folders.filter_map(|path| newest_generation(&path)).max().map_or(0, epoch_of);
    Root { epoch: last.epoch.max(highest), ..last }
}

/// Whatever is written from here on has numbers that no other writer gives.
fn give_numbers(instance: &Instance, epoch: u64) -> Result<(), ObjectError> {
    let first = first_number(epoch).ok_or_else(|| {
        let text = format!("the epoch of this store is {epoch}, more than numbers can hold: publish to another prefix");
        ObjectError::Refused(text)
    })?;
    instance.give_numbers_from(first);
    Ok(())
}

/// Ends what the writer before adds to the journal, and brings the tasks of it that no root covers.
fn take_journal(
    chain: &mut Chain<ObjectStore>,
    store: ObjectStore,
    nonce: Uuid,
    taking: &Taking<'_>,
    has_followed: bool,
) -> Result<(Journal<ObjectStore>, Ledger), ObjectError> {
    let (epoch, position) = (chain.last().epoch, chain.last().journal.clone());
    let taken = blocking(Journal::take_over(store.clone(), epoch, nonce, position.as_ref()));
    let (journal, mut ledger, records) = taken.map_err(refused)?;
    let tasks = taking.queue.store();
    if let Some(position) = &position {
        let count =
            enqueue_missing(&store, &records, position, tasks, has_followed, &taking.instance.payload_folder())?;
        if count > 0 {
            tracing::warn!("carrying out {}, acknowledged before and not published", counted(count, "task"));
        }
    }
    // From here on a server that takes over reads the journal.
    let now = tasks.moment().map_err(of_queue)?;
    if position.is_none() {
        blocking(chain.announce(ledger.position(now.next_task, now.waiting))).map_err(refused)?;
    }
    if let Some(covered) = &chain.last().journal {
        ledger.cover(covered);
    }
    let over = blocking(journal.leftovers(&ledger, position.as_ref())).map_err(refused)?;
    match blocking(chain.remove_unneeded(&over)) {
        Err(Setback::TakenOver) => Err(refused(Setback::TakenOver)),
        Err(Setback::Object(error)) => {
            tracing::warn!(%error, "cannot remove the rest of a journal");
            Ok((journal, ledger))
        }
        Ok(()) => Ok((journal, ledger)),
    }
}

/// Brings the tasks of records that are needed here into the queue, with their documents; how many are new.
fn enqueue_missing(
    store: &ObjectStore,
    records: &[Record],
    position: &Position,
    tasks: &Store,
    has_followed: bool,
    payloads: &Path,
) -> Result<usize, ObjectError> {
    let next = tasks.uid_for(None).map_err(of_queue)?;
    // A server that has followed has what the root covers; one that was the writer has every task but those that it was about to
    // store when it ended.
    let is_needed = |uid: u32| if has_followed { !position.covers(uid) } else { uid >= next };
    let all = records.iter().flat_map(|record| &record.tasks);
    let needed: Vec<_> = all.filter(|(task, _)| task.uid.is_some_and(is_needed)).cloned().collect();
    for (task, _) in &needed {
        let Content::Upsert(upsert) = &task.content else { continue };
        let Some(name) = task.content.payload_file() else { continue };
        let path = payloads.join(name);
        if path.metadata().is_ok_and(|metadata| metadata.len() == upsert.payload_bytes) {
            continue;
        }
        let io = |source| ObjectError::Io { path: path.clone(), source };
        let mut file = std::fs::File::create(&path).map_err(io)?;
        let fetched = store.fetch(&payload_key(name), upsert.payload_bytes, &mut file, &path);
        match fetched.and_then(|_| file.sync_all().map_err(io)) {
            Ok(()) => {}
            // Its task fails, and says so; the others go on.
            Err(error @ (ObjectError::Missing(_) | ObjectError::Damaged { .. })) => {
                tracing::error!(%error, task = task.uid, "cannot read the documents of an acknowledged task");
            }
            Err(error) => return Err(error),
        }
    }
    tasks.enqueue_again(&needed).map_err(of_queue)
}

/// Refuses to publish where the newest state in the store, that of `last`, is another one than that of this server, which would
/// be lost. `followed`: the root that it has followed to; `next_task`: the next uid that it gives.
pub(super) fn may_publish(last: &Root, uid: Uuid, followed: Option<u64>, next_task: u32) -> Result<(), ObjectError> {
    if last.number == 0 || followed == Some(last.number) {
        return Ok(());
    }
    if last.holder != uid {
        return Err(ObjectError::TakenOver(
            "another server has published to this store, and this one does not have its newest state. Start this one with \
             `--follow` and `--standby`: it fetches the newest state, and takes over when the other server is gone. Or \
             publish to another prefix",
        ));
    }
    if next_task >= last.next_task {
        return Ok(());
    }
    let text = "what this server has is older than what was published: its folder was put back, or is another one. Start a \
                server on an empty folder with `--follow` and `--standby` to go on from what was published, or publish to \
                another prefix";
    Err(ObjectError::Refused(text.to_owned()))
}
