//! Changes, as they are committed.

use std::time::{Duration, Instant};

use serde_json::json;

use super::batch::{Batch, Shape};
use super::destination::Destination;
use super::source::Source;
use super::{SyncError, Voice};
use crate::counted::counted;
use crate::postgres::{Cell, Change, Column, Connection, Event, Lsn, PostgresError, Relation, Replication, Tuple};

/// Changes that are sent together, at most, and their bytes.
const BATCH_LEN: usize = 10_000;
const BATCH_BYTES: usize = 8 << 20;
/// How long a change waits for others, and for how long no other need come.
const GATHER: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_millis(5);
/// How often the database hears of this side, which it takes for gone after a minute.
const ALIVE: Duration = Duration::from_secs(5);
/// The same for one who waits for the end.
const SOON: Duration = Duration::from_millis(50);

/// Follows the table until the connection ends, or up to a place.
pub(super) async fn follow(
    source: Source,
    destination: &Destination,
    voice: Voice,
    until: Option<Lsn>,
) -> Result<(), SyncError> {
    let connection = Connection::open(&source.address, true).await?;
    let replication = Replication::begin(connection, &source.slot, &source.slot).await?;
    let shape = shape(&source)?;
    if until.is_none() {
        let fields = json!({"index": destination.index, "table": source.qualified()});
        voice.say("following", fields, format_args!("following {}", source.qualified()));
    }
    let mut follower = Follower {
        source,
        destination,
        voice,
        replication,
        shape,
        batch: Batch::default(),
        gathering: None,
        done: Lsn::default(),
        committed: Lsn::default(),
        in_transaction: false,
    };
    follower.run(until).await
}

fn shape(source: &Source) -> Result<Shape, SyncError> {
    source.shape().ok_or_else(|| {
        let reason = format!(
            "a key column ({}) no longer exists: delete the index, and load with --again",
            source.key.join(", ")
        );
        SyncError::Table(reason)
    })
}

struct Follower<'d> {
    source: Source,
    destination: &'d Destination,
    voice: Voice,
    replication: Replication,
    shape: Shape,
    batch: Batch,
    /// Since when changes wait.
    gathering: Option<Instant>,
    /// Everything before can be found.
    done: Lsn,
    /// The end of the last transaction that has come.
    committed: Lsn,
    in_transaction: bool,
}

impl Follower<'_> {
    async fn run(&mut self, until: Option<Lsn>) -> Result<(), SyncError> {
        let idle = if until.is_some() { SOON } else { ALIVE };
        loop {
            let patience = if self.batch.is_empty() { idle } else { PAUSE };
            match tokio::time::timeout(patience, self.replication.next()).await {
                Ok(event) => self.take(event?).await?,
                Err(_) if self.batch.is_empty() => self.replication.confirm(self.done, true).await?,
                Err(_) => self.flush().await?,
            }
            let is_late = self.gathering.is_some_and(|since| since.elapsed() > GATHER);
            let is_large = self.batch.len() >= BATCH_LEN || self.batch.bytes() >= BATCH_BYTES;
            if is_large || is_late && !self.in_transaction {
                self.flush().await?;
            }
            if until.is_some_and(|until| self.done >= until) {
                return Ok(self.replication.confirm(self.done, false).await?);
            }
        }
    }

    async fn take(&mut self, event: Event) -> Result<(), SyncError> {
        let body = match event {
            Event::Change(body) => body,
            Event::Alive { end, asks } => {
                // Nothing of what was read is still to be done.
                if self.batch.is_empty() && !self.in_transaction {
                    self.done = self.done.max(end);
                }
                return if asks { Ok(self.replication.confirm(self.done, false).await?) } else { Ok(()) };
            }
        };
        match Change::read(&body)? {
            Change::Begin => self.in_transaction = true,
            Change::Commit { end } => {
                self.in_transaction = false;
                self.committed = end;
                if self.batch.is_empty() {
                    self.done = end;
                }
            }
            Change::Relation(relation) if relation.id == self.source.table => self.reshape(relation).await?,
            Change::Insert { relation, new } if relation == self.source.table => self.put(None, new).await?,
            Change::Update { relation, old, new } if relation == self.source.table => self.put(old, new).await?,
            Change::Delete { relation, old } if relation == self.source.table => {
                let key = self.key(&old)?;
                self.batch.remove(key);
            }
            Change::Truncate { relations } if relations.contains(&self.source.table) => {
                self.flush().await?;
                let work = self.destination.clear();
                alive(&mut self.replication, self.done, work).await?;
            }
            _ => {}
        }
        if !self.batch.is_empty() {
            self.gathering.get_or_insert_with(Instant::now);
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

    /// The columns of the table, which come before its first change, and when they have changed.
    async fn reshape(&mut self, relation: Relation) -> Result<(), SyncError> {
        if relation.columns == self.source.columns {
            return Ok(());
        }
        self.flush().await?;
        let report = difference(&self.source.columns, &relation.columns);
        self.source.columns = relation.columns;
        self.source.read_types().await?;
        self.shape = shape(&self.source)?;
        let table = self.source.qualified();
        self.voice.say(
            "columnsChanged",
            json!({"index": self.destination.index, "table": table, "changes": report}),
            format_args!(
                "the columns of {table} changed: {report}. Documents follow when their rows change; --again loads all of them"
            ),
        );
        Ok(())
    }

    /// Carries out what has come, and then says so.
    async fn flush(&mut self) -> Result<(), SyncError> {
        self.gathering = None;
        if !self.batch.is_empty() {
            let bodies = std::mem::take(&mut self.batch).bodies(&self.shape);
            alive(&mut self.replication, self.done, self.destination.apply(bodies)).await?;
        }
        // Of a transaction that has not come whole, nothing is said.
        self.done = self.done.max(self.committed);
        Ok(self.replication.confirm(self.done, false).await?)
    }
}

/// Does something that may take long, while the database hears of this side.
async fn alive<T>(
    replication: &mut Replication,
    done: Lsn,
    work: impl Future<Output = Result<T, SyncError>>,
) -> Result<T, SyncError> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            result = &mut work => return result,
            () = tokio::time::sleep(ALIVE) => replication.confirm(done, false).await?,
        }
    }
}

/// Columns that came, that went, and whose type is another.
fn difference(before: &[Column], now: &[Column]) -> String {
    let find = |columns: &[Column], name: &str| columns.iter().find(|column| column.name == name).cloned();
    let came =
        now.iter().filter(|column| find(before, &column.name).is_none()).map(|column| format!("+ {}", column.name));
    let went =
        before.iter().filter(|column| find(now, &column.name).is_none()).map(|column| format!("- {}", column.name));
    let other = now.iter().filter(|column| find(before, &column.name).is_some_and(|before| before.kind != column.kind));
    let all: Vec<String> =
        came.chain(went).chain(other.map(|column| format!("another type of {}", column.name))).collect();
    if all.is_empty() { "their order".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_columns_are_said() {
        let columns = |all: &[(&str, u32)]| -> Vec<Column> {
            all.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind }).collect()
        };
        let before = columns(&[("id", 23), ("title", 25), ("year", 23)]);
        let now = columns(&[("id", 20), ("title", 25), ("rating", 701)]);
        assert_eq!(difference(&before, &now), "+ rating, - year, another type of id");
        assert_eq!(difference(&before, &columns(&[("title", 25), ("id", 23), ("year", 23)])), "their order");
    }
}
