//! Changes, as they are committed.

use std::time::{Duration, Instant};

use lamina_base::plural::counted;
use serde_json::json;

use super::batch::{Batch, Shape};
use super::destination::Destination;
use super::mark::Mark;
use super::source::{Slot, Source};
use super::{SyncError, Voice};
use crate::postgres::{Cell, Change, Connection, Event, Lsn, PostgresError, Replication, Tuple};

/// Changes that are sent together, at most, and their bytes.
const BATCH_LEN: usize = 10_000;
const BATCH_BYTES: usize = 8 << 20;
/// Maximum time that a change waits for others, and the maximum pause between them.
const GATHER: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_millis(5);
/// Interval of keep-alives to the database, which drops this side after a minute, and of checks of table and index.
const ALIVE: Duration = Duration::from_secs(5);
/// The same for one who waits for the end.
const SOON: Duration = Duration::from_millis(50);
/// The log of other tables that is kept until the index gets a mark behind it, and how often that may be.
const UNMARKED_BYTES: u64 = 16 << 20;
const UNMARKED_TIME: Duration = Duration::from_secs(10);

/// Follows the table until the connection ends, or up to a place.
pub(super) async fn follow(
    source: Source,
    destination: &Destination,
    voice: Voice,
    (mark, slot): (Mark, Slot),
    until: Option<Lsn>,
) -> Result<(), SyncError> {
    let connection = Connection::open(&source.address, true).await?;
    let replication = Replication::begin(connection, &source.origin.slot, &source.origin.slot).await?;
    let shape = source.shape()?;
    if until.is_none() {
        let table = source.catalog.qualified();
        let fields = json!({"index": destination.index, "table": table});
        voice.say("following", fields, format_args!("following {table}"));
    }
    let mut follower = Follower {
        expected: (mark.commit > slot.confirmed).then_some((mark.commit, mark.at)),
        known: mark.position.unwrap_or_default(),
        done: slot.confirmed,
        committed: mark.clone(),
        source,
        destination,
        catalog: None,
        replication,
        shape,
        mark,
        batch: Batch::default(),
        gathering: None,
        skips: false,
        changes: false,
        in_transaction: false,
        looked: Instant::now(),
        marked: Instant::now(),
    };
    follower.run(until).await
}

struct Follower<'d> {
    source: Source,
    destination: &'d Destination,
    /// A connection that reads the catalog.
    catalog: Option<Connection>,
    replication: Replication,
    shape: Shape,
    /// Mark of the index.
    mark: Mark,
    /// Mark of the index when everything is sent up to the end of the last transaction that has come.
    committed: Mark,
    batch: Batch,
    /// Since when changes wait.
    gathering: Option<Instant>,
    /// Everything before can be found.
    done: Lsn,
    /// Transactions that end before are in the index already.
    known: Lsn,
    /// A transaction that has to come again, because it was not confirmed: the log is another one without it.
    expected: Option<(Lsn, u64)>,
    in_transaction: bool,
    /// True if the current transaction is already known; `changes`: true if it changes the table.
    skips: bool,
    changes: bool,
    looked: Instant,
    marked: Instant,
}

impl Follower<'_> {
    async fn run(&mut self, until: Option<Lsn>) -> Result<(), SyncError> {
        let idle = if until.is_some() { SOON } else { ALIVE };
        loop {
            let patience = if self.gathering.is_none() { idle } else { PAUSE };
            match tokio::time::timeout(patience, self.replication.next()).await {
                Ok(event) => self.take(event?).await?,
                Err(_) if self.gathering.is_none() => self.confirm(true).await?,
                Err(_) => self.flush().await?,
            }
            let is_late = self.gathering.is_some_and(|since| since.elapsed() > GATHER);
            let is_large = self.batch.len() >= BATCH_LEN || self.batch.bytes() >= BATCH_BYTES;
            if is_large || is_late && !self.in_transaction {
                self.flush().await?;
            }
            if until.is_some_and(|until| self.done >= until) {
                self.advance(true).await?;
                self.destination.check().await?;
                return self.confirm(false).await;
            }
            if self.looked.elapsed() >= ALIVE {
                self.look().await?;
            }
        }
    }

    /// Looks whether table and index are still those that were loaded.
    async fn look(&mut self) -> Result<(), SyncError> {
        self.advance(false).await?;
        let mut connection = match self.catalog.take() {
            Some(connection) => connection,
            None => Connection::open(&self.source.address, false).await?,
        };
        let now = self.source.catalog_now(&mut connection).await?;
        let now = now.remembered(&self.source.id_field);
        if let Some(reason) = self.mark.table.difference(&now) {
            return Err(SyncError::Reload(reason.to_owned()));
        }
        // Other files were those of rows that are sent, another default is no matter.
        self.committed.table = now.clone();
        self.mark.table = now;
        self.catalog = Some(connection);
        self.destination.check().await?;
        self.looked = Instant::now();
        Ok(())
    }

    /// Leaves a mark behind the log of other tables, so that the database need not keep it.
    async fn advance(&mut self, is_end: bool) -> Result<(), SyncError> {
        let position = self.mark.position.unwrap_or_default();
        let is_long = self.done.0.saturating_sub(position.0) >= UNMARKED_BYTES;
        if is_long && self.batch.is_empty() && !self.in_transaction && (is_end || self.marked.elapsed() > UNMARKED_TIME)
        {
            let after = Mark { position: Some(self.done), ..self.committed.clone() };
            self.destination.note(&after, false).await?;
            self.marked(after);
        }
        Ok(())
    }

    fn marked(&mut self, mark: Mark) {
        self.committed = mark.clone();
        self.mark = mark;
        self.marked = Instant::now();
    }

    /// Confirms to the database what it need not keep: nothing behind the mark of the index.
    async fn confirm(&mut self, asks: bool) -> Result<(), SyncError> {
        Ok(self.replication.confirm(self.confirmed(), asks).await?)
    }

    fn confirmed(&self) -> Lsn {
        self.done.min(self.mark.position.unwrap_or_default())
    }

    async fn take(&mut self, event: Event) -> Result<(), SyncError> {
        let body = match event {
            Event::Change(body) => body,
            Event::Alive { end, asks } => {
                // Nothing of what was read is still to be done.
                if self.gathering.is_none() && !self.in_transaction {
                    if self.expected.is_some_and(|(commit, _)| end > commit) {
                        return Err(other_history());
                    }
                    self.done = self.done.max(end);
                }
                return if asks { self.confirm(false).await } else { Ok(()) };
            }
        };
        let table = self.source.catalog.oid;
        match Change::read(&body)? {
            Change::Begin { commit } => {
                self.in_transaction = true;
                self.changes = false;
                self.skips = commit < self.known;
            }
            Change::Commit { end, at } => self.end(end, at)?,
            Change::Relation(relation) if relation.id == table && !self.source.describes(&relation) => {
                return Err(SyncError::Reload("the columns of the table or of its key changed".to_owned()));
            }
            Change::Insert { relation, new } if relation == table => self.put(None, new).await?,
            Change::Update { relation, old, new } if relation == table => self.put(old, new).await?,
            Change::Delete { relation, old } if relation == table => {
                let key = self.key(&old)?;
                self.changes = true;
                if !self.skips {
                    self.batch.remove(key);
                }
            }
            Change::Truncate { relations } if relations.contains(&table) => self.clear().await?,
            _ => {}
        }
        let is_ahead = self.committed.position > self.mark.position;
        if !self.batch.is_empty() || is_ahead && !self.in_transaction {
            self.gathering.get_or_insert_with(Instant::now);
        }
        Ok(())
    }

    /// The end of a transaction.
    fn end(&mut self, end: Lsn, at: u64) -> Result<(), SyncError> {
        self.in_transaction = false;
        match self.expected {
            Some((commit, then)) if commit == end && then == at => self.expected = None,
            Some((commit, _)) if commit <= end => return Err(other_history()),
            _ => {}
        }
        if self.changes && !self.skips {
            self.committed = Mark { position: Some(end), commit: end, at, ..self.committed.clone() };
        }
        if self.batch.is_empty() && self.committed.position == self.mark.position {
            self.done = self.done.max(end);
        }
        Ok(())
    }

    async fn clear(&mut self) -> Result<(), SyncError> {
        self.changes = true;
        if !self.skips {
            self.flush().await?;
            let (work, confirmed) = (self.destination.clear(&self.mark), self.confirmed());
            alive(&mut self.replication, confirmed, work).await?;
        }
        Ok(())
    }

    fn key(&self, row: &Tuple) -> Result<String, SyncError> {
        let missing = || PostgresError::Unexpected("a row without its key".to_owned());
        match self.shape.fits(row.len()) {
            true => Ok(self.shape.key(row).ok_or_else(missing)?),
            false => Err(PostgresError::Unexpected(format!("a row of {}", counted(row.len(), "column"))).into()),
        }
    }

    async fn put(&mut self, old: Option<Tuple>, mut new: Tuple) -> Result<(), SyncError> {
        let key = self.key(&new)?;
        self.changes = true;
        if self.skips {
            return Ok(());
        }
        if let Some(old) = old {
            let before = self.key(&old)?;
            // A table that sends whole rows says what did not change.
            for (new, old) in new.iter_mut().zip(&old) {
                if *new == Cell::Unchanged && matches!(old, Cell::Text(_)) {
                    new.clone_from(old);
                }
            }
            if before != key {
                self.batch.remove(before);
                if new.contains(&Cell::Unchanged) {
                    return self.put_present(key, &new).await;
                }
            }
        }
        self.batch.put(&self.shape, key, &new);
        Ok(())
    }

    /// A row whose key changed, and not all of it was sent: as it is now, which what comes leads to anyway.
    async fn put_present(&mut self, key: String, new: &Tuple) -> Result<(), SyncError> {
        let row = self.source.row(&self.shape.key_texts(new).unwrap_or_default()).await?;
        let Some(row) = row.filter(|row| self.shape.fits(row.len())) else { return Ok(()) };
        let row: Tuple = row.into_iter().map(|value| value.map_or(Cell::Null, Cell::Text)).collect();
        self.batch.put(&self.shape, key, &row);
        Ok(())
    }

    /// Carries out what has come, and then says so.
    async fn flush(&mut self) -> Result<(), SyncError> {
        self.gathering = None;
        // Of a transaction that has not come whole, nothing is said.
        let after = self.committed.clone();
        if !self.batch.is_empty() {
            let bodies = std::mem::take(&mut self.batch).bodies(&self.shape);
            let (work, confirmed) = (self.destination.apply(bodies, &self.mark, &after), self.confirmed());
            alive(&mut self.replication, confirmed, work).await?;
            self.marked(after);
        } else if after.position > self.mark.position {
            // Its changes were sent in parts, or took each other back.
            self.destination.note(&after, false).await?;
            self.marked(after);
        }
        self.done = self.done.max(self.mark.position.unwrap_or_default());
        self.confirm(false).await
    }
}

fn other_history() -> SyncError {
    SyncError::Reload("the database was restored to an earlier state".to_owned())
}

/// Does something that may take long, while the database hears of this side.
async fn alive<T>(
    replication: &mut Replication,
    confirmed: Lsn,
    work: impl Future<Output = Result<T, SyncError>>,
) -> Result<T, SyncError> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            result = &mut work => return result,
            () = tokio::time::sleep(ALIVE) => replication.confirm(confirmed, false).await?,
        }
    }
}
