//! The JSON of the protocol: shapes of requests and responses, and the messages of the Model Context Protocol.

pub(crate) mod mcp;
pub mod wire;
