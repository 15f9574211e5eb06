//! `lamina verify`: checks a database folder that no server uses.

mod folders;
mod indexes;
mod queue;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use lamina_base::console;
use lamina_data::instance::{Instance, InstanceError, holds_database, lock_to_look};
use lamina_engine::index::IndexOptions;
use serde_json::{Value, json};
use thiserror::Error;

use queue::QueueCopy;

/// Database, and output format of the findings.
#[derive(Debug, Args)]
pub struct DatabaseArgs {
    /// Folder of the database; no server may be using it.
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// The same folder, under the name of the server's option.
    #[arg(long, env = "SVC_DB_PATH", default_value = "./data.lamina", value_name = "FOLDER")]
    db_path: PathBuf,
    /// Print results and errors as JSON, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

impl DatabaseArgs {
    pub(crate) fn path(&self) -> &Path {
        self.folder.as_ref().unwrap_or(&self.db_path)
    }
}

/// Options of a verification.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Also check that the parts of each segment agree with each other, about a second for 20 MB. This
    /// finds bugs, not disk faults.
    #[arg(long)]
    deep: bool,
}

/// Reason why a database folder cannot be inspected.
#[derive(Debug, Error)]
pub(crate) enum OpenError {
    #[error("there is no database in {0:?}")]
    NoDatabase(PathBuf),
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error("the task queue cannot be copied into the folder for temporary files: {0}")]
    Copy(std::io::Error),
}

#[derive(Debug, Error)]
enum VerifyError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot print the results: {0}")]
    Print(std::io::Error),
}

/// Prints what is found: line by line, or as JSON at the end.
#[derive(Debug, Default)]
struct Findings {
    damage_count: usize,
    /// Findings to print at the end, if the output is JSON.
    json: Option<Vec<Value>>,
    /// Error after which nothing more can be printed.
    failure: Option<std::io::Error>,
}

impl Findings {
    fn all_right(&mut self, place: &str, what: impl std::fmt::Display) {
        self.found(place, "sound", &what.to_string());
    }

    fn damage(&mut self, place: &str, what: impl std::fmt::Display) {
        self.damage_count += 1;
        self.found(place, "damaged", &what.to_string());
    }

    fn found(&mut self, place: &str, state: &str, what: &str) {
        if let Some(found) = &mut self.json {
            return found.push(json!({"place": place, "state": state, "message": what}));
        }
        let mark = if state == "damaged" { "DAMAGED: " } else { "" };
        if self.failure.is_none() {
            self.failure = console::print(&format!("{place}: {mark}{what}\n")).err();
        }
    }

    /// Reports whether all is sound, and prints the findings that are due at the end.
    fn end(mut self) -> Result<bool, std::io::Error> {
        let is_sound = self.damage_count == 0;
        if let Some(found) = self.json.take() {
            let text = json!({"sound": is_sound, "findings": found});
            self.failure = console::print(&format!("{text:#}\n")).err();
        }
        self.failure.map_or(Ok(is_sound), Err)
    }
}

/// Checks the task queue and every index; fails when anything is damaged, after having checked the rest.
pub fn verify(args: &VerifyArgs) -> ExitCode {
    match verify_all(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            console::failed("verify", args.database.json, &error, None);
            ExitCode::FAILURE
        }
    }
}

/// Verifies the database, and reports whether all of it is sound.
fn verify_all(args: &VerifyArgs) -> Result<bool, VerifyError> {
    let folder = args.database.path();
    let lock = lock(folder)?;
    let copy = QueueCopy::make(folder).map_err(OpenError::Copy)?;
    let mut findings = Findings { json: args.database.json.then(Vec::new), ..Findings::default() };
    copy.check(folder, &mut findings);
    let mut named = Vec::new();
    if let Ok(opened) = copy.open(folder) {
        // What cannot be read was said above.
        named = opened.store.indexes().unwrap_or_default();
        named.extend(folders::check_names(folder, &opened, &mut findings));
    }
    folders::check_small_files(folder, &mut findings);
    folders::mention_quarantine(folder, &mut findings);
    let instance = Instance::look_into(folder, lock, named, options()).map_err(OpenError::from)?;
    indexes::verify_all(&instance, args.deep, &mut findings);
    findings.end().map_err(VerifyError::Print)
}

/// Prints what is found of the task queue in `folder`, whose lock is held, or gives it back as JSON. Whether it is sound.
pub(crate) fn check_queue(folder: &Path, as_json: bool) -> Result<(bool, Vec<Value>), OpenError> {
    let copy = QueueCopy::make(folder).map_err(OpenError::Copy)?;
    let mut findings = Findings { json: as_json.then(Vec::new), ..Findings::default() };
    copy.check(folder, &mut findings);
    Ok((findings.damage_count == 0, findings.json.unwrap_or_default()))
}

/// Opens a database that is there, to look into it.
pub(crate) fn open(folder: &Path) -> Result<Instance, OpenError> {
    let lock = lock(folder)?;
    let copy = QueueCopy::make(folder).map_err(OpenError::Copy)?;
    let store = copy.open(folder).map_err(InstanceError::from)?.store;
    let named = store.indexes().map_err(InstanceError::from)?;
    let aliases = store.aliases().map_err(InstanceError::from)?;
    Ok(Instance::look_into(folder, lock, named, options())?.with_aliases(aliases))
}

fn lock(folder: &Path) -> Result<Option<File>, OpenError> {
    // Opening would create one.
    if !folder.join("VERSION").is_file() && !holds_database(folder) {
        return Err(OpenError::NoDatabase(folder.to_owned()));
    }
    Ok(lock_to_look(folder)?)
}

fn options() -> IndexOptions {
    IndexOptions { background_merges: false, ..IndexOptions::default() }
}
