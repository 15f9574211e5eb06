//! Small commands that speak to a running server: `lamina search`, `lamina settings`, `lamina mcp`.

mod mcp;
mod search;
mod settings;
mod table;

use std::process::ExitCode;

use lamina_base::console;
use reqwest::Method;
use thiserror::Error;

use crate::client::{Client, ClientError, run_to_end};

pub use mcp::McpArgs;
pub use search::SearchArgs;
pub use settings::SettingsArgs;

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
    #[error("the task {uid} that changes the settings {status}: {message}")]
    Task { uid: u64, status: String, message: String, code: String },
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
