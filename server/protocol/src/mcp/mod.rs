//! The Model Context Protocol: what programs that use language models may ask, and what they are answered. It reads only.
//!
//! How messages come and go is elsewhere: one a line in `commands/mcp.rs`, one a request in `routes/mcp.rs`. Both hand the
//! calls of tools to a [`Backend`] ([decision 0068](../../../docs/decisions/0068-mcp-without-a-library.md)).

mod arguments;
mod fields;
mod rpc;
#[cfg(test)]
mod tests;
mod tools;
mod versions;

use serde_json::Value;

pub use rpc::{Reply, Standing, answer};
pub use tools::Tools;
pub use versions::Headers;

/// Returns the part of a name that a refusal repeats.
fn excerpt(name: &str) -> String {
    const CHARACTERS_MAX: usize = 200;
    name.chars().take(CHARACTERS_MAX).collect()
}

/// Request of a tool to the server.
#[derive(Debug)]
pub enum Call {
    /// The parameters of `GET /indexes`.
    ListIndexes {
        offset: u64,
        limit: usize,
    },
    Settings {
        index: String,
    },
    /// One setting, by the last part of its address.
    Setting {
        index: String,
        route: &'static str,
    },
    /// The body of `POST …/documents/fetch`.
    Fetch {
        index: String,
        body: Value,
    },
    /// The body of `POST …/search`.
    Search {
        index: String,
        body: Value,
    },
}

/// Executor of calls, with the rights of the caller.
pub trait Backend {
    /// The answer, or a sentence that a model reads.
    fn call(&self, call: Call) -> impl Future<Output = Result<Value, String>> + Send;
}
