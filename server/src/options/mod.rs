//! Launch options: command line over environment over configuration file over defaults. A file per section.

mod backups;
mod byte_size;
mod config_file;
mod early;
mod experimental;
mod feature;
mod indexing;
mod interval;
mod logging;
mod master_key;
mod memory;
mod object_storage;
mod outbound;
mod paper;
mod scrubbing;
mod searching;
mod service;
mod tls;
mod twins;
mod unavailable;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::{IntErrorKind, NonZeroUsize};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::FalseyValueParser;
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};
use thiserror::Error;

pub use backups::Backups;
pub use byte_size::{ByteSize, human_disk_size, human_size};
pub use config_file::ConfigFileError;
pub use early::asks_for_json;
pub use experimental::Experimental;
pub use feature::Feature;
pub use indexing::Indexing;
pub use interval::Interval;
pub use logging::{LogLevel, Logging, LogsMode};
pub use master_key::{MasterKeyError, check_master_key, suggested_master_key};
pub use memory::usable_memory_bytes;
pub use object_storage::ObjectStorageOptions;
pub use outbound::{OutboundRequests, RateLimits};
pub use paper::{completions, manual};
pub use scrubbing::Scrubbing;
pub use searching::Searching;
pub use service::{AllowedOrigins, Environment, Service, Unprotected};
pub use tls::{Tls, TlsOptions};
pub use twins::twin_notices;
use unavailable::Unavailable;

use crate::{evaluate, import, inspect, repair, verify};

/// The command line of `lamina`.
#[derive(Debug, Parser)]
#[command(
    name = "lamina",
    version,
    about = "A search engine with an HTTP interface. Without a command: serve.",
    args_conflicts_with_subcommands = true,
    after_help = "Every option can also be set by an environment variable (shown beside it) or in the configuration \
                  file (TOML, lower snake case). The command line wins over the environment, the environment over the \
                  file."
)]
pub struct Cli {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to serve.
    #[command(flatten)]
    pub options: Options,
}

/// Commands besides serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load documents from files or standard input into an index of a running server.
    Import(import::Args),
    /// Measure the quality of answers with judged queries, comparing ways of searching.
    Evaluate(evaluate::Args),
    /// Print what a database folder holds: indexes, segments, sections, postings of a word, words of a document.
    Inspect(inspect::InspectArgs),
    /// Re-read every byte of a database folder and check it against its checksums.
    Verify(verify::VerifyArgs),
    /// Say what of a damaged database folder can be read, and with --apply make it whole again.
    Repair(repair::RepairArgs),
    /// Print what a shell needs to complete command lines of this program.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Manual,
}

/// Options of the server.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Where the server is and who may ask it.
    #[command(flatten)]
    pub service: Service,
    /// What is logged.
    #[command(flatten)]
    pub logging: Logging,
    /// Experimental features.
    #[command(flatten)]
    pub experimental: Experimental,
    /// What indexing may use.
    #[command(flatten)]
    pub indexing: Indexing,
    /// Copies of the database.
    #[command(flatten)]
    pub backups: Backups,
    /// Snapshots elsewhere.
    #[command(flatten)]
    pub object_storage: ObjectStorageOptions,
    /// Certificates.
    #[command(flatten)]
    pub tls: Tls,
    /// How many searches at once.
    #[command(flatten)]
    pub searching: Searching,
    /// Checks of files in the background.
    #[command(flatten)]
    pub scrubbing: Scrubbing,
    /// Requests that the server makes itself.
    #[command(flatten)]
    pub outbound: OutboundRequests,
    #[command(flatten)]
    unavailable: Unavailable,

    /// Names of the options that were given, wherever.
    #[arg(skip)]
    specified: BTreeSet<String>,
    /// Whether a configuration file was read.
    #[arg(skip)]
    pub has_config_file: bool,
}

impl Cli {
    /// The variables of all options.
    fn own_variables() -> Vec<String> {
        let names = Cli::command();
        let names = names.get_arguments().filter(|argument| argument.get_long().is_some());
        names.map(|argument| variable_of(argument.get_id().as_str())).collect()
    }
}

/// The variable of an option.
fn variable_of(id: &str) -> String {
    format!("SVC_{}", id.to_uppercase())
}

impl Options {
    /// Values that are secrets, as they were given.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let store = &self.object_storage;
        let of_store = [&store.s3_access_key, &store.s3_secret_key, &store.s3_session_token];
        let all = of_store.into_iter().chain([&self.service.master_key]).flatten().cloned();
        all.chain(self.outbound.secrets()).collect()
    }

    /// Whether an option was given, on the command line, in the environment or in the file.
    pub fn is_specified(&self, name: &str) -> bool {
        self.specified.contains(name)
    }
}

/// The definition of the command line, with what all options have in common: a variable, and for switches the words
/// that turn them off.
fn command() -> clap::Command {
    Cli::command().mut_args(|argument| {
        // Help and version are no options of the server.
        if argument.get_long().is_none() || matches!(argument.get_action(), ArgAction::Help | ArgAction::Version) {
            return argument;
        }
        let argument = match argument.get_env() {
            Some(_) => argument,
            None => {
                let variable = variable_of(argument.get_id().as_str());
                argument.env(twins::variable(variable))
            }
        };
        match argument.get_action() {
            ArgAction::SetTrue => argument.value_parser(FalseyValueParser::new()),
            // Otherwise `-1` is taken for an option, and the one that it is the value of is not named.
            _ => argument.allow_negative_numbers(true),
        }
    })
}

/// A number of at least 1.
pub(crate) fn count<T: FromStr>(text: &str) -> Result<T, String> {
    within(text, 1..=u64::MAX)
}

/// A number, or 0.
fn count_or_none<T: FromStr>(text: &str) -> Result<T, String> {
    within(text, 0..=u64::MAX)
}

/// A number of this range, and of what `T`, which has no sign, holds of it.
pub(crate) fn within<T: FromStr>(text: &str, range: RangeInclusive<u64>) -> Result<T, String> {
    let (least, type_max) = (range.start(), u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>()));
    let number = text.trim().parse::<u64>();
    let is_good = number.as_ref().is_ok_and(|number| range.contains(number));
    text.trim().parse().ok().filter(|_| is_good).ok_or_else(|| {
        let most = *range.end().min(&type_max);
        let is_too_large = match number {
            Ok(number) => number > most,
            Err(error) => *error.kind() == IntErrorKind::PosOverflow,
        };
        match (is_too_large, most == type_max) {
            (true, true) => format!("`{text}` is too large: expected an integer of at most {most}"),
            (true, false) => format!("`{text}` is too large: expected an integer from {least} to {most}"),
            (false, true) => format!("`{text}` is not a count: expected an integer of at least {least}"),
            (false, false) => format!("`{text}` is not a count: expected an integer from {least} to {most}"),
        }
    })
}

/// Logical cores that the process may use.
pub fn core_count() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Why the options cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// Also how `--help` and `--version` end.
    #[error(transparent)]
    CommandLine(#[from] clap::Error),
    /// What is wrong with the configuration file.
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
    #[error("the value of `{option}` is no value of a header: expected one line of visible characters")]
    HeaderValue {
        /// The option.
        option: &'static str,
    },
    /// Something that this server does not do.
    #[error("`{option}` cannot be used: this server has no {what}")]
    Unavailable {
        /// The option.
        option: &'static str,
        /// What it stands for.
        what: &'static str,
    },
}

/// Reads the command line, the environment and the configuration file; also tells which file was read.
///
/// # Errors
/// The first wrong value.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<(Cli, Option<PathBuf>), OptionsError> {
    let (cli, config_file) = config_file::parse(args.into_iter().collect())?;
    check_combination(&cli.options)?;
    Ok((cli, config_file))
}

/// What each option alone cannot know. Checked at the end, because the values may come from different places.
fn check_combination(options: &Options) -> Result<(), OptionsError> {
    if let Some((option, what)) = options.unavailable.first_set() {
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
mod sources;
#[cfg(test)]
mod tests;
