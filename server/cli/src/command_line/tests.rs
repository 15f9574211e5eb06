//! Shapes of launch options, and what they need of each other; where they come from is in `sources`.

use std::io::Write;

use lamina_base::options::*;

use super::*;

fn parse_with(file: Option<&str>, args: &[&str]) -> Result<(Options, Option<PathBuf>), OptionsError> {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    let mut all = vec![OsString::from("lamina")];
    if let Some(text) = file {
        config.write_all(text.as_bytes()).unwrap();
        all.push("--config-file-path".into());
        all.push(config.path().into());
    }
    all.extend(args.iter().map(OsString::from));
    parse(all).map(|(cli, path)| (cli.options, path))
}

fn options(file: Option<&str>, args: &[&str]) -> Options {
    parse_with(file, args).unwrap().0
}

fn error(file: Option<&str>, args: &[&str]) -> String {
    parse_with(file, args).unwrap_err().to_string()
}

#[test]
fn the_command_is_well_formed() {
    command().debug_assert();
}

#[test]
fn defaults() {
    let options = options(None, &[]);
    assert_eq!(options.service.http_addr, "localhost:7700");
    assert_eq!(options.service.payload_bytes_max(), 100_000_000);
    assert_eq!(options.searching.experimental_search_queue_size, 1000);
    assert!(options.indexing.threads() >= 1);
    assert!(options.indexing.batch_bytes_max() <= options.indexing.memory_bytes());
}

#[test]
fn errors_link_to_the_page_of_the_server_unless_there_is_another() {
    let link = |arguments: &[&str]| options(None, arguments).error_docs().link(lamina_base::error::Code::IndexNotFound);
    // A build that belongs to a documentation leads there.
    if option_env!("LAMINA_DOCS_URL").is_none() {
        for (arguments, base) in [
            (&[][..], "http://localhost:7700/docs/errors"),
            (&["--http-addr", "0.0.0.0:80"], "http://localhost:80/docs/errors"),
            (&["--http-addr", "[::]:7701"], "http://localhost:7701/docs/errors"),
            (&["--http-addr", "search.internal:7700"], "http://search.internal:7700/docs/errors"),
            (&["--public-url", "https://search.example.org/"], "https://search.example.org/docs/errors"),
            (&["--ssl-cert-path", "a", "--ssl-key-path", "b"], "https://localhost:7700/docs/errors"),
        ] {
            assert_eq!(link(arguments), format!("{base}#index_not_found"), "{arguments:?}");
        }
    }
    assert_eq!(link(&["--error-docs-url", "https://e.org/x#"]), "https://e.org/x#index_not_found");
}

#[test]
fn the_command_line_wins_over_the_file_and_the_file_over_defaults() {
    let file = "http_addr = \"0.0.0.0:1\"\nmax_indexing_memory = 1000\nhttp_payload_size_limit = \"2 GiB\"\n";
    let options = options(Some(file), &["--http-addr", "0.0.0.0:2"]);
    assert_eq!(options.service.http_addr, "0.0.0.0:2");
    assert_eq!(options.indexing.memory_bytes(), 1000);
    assert_eq!(options.service.payload_bytes_max(), 2 << 30);
}

#[test]
fn indexing_memory_is_shared_out_whole() {
    for (size, besides) in [("200MB", 25_000_000), ("16 GiB", 32 << 20)] {
        let indexing = options(None, &["--max-indexing-memory", size]).indexing;
        let shares =
            indexing.batch_heap_bytes_max() + indexing.inline_bytes_max() + 2 * indexing.merge_heap_bytes_max();
        assert_eq!(indexing.memory_bytes() - shares, besides, "{size}: for what the server holds besides");
    }
}

#[test]
fn values_of_the_file_are_read_generously() {
    let options =
        options(Some("log_level = \"debug\"\nexperimental_logs_mode = \"JSON\"\nmax_indexing_threads = 3\n"), &[]);
    assert_eq!(options.logging.log_level, "DEBUG".parse().unwrap());
    assert_eq!(options.logging.experimental_logs_mode, LogsMode::Json);
    assert_eq!(options.indexing.threads(), 3);
}

#[test]
fn files_with_faults_are_refused_by_name() {
    assert!(error(Some("nonsense = 1"), &[]).starts_with("unknown option `nonsense` in"));
    assert_eq!(
        error(Some("config_file_path = \"x\""), &[]),
        "`config_file_path` is not supported in the configuration file"
    );
    assert!(error(Some("log_level = \"loud\""), &[]).contains("Log level 'loud' is invalid. Accepted values are"));
    assert!(error(Some("[http_addr]"), &[]).contains("wrong type (table)"));
    assert!(error(Some("= 1"), &[]).contains("not valid TOML"));
    let missing = parse_with(None, &["--config-file-path", "/nonexistent/x.toml"]).unwrap_err().to_string();
    assert!(
        missing.starts_with("unable to open or read the \"/nonexistent/x.toml\" configuration file: "),
        "{missing}"
    );
}

#[test]
fn bad_values_are_refused() {
    assert!(error(None, &["--env", "staging"]).contains("[possible values: development, production]"));
    assert!(error(None, &["--http-payload-size-limit", "many"]).contains("`many` is not a size"));
    assert!(error(None, &["--experimental-logs-mode", "x"]).contains("Supported values are `HUMAN` and `JSON`."));
    assert!(error(None, &["--experimental-nb-searches-per-core", "0"]).contains("`0` is not a count"));
}

#[test]
fn origins_are_what_browsers_write() {
    let read = |text: &str| options(None, &["--allowed-origins", text]).service.allowed_origins.0;
    assert_eq!(read(""), [""; 0]);
    assert_eq!(
        read("https://Example.org/, http://a:8080,*,null"),
        ["https://example.org", "http://a:8080", "*", "null"]
    );
    for bad in ["example.org", "https://example.org/app", "https://user@example.org", "ftp://example.org"] {
        let said = error(None, &["--allowed-origins", bad]);
        assert!(said.contains("is not an origin"), "{said}");
    }
}

#[test]
fn a_secret_that_is_refused_is_not_shown() {
    let said = error(None, &["--task-webhook-authorization-header", "Bearer secret\n"]);
    assert!(said.contains("`--task-webhook-authorization-header`"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

const SIZE: [&str; 2] = ["is not a size: expected bytes, or a number with a unit", "is too large: expected at most"];
const TIME: [&str; 2] = ["expected seconds, or a number with", "is too long: expected at most 36500 days"];
const COUNT: [&str; 2] = ["is not a count: expected an integer", "is too large: expected an integer"];
/// Options that take numbers, with what they say of others.
const NUMBERS: [(&str, [&str; 2]); 42] = [
    ("http-payload-size-limit", SIZE),
    ("max-indexing-memory", SIZE),
    ("experimental-limit-batched-tasks-total-size", SIZE),
    ("answer-cache-size", SIZE),
    ("max-answer-memory", SIZE),
    ("max-request-memory", SIZE),
    ("embedding-cache-size", SIZE),
    ("experimental-s3-multipart-part-size", SIZE),
    ("scrub-rate", SIZE),
    ("scrub-interval", TIME),
    ("keep", TIME),
    ("publish-interval", TIME),
    ("takeover-after", TIME),
    ("durability-timeout", TIME),
    ("max-lag", TIME),
    ("client-timeout", TIME),
    ("shutdown-timeout", TIME),
    ("experimental-drop-search-after", TIME),
    ("experimental-remote-search-timeout-seconds", TIME),
    ("schedule-snapshot", TIME),
    ("max-queue-delay", TIME),
    ("max-indexing-threads", COUNT),
    ("experimental-max-number-of-batched-tasks", COUNT),
    ("max-open-indexes", COUNT),
    ("snapshots-kept", COUNT),
    ("experimental-s3-max-in-flight-parts", COUNT),
    ("experimental-s3-compression-level", COUNT),
    ("experimental-s3-signature-duration-seconds", COUNT),
    ("experimental-search-queue-size", COUNT),
    ("experimental-nb-searches-per-core", COUNT),
    ("experimental-embedding-cache-entries", COUNT),
    ("embedder-requests-per-minute", COUNT),
    ("embedder-tokens-per-minute", COUNT),
    ("experimental-task-queue-max-readers", COUNT),
    ("experimental-dsr-fuel-max-counted-words", COUNT),
    ("experimental-dsr-fuel-max-active-rules", COUNT),
    ("experimental-dsr-fuel-max-pin-actions", COUNT),
    ("experimental-dsr-fuel-word-fuel", COUNT),
    ("experimental-dsr-fuel-filter-fuel", COUNT),
    ("experimental-dsr-fuel-filter-or-fuel", COUNT),
    ("experimental-dsr-fuel-filter-and-fuel", COUNT),
    ("experimental-dsr-fuel-filter-depth-fuel", COUNT),
];

/// With one of these words, each option that takes a number says which it is, what it was given, and what it takes.
#[test]
fn bad_numbers_are_refused_with_the_option_and_what_it_takes() {
    // New options of numbers are added here.
    let takes_numbers = |argument: &&clap::Arg| {
        let names = argument.get_value_names().unwrap_or_default();
        names.iter().any(|name| ["COUNT", "SECONDS", "SIZE", "LEVEL"].contains(&name.as_str()))
    };
    let command = command();
    let listed = command.get_arguments().filter(takes_numbers).filter_map(clap::Arg::get_long);
    assert_eq!(listed.filter(|name| *name != "log-level").count(), NUMBERS.len());
    for (name, [form, largest]) in NUMBERS {
        let flag = format!("--{name}");
        for (value, expected) in [("x", form), ("-1", form), ("1x9", form), ("99999999999999999999999999", largest)] {
            let id = name.replace('-', "_");
            for said in [
                error(None, &[&flag, value]),
                error(None, &[&format!("{flag}={value}")]),
                error(Some(&format!("{id} = \"{value}\"")), &[]),
            ] {
                assert!(said.contains(&format!("{flag} ")) || said.contains(&format!("{flag}=")), "{flag}: {said}");
                assert!(said.contains(&format!("`{value}`")), "{flag} {value}: {said}");
                assert!(said.contains(expected), "{flag} {value}: {said}");
            }
        }
    }
    let level = error(None, &["--experimental-s3-compression-level", "10"]);
    assert!(level.contains("`10` is too large: expected an integer from 0 to 9"), "{level}");
    let requests = error(None, &["--embedder-requests-per-minute", "4294967296"]);
    assert!(requests.contains("expected an integer of at most 4294967295"), "{requests}");
    assert_eq!(options(None, &["--experimental-search-queue-size=0"]).searching.experimental_search_queue_size, 0);
    // What other servers of the protocol write for "no limit".
    options(None, &["--experimental-max-number-of-batched-tasks=18446744073709551615"]);
}

#[test]
fn unlimited_threads_are_the_default() {
    let default = options(None, &[]).indexing.threads();
    assert_eq!(options(None, &["--max-indexing-threads", "unlimited"]).indexing.threads(), default);
    for nothing in ["", "0", " 0 "] {
        assert_eq!(options(None, &["--max-indexing-threads", nothing]).indexing.threads(), default, "{nothing:?}");
    }
    assert_eq!(options(None, &["--max-indexing-threads", "99"]).indexing.threads(), 99);
}

#[test]
fn options_that_need_each_other_are_checked_wherever_they_come_from() {
    let refused = |file: Option<&str>, args: &[&str]| error(file, args);
    assert_eq!(refused(None, &["--ignore-missing-dump"]), "`--ignore-missing-dump` needs `--import-dump`");
    assert_eq!(refused(None, &["--ssl-cert-path", "c.pem"]), "`--ssl-cert-path` needs `--ssl-key-path`");
    assert_eq!(refused(Some("ssl_require_auth = true"), &[]), "`--ssl-require-auth` needs `--ssl-auth-path`");
    assert!(refused(None, &["--import-dump", "a", "--import-snapshot", "b"]).contains("cannot be used with"));
    // One from the file, the other from the command line.
    let both = options(Some("import_dump = \"a.dump\""), &["--ignore-missing-dump"]);
    assert!(both.backups.ignore_missing_dump);
    assert!(both.backups.import_dump.is_some());
}

#[test]
fn snapshots_are_scheduled_in_seconds_or_human_units_or_daily() {
    let seconds =
        |file: Option<&str>, args: &[&str]| options(file, args).backups.schedule_snapshot.0.map(|time| time.as_secs());
    assert_eq!(seconds(None, &[]), None);
    assert_eq!(seconds(None, &["--schedule-snapshot"]), Some(86_400));
    assert_eq!(seconds(None, &["--schedule-snapshot", "3600"]), Some(3600));
    assert_eq!(seconds(None, &["--schedule-snapshot=6h", "--env", "development"]), Some(21_600));
    assert_eq!(seconds(Some("schedule_snapshot = true"), &[]), Some(86_400));
    assert_eq!(seconds(Some("schedule_snapshot = false"), &[]), None);
    assert_eq!(seconds(Some("schedule_snapshot = 60"), &[]), Some(60));
    assert!(error(None, &["--schedule-snapshot", "often"]).contains("`often` is not an interval"));
}

#[test]
fn tls_wants_both_files_and_telemetry_an_address() {
    assert!(options(None, &[]).tls.resolved().is_none());
    let tls = options(None, &["--ssl-cert-path", "c", "--ssl-key-path", "k", "--ssl-tickets"]).tls.resolved().unwrap();
    assert!(tls.tickets);
    assert!(!tls.resumption);
    assert!(tls.client_roots.is_none());
    assert_eq!(options(None, &[]).service.collector(), None);
    let url = ["--telemetry-url", "https://example.org"];
    assert_eq!(options(None, &url).service.collector(), Some("https://example.org"));
    assert_eq!(options(Some("no_analytics = true"), &url).service.collector(), None);
}

#[test]
fn options_know_whether_they_were_given() {
    let options = options(Some("dump_dir = \"x\""), &["--http-addr", "localhost:1"]);
    assert!(options.is_specified("dump_dir"));
    assert!(options.is_specified("http_addr"));
    assert!(options.has_config_file);
    assert!(!options.is_specified("snapshot_dir"));
}

#[test]
fn less_memory_is_a_quarter() {
    let args = ["--max-indexing-memory", "400", "--experimental-reduce-indexing-memory-usage"];
    assert_eq!(options(None, &args).indexing.memory_bytes(), 100);
}

#[test]
fn what_this_server_does_not_do_is_refused_at_once() {
    assert_eq!(
        error(Some("experimental_personalization_api_key = \"x\""), &[]),
        "`--experimental-personalization-api-key` cannot be used: this server does not support personalized search"
    );
    // Names of other servers of the protocol that make no difference are no mistakes.
    options(Some("experimental_no_edition_2024_for_dumps = true"), &["--experimental-legacy-search-default"]);
}

#[test]
fn what_newer_versions_do_not_have_is_taken_with_a_notice() {
    let notices = |args: &[&str]| options(None, args).removed_notices();
    for (name, says) in [
        ("--experimental-no-edition-2024-for-dumps", "has no effect"),
        ("--experimental-no-snapshot-compaction", "has no effect"),
        ("--experimental-replication-parameters", "works here, but newer versions of Meilisearch do not have it"),
        ("--experimental-dumpless-upgrade", "works here, but newer versions of Meilisearch call it `--upgrade-db`"),
    ] {
        let found = notices(&[name]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&format!("`{name}` {says}")), "{found:?}");
    }
    assert_eq!(options(Some("experimental_no_snapshot_compaction = true"), &[]).removed_notices().len(), 1);
    assert_eq!(notices(&["--upgrade-db", "--experimental-legacy-search-default"]), [""; 0]);
}

#[test]
fn an_object_store_is_named_completely_or_not_at_all() {
    let all = ["--s3-bucket-url=http://a", "--s3-bucket-region=r", "--s3-bucket-name=b", "--s3-access-key=k"];
    assert_eq!(error(None, &all), "`--s3-bucket-url` needs `--s3-secret-key`");
    let all = [&all[..], &["--s3-secret-key=s", "--experimental-s3-multipart-part-size=8MiB"]].concat();
    assert_eq!(options(None, &all).object_storage.experimental_s3_multipart_part_size.bytes(), 8 << 20);
    assert!(error(None, &["--experimental-s3-compression-level=10"]).contains("10"));
    assert!(options(None, &[&all[..], &["--s3-session-token=t"]].concat()).object_storage.s3_session_token.is_some());
}

#[test]
fn a_role_takes_the_place_of_keys() {
    let (arn, file) = ("--experimental-s3-role-arn=a", "--experimental-s3-web-identity-token-file=f");
    let bucket = ["--s3-bucket-url=http://a", "--s3-bucket-region=r", "--s3-bucket-name=b"];
    let with = |more: &[&'static str]| [&bucket[..], more].concat();
    assert!(options(None, &with(&[arn, file])).object_storage.experimental_s3_role_arn.is_some());
    assert!(options(None, &with(&[arn, file, "--s3-sts-url=http://c"])).object_storage.s3_sts_url.is_some());
    assert_eq!(error(None, &[arn, file]), "`--experimental-s3-role-arn` needs `--s3-bucket-url`");
    let lonely = error(None, &with(&[arn]));
    assert_eq!(lonely, "`--s3-bucket-url` needs `--experimental-s3-web-identity-token-file`");
    assert_eq!(error(None, &["--s3-session-token=t"]), "`--s3-session-token` needs `--s3-bucket-url`");
    assert!(error(None, &with(&[arn, file, "--s3-access-key=k"])).contains("cannot be used with"));
}

#[test]
fn an_upgrade_is_made_unless_it_is_refused() {
    assert!(options(None, &[]).service.upgrades());
    assert!(!options(None, &["--no-upgrade"]).service.upgrades());
    for name in ["--experimental-dumpless-upgrade", "--upgrade-db"] {
        assert!(options(None, &["--no-upgrade", name]).service.upgrades(), "{name}");
    }
}
