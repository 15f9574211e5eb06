//! The command line of the program: its commands, and the options of the server, where the command line wins over the
//! environment, that over the configuration file, that over the defaults.

mod config_file;
mod early;
mod paper;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};
use lamina_base::options::{Options, read_variable, variable_of};
use lamina_client::{commands, evaluate, import};
use lamina_sync as sync;
use thiserror::Error;

pub use config_file::ConfigFileError;
pub use early::asks_for_json;
pub use paper::{completions, manual};

use crate::{build, demo, inspect, repair, restore, store_command, verify};

/// The command line of `lamina`.
#[derive(Debug, Parser)]
#[command(
    name = "lamina",
    version,
    about = "A search engine with an HTTP API. Without a command, it runs the server.",
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = "`lamina --help` shows all options, `lamina import --help` those of a command.\n\nExamples:\n  lamina serve --db-path ./data.lamina\n  lamina import --index films films.ndjson\n  \
                  lamina search --index films jurasic wrold",
    after_long_help = "Every option can also be set by an environment variable (shown beside it) or in the configuration \
                  file (TOML, lower snake case). The command line wins over the environment, the environment over the \
                  file."
)]
pub struct Cli {
    /// Command to run instead of the server.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of the server.
    #[command(flatten)]
    pub options: Options,
}

/// Commands besides serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a server on this machine with 4,000 films to search.
    Demo(demo::DemoArgs),
    /// Load files of documents into an index of a running server.
    Import(import::Args),
    /// Build an index from files offline, for a server to attach.
    Build(Box<build::BuildArgs>),
    /// Search an index of a running server.
    Search(commands::SearchArgs),
    /// Read or change the settings of an index.
    Settings(commands::SettingsArgs),
    /// Compare ways of searching on judged queries.
    Evaluate(evaluate::Args),
    /// Make judged queries from clicks, votes or TREC files.
    Judge(evaluate::judge::JudgeArgs),
    /// Search for settings that answer judged queries better.
    Tune(evaluate::tune::TuneArgs),
    /// Serve the Model Context Protocol on standard input and output.
    Mcp(commands::McpArgs),
    /// Keep indexes in sync with PostgreSQL tables.
    Sync(sync::SyncArgs),
    /// Take a snapshot of a running server.
    Snapshot(commands::SnapshotArgs),
    /// Create a database folder from a snapshot.
    Restore(restore::RestoreArgs),
    /// Print what is in a database folder.
    ///
    /// Indexes, segments, sections, the postings of a word, the words of a document.
    Inspect(inspect::InspectArgs),
    /// Check every byte of a database folder against its checksums.
    Verify(verify::VerifyArgs),
    /// Report damage in a database folder; with --apply, repair it.
    Repair(repair::RepairArgs),
    /// List, verify or clean up the store that replicas follow.
    Store(Box<store_command::StoreArgs>),
    /// Print the completion script for a shell.
    Completions {
        /// Shell that reads the script.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Manual,
}

/// The command that is also what happens without one.
const SERVE: &str = "serve";

/// Options of the server that the short help shows, with what it says of them: a line each on a screen of 80 columns.
const SHOWN_SHORTLY: [(&str, &str); 5] = [
    ("db_path", "Folder of the database"),
    ("http_addr", "Address to listen on"),
    ("master_key", "Key that protects the server"),
    ("env", "`development` (the default) or `production`"),
    ("config_file_path", "Options as TOML [default: ./config.toml]"),
];

/// The definition of the command line. `serve` is there for help and completions: before anything is read it is taken away,
/// so that the options have one place.
fn command() -> clap::Command {
    let serve = with_variables(Options::augment_args(clap::Command::new(SERVE)));
    let serve = serve.about("Run the server, as without a command").display_order(0).mut_args(hidden_shortly);
    let command = with_variables(Cli::command()).mut_args(hidden_shortly);
    // The bucket is that of the server, whose variables are set where this runs.
    let command = command.mut_subcommand("store", |store| store.mut_subcommands(with_variables_of_server));
    command.subcommand(serve)
}

/// Leaves most options of the server to the whole help.
fn hidden_shortly(argument: clap::Arg) -> clap::Arg {
    let is_option_of_server = argument.get_help_heading().is_some();
    let is_shown = SHOWN_SHORTLY.iter().any(|(name, _)| argument.get_id() == name);
    argument.hide_short_help(is_option_of_server && !is_shown)
}

/// The command line for a request of the short help: names and purposes, a screen of them.
fn shortened(command: clap::Command) -> clap::Command {
    let of_server = |argument: clap::Arg| {
        let said = SHOWN_SHORTLY.iter().find(|(name, _)| argument.get_id() == name);
        match said {
            Some((name, said)) => {
                let argument = argument.help(*said).hide_env(true).hide_possible_values(true);
                argument.hide_default_value(*name == "env")
            }
            None => argument,
        }
    };
    let brief = command.mut_args(of_server).mut_subcommand(SERVE, |serve| serve.mut_args(of_server));
    brief.mut_subcommands(without_asides)
}

/// Leaves variables, and the options of stores, to the whole help of a command.
fn without_asides(command: clap::Command) -> clap::Command {
    let is_server = command.get_name() == SERVE;
    let command = command.mut_args(|argument| {
        let is_of_store = !is_server && argument.get_help_heading().is_some();
        let argument = argument.hide_env(true);
        if is_of_store { argument.hide_short_help(true) } else { argument }
    });
    command.mut_subcommands(without_asides)
}

/// Adds variables like [`with_variables`], for the options that a command shares with the server.
fn with_variables_of_server(command: clap::Command) -> clap::Command {
    command.mut_args(|argument| match argument.get_help_heading() {
        Some(_) => {
            let variable = variable_of(argument.get_id().as_str());
            argument.env(read_variable(variable))
        }
        None => argument,
    })
}

/// Adds the common parts of all server options: an environment variable, and for switches the words that turn them
/// off.
fn with_variables(command: clap::Command) -> clap::Command {
    command.mut_args(|argument| {
        // Help and version are no options of the server.
        if argument.get_long().is_none() || matches!(argument.get_action(), ArgAction::Help | ArgAction::Version) {
            return argument;
        }
        let argument = match argument.get_env() {
            Some(_) => argument,
            None => {
                let variable = variable_of(argument.get_id().as_str());
                argument.env(read_variable(variable))
            }
        };
        match argument.get_action() {
            ArgAction::SetTrue => argument.value_parser(FalseyValueParser::new()),
            // Otherwise `-1` is taken for an option, and the one that it is the value of is not named.
            _ => argument.allow_negative_numbers(true),
        }
    })
}

/// Reason why the options cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// Also how `--help` and `--version` end.
    #[error(transparent)]
    CommandLine(#[from] clap::Error),
    /// Fault of the configuration file.
    #[error(transparent)]
    ConfigFile(#[from] ConfigFileError),
    /// One option without another.
    #[error("`{option}` needs `{needed}`")]
    Needs {
        /// The option that is there.
        option: &'static str,
        /// The one that is not.
        needed: &'static str,
    },
    /// A secret that cannot be sent, and is not shown.
    #[error("the value of `{option}` is not a valid header value: expected one line of visible characters")]
    HeaderValue {
        /// With its dashes.
        option: &'static str,
    },
    /// Something that this server does not do.
    #[error("`{option}` cannot be used: this server does not support {what}")]
    Unavailable {
        /// With its dashes.
        option: &'static str,
        /// Feature that the option stands for.
        what: &'static str,
    },
}

/// Reads the command line, the environment and the configuration file; also says which file was read.
///
/// # Errors
/// The first wrong value.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<(Cli, Option<PathBuf>), OptionsError> {
    let (cli, config_file) = config_file::parse(args.into_iter().collect())?;
    check_combination(&cli.options)?;
    Ok((cli, config_file))
}

/// Checks constraints between options. Runs at the end, because the values may come from different sources.
fn check_combination(options: &Options) -> Result<(), OptionsError> {
    if let Some((option, what)) = options.first_unavailable() {
        return Err(OptionsError::Unavailable { option, what });
    }
    if !options.outbound.authorization_is_sendable() {
        return Err(OptionsError::HeaderValue { option: "--task-webhook-authorization-header" });
    }
    let (tls, backups) = (&options.tls, &options.backups);
    let (cert, has_cert) = ("--ssl-cert-path", tls.ssl_cert_path.is_some());
    let (key, has_key) = ("--ssl-key-path", tls.ssl_key_path.is_some());
    let (roots, has_roots) = ("--ssl-auth-path", tls.ssl_auth_path.is_some());
    let (dump, has_dump) = ("--import-dump", backups.import_dump.is_some());
    let (snapshot, has_snapshot) = ("--import-snapshot", backups.import_snapshot.is_some());
    let needs = [
        // Half of it would serve in the clear what is meant to be protected.
        (cert, has_cert, key, has_key),
        (key, has_key, cert, has_cert),
        (roots, has_roots, cert, has_cert),
        ("--ssl-require-auth", tls.ssl_require_auth, roots, has_roots),
        ("--ssl-ocsp-path", tls.ssl_ocsp_path.is_some(), cert, has_cert),
        ("--standby", options.replication.standby, "--follow", options.replication.follow.is_some()),
        ("--forward-writes", options.replication.forward_writes, "--follow", options.replication.follow.is_some()),
        ("--durability store", options.replication.is_to_be_in_store(), "--publish", options.replication.may_write()),
        ("--ignore-missing-dump", backups.ignore_missing_dump, dump, has_dump),
        ("--ignore-dump-if-db-exists", backups.ignore_dump_if_db_exists, dump, has_dump),
        ("--ignore-missing-snapshot", backups.ignore_missing_snapshot, snapshot, has_snapshot),
        ("--ignore-snapshot-if-db-exists", backups.ignore_snapshot_if_db_exists, snapshot, has_snapshot),
    ];
    for (option, is_set, needed, is_there) in needs {
        if is_set && !is_there {
            return Err(OptionsError::Needs { option, needed });
        }
    }
    match options.object_storage.incomplete() {
        Some((option, needed)) => Err(OptionsError::Needs { option, needed }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod sources_tests;
#[cfg(test)]
mod tests;
