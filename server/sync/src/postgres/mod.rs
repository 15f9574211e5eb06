//! The protocol of PostgreSQL, as much of it as following a table needs: queries and copies as text, and changes as the
//! plugin `pgoutput` sends them ([decision 0079](../../../docs/decisions/0079-following-a-table.md)).

mod address;
mod connection;
mod frames;
mod pgoutput;
mod replication;
mod scram;
mod sign_in;
mod tls;
mod values;

use std::io;

use thiserror::Error;

pub(crate) use address::Address;
pub(crate) use connection::{Connection, Row, identifier, literal};
pub(crate) use pgoutput::{Cell, Change, Column, Relation, Tuple};
pub(crate) use replication::{Event, Lsn, Replication};
pub(crate) use values::{Kind, Types};

/// Reason why the database gives no usable response.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum PostgresError {
    #[error("cannot connect to {place} ({source})")]
    Unreachable { place: String, source: io::Error },
    #[error("the connection to the database was lost: {0}")]
    Broken(#[from] io::Error),
    #[error("the database refused: {message} ({code})")]
    Refused { code: String, message: String },
    #[error("{0}")]
    SignIn(String),
    #[error("the certificates of {file} cannot be used: {reason}")]
    Certificates { file: String, reason: String },
    #[error("the database sent an unexpected message: {0}")]
    Unexpected(String),
}

/// Classes of codes that pass by themselves: lost connections, too few resources, a server that starts or stops; and a slot that
/// another connection still holds.
const MOMENTARY: [&str; 4] = ["08", "53", "57", IN_USE];

/// The code of what another connection uses.
const IN_USE: &str = "55006";

impl PostgresError {
    /// Returns whether another connection uses what is asked for.
    pub(crate) fn is_in_use(&self) -> bool {
        matches!(self, PostgresError::Refused { code, .. } if code == IN_USE)
    }

    /// Reports whether the same request may succeed a little later.
    pub(crate) fn is_momentary(&self) -> bool {
        match self {
            PostgresError::Unreachable { .. } | PostgresError::Broken(_) => true,
            PostgresError::Refused { code, .. } => MOMENTARY.iter().any(|class| code.starts_with(class)),
            _ => false,
        }
    }
}
