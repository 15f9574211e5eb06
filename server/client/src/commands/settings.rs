//! `lamina settings get|set|add|reset`: settings of an index, as JSON.

use std::io::Read;
use std::path::Path;

use clap::{Args, Subcommand};
use lamina_base::text_file;
use reqwest::Method;
use serde_json::{Value, json};

use super::{CommandError, index_of, task_failure};
use crate::client::{Client, ServerArgs};

/// Details of a task: secrets that were forgotten because their address changed.
const FORGOTTEN: &str = "forgottenSecrets";
/// Details of a task: embedders that could not be reached.
const FAILURES: &str = "embeddingFailures";

/// Read or change the settings of an index.
#[derive(Debug, Clone, Args)]
pub struct SettingsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Clone, Subcommand)]
enum Action {
    /// Print all settings, or one.
    Get {
        /// Name of the setting: `rankingRules`.
        name: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Change one setting, or several with an object; returns when the change has taken effect.
    Set {
        /// The name of a setting and its value as JSON, or an object of settings. `-` reads standard input, `@FILE` a file.
        #[arg(value_names = ["NAME", "JSON"], num_args = 1..=2, required = true)]
        change: Vec<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Add values to a setting that is a list, such as `filterableAttributes`.
    Add {
        /// Name of the setting, as in `/indexes/{uid}/settings`.
        name: String,
        /// Values to add; those that it has are left as they are.
        #[arg(value_name = "VALUE", num_args = 1.., required = true)]
        values: Vec<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Reset a setting to its default.
    Reset {
        /// Name of the setting, as in `/indexes/{uid}/settings`.
        name: String,
        #[command(flatten)]
        place: Place,
    },
}

impl SettingsArgs {
    pub(super) fn json(&self) -> bool {
        match &self.action {
            Action::Get { place, .. }
            | Action::Set { place, .. }
            | Action::Add { place, .. }
            | Action::Reset { place, .. } => place.json,
        }
    }
}

/// Index and server of the command, and its output format.
#[derive(Debug, Clone, Args)]
struct Place {
    /// The index; not needed if the server has only one.
    #[arg(short, long, value_name = "UID")]
    index: Option<String>,
    /// Print results and errors as JSON, for programs. What `get` prints is JSON anyway.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn run(args: &SettingsArgs) -> Result<String, CommandError> {
    match &args.action {
        Action::Get { name, place } => {
            let (client, uid) = open(place).await?;
            let settings = client.call(Method::GET, client.route(&["indexes", &uid, "settings"]), None).await?;
            let shown = match name {
                None => settings,
                Some(name) => settings.get(name).cloned().ok_or_else(|| unknown(name, &settings))?,
            };
            Ok(format!("{shown:#}\n"))
        }
        Action::Set { change, place } => match &change[..] {
            [name, value] => changed(place, &json!({ name: read(value)? })).await,
            values => changed(place, &read(&values.concat())?).await,
        },
        Action::Add { name, values, place } => {
            let (client, uid) = open(place).await?;
            let settings = client.call(Method::GET, client.route(&["indexes", &uid, "settings"]), None).await?;
            changed(place, &json!({ name: extended(name, values, &settings)? })).await
        }
        Action::Reset { name, place } => changed(place, &json!({ name: null })).await,
    }
}

async fn open(place: &Place) -> Result<(Client, String), CommandError> {
    let client = Client::new(&place.server)?;
    let uid = index_of(&client, place.index.as_ref()).await?;
    Ok((client, uid))
}

/// The list of a setting with `values` at its end, each once.
fn extended(name: &str, values: &[String], settings: &Value) -> Result<Value, CommandError> {
    let found = settings.get(name).ok_or_else(|| unknown(name, settings))?;
    let Value::Array(list) = found else {
        let text = format!("the setting `{name}` is not a list: `lamina settings set {name} JSON` replaces it");
        return Err(CommandError::Value(text));
    };
    let mut list = list.clone();
    for value in values {
        if !list.iter().any(|known| known == value) {
            list.push(json!(value));
        }
    }
    Ok(Value::Array(list))
}

fn unknown(name: &str, settings: &Value) -> CommandError {
    let names: Vec<&str> = settings.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    CommandError::Value(format!("there is no setting `{name}`. Settings are: {}", names.join(", ")))
}

/// JSON, a file of it, or what comes on standard input.
fn read(value: &str) -> Result<Value, CommandError> {
    let failed = |file: &str| {
        let file = file.to_owned();
        |source| CommandError::Read { file, source }
    };
    let text = match value.strip_prefix('@') {
        Some(file) => text_file::read(Path::new(file)).map_err(failed(file))?,
        None if value == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(failed("standard input"))?;
            text
        }
        None => value.to_owned(),
    };
    serde_json::from_str(text_file::text_without_mark(&text))
        .map_err(|error| CommandError::Value(format!("the value is not JSON ({error}); texts need quotes: '\"text\"'")))
}

/// Sends the change, waits for its task, and says what became of it.
async fn changed(place: &Place, change: &Value) -> Result<String, CommandError> {
    let (client, uid) = open(place).await?;
    let mut route = client.route(&["indexes", &uid, "settings"]);
    route.query_pairs_mut().append_pair("wait", "searchable");
    let answer = client.call(Method::PATCH, route, Some(change)).await?;
    let task = client.ended_task(answer).await?;
    let number = task["uid"].as_u64().unwrap_or_default();
    match task["status"].as_str() {
        Some(status) if status == "succeeded" && place.json => {
            let mut shown = json!({"indexUid": uid, "taskUid": number, "status": status});
            for name in [FORGOTTEN, FAILURES] {
                if let Some(value) = task["details"].get(name) {
                    shown[name] = value.clone();
                }
            }
            Ok(format!("{shown:#}\n"))
        }
        Some("succeeded") => Ok(format!("changed the settings of `{uid}`\n{}", warnings(&task["details"]))),
        _ => Err(task_failure("changes the settings", &task)),
    }
}

/// Returns what a change that succeeded has not done, a line each.
fn warnings(details: &Value) -> String {
    let forgotten = details[FORGOTTEN].as_array().into_iter().flatten().filter_map(Value::as_str);
    let forgotten =
        forgotten.map(|name| format!("forgot the secret `{name}`, because its address has changed: set it again\n"));
    let failures = details[FAILURES]["embedders"].as_object().into_iter().flatten();
    let failures = failures.map(|(name, reason)| {
        format!("the embedder `{name}` does not answer yet: {}\n", reason.as_str().unwrap_or("no reason is known"))
    });
    forgotten.chain(failures).collect()
}
