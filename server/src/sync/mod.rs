//! `lamina sync`: indexes that follow tables of PostgreSQL.
//!
//! First the rows of one state of the table ([`snapshot`]), then every change that is committed after it ([`follow`]). Where it is,
//! only the database knows, in a replication slot: it moves on when the tasks of a change have ended, so that a change is carried
//! out again after a crash of any of the three, and never lost ([decision
//! 0079](../../../docs/decisions/0079-following-a-table.md)).

mod batch;
mod destination;
mod follow;
mod snapshot;
mod source;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use thiserror::Error;

use crate::client::{ClientError, ServerArgs, run_to_end};
use crate::console;
use crate::counted::counted;
use crate::postgres::{Address, PostgresError};
use crate::timestamp::Timestamp;
use destination::Destination;
use source::Source;

const BACKOFF_FIRST: Duration = Duration::from_millis(200);
const BACKOFF_MAX: Duration = Duration::from_secs(10);

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
    /// Load the whole tables again, whatever was synced so far.
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

    /// What follows what.
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

/// Why it cannot go on.
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

/// What it says while it works.
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
    let mut progress = Progress { is_known: false, is_again: args.again };
    let mut backoff = BACKOFF_FIRST;
    loop {
        let start = Instant::now();
        match attempt(args, followed, address, voice, &mut progress).await {
            // At the beginning the address is wrong most often, or the database was not started.
            Err(SyncError::Database(error)) if error.is_momentary() && progress.is_known => {
                voice.say("retrying", json!({"index": followed.index}), format_args!("{error}; retrying"));
            }
            ended => return ended,
        }
        backoff = if start.elapsed() > BACKOFF_MAX { BACKOFF_FIRST } else { (backoff * 2).min(BACKOFF_MAX) };
        tokio::time::sleep(backoff).await;
    }
}

/// What one attempt leaves to the next.
struct Progress {
    /// Whether the database has answered.
    is_known: bool,
    /// Whether the table is still to be loaded again.
    is_again: bool,
}

/// From a connection to its end.
async fn attempt(
    args: &SyncArgs,
    followed: &Followed,
    address: &Address,
    voice: Voice,
    progress: &mut Progress,
) -> Result<(), SyncError> {
    let (source, mut connection) = Source::open(address, followed).await?;
    progress.is_known = true;
    if args.remove {
        source.remove(&mut connection).await?;
        let fields = json!({"index": followed.index, "slot": source.slot});
        voice.say("removed", fields, format_args!("removed the slot and the publication {}", source.slot));
        return Ok(());
    }
    let destination = Destination::new(&args.server, &followed.index, &source.id_field, voice)?;
    destination.prepare().await?;
    if progress.is_again {
        source.drop_slot(&mut connection).await?;
        progress.is_again = false;
    }
    if !source.has_slot(&mut connection).await? {
        source.publish(&mut connection).await?;
        snapshot::load(&source, &destination, voice).await?;
    }
    let until = match args.once {
        true => Some(source.present(&mut connection).await?),
        false => None,
    };
    drop(connection);
    follow::follow(source, &destination, voice, until).await
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
        assert!(two.iter().all(|one| one.slot.is_none() && one.id_field == "id"));
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
