//! `lamina mcp`: a server of the Model Context Protocol on standard input and output, in front of a running server.
//!
//! Programs that use language models start it, and call its tools, one message a line. It does what its key may do.

use std::io::{self, BufRead};
use std::process::ExitCode;

use clap::Args;
use lamina_base::console;
use lamina_protocol::mcp::{self, Backend, Call, Tools};
use reqwest::Method;
use serde_json::Value;

use crate::client::{Client, ClientError, ServerArgs, run_to_end};

/// Serve the Model Context Protocol on standard input and output.
#[derive(Debug, Clone, Args)]
pub struct McpArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The only index that tools may use; without it, each call names one.
    #[arg(short, long, value_name = "UID")]
    index: Option<String>,
}

/// Reason why the session ends before its input does.
#[derive(Debug, thiserror::Error)]
enum McpError {
    #[error(transparent)]
    Server(#[from] ClientError),
    #[error("standard input or output: {0}")]
    Io(#[from] io::Error),
}

/// Answers until the input ends.
pub(super) fn run(args: &McpArgs) -> ExitCode {
    match run_to_end(serve(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::line(format_args!("lamina mcp: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The server behind an address.
struct Remote(Client);

impl Backend for Remote {
    async fn call(&self, call: Call) -> Result<Value, String> {
        let Remote(client) = self;
        let (method, route, body) = match &call {
            Call::ListIndexes { offset, limit } => {
                let mut url = client.route(&["indexes"]);
                url.set_query(Some(&format!("offset={offset}&limit={limit}")));
                (Method::GET, url, None)
            }
            Call::Settings { index } => (Method::GET, client.route(&["indexes", index, "settings"]), None),
            Call::Setting { index, route } => (Method::GET, client.route(&["indexes", index, "settings", route]), None),
            Call::Fetch { index, body } => {
                (Method::POST, client.route(&["indexes", index, "documents", "fetch"]), Some(body))
            }
            Call::Search { index, body } => (Method::POST, client.route(&["indexes", index, "search"]), Some(body)),
        };
        client.call(method, route, body).await.map_err(|error| error.to_string())
    }
}

async fn serve(args: &McpArgs) -> Result<(), McpError> {
    let tools = Tools::new(Remote(Client::new(&args.server)?), args.index.clone());
    while let Some(line) = next_line().await? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Some(answer) = mcp::answer(serde_json::from_slice(&line).ok().as_ref(), None, &tools).await {
            console::print(&format!("{}\n", answer.message))?;
        }
    }
    Ok(())
}

/// Read on a thread of its own: connections to the server are looked after meanwhile.
async fn next_line() -> io::Result<Option<Vec<u8>>> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = Vec::new();
        let bytes = io::stdin().lock().read_until(b'\n', &mut line)?;
        Ok((bytes > 0).then_some(line))
    });
    read.await.map_err(io::Error::other)?
}
