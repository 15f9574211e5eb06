//! `lamina mcp`: a server of the Model Context Protocol on standard input and output, in front of a running server.
//!
//! Programs that use language models start it, and call its tools: searching, fetching documents, values of facets, settings,
//! why a document is a hit. It reads only, and does what its key may do. Of the protocol it needs five methods, one message a
//! line ([decision 0068](../../../docs/decisions/0068-mcp-without-a-library.md)).

mod rpc;
mod tools;

use std::io::{self, BufRead};
use std::process::ExitCode;

use clap::Args as ClapArgs;

use crate::client::{Client, ClientError, ServerArgs, run_to_end};
use crate::console;

/// Serve the Model Context Protocol on standard input and output.
#[derive(Debug, Clone, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// The only index that tools use; without it, they name one.
    #[arg(short, long, value_name = "UID")]
    index: Option<String>,
}

/// Why it ends before its input does.
#[derive(Debug, thiserror::Error)]
enum McpError {
    #[error(transparent)]
    Server(#[from] ClientError),
    #[error("standard input or output: {0}")]
    Io(#[from] io::Error),
}

/// Answers until the input ends.
pub fn run(args: &Args) -> ExitCode {
    match run_to_end(serve(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::line(format_args!("lamina mcp: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn serve(args: &Args) -> Result<(), McpError> {
    let tools = tools::Tools::new(Client::new(&args.server)?, args.index.clone());
    while let Some(line) = next_line().await? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Some(answer) = rpc::answer(&String::from_utf8_lossy(&line), &tools).await {
            console::print(&format!("{answer}\n"))?;
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
