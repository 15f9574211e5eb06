//! `lamina sync`: indexes that follow tables of PostgreSQL.
//!
//! First the rows of one state of the table ([`snapshot`]), then every change that is committed after it ([`follow`]). Where it is,
//! the index says in its [`mark`], which is committed with the documents and goes when another client writes any. The slot of the
//! database follows the mark, so that changes come again after a crash of any of the three, and are never lost ([decisions
//! 0079](../../../docs/decisions/0079-following-a-table.md), [0099](../../../docs/decisions/0099-a-mark-in-the-index.md)).
//!
//! Uses `lamina-base` and the HTTP client of `lamina-client`; speaks the protocol of PostgreSQL itself (`postgres`), because a
//! library saves too little ([0112](../../../docs/decisions/0112-postgresql-without-postgres-protocol.md)).
//!
//! ```no_run
//! use clap::Parser;
//!
//! #[derive(Parser)]
//! struct Line {
//!     #[command(flatten)]
//!     sync: lamina_sync::SyncArgs,
//! }
//! lamina_sync::run(&Line::parse_from(["sync", "--database", "postgres://shop@localhost/shop", "--table", "films"]).sync);
//! ```

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod batch;
mod catalog;
mod destination;
mod follow;
mod mark;
mod postgres;
mod snapshot;
mod source;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use lamina_base::backoff::DATABASE;
use lamina_base::console;
use lamina_base::plural::counted;
use lamina_base::timestamp::Timestamp;
use lamina_client::client::{ClientError, ServerArgs, run_to_end};
use serde_json::{Value, json};
use thiserror::Error;

use crate::postgres::{Address, Connection, Lsn, PostgresError};
use destination::{Destination, Prepared};
use mark::Mark;
use source::{Slot, Source};

/// Maximum time that a slot may be in use. The database notices a lost connection after a minute.
const IN_USE: Duration = Duration::from_secs(90);
/// An attempt that lasted so long had a connection: the next one waits as after the first.
const LASTED: Duration = Duration::from_secs(10);
/// Maximum number of consecutive automatic reloads of a table.
const RELOADS: u32 = 5;

/// Follow tables of PostgreSQL: load their rows into indexes, then every change as it is committed.
#[derive(Debug, Clone, Args)]
pub struct SyncArgs {
    /// The database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`.
    ///
    /// `?sslmode=verify-full` verifies its certificate. The user must own the table and have the right to replicate.
    #[arg(env = "SVC_SYNC_DATABASE", hide_env_values = true, value_name = "URL")]
    database: String,
    /// A table with a primary key, optionally with its schema: `films`, `shop.films`.
    ///
    /// Several tables: `--table a --index a --table b --index b`.
    #[arg(short, long = "table", value_name = "NAME", required = true)]
    tables: Vec<String>,
    /// The index of each table, in the same order; it is created if absent.
    ///
    /// It holds this table and nothing else.
    #[arg(short, long = "index", value_name = "UID", required = true)]
    indexes: Vec<String>,
    /// Id field of documents from tables whose key has several columns.
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_field: String,
    #[command(flatten)]
    server: ServerArgs,
    /// Name of the replication slot and of the publication of each table.
    ///
    /// By default `lamina_` and the index.
    #[arg(long = "slot", value_name = "NAME")]
    slots: Vec<String>,
    /// Load all tables again from the beginning.
    #[arg(long)]
    again: bool,
    /// Exit when everything committed so far is searchable.
    #[arg(long)]
    once: bool,
    /// Remove slot and publication from the database, and exit.
    ///
    /// While no command follows a slot, the database keeps its log.
    #[arg(long, conflicts_with_all = ["again", "once"])]
    remove: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
    /// Print each event as a line of JSON on standard output, errors as JSON.
    #[arg(long)]
    json: bool,
}

/// A table and the index that follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Followed {
    table: String,
    index: String,
    slot: Option<String>,
    id_field: String,
}

impl SyncArgs {
    fn voice(&self) -> Voice {
        Voice { is_quiet: self.quiet, as_json: self.json }
    }

    /// Returns the pairs of tables and indexes.
    fn followed(&self) -> Result<Vec<Followed>, SyncError> {
        let (tables, indexes, slots) = (self.tables.len(), self.indexes.len(), self.slots.len());
        if tables != indexes || (slots > 0 && slots != tables) {
            return Err(SyncError::Table(format!(
                "there are {}, {} and {}: each --table needs an --index, and all or none a --slot",
                counted(tables, "table"),
                counted(indexes, "index"),
                counted(slots, "slot")
            )));
        }
        let different: BTreeSet<&String> = self.indexes.iter().collect();
        if different.len() < indexes {
            return Err(SyncError::Table("an index holds one table: each --table needs its own --index".to_owned()));
        }
        let pairs = self.tables.iter().zip(&self.indexes).enumerate();
        Ok(pairs
            .map(|(place, (table, index))| Followed {
                table: table.clone(),
                index: index.clone(),
                slot: self.slots.get(place).cloned(),
                id_field: self.id_field.clone(),
            })
            .collect())
    }
}

/// Reason why the sync cannot continue.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum SyncError {
    #[error("the database: {0}")]
    Address(String),
    #[error(transparent)]
    Database(#[from] PostgresError),
    #[error(transparent)]
    Server(#[from] ClientError),
    #[error("{0}")]
    Table(String),
    #[error("{0}")]
    Reload(String),
    #[error("the index was written to meanwhile")]
    Meanwhile,
    #[error(
        "the index `{index}` does not hold what was synced through the slot `{slot}`: {reason}. Load the table again with --again, \
         which removes all other documents, or choose another --index and --slot"
    )]
    Index { index: String, slot: String, reason: &'static str },
    #[error("the slot `{0}` is in use by another connection: stop the other `lamina sync`, or choose another --slot")]
    InUse(String),
    #[error("the primary key of index `{index}` is `{has}`, that of the table `{wants}`: choose another --index")]
    PrimaryKey { index: String, has: String, wants: String },
    #[error("task {uid} {status}: {message}\nNothing was confirmed to the database: fix the cause, and start again")]
    Task { uid: u64, status: String, message: String, code: String },
    #[error("the server no longer knows the outcome of task {0}: start again")]
    LostTask(u64),
}

impl SyncError {
    fn code(&self) -> Option<&str> {
        match self {
            SyncError::Server(error) => error.code(),
            SyncError::Task { code, .. } => Some(code),
            _ => None,
        }
    }
}

/// Messages during the work.
#[derive(Clone, Copy, Debug)]
struct Voice {
    is_quiet: bool,
    as_json: bool,
}

impl Voice {
    /// A sentence on standard error; for programs an event on standard output, with fields of its own beside the sentence.
    fn say(self, event: &str, fields: Value, text: std::fmt::Arguments<'_>) {
        match (self.is_quiet, self.as_json) {
            (true, _) => {}
            (false, false) => console::line(text),
            // It goes on all the same when nothing can be printed: its work is to follow.
            (false, true) => drop(console::print(&format!("{}\n", happened(event, fields, &text.to_string())))),
        }
    }
}

fn happened(event: &str, fields: Value, text: &str) -> Value {
    let mut line = json!({"timestamp": Timestamp::now().to_string(), "event": event});
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
        line.extend(fields);
        line.insert("message".to_owned(), json!(text));
    }
    line
}

/// Follows until it is stopped, or until something fails that does not pass by itself.
pub fn run(args: &SyncArgs) -> ExitCode {
    match run_to_end(follow_all(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::failed("sync", args.json, &error, error.code());
            ExitCode::FAILURE
        }
    }
}

/// Follows all tables at the same time; what fails for one ends all.
async fn follow_all(args: &SyncArgs) -> Result<(), SyncError> {
    let address: Address = args.database.parse().map_err(SyncError::Address)?;
    let followed = args.followed()?;
    if let Some(caution) = address.caution() {
        args.voice().say("caution", json!({}), format_args!("{caution}"));
    }
    let each = followed.iter().map(|followed| follow_patiently(args, &address, followed));
    futures_util::future::try_join_all(each).await.map(drop)
}

async fn follow_patiently(args: &SyncArgs, address: &Address, followed: &Followed) -> Result<(), SyncError> {
    let voice = args.voice();
    let mut progress = Progress { is_known: false, is_prepared: false, is_again: args.again, reloads: 0, in_use: None };
    let mut pauses = DATABASE;
    loop {
        let start = Instant::now();
        let ended = attempt(args, followed, address, voice, &mut progress).await;
        if start.elapsed() > IN_USE {
            progress.reloads = 0;
        }
        if !matches!(&ended, Err(SyncError::Database(error)) if error.is_in_use()) {
            progress.in_use = None;
        }
        match ended {
            Err(SyncError::Reload(reason)) if progress.reloads < RELOADS => {
                let fields = json!({"index": followed.index, "reason": reason});
                voice.say("reloading", fields, format_args!("{reason}: loading the table again"));
                progress.is_again = true;
                progress.reloads += 1;
            }
            // What there is of it now decides.
            Err(SyncError::Meanwhile) => {}
            Err(SyncError::Database(error)) if error.is_in_use() && progress.waited() > IN_USE => {
                return Err(SyncError::InUse(source::slot_of(followed)?));
            }
            // At the beginning the address is wrong most often, or the database was not started.
            Err(SyncError::Database(error)) if error.is_momentary() && progress.is_known => {
                voice.say("retrying", json!({"index": followed.index}), format_args!("{error}; retrying"));
            }
            ended => return ended,
        }
        if start.elapsed() > LASTED {
            pauses = DATABASE;
        }
        tokio::time::sleep(pauses.next_pause()).await;
    }
}

/// State that one attempt leaves to the next.
struct Progress {
    /// True if the database has responded.
    is_known: bool,
    /// True if the server has responded.
    is_prepared: bool,
    /// True if the table must still be loaded again.
    is_again: bool,
    /// Number of automatic reloads so far.
    reloads: u32,
    /// Since when the slot is in use by another connection.
    in_use: Option<Instant>,
}

impl Progress {
    fn waited(&mut self) -> Duration {
        self.in_use.get_or_insert_with(Instant::now).elapsed()
    }
}

/// From a connection to its end.
async fn attempt(
    args: &SyncArgs,
    followed: &Followed,
    address: &Address,
    voice: Voice,
    progress: &mut Progress,
) -> Result<(), SyncError> {
    let mut connection = Connection::open(address, true).await?;
    progress.is_known = true;
    if args.remove {
        let slot = source::remove(&mut connection, followed).await?;
        let fields = json!({"index": followed.index, "slot": slot});
        voice.say("removed", fields, format_args!("removed the slot and the publication {slot}"));
        return Ok(());
    }
    let mut source = Source::open(address, followed, &mut connection).await?;
    let destination = Destination::new(&args.server, &followed.index, &source.id_field, voice, progress.is_prepared)?;
    let prepared = destination.prepare().await?;
    progress.is_prepared = true;
    if progress.is_again || prepared.is_empty {
        source.drop_slot(&mut connection).await?;
        progress.is_again = false;
    }
    let mut mark = match source.slot(&mut connection).await? {
        Some(slot) => begin(&source, prepared, slot, source.present(&mut connection).await?)?,
        None => {
            source.publish(&mut connection).await?;
            caution(&source, voice);
            snapshot::load(&source, &destination, voice).await?
        }
    };
    let until = match args.once {
        true => Some(source.present(&mut connection).await?),
        false => None,
    };
    // After the end is known: what was defined before it is seen.
    let now = source.catalog_now(&mut connection).await?.remembered(&source.id_field);
    if let Some(reason) = mark.table.difference(&now) {
        return Err(SyncError::Reload(reason.to_owned()));
    }
    mark.table = now;
    let slot = source.slot(&mut connection).await?;
    let slot = slot.ok_or_else(|| SyncError::Reload("the slot was dropped".to_owned()))?;
    drop(connection);
    follow::follow(source, &destination, voice, (mark, slot), until).await
}

/// The mark from which changes are followed.
///
/// # Errors
/// The index does not hold the table as it was at this place.
fn begin(source: &Source, prepared: Prepared, slot: Slot, present: Lsn) -> Result<Mark, SyncError> {
    let refused = |reason| {
        let (index, slot) = (prepared.index.clone(), source.origin.slot.clone());
        Err(SyncError::Index { index, slot, reason })
    };
    let Some(mark) = prepared.mark else {
        return refused("documents were written by others, or it was replaced");
    };
    let Some(position) = mark.position else { return refused("it was not loaded to its end") };
    if mark.origin != source.origin {
        return refused("it follows another table, database or slot");
    }
    if position < slot.confirmed {
        return refused("it is in an earlier state, restored or copied");
    }
    if position > present {
        return Err(SyncError::Reload("the database was restored to an earlier state".to_owned()));
    }
    Ok(mark)
}

/// Warns about rows of the table that are not in the index.
fn caution(source: &Source, voice: Voice) {
    let heirs = source.catalog.heirs;
    if heirs > 0 {
        let table = source.catalog.qualified();
        voice.say(
            "caution",
            json!({"table": table, "inheriting": heirs}),
            format_args!(
                "rows of {}, which {table} is the parent of, are not in the index: only its own are. Name each with a --table",
                counted(heirs, "table")
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: SyncArgs,
    }

    #[test]
    fn each_table_has_an_index_of_its_own() {
        let read = |more: &[&str]| {
            let line = Line::parse_from([&["sync", "postgres://a@b/c"][..], more].concat());
            line.args.followed().map_err(|error| error.to_string())
        };
        let two = read(&["--table", "a", "--index", "x", "--table", "s.b", "--index", "y"]).unwrap();
        let shown: Vec<(&str, &str)> = two.iter().map(|one| (one.table.as_str(), one.index.as_str())).collect();
        assert_eq!(shown, [("a", "x"), ("s.b", "y")]);
        assert!(two.iter().all(|one| one.slot.is_none()));
        assert!(two.iter().all(|one| one.id_field == "id"));
        for (wrong, says) in [
            (&["--table", "a", "--index", "x", "--table", "b"][..], "2 tables, 1 index and"),
            (&["--table", "a", "--index", "x", "--table", "b", "--index", "x"], "its own --index"),
            (&["--table", "a", "--index", "x", "--table", "b", "--index", "y", "--slot", "s"], "1 slot:"),
        ] {
            let said = read(wrong).unwrap_err();
            assert!(said.contains(says), "{said}");
        }
    }
}
