//! Which replicas there are: each says so in the store ([decision 0083](../../../docs/decisions/0083-which-replicas-there-are.md)).
//!
//! ```text
//! replica/<uid of the database>   replaced by that replica, removed when it stops
//! ```
//!
//! Nothing rests on these objects. A replica that may not write to the store follows all the same, and is not listed.

use std::time::{Duration, Instant};

use lamina_base::options::Options;
use lamina_base::outbound::{Outbound, followable};
use lamina_base::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Replication;
use super::store::{ObjectError, ObjectStore};

const FOLDER: &str = "replica/";
/// Between two signs of a replica.
const INTERVAL: Duration = Duration::from_secs(10);
/// After a sign that the store did not take.
const INTERVAL_REFUSED: Duration = Duration::from_secs(600);
/// A call takes at most so long: what follows waits for it.
const CALL_MAX: Duration = Duration::from_secs(5);
/// A replica that was silent for so long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// More replicas are not listed.
const LISTED_MAX: usize = 1000;

/// Report of a replica about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sign {
    /// Uid of its database.
    pub uid: Uuid,
    /// `--public-url`, if it has one.
    pub url: Option<String>,
    /// Version of the program.
    pub version: String,
    /// True if the replica may become the writer.
    pub is_standby: bool,
    /// The last batch that it has.
    pub generation: Option<u32>,
    /// Time since the replica was level with the store; `None`: never yet.
    pub lag_ms: Option<u64>,
    /// Reason why the replica does not follow.
    pub failure: Option<String>,
    /// Time of the report, by the clock of the replica.
    pub seen_at: Timestamp,
}

fn key(uid: Uuid) -> String {
    format!("{FOLDER}{uid}")
}

/// A replica's own line.
#[derive(Debug)]
pub(super) struct Signing {
    store: ObjectStore,
    uid: Uuid,
    url: Option<String>,
    is_standby: bool,
    /// `None` before the first.
    due: Option<Instant>,
    is_refused: bool,
    /// True if the last report had a generation. The first one that has is not late.
    had_any: bool,
}

impl Signing {
    pub(super) fn new(store: &ObjectStore, options: &Options, uid: Uuid) -> Signing {
        let options = &options.replication;
        let (url, is_standby) = (options.public_url.clone(), options.standby);
        let store = store.within(CALL_MAX).uncounted();
        Signing { store, uid, url, is_standby, due: None, is_refused: false, had_any: false }
    }

    /// Says how far the replica is, if it is time to.
    pub(super) fn sign(&mut self, replication: &Replication) {
        let now = Instant::now();
        let has_any = replication.generation().is_some();
        if self.due.is_some_and(|due| now < due) && (self.is_refused || has_any == self.had_any) {
            return;
        }
        self.had_any = has_any;
        let sign = Sign {
            uid: self.uid,
            url: self.url.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            is_standby: self.is_standby,
            generation: replication.generation(),
            lag_ms: replication.lag().map(|lag| u64::try_from(lag.as_millis()).unwrap_or(u64::MAX)),
            failure: replication.failure(),
            seen_at: Timestamp::now(),
        };
        let text = serde_json::to_vec(&sign).expect("texts and numbers are JSON");
        match self.store.put(&key(self.uid), &text) {
            Ok(()) => {
                if self.due.is_none() {
                    // It may not be allowed to: another one does it then.
                    let _ = forget_silent(&self.store);
                }
                self.due = Some(now + INTERVAL);
                self.is_refused = false;
            }
            // Nothing was published: there may be no store yet.
            Err(_) if !has_any => {}
            Err(error) => {
                if !std::mem::replace(&mut self.is_refused, true) {
                    tracing::info!(%error, "this replica is not in the list of replicas: cannot write its entry to the store");
                }
                self.due = Some(now + INTERVAL_REFUSED);
            }
        }
    }

    /// Removes the sign: the server is no replica any more.
    pub(super) fn leave(&self) {
        if self.due.is_some() && !self.is_refused {
            // Nothing rests on it: it is forgotten in a day.
            let _ = self.store.remove(&key(self.uid));
        }
    }
}

fn forget_silent(store: &ObjectStore) -> Result<(), ObjectError> {
    let long_ago =
        Timestamp::now().nanos().saturating_sub(i64::try_from(FORGOTTEN_AFTER.as_nanos()).unwrap_or(i64::MAX));
    signs(store)?
        .into_iter()
        .filter(|sign| sign.seen_at.nanos() < long_ago)
        .try_for_each(|sign| store.remove(&key(sign.uid)))
}

/// Reads the reports of the replicas in a store, by uid. Unreadable entries are left out.
fn signs(store: &ObjectStore) -> Result<Vec<Sign>, ObjectError> {
    let (mut signs, mut last) = (Vec::new(), FOLDER.to_owned());
    while signs.len() < LISTED_MAX {
        let keys = store.list(FOLDER, &last)?;
        let Some(end) = keys.last() else { break };
        last.clone_from(end);
        for key in keys.iter().take(LISTED_MAX - signs.len()) {
            match store.read(key) {
                Ok(text) => {
                    let sign = serde_json::from_slice::<Sign>(&text);
                    signs.extend(sign.map(|sign| Sign { url: followable(sign.url), ..sign }));
                }
                Err(ObjectError::Missing(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(signs)
}

/// The replicas in the store of this server; `None` for a server that neither publishes nor follows. Blocks.
///
/// # Errors
/// What the store says.
pub fn replicas(
    options: &Options,
    outbound: &Outbound,
    replication: &Replication,
) -> Result<Option<Vec<Sign>>, ObjectError> {
    let of = &options.replication;
    let Some(address) = of.publish.as_ref().or(of.follow.as_ref()) else { return Ok(None) };
    let store = ObjectStore::open(address, &options.object_storage, outbound, replication.traffic())?;
    signs(&store.within(CALL_MAX)).map(Some)
}
