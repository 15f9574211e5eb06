//! `lamina store`: what the store of replicas holds, whether it is sound, and removing what is not needed.

use std::fmt::Write;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use lamina_base::console;
use lamina_base::options::{ObjectStorageOptions, StoreAddress, human_size};
use lamina_base::outbound::{IpPolicy, Outbound, OutboundError};
use lamina_base::plural::{counted, noun_for};
use lamina_replication::{Inventory, ObjectError};
use serde_json::json;
use thiserror::Error;

/// Action on a store.
#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the newest state: its publisher, its indexes and their sizes.
    Ls(Place),
    /// Read every object of the newest state, and compare it with its length and its checksum.
    Verify(Place),
    /// Print, or remove with --apply, objects that the newest state does not use, and files of uploads that were interrupted more than
    /// a day ago.
    Gc {
        /// Remove them. Use this only while no server publishes to the store, because it would stop publishing. A
        /// publishing server removes them by itself, after an hour.
        #[arg(long)]
        apply: bool,
        #[command(flatten)]
        place: Place,
    },
}

/// Store, and output format of the findings.
#[derive(Debug, Args)]
struct Place {
    /// As in `--publish`: `s3://BUCKET/PREFIX`, or `file:///FOLDER`.
    #[arg(value_name = "STORE")]
    store: StoreAddress,
    /// Print results and errors as JSON, for programs.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    bucket: ObjectStorageOptions,
}

#[derive(Debug, Error)]
enum StoreError {
    #[error("nothing has been published to this store: check its address, which is that of `--publish` of a server")]
    Empty,
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Does it; fails when something is damaged, or there is nothing.
pub fn run(args: &StoreArgs) -> ExitCode {
    let (place, done) = match &args.action {
        Action::Ls(place) => (place, list(place)),
        Action::Verify(place) => (place, verify(place)),
        Action::Gc { place, apply } => (place, collect(place, *apply)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            console::failed("store", place.json, &error, None);
            ExitCode::FAILURE
        }
    }
}

/// Calls `look` with what the store holds.
fn with<T>(place: &Place, look: impl FnOnce(Inventory) -> Result<T, StoreError>) -> Result<T, StoreError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let _guard = runtime.enter();
    // The address is the operator's own.
    let outbound = Outbound::new(IpPolicy::Any)?;
    look(Inventory::take(&place.store, &place.bucket, &outbound)?.ok_or(StoreError::Empty)?)
}

fn list(place: &Place) -> Result<bool, StoreError> {
    with(place, |inventory| {
        let found = inventory.show();
        if place.json {
            return Ok(console::print(&format!("{found:#}\n"))?);
        }
        let mut out = String::new();
        let writer = found["writer"].as_str().unwrap_or("no address given");
        // Writing into a text does not fail.
        let _ = writeln!(out, "root {} of epoch {}, written by {writer}", found["root"], found["epoch"]);
        for index in found["indexes"].as_array().into_iter().flatten() {
            let (uid, bytes) = (index["uid"].as_str().unwrap_or_default(), index["bytes"].as_u64().unwrap_or(0));
            let (generation, size) = (&index["generation"], human_size(bytes));
            let files = index["files"].as_u64().unwrap_or(0);
            let _ = writeln!(
                out,
                "{uid:<24} generation {generation:>8} {files:>5} {:<5} {size:>12}",
                noun_for(files, "file")
            );
        }
        if let Some(journal) = found["journal"].as_object() {
            let count = |name: &str, noun| counted(journal[name].as_u64().unwrap_or(0), noun);
            let (tasks, records) = (count("waitingTasks", "acknowledged task"), count("waitingRecords", "record"));
            let _ = writeln!(out, "journal: {tasks} in {records} not published yet");
            let damaged = journal["damaged"].as_u64().unwrap_or(0);
            if damaged > 0 {
                let _ = writeln!(out, "journal: {} DAMAGED", counted(damaged, "record"));
            }
        }
        let objects = counted(found["objects"].as_u64().unwrap_or(0), "object");
        let _ = writeln!(out, "{objects}, {} of them not named by this root", found["unnamed"]);
        let unfinished = |what: &str| found["unfinished"][what].as_u64().unwrap_or(0);
        if unfinished("files") > 0 {
            let (files, size) = (counted(unfinished("files"), "unfinished file"), human_size(unfinished("bytes")));
            let old = unfinished("old");
            let _ = writeln!(out, "{files} (unfinished-…, {size}), {old} of them left for more than a day");
        }
        Ok(console::print(&out)?)
    })?;
    Ok(true)
}

fn verify(place: &Place) -> Result<bool, StoreError> {
    with(place, |inventory| {
        let mut damaged = Vec::new();
        inventory.verify(|damage| damaged.push(damage))?;
        let count = inventory.named_count();
        let text = if place.json {
            let shown = damaged.iter().map(|damage| json!({"key": damage.key, "message": damage.reason}));
            let found = json!({"sound": damaged.is_empty(), "objects": count, "damaged": shown.collect::<Vec<_>>()});
            format!("{found:#}\n")
        } else {
            let mut out = String::new();
            for damage in &damaged {
                let _ = writeln!(out, "DAMAGED: {}: {}", damage.key, damage.reason);
            }
            let compared = counted(count, "object");
            let _ = writeln!(out, "{compared} compared by checksum, {} damaged", damaged.len());
            out
        };
        console::print(&text)?;
        Ok(damaged.is_empty())
    })
}

fn collect(place: &Place, apply: bool) -> Result<bool, StoreError> {
    with(place, |inventory| {
        let unnamed: Vec<String> = inventory.unnamed().into_iter().cloned().collect();
        let unfinished: Vec<String> = inventory.unfinished().map(str::to_owned).collect();
        let removed = if apply { Some(inventory.remove_unnamed()?) } else { None };
        let text = match (place.json, removed) {
            (true, removed) => format!(
                "{:#}\n",
                json!({"unnamed": unnamed, "unfinished": unfinished, "removed": removed.unwrap_or(0)})
            ),
            (false, Some(removed)) => format!("{} removed\n", counted(removed, "object")),
            (false, None) => {
                let mut out: String = unnamed.iter().chain(&unfinished).map(|key| format!("{key}\n")).collect();
                let objects = counted(unnamed.len(), "unnamed object");
                let files = counted(unfinished.len(), "unfinished file");
                let _ = writeln!(out, "{objects}, {files} of more than a day; --apply removes them");
                out
            }
        };
        console::print(&text)?;
        Ok(true)
    })
}
