//! Every option from each place that it can come from. The environment belongs to a whole process, so it is read in a
//! process of its own: this test again, which prints what it finds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;

use clap::{Arg, ArgAction};
use lamina_base::options::Options;

use super::{command, config_file};

/// A value, other than the default, for each option that has one; the rest are switches.
const VALUES: [(&str, &str); 79] = [
    ("db_path", "elsewhere"),
    ("http_addr", "0.0.0.0:1234"),
    ("master_key", "a key of sixteen bytes"),
    ("allowed_origins", "https://example.org:8080,null"),
    ("unprotected", "local"),
    ("env", "production"),
    ("http_payload_size_limit", "2 GiB"),
    ("client_timeout", "2m"),
    ("shutdown_timeout", "9"),
    ("error_docs_url", "https://example.org/errors"),
    ("telemetry_url", "https://example.org/figures"),
    ("trace_url", "https://example.org/v1/traces"),
    ("log_level", "debug"),
    ("experimental_logs_mode", "JSON"),
    ("max_indexing_memory", "107.7Gb"),
    ("max_indexing_threads", "77"),
    ("experimental_max_number_of_batched_tasks", "5"),
    ("max_open_indexes", "40"),
    ("max_queue_delay", "5m"),
    ("experimental_limit_batched_tasks_total_size", "3 MiB"),
    ("dump_dir", "there/dumps"),
    ("attach_dir", "there/built"),
    ("import_dump", "a.dump"),
    ("snapshot_dir", "there/snapshots"),
    ("snapshot_store", "gs://backups/films"),
    ("schedule_snapshot", "6h"),
    ("snapshots_kept", "7"),
    ("events_in_backups", "all"),
    ("import_snapshot", "a.snapshot"),
    ("s3_bucket_url", "https://store.example.org"),
    ("s3_bucket_region", "here"),
    ("s3_bucket_name", "backups"),
    ("s3_snapshot_prefix", "mine"),
    ("s3_access_key", "access"),
    ("s3_secret_key", "secret"),
    ("s3_session_token", "session"),
    ("experimental_s3_role_arn", "arn:aws:iam::1:role/a"),
    ("experimental_s3_web_identity_token_file", "token"),
    ("s3_sts_url", "https://sts.example.org"),
    ("experimental_s3_max_in_flight_parts", "3"),
    ("experimental_s3_compression_level", "9"),
    ("experimental_s3_signature_duration_seconds", "60"),
    ("experimental_s3_multipart_part_size", "8 MiB"),
    ("gcs_url", "https://gcs.example.org"),
    ("gcs_credentials_file", "key.json"),
    ("azure_url", "https://azure.example.org"),
    ("azure_account", "films"),
    ("azure_access_key", "a2V5"),
    ("azure_sas_token", "sv=1&sig=2"),
    ("ssl_cert_path", "cert.pem"),
    ("ssl_key_path", "key.pem"),
    ("ssl_auth_path", "roots.pem"),
    ("ssl_ocsp_path", "ocsp.der"),
    ("publish", "file:///there/feed"),
    ("follow", "file:///there/feed"),
    ("publish_interval", "5s"),
    ("takeover_after", "7s"),
    ("durability", "store"),
    ("durability_timeout", "11s"),
    ("public_url", "https://search.example.org"),
    ("max_lag", "30s"),
    ("slow_search_ms", "250"),
    ("experimental_search_queue_size", "12"),
    ("experimental_nb_searches_per_core", "9"),
    ("experimental_drop_search_after", "3m"),
    ("answer_cache_size", "1 MB"),
    ("max_answer_memory", "16 MB"),
    ("max_request_memory", "8 MB"),
    ("keep", "24h"),
    ("scrub_rate", "10 MB"),
    ("scrub_interval", "12h"),
    ("task_webhook_url", "https://example.org/hook"),
    ("task_webhook_authorization_header", "Bearer of news"),
    ("experimental_allowed_ip_networks", "10.0.0.0/8,192.168.1.7"),
    ("experimental_remote_search_timeout_seconds", "5"),
    ("experimental_embedding_cache_entries", "100"),
    ("embedding_cache_size", "1 GB"),
    ("embedder_requests_per_minute", "600"),
    ("embedder_tokens_per_minute", "9000"),
];

/// Options of the specification of the service, and those that other servers of the protocol have.
const PROMISED: &str = "env db_path import_dump dump_dir ignore_missing_dump ignore_dump_if_db_exists import_snapshot \
    schedule_snapshot snapshot_dir ignore_missing_snapshot ignore_snapshot_if_db_exists http_addr \
    http_payload_size_limit log_level max_indexing_memory max_indexing_threads ssl_auth_path ssl_cert_path ssl_key_path \
    ssl_ocsp_path ssl_require_auth ssl_resumption ssl_tickets task_webhook_url task_webhook_authorization_header \
    experimental_allowed_ip_networks experimental_enable_metrics experimental_replication_parameters \
    experimental_reduce_indexing_memory_usage experimental_enable_logs_route experimental_dumpless_upgrade upgrade_db \
    master_key no_analytics telemetry_url config_file_path experimental_contains_filter \
    experimental_legacy_search_default experimental_logs_mode experimental_search_queue_size \
    experimental_nb_searches_per_core experimental_drop_search_after experimental_max_number_of_batched_tasks \
    experimental_limit_batched_tasks_total_size experimental_embedding_cache_entries \
    experimental_remote_search_timeout_seconds experimental_task_queue_max_readers \
    experimental_no_edition_2024_for_settings experimental_no_snapshot_compaction \
    experimental_no_edition_2024_for_dumps experimental_personalization_api_key s3_bucket_url s3_bucket_region \
    s3_bucket_name s3_snapshot_prefix s3_access_key s3_secret_key experimental_s3_role_arn \
    experimental_s3_web_identity_token_file experimental_s3_max_in_flight_parts experimental_s3_compression_level \
    experimental_s3_signature_duration_seconds experimental_s3_multipart_part_size";

/// The options that a file may set.
fn arguments() -> Vec<Arg> {
    let is_one = |argument: &&Arg| {
        let is_shown = argument.get_help_heading().is_some() && !argument.is_hide_set();
        is_shown && argument.get_id() != "config_file_path"
    };
    command().get_arguments().filter(is_one).cloned().collect()
}

fn value_of(argument: &Arg) -> Option<&'static str> {
    if matches!(argument.get_action(), ArgAction::SetTrue) {
        return None;
    }
    let id = argument.get_id().as_str();
    let value = VALUES.iter().find(|(name, _)| *name == id).map(|(_, value)| *value);
    Some(value.unwrap_or_else(|| panic!("no value for {id}")))
}

/// Returns the parsed options, without those that only name their source.
fn read(args: &[String]) -> String {
    let all = std::iter::once("lamina".to_owned()).chain(args.iter().cloned()).map(OsString::from);
    let (cli, _) = config_file::parse(all.collect()).unwrap_or_else(|error| panic!("{args:?}: {error}"));
    shown(cli.options)
}

fn shown(mut options: Options) -> String {
    options.specified.clear();
    options.has_config_file = false;
    options.service.config_file_path = None;
    format!("{options:?}")
}

const ARGS: &str = "LAMINA_TEST_ARGS";
const MARK: &str = "options: ";

/// Not a test of its own: what [`read_by_another`] runs.
#[test]
fn a_process_of_its_own() {
    let Ok(args) = std::env::var(ARGS) else { return };
    let args: Vec<String> = args.lines().map(str::to_owned).collect();
    println!("{MARK}{}", read(&args));
}

/// Reads like [`read`], in a process with these environment variables.
fn read_by_another(variables: &[(String, &str)], args: &[String]) -> String {
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--exact", "command_line::sources_tests::a_process_of_its_own", "--nocapture"])
        .env(ARGS, args.join("\n"));
    this.envs(variables.iter().map(|(name, value)| (name, value)));
    let output = this.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let line = said.lines().find_map(|line| line.split_once(MARK));
    line.unwrap_or_else(|| panic!("{variables:?}: {said}{}", String::from_utf8_lossy(&output.stderr))).1.to_owned()
}

fn file(text: &str) -> (tempfile::NamedTempFile, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let option = format!("--config-file-path={}", file.path().display());
    (file, option)
}

fn variable(argument: &Arg) -> String {
    argument.get_env().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn every_option_that_was_promised_is_there() {
    let command = command();
    let known: BTreeMap<&str, &Arg> =
        command.get_arguments().map(|argument| (argument.get_id().as_str(), argument)).collect();
    for name in PROMISED.split_whitespace() {
        assert!(known.contains_key(name), "{name}");
    }
}

#[test]
fn every_option_can_come_from_the_command_line_the_environment_and_the_file() {
    let default = read(&[]);
    for argument in arguments() {
        let (id, flag) = (argument.get_id().as_str(), format!("--{}", argument.get_long().unwrap()));
        let value = value_of(&argument);
        let by_flag = read(&[value.map_or(flag.clone(), |value| format!("{flag}={value}"))]);
        assert_ne!(by_flag, default, "{id} is not read");
        if let Some(value) = value {
            assert_eq!(read(&[flag, value.to_owned()]), by_flag, "{id} and its value apart");
        }
        let (_kept, option) = file(&value.map_or(format!("{id} = true"), |value| format!("{id} = {value:?}")));
        assert_eq!(read(&[option]), by_flag, "{id} in the file");
        let variables = [(variable(&argument), value.unwrap_or("yes"))];
        assert_eq!(read_by_another(&variables, &[]), by_flag, "{id} in the environment");
    }
}

#[test]
fn the_command_line_wins_over_the_environment_and_that_over_the_file() {
    let (_kept, from_file) = file("http_addr = \"file:1\"\nno_analytics = true\nmax_indexing_threads = 3\n");
    let address = |value: &'static str| [("SVC_HTTP_ADDR".to_owned(), value)];
    let flag = "--http-addr=flag:1".to_owned();
    let has = |text: &str, wanted: &str| assert!(text.contains(&format!("http_addr: {wanted:?}")), "{text}");
    has(&read_by_another(&address("variable:1"), &[from_file.clone(), flag]), "flag:1");
    has(&read_by_another(&address("variable:1"), std::slice::from_ref(&from_file)), "variable:1");
    has(&read_by_another(&[], std::slice::from_ref(&from_file)), "file:1");
    // A switch that the environment turns off, in each of its words; any other word turns it on.
    for (word, is_on) in
        [("n", false), ("No", false), ("f", false), ("FALSE", false), ("off", false), ("0", false), ("x", true)]
    {
        let read = read_by_another(&[("SVC_NO_ANALYTICS".to_owned(), word)], std::slice::from_ref(&from_file));
        assert!(read.contains(&format!("no_analytics: {is_on}")), "{word}: {read}");
    }
    // Which file is read is said by a variable too.
    let path = from_file.split_once('=').unwrap().1;
    has(&read_by_another(&[("SVC_CONFIG_FILE_PATH".to_owned(), path)], &[]), "file:1");
}
