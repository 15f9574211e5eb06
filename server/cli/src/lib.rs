//! The command line of `lamina`, and the commands that need no server.
//!
//! Uses every other crate of the server. The binary (`main.rs`) reads the command line and calls the command.
//!
//! ```
//! use lamina_cli::command_line::{self, Command};
//!
//! let (line, _) = command_line::parse(["lamina", "verify", "--db-path", "data.lamina"].map(Into::into)).expect("a command");
//! assert!(matches!(line.command, Some(Command::Verify(_))));
//! ```

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod build;
pub mod command_line;
pub mod demo;
pub mod inspect;
pub mod repair;
pub mod restore;
pub mod store_command;
pub mod verify;
