//! `lamina restore`: a database folder out of a snapshot.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use lamina_base::console;
use lamina_server::restore::{ImportError, restore};
use rustix::fs::Mode;
use serde_json::json;
use thiserror::Error;

/// Create a database folder from a snapshot.
#[derive(Debug, Clone, Args)]
pub struct RestoreArgs {
    /// The snapshot: its folder, or its archive from a bucket.
    #[arg(value_name = "SNAPSHOT")]
    snapshot: PathBuf,
    /// Folder to create; it must be absent or empty.
    #[arg(long, env = "SVC_DB_PATH", value_name = "FOLDER")]
    db_path: PathBuf,
    /// Print the result and errors as JSON, for programs.
    #[arg(long)]
    json: bool,
}

/// Reason why there is no database.
#[derive(Debug, Error)]
enum RestoreError {
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error("`{0}` is a dump: start a server from it with `lamina serve --import-dump {0} --db-path NEW_FOLDER`")]
    Dump(String),
    #[error("cannot print the result: {0}")]
    Print(std::io::Error),
}

/// Restores, and says what to do next.
pub fn run(args: &RestoreArgs) -> ExitCode {
    match restored(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::failed("restore", args.json, &error, None);
            ExitCode::FAILURE
        }
    }
}

fn restored(args: &RestoreArgs) -> Result<(), RestoreError> {
    let (snapshot, database) = (&args.snapshot, &args.db_path);
    if is_dump(snapshot) {
        return Err(RestoreError::Dump(snapshot.display().to_string()));
    }
    // Private to the user, as the folders of a server are.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    restore(snapshot, database)?;
    let text = match args.json {
        true => format!("{:#}\n", json!({"snapshot": snapshot, "dbPath": database})),
        false => format!("restored {path}\nstart it with `lamina serve --db-path {path}`\n", path = database.display()),
    };
    console::print(&text).map_err(RestoreError::Print)
}

fn is_dump(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "dump")
}
