//! What is known of the options before they can be read.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;
use lamina_base::options::read_variable;
use lamina_base::text_file;

use super::Cli;

const FLAG: &str = "--experimental-logs-mode";
const VARIABLE: &str = "SVC_EXPERIMENTAL_LOGS_MODE";
const KEY: &str = "experimental_logs_mode";

/// Reports whether the options select JSON logs, even if the options have a fault. The order is the command line,
/// the environment, the configuration file.
pub fn asks_for_json(args: impl IntoIterator<Item = OsString>) -> bool {
    let args: Vec<String> = args.into_iter().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let is_command = |arg: &String| Cli::command().get_subcommands().any(|command| command.get_name() == arg);
    if args.iter().any(is_command) {
        return false;
    }
    let named = |flag: &str| {
        let at = args.iter().rposition(|arg| arg == flag || arg.starts_with(&format!("{flag}=")))?;
        args[at].split_once('=').map(|(_, value)| value.to_owned()).or_else(|| args.get(at + 1).cloned())
    };
    let variable = |name: &str| env::var(read_variable(name.to_owned())).ok();
    let mode = named(FLAG).or_else(|| variable(VARIABLE)).or_else(|| {
        let path = named("--config-file-path").or_else(|| variable("SVC_CONFIG_FILE_PATH"));
        mode_of(&text_file::read(Path::new(path.as_deref().unwrap_or("./config.toml"))).ok()?)
    });
    mode.is_some_and(|mode| mode.trim().eq_ignore_ascii_case("json"))
}

/// Line by line: the file may be no TOML.
fn mode_of(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == KEY).then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn asks(args: &[&str]) -> bool {
        asks_for_json(std::iter::once("lamina").chain(args.iter().copied()).map(OsString::from))
    }

    #[test]
    fn the_mode_is_found_in_whatever_is_wrong() {
        assert!(asks(&["--bogus", "--experimental-logs-mode", "json"]));
        assert!(asks(&["--experimental-logs-mode=JSON", "--log-level"]));
        assert!(!asks(&["--experimental-logs-mode=human"]));
        assert!(!asks(&["--experimental-logs-mode"]));
        assert!(!asks(&["import", "--experimental-logs-mode=json"]));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "env = \nexperimental_logs_mode = \"json\"\n").unwrap();
        let option = format!("--config-file-path={}", path.display());
        assert!(asks(&[&option]));
        assert!(!asks(&[&option, "--experimental-logs-mode", "human"]), "the command line wins");
    }
}
