//! Switches of features that are on from the start, and names of other servers of the protocol.

use clap::{ArgAction, Args};

use super::feature::Feature;

/// Experimental features.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Experimental features")]
pub struct Experimental {
    /// The same as `--metrics`, under the name that Meilisearch uses.
    #[arg(long, action = ArgAction::SetTrue)]
    pub experimental_enable_metrics: bool,

    /// Start with the experimental feature `logsRoute` on: `/logs/stream` and `/logs/stderr`.
    #[arg(long, action = ArgAction::SetTrue)]
    pub experimental_enable_logs_route: bool,

    /// Start with the experimental feature `containsFilter` on: `CONTAINS` in filters.
    #[arg(long, action = ArgAction::SetTrue)]
    pub experimental_contains_filter: bool,

    /// For replicas: the header `TaskId` sets the uid of a new task, `DryRun: true` only checks a request, and old
    /// tasks are never deleted automatically.
    #[arg(long, action = ArgAction::SetTrue)]
    pub experimental_replication_parameters: bool,

    /// No effect; accepted for compatibility with Meilisearch.
    #[arg(long, hide = true, env = "SVC_EXPERIMENTAL_LEGACY_SEARCH", action = ArgAction::SetTrue)]
    experimental_legacy_search_default: bool,

    /// No effect; accepted for compatibility with Meilisearch.
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    experimental_no_edition_2024_for_settings: bool,

    /// No effect; accepted for compatibility with Meilisearch.
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    experimental_no_edition_2024_for_dumps: bool,

    /// No effect; accepted for compatibility with Meilisearch. Readers of the queue never wait.
    #[arg(long, hide = true, value_name = "COUNT", value_parser = super::count::<u32>)]
    experimental_task_queue_max_readers: Option<u32>,

    /// No effect; accepted for compatibility with Meilisearch. Snapshots are links, so there is nothing to compact.
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    experimental_no_snapshot_compaction: bool,
}

impl Experimental {
    /// Features that are on from the start.
    pub(super) fn preset_features(&self, has_metrics: bool) -> Vec<Feature> {
        let presets = [
            (self.experimental_enable_metrics || has_metrics, Feature::Metrics),
            (self.experimental_enable_logs_route, Feature::LogsRoute),
            (self.experimental_contains_filter, Feature::ContainsFilter),
        ];
        presets.into_iter().filter_map(|(is_on, feature)| is_on.then_some(feature)).collect()
    }
}
