//! Launch options, a file per section. `command_line` reads them.

mod backups;
mod byte_size;
mod clouds;
mod experimental;
mod feature;
mod indexing;
mod interval;
mod logging;
mod master_key;
mod memory;
mod object_storage;
mod outbound;
mod replication;
mod rules_fuel;
mod scrubbing;
mod searching;
mod service;
mod tls;
mod twins;
mod unavailable;

use std::collections::BTreeSet;
use std::num::{IntErrorKind, NonZeroUsize};
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;

use crate::error::ErrorDocs;

pub use backups::{Backups, EventsInBackups};
pub use byte_size::{ByteSize, human_disk_size, human_size};
pub use clouds::CloudOptions;
pub use experimental::Experimental;
pub use feature::Feature;
pub use indexing::Indexing;
pub use interval::Interval;
pub use logging::{LogLevel, Logging, LogsMode};
pub use master_key::{MasterKeyError, check_master_key, suggested_master_key};
pub use memory::usable_memory_bytes;
pub use object_storage::ObjectStorageOptions;
pub use outbound::{OutboundRequests, RateLimits};
pub use replication::{BucketKind, BuiltPlace, Replication, StoreAddress};
pub use rules_fuel::RulesFuel;
pub use scrubbing::Scrubbing;
pub use searching::Searching;
pub use service::{AllowedOrigins, Environment, Service, Unprotected};
pub use tls::{Tls, TlsOptions};
pub use twins::twin_notices;
pub use twins::variable as read_variable;
use unavailable::Unavailable;

/// Options of the server.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Address of the server, and access to it.
    #[command(flatten)]
    pub service: Service,
    /// Options of logging.
    #[command(flatten)]
    pub logging: Logging,
    /// Experimental features.
    #[command(flatten)]
    pub experimental: Experimental,
    /// Resources of indexing.
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
    /// Options of publishing and following.
    #[command(flatten)]
    pub replication: Replication,
    /// Number of concurrent searches.
    #[command(flatten)]
    pub searching: Searching,
    /// Limits of the work that a search may do for rules.
    #[command(flatten)]
    pub rules_fuel: RulesFuel,
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
    pub specified: BTreeSet<String>,
    /// True if a configuration file was read.
    #[arg(skip)]
    pub has_config_file: bool,
}

/// The variables of all options.
fn own_variables() -> Vec<String> {
    let names = Options::augment_args(clap::Command::new("lamina"));
    let names = names.get_arguments().filter(|argument| argument.get_long().is_some());
    names.map(|argument| variable_of(argument.get_id().as_str())).collect()
}

/// The variable of an option.
pub fn variable_of(id: &str) -> String {
    format!("SVC_{}", id.to_uppercase())
}

impl Options {
    /// Values that are secrets, as they were given.
    pub fn secrets(&self) -> Vec<String> {
        let store = &self.object_storage;
        let of_store = [&store.s3_access_key, &store.s3_secret_key, &store.s3_session_token];
        let all =
            of_store.into_iter().chain([&self.service.master_key]).flatten().chain(store.clouds.secrets()).cloned();
        all.chain(self.outbound.secrets()).collect()
    }

    /// Features that are on from the start.
    pub fn preset_features(&self) -> Vec<Feature> {
        self.experimental.preset_features(self.logging.metrics)
    }

    /// Returns the startup notices about options that newer versions of the protocol lack or have renamed.
    pub fn removed_notices(&self) -> Vec<String> {
        const NOTICES: [(&str, &str); 4] = [
            (
                "experimental_no_edition_2024_for_dumps",
                "has no effect, and newer versions of Meilisearch do not have it",
            ),
            ("experimental_no_snapshot_compaction", "has no effect, and newer versions of Meilisearch do not have it"),
            ("experimental_replication_parameters", "works here, but newer versions of Meilisearch do not have it"),
            ("experimental_dumpless_upgrade", "works here, but newer versions of Meilisearch call it `--upgrade-db`"),
        ];
        let given = NOTICES.iter().filter(|(name, _)| self.specified.contains(*name));
        given.map(|(name, notice)| format!("`--{}` {notice}", name.replace('_', "-"))).collect()
    }

    /// An option that was given and that this server has nothing for, and what it stands for.
    pub fn first_unavailable(&self) -> Option<(&'static str, &'static str)> {
        self.unavailable.first_set()
    }

    /// Returns the base of error links: the address given by the operator, else the documentation of the build, else
    /// the page of this server.
    pub fn error_docs(&self) -> ErrorDocs {
        let given = self.service.error_docs_url.as_deref().filter(|address| !address.is_empty());
        let own = || ErrorDocs::of_server(&self.public_address());
        given.map(ErrorDocs::new).or_else(ErrorDocs::of_build).unwrap_or_else(own)
    }

    /// Under which address clients reach this server, as far as the options say.
    fn public_address(&self) -> String {
        if let Some(address) = self.replication.public_url.as_ref().filter(|address| !address.is_empty()) {
            return address.clone();
        }
        let scheme = if self.tls.resolved().is_some() { "https" } else { "http" };
        let (host, port) = self.service.http_addr.rsplit_once(':').unwrap_or((&self.service.http_addr, "7700"));
        // Addresses of all networks are those of no server.
        let host = if matches!(host, "" | "0.0.0.0" | "[::]" | "*") { "localhost" } else { host };
        format!("{scheme}://{host}:{port}")
    }

    /// Reports whether an option was given on the command line, in the environment or in the file.
    pub fn is_specified(&self, name: &str) -> bool {
        self.specified.contains(name)
    }
}

/// A number of at least 1.
pub fn count<T: FromStr>(text: &str) -> Result<T, String> {
    within(text, 1..=u64::MAX)
}

/// A number, or 0.
fn count_or_none<T: FromStr>(text: &str) -> Result<T, String> {
    within(text, 0..=u64::MAX)
}

/// A number of this range, and of what `T`, which has no sign, holds of it.
pub fn within<T: FromStr>(text: &str, range: RangeInclusive<u64>) -> Result<T, String> {
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
