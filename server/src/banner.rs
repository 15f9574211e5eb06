//! What the server says about itself when it starts.

use std::net::SocketAddr;
use std::path::Path;

use lamina_base::console::{self, Severity};
use lamina_base::options::{ByteSize, human_size};
use lamina_base::outbound::parse_url;
use serde_json::json;

use crate::app::AppState;

/// Prints the banner on standard error, whatever the log level.
pub(crate) fn print(state: &AppState, config_file: Option<&Path>, addresses: &[SocketAddr]) {
    let options = &state.options;
    let config_file = config_file.map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    let scheme = if options.tls.resolved().is_some() { "https" } else { "http" };
    let listening = addresses.iter().map(|address| format!("{scheme}://{address}")).collect::<Vec<_>>().join(", ");
    let telemetry = match options.service.collector() {
        Some(url) => {
            // Without its path and its query, which may hold a secret.
            let to =
                parse_url(url).map_or_else(|_| "--telemetry-url".to_owned(), |url| url.origin().ascii_serialization());
            format!("anonymous usage figures go to {to} every hour; --no-analytics stops them")
        }
        None => "Disabled".to_owned(),
    };
    let page = if options.service.has_console() { "console: /; " } else { "" };
    let lines = [
        ("Configuration file", config_file),
        ("Database path", options.service.db_path.display().to_string()),
        ("Listening on", listening),
        ("Environment", options.service.env.as_str().to_owned()),
        ("Version", env!("CARGO_PKG_VERSION").to_owned()),
        ("Commit", option_env!("LAMINA_COMMIT_SHA").unwrap_or("unknown").to_owned()),
        ("Instance UID", state.instance.uid().to_string()),
        ("Telemetry", telemetry),
        ("Indexing memory", human_size(options.indexing.memory_bytes())),
        ("Indexing threads", options.indexing.threads().to_string()),
        ("Payload limit", ByteSize::new(options.service.payload_bytes_max()).to_string()),
        ("Master key", if options.service.master_key.is_some() { "set" } else { "none" }.to_owned()),
        ("Help", format!("{page}lamina --help, lamina manual; manual: /docs, all routes: /docs/api")),
    ];
    if console::says_json() {
        let key = |name: &str| name.to_lowercase().replace(' ', "_");
        let fields = lines.into_iter().map(|(name, value)| (key(name), json!(value))).collect();
        return console::say_with(Severity::Info, format_args!("Lamina"), fields);
    }
    let mut text = String::from("\nLamina\n\n");
    for (name, value) in lines {
        text.push_str(&format!("{name:<20} {value}\n"));
    }
    console::line(format_args!("{text}"));
}
