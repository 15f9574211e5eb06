//! Figures of the machine and the launch options.

use std::fs;

use lamina_base::options::{Options, core_count};
use lamina_data::features::Feature;
use serde_json::{Map, Value, json};

use crate::app::AppState;

/// The properties of the event about the instance itself.
pub(super) fn identity(state: &AppState, days: u64) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut add = |name: &str, value: Value| drop(properties.insert(name.to_owned(), value));
    add("context.app.version", env!("CARGO_PKG_VERSION").into());
    add("system.distribution", distribution().into());
    add("system.kernel_version", trimmed("/proc/sys/kernel/osrelease").into());
    add("system.cores", core_count().into());
    add("system.ram_size", memory_kilobytes().into());
    add("system.disk_size", disk_bytes().into());
    add("system.server_provider", std::env::var("SVC_SERVER_PROVIDER").ok().into());
    add("start_since_days", days.into());
    add("stats.database_size", state.instance.disk_bytes().into());
    add("stats.indexes_number", state.instance.uids().len().into());
    let options = &state.options;
    for name in SPECIFIED {
        add(&format!("infos.{name}"), options.is_specified(name).into());
    }
    add("infos.with_configuration_file", options.has_config_file.into());
    add("infos.task_queue_webhook", options.is_specified("task_webhook_url").into());
    for (name, value) in values(options) {
        add(&format!("infos.{name}"), value);
    }
    for (name, feature) in FEATURES {
        add(&format!("infos.{name}"), state.features.is_on(feature).into());
    }
    add("infos.gpu_enabled", cfg!(feature = "cuda").into());
    add("experimental_network", state.features.is_on(Feature::Network).into());
    properties
}

/// Options of which is only reported whether they were given.
const SPECIFIED: [&str; 21] = [
    "db_path",
    "import_dump",
    "dump_dir",
    "ignore_missing_dump",
    "ignore_dump_if_db_exists",
    "import_snapshot",
    "snapshot_dir",
    "ignore_missing_snapshot",
    "ignore_snapshot_if_db_exists",
    "http_addr",
    "ssl_auth_path",
    "ssl_cert_path",
    "ssl_key_path",
    "ssl_ocsp_path",
    "ssl_resumption",
    "ssl_tickets",
    "experimental_dumpless_upgrade",
    "experimental_no_edition_2024_for_settings",
    "experimental_replication_parameters",
    "experimental_reduce_indexing_memory_usage",
    "experimental_enable_logs_route",
];

const FEATURES: [(&str, Feature); 5] = [
    ("experimental_composite_embedders", Feature::CompositeEmbedders),
    ("experimental_contains_filter", Feature::ContainsFilter),
    ("experimental_edit_documents_by_function", Feature::EditDocumentsByFunction),
    ("experimental_enable_metrics", Feature::Metrics),
    ("experimental_multimodal", Feature::Multimodal),
];

fn values(options: &Options) -> [(&'static str, Value); 10] {
    [
        ("env", options.service.env.as_str().into()),
        ("schedule_snapshot", options.backups.schedule_snapshot.0.map(|interval| interval.as_secs()).into()),
        ("http_payload_size_limit", options.service.payload_bytes_max().into()),
        ("log_level", options.logging.log_level.0.to_string().into()),
        ("max_indexing_memory", options.indexing.memory_bytes().into()),
        ("max_indexing_threads", options.indexing.threads().into()),
        ("ssl_require_auth", options.tls.ssl_require_auth.into()),
        ("experimental_logs_mode", options.logging.experimental_logs_mode.as_str().into()),
        ("experimental_embedding_cache_entries", options.outbound.experimental_embedding_cache_entries.into()),
        ("experimental_search_queue_size", options.searching.experimental_search_queue_size.into()),
    ]
}

fn trimmed(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Name and version of the distribution.
fn distribution() -> Option<String> {
    let text = trimmed("/etc/os-release")?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

fn memory_kilobytes() -> Option<u64> {
    let text = trimmed("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Returns the size of the largest disk.
fn disk_bytes() -> Option<u64> {
    let text = trimmed("/proc/partitions")?;
    let blocks = text.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    blocks.max().map(|blocks| blocks * 1024)
}

/// An event of the same form as all others.
pub(super) fn event(state: &AppState, days: u64) -> Value {
    json!({ "event": "Instance", "timestamp": lamina_base::timestamp::Timestamp::now(), "properties": identity(state, days) })
}
