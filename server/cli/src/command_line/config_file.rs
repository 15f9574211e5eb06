//! The configuration file: what it says becomes command-line options, so both are read by the same rules.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command, FromArgMatches};
use lamina_base::text_file;
use thiserror::Error;

use super::{Cli, OptionsError};

const DEFAULT_FILE: &str = "./config.toml";

/// Fault of the configuration file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigFileError {
    /// The file was named and cannot be read.
    #[error("unable to open or read the {path:?} configuration file: {source}.")]
    Unreadable {
        /// The file that the option names.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("the {path:?} configuration file is not valid TOML: {source}")]
    Syntax {
        /// The file that the option names.
        path: PathBuf,
        /// Place and reason of the fault.
        source: Box<toml::de::Error>,
    },
    /// A key that is no option.
    #[error("unknown option `{key}` in the {path:?} configuration file")]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// Key as written in the file.
        key: String,
    },
    /// The file would name another one.
    #[error("`config_file_path` is not supported in the configuration file")]
    NamesAFile,
    /// A table, a date, a text where a switch is.
    #[error("option `{key}` of the {path:?} configuration file has a value of the wrong type ({found})")]
    WrongType {
        /// The file.
        path: PathBuf,
        /// The option that it sets.
        key: String,
        /// Type of the value.
        found: &'static str,
    },
    /// A value that its option refuses.
    #[error("in the {path:?} configuration file or on the command line: {source}")]
    Value {
        /// The file.
        path: PathBuf,
        /// Names the option.
        source: clap::Error,
    },
}

pub(super) fn parse(mut args: Vec<OsString>) -> Result<(Cli, Option<PathBuf>), OptionsError> {
    let asks_for_help = args.iter().any(|argument| argument == "--help" || argument == "-h");
    if args.get(1).is_some_and(|argument| argument == super::SERVE) && !asks_for_help {
        args.remove(1);
    }
    let mut command = super::command();
    if args.iter().any(|argument| argument == "-h") {
        command = super::shortened(command);
    }
    let matches = command.clone().try_get_matches_from(&args)?;
    let cli = Cli::from_arg_matches(&matches)?;
    if cli.command.is_some() {
        return Ok((cli, None));
    }
    let Some((path, text)) = read(cli.options.service.config_file_path.as_deref())? else {
        return Ok((with_sources(cli, &matches), None));
    };
    let from_file = options_of(&command, &matches, &path, &text)?;
    let mut args = args.into_iter();
    let all: Vec<OsString> = args.next().into_iter().chain(from_file).chain(args).collect();
    // The first parse accepted the command line and the environment, so a refusal now is about the file.
    let matches =
        command.try_get_matches_from(all).map_err(|source| ConfigFileError::Value { path: path.clone(), source })?;
    let mut cli = with_sources(Cli::from_arg_matches(&matches)?, &matches);
    cli.options.has_config_file = true;
    Ok((cli, Some(path)))
}

/// Remembers which options were given.
fn with_sources(mut cli: Cli, matches: &ArgMatches) -> Cli {
    let is_given = |name: &str| !matches!(matches.value_source(name), None | Some(ValueSource::DefaultValue));
    let names = matches.ids().map(|id| id.as_str()).filter(|name| is_given(name));
    cli.options.specified = names.map(str::to_owned).collect();
    cli
}

fn read(named: Option<&Path>) -> Result<Option<(PathBuf, String)>, ConfigFileError> {
    let path = named.unwrap_or(Path::new(DEFAULT_FILE));
    match text_file::read(path) {
        Ok(text) => Ok(Some((path.to_owned(), text))),
        Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigFileError::Unreadable { path: path.to_owned(), source }),
    }
}

/// The options that the file sets and neither the command line nor the environment does.
fn options_of(
    command: &Command,
    matches: &ArgMatches,
    path: &Path,
    text: &str,
) -> Result<Vec<OsString>, ConfigFileError> {
    let table: toml::Table = toml::from_str(text)
        .map_err(|source| ConfigFileError::Syntax { path: path.to_owned(), source: Box::new(source) })?;
    let mut options = Vec::new();
    for (key, value) in table {
        if key == "config_file_path" {
            return Err(ConfigFileError::NamesAFile);
        }
        let Some(argument) = command.get_arguments().find(|argument| argument.get_id().as_str() == key) else {
            return Err(ConfigFileError::UnknownKey { path: path.to_owned(), key });
        };
        if matches!(matches.value_source(&key), Some(ValueSource::CommandLine | ValueSource::EnvVariable)) {
            continue;
        }
        let flag = format!("--{}", argument.get_long().expect("options have long names"));
        let is_switch = matches!(argument.get_action(), ArgAction::SetTrue);
        match value {
            toml::Value::Boolean(on) if is_switch => options.extend(on.then(|| flag.into())),
            _ if is_switch => return Err(wrong_type(path, key, &value)),
            value => {
                let text = plain_text(&value).ok_or_else(|| wrong_type(path, key, &value))?;
                options.push(format!("{flag}={text}").into());
            }
        }
    }
    Ok(options)
}

fn plain_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(on) => Some(on.to_string()),
        toml::Value::Array(values) => {
            values.iter().map(plain_text).collect::<Option<Vec<_>>>().map(|texts| texts.join(","))
        }
        toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}

fn wrong_type(path: &Path, key: String, value: &toml::Value) -> ConfigFileError {
    ConfigFileError::WrongType { path: path.to_owned(), key, found: value.type_str() }
}
