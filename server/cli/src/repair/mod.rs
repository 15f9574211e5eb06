//! `lamina repair`: makes indexes whole again of what can be read of them, in a folder that no server uses. Of the task queue it
//! says how it is: a start of the server puts that right.

mod as_json;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use lamina_base::console;
use lamina_base::plural::counted;
use lamina_base::stored_names::FolderName;
use lamina_base::timestamp::stamp;
use lamina_data::instance::{Instance, QUARANTINE};
use lamina_engine::index::IndexError;
use lamina_engine::index::repair::{LostVectors, ManifestFound, RepairOptions, RepairReport, SegmentRepair, repair};
use rustix::fs::Mode;
use thiserror::Error;
use time::OffsetDateTime;

use crate::verify::{self, DatabaseArgs, OpenError};

/// Heap for a segment that is written anew; what does not fit becomes another one.
const MEMORY_BYTES: usize = 512 << 20;

/// Options of a repair.
#[derive(Debug, Args)]
pub struct RepairArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Repair only this index.
    #[arg(long, value_name = "UID")]
    index: Option<String>,
    /// Report what `--apply` would do, and change nothing. This is the default.
    #[arg(long, conflicts_with = "apply")]
    dry_run: bool,
    /// Repair: rewrite damaged segments, and keep the damaged files in the folder `quarantine` of the
    /// database.
    #[arg(long)]
    apply: bool,
}

#[derive(Debug, Error)]
enum RepairError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{0:?} cannot be listed: {1}")]
    Folder(PathBuf, std::io::Error),
    #[error("there is no index `{0}`")]
    NoIndex(String),
    #[error("cannot print the results: {0}")]
    Print(std::io::Error),
}

/// Fails when an index is damaged and stays so: because nothing was to be changed, or because it cannot be repaired.
pub fn run(args: &RepairArgs) -> ExitCode {
    match repair_all(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            console::failed("repair", args.database.json, &error, None);
            ExitCode::FAILURE
        }
    }
}

/// Repairs the indexes, and reports whether all of them are sound in the end.
fn repair_all(args: &RepairArgs) -> Result<bool, RepairError> {
    let (folder, as_json) = (args.database.path(), args.database.json);
    // What is written is private to the user of the database, as all that a server writes. Another user leaves it readable for them.
    if folder.metadata().is_ok_and(|metadata| metadata.uid() == rustix::process::geteuid().as_raw()) {
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
    // Holds the lock of the folder.
    let instance = verify::open(folder)?;
    let mut indexes = indexes(&instance, folder)?;
    if let Some(uid) = &args.index {
        indexes.retain(|name, _| name == uid);
        if indexes.is_empty() {
            return Err(RepairError::NoIndex(uid.clone()));
        }
    }
    let (queue_is_sound, queue) = verify::check_queue(folder, as_json)?;
    if !queue_is_sound && !as_json {
        print(
            "The task queue is not part of a repair: the next start repairs what it can, sets the rest aside, and \
             reports it.\n",
        )?;
    }
    let (mut damaged_count, mut failed_count) = (0, 0);
    let mut found_of_all = Vec::new();
    for (uid, of_index) in &indexes {
        let aside = folder.join(QUARANTINE).join(format!("{}-{}", of_index.as_str(), stamp(OffsetDateTime::now_utc())));
        let aside = args.apply.then_some(aside);
        let found = with_progress(uid, |progress| {
            let options = RepairOptions { aside: aside.as_deref(), memory_bytes: MEMORY_BYTES, progress };
            repair(&folder.join("indexes").join(of_index), options)
        });
        damaged_count += usize::from(found.as_ref().is_ok_and(|report| !report.is_sound()));
        failed_count += usize::from(found.is_err());
        match found {
            Ok(report) if as_json => found_of_all.push(as_json::index(uid, &report, aside.as_deref())),
            Err(error) if as_json => found_of_all.push(as_json::failure(uid, &reason(&error))),
            Ok(report) => print(&text_of(uid, &report, aside.as_deref()))?,
            Err(error) => print(&format!("{uid}: CANNOT BE REPAIRED: {}\n", reason(&error)))?,
        }
    }
    let is_whole = failed_count == 0 && (damaged_count == 0 || args.apply);
    if as_json {
        print(&as_json::all(is_whole, args.apply, queue, found_of_all))?;
    } else if damaged_count > 0 && !args.apply {
        print("Nothing was changed. `lamina repair --apply` does it.\n")?;
    }
    Ok(is_whole)
}

/// Names and folders; folders that no name leads to are named like themselves.
fn indexes(instance: &Instance, db_path: &Path) -> Result<BTreeMap<String, FolderName>, RepairError> {
    let mut indexes: BTreeMap<String, FolderName> = instance.folders().into_iter().collect();
    let folder = db_path.join("indexes");
    let cannot = |error| RepairError::Folder(folder.clone(), error);
    for entry in fs::read_dir(&folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        // What has another name is no folder of an index.
        let Ok(name) = FolderName::try_from(entry.file_name().to_string_lossy().into_owned()) else { continue };
        if entry.path().is_dir() && !indexes.values().any(|named| *named == name) {
            indexes.insert(name.as_str().to_owned(), name);
        }
    }
    Ok(indexes)
}

/// On a terminal the number of documents that were read is seen to grow.
fn with_progress<T>(uid: &str, work: impl FnOnce(&dyn Fn(u64)) -> T) -> T {
    let style = ProgressStyle::with_template("{prefix}: documents read: {pos}, {elapsed}");
    let bar = ProgressBar::no_length().with_style(style.expect("the template is fixed")).with_prefix(uid.to_owned());
    let done = work(&|documents| bar.inc(documents));
    bar.finish_and_clear();
    done
}

fn reason(error: &IndexError) -> String {
    match error {
        IndexError::NotFound => "there is neither a manifest nor a segment in its folder".to_owned(),
        other => other.to_string(),
    }
}

fn print(text: &str) -> Result<(), RepairError> {
    console::print(text).map_err(RepairError::Print)
}

fn text_of(uid: &str, report: &RepairReport, aside: Option<&Path>) -> String {
    if report.is_sound() {
        let documents = counted(report.document_count, "document");
        let segments = counted(report.sound_segments, "segment");
        return format!("{uid}: sound, {documents} in {segments}\n");
    }
    let mut lines = vec![format!("{uid}: DAMAGED")];
    match &report.manifest {
        ManifestFound::Sound => {}
        ManifestFound::Older { reason } => {
            lines.push(format!("{reason}. The previous manifest is used: the last writes are lost"));
        }
        ManifestFound::Lost { reason, primary_key } => {
            let key = match primary_key {
                Some(key) => format!("the primary key is `{key}`, according to the documents"),
                None => "the primary key is unknown".to_owned(),
            };
            lines.push(format!("{reason}. Settings are lost: set them again. Deleted documents may reappear; {key}"));
        }
    }
    let is_done = aside.is_some();
    report.segments.iter().for_each(|segment| describe(segment, is_done, &mut lines));
    lines.push(format!(
        "sound segments: {}; documents {}: {}",
        report.sound_segments,
        if is_done { "now" } else { "after the repair" },
        report.document_count
    ));
    if let Some(aside) = aside {
        lines.push(format!("the damaged files are kept in {}", aside.display()));
    }
    format!("{}\n", lines.join("\n  "))
}

fn describe(segment: &SegmentRepair, is_done: bool, lines: &mut Vec<String>) {
    lines.extend(segment.damage.iter().cloned());
    let file = &segment.file;
    let rebuilt = if is_done { "rebuilt" } else { "would be rebuilt" };
    let documents = |count| counted(count, "document");
    lines.push(format!("{file}: {rebuilt} with {}", documents(segment.kept)));
    if !segment.lost_ids.is_empty() {
        let lost = documents(segment.lost_ids.len() as u64);
        lines.push(format!("{file}: loses {lost}: {}", segment.lost_ids.join(", ")));
    }
    if segment.lost_without_id > 0 {
        lines.push(format!("{file}: loses {} without a readable id", documents(segment.lost_without_id)));
    }
    if segment.superseded > 0 {
        lines.push(format!("{file}: also in another segment, which is used: {}", documents(segment.superseded)));
    }
    if segment.uncompared > 0 {
        let uncompared = documents(segment.uncompared);
        lines.push(format!("{file}: nothing is left to compare {uncompared} with: check what they hold"));
    }
    if segment.tombstones_lost {
        lines.push(format!("{file}: the list of deleted documents cannot be read: they may reappear"));
    }
    if segment.order_lost {
        lines.push(format!("{file}: the position of its documents among the others is lost"));
    }
    for LostVectors { embedder, made_again, ids } in &segment.lost_vectors {
        let name =
            if embedder.is_empty() { "an embedder whose name cannot be read".into() } else { format!("`{embedder}`") };
        let then = if *made_again {
            format!("of {} will be created again by the server", documents(ids.len() as u64))
        } else {
            format!("are lost, send them again: {}", ids.join(", "))
        };
        lines.push(format!("{file}: vectors of {name} {then}"));
    }
}
