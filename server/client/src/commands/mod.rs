//! Small commands that speak to a running server: `lamina search`, `lamina settings`, `lamina snapshot`, `lamina mcp`.

mod mcp;
mod search;
mod settings;
mod snapshot;
mod table;

use std::process::ExitCode;

use lamina_base::console;
use reqwest::Method;
use serde_json::Value;
use thiserror::Error;

use crate::client::{Client, ClientError, run_to_end};

pub use mcp::McpArgs;
pub use search::SearchArgs;
pub use settings::SettingsArgs;
pub use snapshot::SnapshotArgs;

/// Reason why a command has nothing to print.
#[derive(Debug, Error)]
enum CommandError {
    #[error(transparent)]
    Server(#[from] ClientError),
    #[error("the server has no index yet: `lamina import --index NAME FILE` creates one")]
    NoIndex,
    #[error("which index? Give one with --index: {0}")]
    WhichIndex(String),
    #[error("{file}: {source}")]
    Read { file: String, source: std::io::Error },
    #[error("{0}")]
    Value(String),
    #[error("the task {uid} that {purpose} {status}: {message}")]
    Task { uid: u64, purpose: &'static str, status: String, message: String, code: String },
    #[error("cannot print the response: {0}")]
    Print(std::io::Error),
}

impl CommandError {
    fn code(&self) -> Option<&str> {
        match self {
            CommandError::Server(error) => error.code(),
            CommandError::Task { code, .. } => Some(code),
            _ => None,
        }
    }
}

/// Searches, and prints what is found.
pub fn search(args: &SearchArgs) -> ExitCode {
    ended("search", args.json, run_to_end(search::run(args)))
}

/// Reads or changes settings.
pub fn settings(args: &SettingsArgs) -> ExitCode {
    ended("settings", args.json(), run_to_end(settings::run(args)))
}

/// Makes a snapshot.
pub fn snapshot(args: &SnapshotArgs) -> ExitCode {
    ended("snapshot", args.json, run_to_end(snapshot::run(args)))
}

/// The error of a task that has not succeeded.
fn task_failure(purpose: &'static str, task: &Value) -> CommandError {
    let error = |name: &str| task["error"][name].as_str().unwrap_or_default().to_owned();
    CommandError::Task {
        uid: task["uid"].as_u64().unwrap_or_default(),
        purpose,
        status: task["status"].as_str().unwrap_or("is gone").to_owned(),
        message: error("message"),
        code: error("code"),
    }
}

/// Answers programs that use language models, until the input ends.
pub fn mcp(args: &McpArgs) -> ExitCode {
    mcp::run(args)
}

fn ended(command: &str, as_json: bool, text: Result<String, CommandError>) -> ExitCode {
    match text.and_then(|text| console::print(&text).map_err(CommandError::Print)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::failed(command, as_json, &error, error.code());
            ExitCode::FAILURE
        }
    }
}

/// The index that was named, or the only one.
async fn index_of(client: &Client, named: Option<&String>) -> Result<String, CommandError> {
    if let Some(uid) = named {
        return Ok(uid.clone());
    }
    let mut route = client.route(&["indexes"]);
    route.query_pairs_mut().append_pair("limit", "20");
    let list = client.call(Method::GET, route, None).await?;
    let indexes = list["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let uids: Vec<&str> = indexes.iter().filter_map(|index| index["uid"].as_str()).collect();
    match uids[..] {
        [] => Err(CommandError::NoIndex),
        [uid] => Ok(uid.to_owned()),
        _ => Err(CommandError::WhichIndex(uids.join(", "))),
    }
}
