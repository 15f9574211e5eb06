//! `lamina verify`: checks a database folder that no server uses.

mod folders;
mod indexes;
mod queue;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use lamina_engine::index::IndexOptions;
use thiserror::Error;

use crate::console;
use crate::instance::{Instance, InstanceError, holds_database, lock_to_look};
use queue::QueueCopy;

/// What to check.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Folder of the database; no server may be using it.
    #[arg(long, env = "SVC_DB_PATH", default_value = "./data.lamina", value_name = "FOLDER")]
    db_path: PathBuf,
    /// Also check that the parts of each segment agree with each other, which takes a second for some 20 MB: after a bug, not
    /// after a fault of a disk.
    #[arg(long)]
    deep: bool,
}

/// Why a folder cannot be looked into.
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
    #[error("what was found cannot be printed: {0}")]
    Print(std::io::Error),
}

/// Prints what is found, line by line.
#[derive(Debug, Default)]
struct Findings {
    damage_count: usize,
    /// Why nothing more can be printed.
    failure: Option<std::io::Error>,
}

impl Findings {
    fn all_right(&mut self, place: &str, what: impl std::fmt::Display) {
        self.line(&format!("{place}: {what}\n"));
    }

    fn damage(&mut self, place: &str, what: impl std::fmt::Display) {
        self.damage_count += 1;
        self.line(&format!("{place}: DAMAGED: {what}\n"));
    }

    fn line(&mut self, text: &str) {
        if self.failure.is_none() {
            self.failure = console::print(text).err();
        }
    }
}

/// Checks the task queue and every index; fails when anything is damaged, after having checked the rest.
pub fn verify(args: &VerifyArgs) -> ExitCode {
    match verify_all(&args.db_path, args.deep) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            console::line(format_args!("lamina verify: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Whether all is sound.
fn verify_all(folder: &Path, deep: bool) -> Result<bool, VerifyError> {
    let lock = lock(folder)?;
    let copy = QueueCopy::make(folder).map_err(OpenError::Copy)?;
    let mut findings = Findings::default();
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
    let indexes_are_sound = indexes::verify_all(&instance, deep)?;
    match findings.failure {
        Some(error) => Err(VerifyError::Print(error)),
        None => Ok(findings.damage_count == 0 && indexes_are_sound),
    }
}

/// Prints what is found of the task queue in `folder`, whose lock is held. Whether it is sound.
pub(crate) fn check_queue(folder: &Path) -> Result<bool, OpenError> {
    let copy = QueueCopy::make(folder).map_err(OpenError::Copy)?;
    let mut findings = Findings::default();
    copy.check(folder, &mut findings);
    Ok(findings.damage_count == 0)
}

/// Opens a database that is there, to look into it.
pub(crate) fn open(folder: &Path) -> Result<Instance, OpenError> {
    let lock = lock(folder)?;
    let copy = QueueCopy::make(folder).map_err(OpenError::Copy)?;
    let named = copy.open(folder).and_then(|opened| opened.store.indexes()).map_err(InstanceError::from)?;
    Ok(Instance::look_into(folder, lock, named, options())?)
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
