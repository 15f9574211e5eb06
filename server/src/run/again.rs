//! The same program once more, in the place of this process: what a server does that has another role from now on.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Itself, also when another version has taken its name since.
const ITSELF: &str = "/proc/self/exe";

/// Begins again, with the same arguments and the same environment: it does not return but for an error. Files, locks and sockets
/// are closed by it.
pub(super) fn begin() -> io::Error {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let name = if arguments.is_empty() { OsString::from("lamina") } else { arguments.remove(0) };
    let program = match Path::new(ITSELF).exists() {
        true => PathBuf::from(ITSELF),
        false => match std::env::current_exe() {
            Ok(program) => program,
            Err(error) => return error,
        },
    };
    tracing::info!("starting again");
    Command::new(program).arg0(name).args(arguments).exec()
}
