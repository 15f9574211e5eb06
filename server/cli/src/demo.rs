//! `lamina demo`: a server on this machine with films to search, for a first look.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clap::{Args, FromArgMatches};
use lamina_base::console;
use lamina_base::options::Options;
use lamina_client::client::{Client, ClientError, ServerArgs, run_to_end};
use lamina_data::instance::InstanceError;
use lamina_server::run::{self, Ready, ServeError};
use reqwest::Method;
use rustix::process::{Signal, geteuid, getpid, kill_process};
use serde_json::Value;
use thiserror::Error;

/// The port of a server without options.
const PORT: u16 = 7700;
/// Programs that open an address where there is a desktop.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Start a server on this machine with 4,000 films to search.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Port to listen on; 0 for any that is free.
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// Folder of the database; by default one in the folder for temporary files.
    ///
    /// A later start finds the films of an earlier one there.
    #[arg(long, value_name = "FOLDER")]
    db_path: Option<PathBuf>,
    /// Do not open the page in a browser.
    ///
    /// It is opened where there is a desktop.
    #[arg(long)]
    no_open: bool,
}

/// Reason why there is nothing to look at.
#[derive(Debug, Error)]
enum DemoError {
    #[error("port {0} is in use: choose another one with --port, or --port 0 for any that is free")]
    PortInUse(u16),
    #[error("{0}\nAnother demo may be running: stop it, or choose another folder with --db-path")]
    FolderInUse(InstanceError),
    #[error("{path}: {reason}. Choose another folder with --db-path", path = path.display())]
    Folder { path: PathBuf, reason: String },
    #[error(transparent)]
    Serve(ServeError),
    #[error("cannot load the films: {0}")]
    Load(String),
}

/// Serves until Ctrl-C.
pub fn run(args: &DemoArgs) -> ExitCode {
    match serve(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::failed("demo", false, &error, None);
            ExitCode::FAILURE
        }
    }
}

fn serve(args: &DemoArgs) -> Result<(), DemoError> {
    let folder = match &args.db_path {
        Some(folder) => folder.clone(),
        None => own_folder(&env::temp_dir())?,
    };
    let options = options(args.port, &folder);
    let is_to_open = !args.no_open;
    let failure = Arc::new(OnceLock::new());
    let failing = Arc::clone(&failure);
    // Only once the address is ours: another server that listens there is left alone.
    let ready = Ready::Call(Box::new(move |address| {
        std::thread::spawn(move || {
            if let Err(error) = greet(address, &folder, is_to_open) {
                failing.get_or_init(|| error.to_string());
                // The server ends as it does for Ctrl-C.
                let _ = kill_process(getpid(), Signal::TERM);
            }
        });
    }));
    match run::serve(options, ready) {
        Ok(_) => failure.get().map_or(Ok(()), |reason| Err(DemoError::Load(reason.clone()))),
        Err(ServeError::Listen { source, .. }) if source.kind() == io::ErrorKind::AddrInUse => {
            Err(DemoError::PortInUse(args.port))
        }
        Err(ServeError::Instance(error @ InstanceError::InUse { .. })) => Err(DemoError::FolderInUse(error)),
        Err(error) => Err(DemoError::Serve(error)),
    }
}

/// Options of the server: of the command alone, whatever variables and files say of other servers of this machine.
fn options(port: u16, folder: &Path) -> Options {
    let address = format!("--http-addr=127.0.0.1:{port}");
    let words = ["demo", &address, "--env=development", "--log-level=ERROR", "--no-analytics", "--metrics"];
    let matches = Options::augment_args(clap::Command::new("demo")).get_matches_from(words);
    let mut options = Options::from_arg_matches(&matches).expect("the options of the demo are right");
    folder.clone_into(&mut options.service.db_path);
    options
}

/// The folder that each demo of this user has, made if it is not there. Others can write into the folder for temporary files:
/// what they have put there is refused.
fn own_folder(temporary: &Path) -> Result<PathBuf, DemoError> {
    let path = temporary.join(format!("lamina-demo-{}", geteuid().as_raw()));
    let failed = |reason: String| DemoError::Folder { path: path.clone(), reason };
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error.to_string())),
        _ => {}
    }
    let found = fs::symlink_metadata(&path).map_err(|error| failed(error.to_string()))?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() {
        return Err(failed("it is no folder of yours".to_owned()));
    }
    Ok(path)
}

/// Loads the films if they are not there, and says what to do with them.
fn greet(address: SocketAddr, folder: &Path, is_to_open: bool) -> Result<(), ClientError> {
    let url = format!("http://{address}");
    let begun = Instant::now();
    let loaded = run_to_end(load(&url))?;
    let films = match loaded {
        Films::Loaded(count) => format!("{count} films, loaded in {:.1} s", begun.elapsed().as_secs_f64()),
        Films::Found(count) => format!("{count} films, loaded by an earlier start"),
    };
    // A reader that is gone needs no greeting.
    let _ = console::print(&greeting(&films, &url, folder));
    if is_to_open && has_desktop() {
        open(&url);
    }
    Ok(())
}

/// Documents of the index.
enum Films {
    Loaded(u64),
    Found(u64),
}

async fn load(url: &str) -> Result<Films, ClientError> {
    let client = Client::new(&ServerArgs::at(url.to_owned()))?;
    let sample = client.call(Method::GET, client.route(&["sample"]), None).await?;
    let index = sample["indexUid"].as_str().unwrap_or_default();
    let there = count(&client, index).await?;
    if there > 0 {
        return Ok(Films::Found(there));
    }
    let settings = client.call(Method::PATCH, client.route(&["indexes", index, "settings"]), Some(&sample["settings"]));
    settings.await?;
    let mut route = client.route(&["indexes", index, "documents"]);
    let key = sample["primaryKey"].as_str().unwrap_or_default();
    route.query_pairs_mut().append_pair("primaryKey", key).append_pair("wait", "searchable");
    let answer = client.call(Method::POST, route, Some(&sample["documents"])).await?;
    let task = client.ended_task(answer).await?;
    if task["status"] != "succeeded" {
        let error = |name: &str| task["error"][name].as_str().unwrap_or_default().to_owned();
        return Err(ClientError::Refused { status: 500, code: error("code"), message: error("message") });
    }
    Ok(Films::Loaded(count(&client, index).await?))
}

/// Number of documents of an index; 0 of one that is not there.
async fn count(client: &Client, index: &str) -> Result<u64, ClientError> {
    let stats: Value = client.call(Method::GET, client.route(&["stats"]), None).await?;
    Ok(stats["indexes"][index]["numberOfDocuments"].as_u64().unwrap_or_default())
}

fn greeting(films: &str, url: &str, folder: &Path) -> String {
    let program = env::args_os().next().unwrap_or_else(|| "lamina".into());
    let search = |words: &str| {
        let of_server = if url.ends_with(":7700") { String::new() } else { format!("--url {url} ") };
        format!("{} search {of_server}--index films {words}", program.display())
    };
    let models = match cfg!(feature = "local-models") {
        true => "static models and networks are in this build",
        false => "static models are in this build, networks are not",
    };
    format!(
        "\nLamina demo: {films}\n\n  Open         {url}/\n\nThree searches to try, there or in another terminal:\n\n  \
         Two typos    {}\n  Filter       {}\n  Cast + plot  {}\n\n\
         Semantic search: {models}. How: {url}/docs/start/semantic-search\nData: {}\nStop: Ctrl-C\n",
        search("wizrad of oz"),
        search("space --filter 'year > 1980' --facets genres"),
        search("harrison ford replicants"),
        folder.display(),
    )
}

fn has_desktop() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Opens the page. Where that fails, the address has been printed.
fn open(url: &str) {
    let quiet = Stdio::null;
    let opened = Command::new(OPENER).arg(format!("{url}/")).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if let Ok(mut opener) = opened {
        let _ = opener.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_others_have_put_there_is_no_folder_of_the_demo() {
        let temporary = tempfile::tempdir().unwrap();
        let path = own_folder(temporary.path()).unwrap();
        assert_eq!(own_folder(temporary.path()).unwrap(), path, "a second start finds it");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        fs::remove_dir(&path).unwrap();
        symlink(temporary.path(), &path).unwrap();
        let refused = own_folder(temporary.path()).unwrap_err().to_string();
        assert!(refused.contains("--db-path"), "{refused}");
    }

    #[test]
    fn the_options_are_those_of_the_demo() {
        let options = options(0, Path::new("/x"));
        assert_eq!(options.service.http_addr, "127.0.0.1:0");
        assert_eq!(options.service.db_path, Path::new("/x"));
        assert_eq!(options.service.master_key, None);
    }
}
