//! Precedence and shapes of launch options. The environment belongs to the whole process, so it is not written here;
//! that it wins over the file follows from how clap reports where a value comes from.

use std::io::Write;

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
    use clap::CommandFactory;
    Cli::command().debug_assert();
}

#[test]
fn defaults() {
    let options = options(None, &[]);
    assert_eq!(options.http_addr, "localhost:7700");
    assert_eq!(options.payload_bytes_max(), 100_000_000);
    assert_eq!(options.experimental_search_queue_size, 1000);
    assert!(options.indexing_threads() >= 1);
    assert!(options.batch_bytes_max() <= options.indexing_memory_bytes());
}

#[test]
fn the_command_line_wins_over_the_file_and_the_file_over_defaults() {
    let file = "http_addr = \"0.0.0.0:1\"\nmax_indexing_memory = 1000\nhttp_payload_size_limit = \"2 GiB\"\n";
    let options = options(Some(file), &["--http-addr", "0.0.0.0:2"]);
    assert_eq!(options.http_addr, "0.0.0.0:2");
    assert_eq!(options.indexing_memory_bytes(), 1000);
    assert_eq!(options.payload_bytes_max(), 2 << 30);
}

#[test]
fn values_of_the_file_are_read_generously() {
    let options =
        options(Some("log_level = \"debug\"\nexperimental_logs_mode = \"JSON\"\nmax_indexing_threads = 3\n"), &[]);
    assert_eq!(options.log_level, "DEBUG".parse().unwrap());
    assert_eq!(options.experimental_logs_mode, LogsMode::Json);
    assert_eq!(options.indexing_threads(), 3);
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
    assert!(error(Some("= 1"), &[]).contains("no valid TOML"));
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
    assert!(error(None, &["--experimental-nb-searches-per-core", "0"]).contains("number would be zero"));
}

#[test]
fn unlimited_threads_are_the_default() {
    let default = options(None, &[]).indexing_threads();
    assert_eq!(options(None, &["--max-indexing-threads", "unlimited"]).indexing_threads(), default);
    assert_eq!(options(None, &["--max-indexing-threads", "99"]).indexing_threads(), 99);
}
