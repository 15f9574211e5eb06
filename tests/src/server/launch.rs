//! Starting the binary.

use super::*;

/// The options, and those that make the server report its use to the collector.
pub(super) fn watched(options: &[&str], watch: &Watch) -> Vec<String> {
    let mut all: Vec<String> = options.iter().map(|option| option.to_string()).collect();
    let says = |prefix: &str| options.iter().any(|option| option.starts_with(prefix));
    if says("--telemetry-url") || says("--no-analytics") {
        return all;
    }
    all.extend(["--telemetry-url".to_owned(), watch.url()]);
    let networks = "--experimental-allowed-ip-networks";
    if !says(networks) {
        all.extend([networks.to_owned(), "127.0.0.1".to_owned()]);
    }
    all
}

/// The command with the options every test uses: its own folder, a port that the system chooses. Options that look like
/// `SVC_NAME=value` or `SSL_CERT_NAME=value` go into the environment; `OPEN_FILES=count` bounds the files of the process,
/// and a file that becomes larger than it may (a limit that a test sets later) is an error then, not the end.
pub(crate) fn command(folder: &Path, options: &[String]) -> Command {
    let (bounds, options): (Vec<&String>, Vec<&String>) =
        options.iter().partition(|option| option.starts_with("OPEN_FILES="));
    let is_variable = |option: &&&String| option.starts_with("SVC_") || option.starts_with("SSL_CERT_");
    let mut command = match bounds.first().and_then(|bound| bound.split_once('=')) {
        None => Command::new(binary()),
        Some((_, count)) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("trap '' XFSZ; ulimit -n {count}; exec \"$0\" \"$@\"")]).arg(binary());
            shell
        }
    };
    command
        .args(["--db-path"])
        .arg(folder.join("data"))
        .args(["--http-addr", "127.0.0.1:0"])
        .args(options.iter().filter(|option| !is_variable(option)))
        // A configuration file or variables of the developer must not reach the test.
        .current_dir(folder)
        .env_clear()
        .envs(std::env::vars().filter(|(name, _)| !name.starts_with("SVC_") && !name.starts_with("MEILI_")))
        .envs(options.iter().filter(is_variable).filter_map(|option| option.split_once('=')));
    command
}

/// No process listens there.
pub(crate) const UNREACHABLE: &str = "http://127.0.0.1:1";

/// Starts a server with its log in `folder/log`, and waits until it says where it listens, which it does last: what
/// connects from then on is answered. Ports are never chosen here, because another test could take them first.
pub(crate) fn launch(folder: &Path, options: &[String]) -> (Child, String) {
    try_launch(folder, options).unwrap_or_else(|said| panic!("the server ended:\n{said}"))
}

/// Returns the address in a line of the banner, as text or as JSON.
pub(super) fn listening_on(line: &str) -> Option<String> {
    if let Some(url) = line.strip_prefix("Listening on") {
        return Some(url.trim().to_owned());
    }
    let line: Value = serde_json::from_str(line).ok()?;
    line["listening_on"].as_str().map(str::to_owned)
}

/// Launches like [`launch`], or returns the output of a process that ended by itself.
pub(super) fn try_launch(folder: &Path, options: &[String]) -> Result<(Child, String), String> {
    // The first test waits for the build, which is no time that the server takes.
    binary();
    let path = folder.join("log");
    let log = File::options().create(true).append(true).open(&path).expect("a log file");
    let earlier = log.metadata().expect("the length of the log").len() as usize;
    let mut process = command(folder, options)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a second handle"))
        .stderr(log)
        .spawn()
        .expect("the binary starts");
    soon(|| {
        // Asked before the log is read, which is then all that it said.
        let ended = process.try_wait().expect("a status");
        let log = std::fs::read(&path).expect("a log");
        let said = String::from_utf8_lossy(&log[earlier..]);
        // The last line may be half written.
        let lines = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        if let Some(url) = lines.filter_map(listening_on).next() {
            return Some(Ok(url));
        }
        ended.map(|status| Err(format!("{status}\n{said}")))
    })
    .map(|url| (process, url))
}
