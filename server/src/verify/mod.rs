//! `lamina verify`: checks a database folder that no server uses.

mod indexes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use lamina_engine::index::IndexOptions;
use thiserror::Error;

use crate::console;
use crate::instance::{Instance, InstanceError, holds_database};

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
}

#[derive(Debug, Error)]
enum VerifyError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("what was found cannot be printed: {0}")]
    Print(std::io::Error),
}

/// Checks every index; fails when one is damaged, after having checked the others.
pub fn verify(args: &VerifyArgs) -> ExitCode {
    match open(&args.db_path).map_err(VerifyError::from).and_then(|instance| indexes::verify_all(&instance, args.deep))
    {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            console::tell(format_args!("lamina verify: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Opens a database that is there.
pub(crate) fn open(folder: &Path) -> Result<Instance, OpenError> {
    // Opening would create one.
    if !folder.join("VERSION").is_file() && !holds_database(folder) {
        return Err(OpenError::NoDatabase(folder.to_owned()));
    }
    let options = IndexOptions { background_merges: false, ..IndexOptions::default() };
    let (instance, _store) = Instance::open(folder, options, false)?;
    Ok(instance)
}
