//! Says why the process ends when a page of a mapped file is not there any more.
//!
//! Files are read through memory maps. When another process truncates one of them, or the disk fails, reading the page ends
//! the process by SIGBUS, and no error could be returned instead: the bytes were promised to be there. What can be done is to
//! name the file, before the process ends as it would have without this.
//!
//! The handler runs in the middle of anything, with locks taken and the heap half changed. So it allocates nothing, takes no
//! lock, and makes system calls alone: the system itself is asked which file was mapped there (`/proc/self/maps`).

use std::ffi::{c_int, c_void};
use std::io::{self, IoSlice};

use rustix::fs::{Mode, OFlags, open};

use crate::console::says_json;

/// Names the file when a mapped page cannot be read. The signal still ends the process.
///
/// # Errors
/// The system takes no handler.
#[expect(unsafe_code, reason = "handlers of signals are set through the C library")]
pub fn explain() -> io::Result<()> {
    // SAFETY: an action is plain numbers, for which all zeros are valid: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_bus_error as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
    // With one argument more for the address; and for the first time alone: the access is tried again after the handler, and
    // then the signal does what it does by default.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESETHAND;
    // SAFETY: `action` lives as long as the call, which copies it; the handler has the type that `SA_SIGINFO` asks for, and does
    // only what a handler may.
    let result = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[expect(unsafe_code, reason = "the address is behind a pointer that the system gives")]
extern "C" fn on_bus_error(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: with `SA_SIGINFO` the system gives a pointer to a value that is valid until the handler returns. For SIGBUS it
    // holds an address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // Zero and below: another process sent the signal, there is no address.
    if code > 0 {
        name_file(address);
    }
}

const BEFORE: &[u8] = b"error: the file ";
const UNKNOWN: &[u8] = b"error: a mapped file";
const AFTER: &[u8] = b" became shorter while it was in use, or the disk cannot read it (SIGBUS). Did another process change it? The \
server ends now. At its next start it serves the other indexes and names this one as damaged: bring it back from a snapshot or a \
dump.";
/// Around the message where logs are JSON. The time is not known without what a handler may not do.
const JSON_START: &[u8] = b"{\"level\":\"ERROR\",\"target\":\"lamina\",\"message\":\"";
const JSON_END: &[u8] = b"\"}\n";

/// Writes one line to standard error.
fn name_file(address: usize) {
    let mut finder = PathFinder::new(address);
    let mut piece = [0; 512];
    if let Ok(maps) = open(c"/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        while let Ok(length @ 1..) = rustix::io::read(&maps, &mut piece) {
            if piece.get(..length).is_none_or(|bytes| finder.feed(bytes)) {
                break;
            }
        }
    }
    let (start, end) = if says_json() { (JSON_START, JSON_END) } else { (&b""[..], &b"\n"[..]) };
    let path = finder.path_for(says_json());
    let what = if path.is_empty() { UNKNOWN } else { BEFORE };
    // One call, so that no line of another thread comes between. The descriptor alone is taken, not the lock that `std` has on
    // it. A failure is ignored: the process ends in any case.
    let line = [start, what, path, AFTER, end].map(IoSlice::new);
    let _ = rustix::io::writev(io::stderr(), &line);
}

/// Finds the line of `/proc/self/maps` (`7f00-7f80 r--p 00000000 08:01 123   /a/path`) whose range holds an address.
struct PathFinder {
    address: usize,
    part: Part,
    /// Start address of the current line.
    start: usize,
    end: usize,
    path: [u8; PATH_BYTES_MAX],
    path_length: usize,
}

/// Maximum length of a path. Longer paths are truncated.
const PATH_BYTES_MAX: usize = 512;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Start,
    End,
    /// Up to the first slash; files that are mapped by name begin with one.
    Between,
    Path,
    /// The rest of a line that is another's.
    Skipped,
    Found,
}

impl PathFinder {
    fn new(address: usize) -> PathFinder {
        PathFinder { address, part: Part::Start, start: 0, end: 0, path: [0; PATH_BYTES_MAX], path_length: 0 }
    }

    /// Takes the next bytes; whether the line was found and is complete.
    fn feed(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            let digit = (byte as char).to_digit(16).map_or(0, |digit| digit as usize);
            self.part = match (self.part, byte) {
                (Part::Found, _) => return true,
                (Part::Path, b'\n') => Part::Found,
                // The line without a name: the memory belongs to no file.
                (Part::Between, b'\n') if self.holds() => Part::Found,
                (_, b'\n') => {
                    (self.start, self.end) = (0, 0);
                    Part::Start
                }
                (Part::Start, b'-') => Part::End,
                (Part::Start, _) => {
                    self.start = self.start.wrapping_shl(4) | digit;
                    Part::Start
                }
                (Part::End, b' ') if self.holds() => Part::Between,
                (Part::End, b' ') => Part::Skipped,
                (Part::End, _) => {
                    self.end = self.end.wrapping_shl(4) | digit;
                    Part::End
                }
                (Part::Between, b'/') | (Part::Path, _) => {
                    if let Some(place) = self.path.get_mut(self.path_length) {
                        *place = byte;
                        self.path_length += 1;
                    }
                    Part::Path
                }
                (part, _) => part,
            };
        }
        self.part == Part::Found
    }

    fn holds(&self) -> bool {
        (self.start..self.end).contains(&self.address)
    }

    /// Empty when no file was mapped there.
    fn path_for(&mut self, is_json: bool) -> &[u8] {
        if is_json {
            let path = self.path.get_mut(..self.path_length).unwrap_or_default();
            path.iter_mut()
                .filter(|byte| !matches!(**byte, b' '..=b'~') || matches!(**byte, b'"' | b'\\'))
                .for_each(|byte| *byte = b'?');
        }
        self.path()
    }

    fn path(&self) -> &[u8] {
        self.path.get(..self.path_length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &[u8] = b"55d0c0000000-55d0c0001000 r--p 00000000 08:01 12      /usr/bin/lamina\n\
        7f0000000000-7f0000002000 rw-p 00000000 00:00 0 \n\
        7f0000002000-7f0000004000 r--s 00000000 08:01 99    /data/indexes/a b/seg-7.lam\n\
        7f0000004000-7f0000005000 r--s 00001000 08:01 98    /data/other\n\
        7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0    [stack]\n";

    fn path_at(address: usize, piece: usize) -> String {
        let mut finder = PathFinder::new(address);
        for bytes in MAPS.chunks(piece) {
            if finder.feed(bytes) {
                break;
            }
        }
        String::from_utf8(finder.path().to_vec()).unwrap()
    }

    #[test]
    fn the_file_behind_an_address_is_found_however_the_lines_are_read() {
        for piece in [1, 7, 64, 4096] {
            assert_eq!(path_at(0x7f0000002000, piece), "/data/indexes/a b/seg-7.lam");
            assert_eq!(path_at(0x7f0000003fff, piece), "/data/indexes/a b/seg-7.lam");
            assert_eq!(path_at(0x7f0000004000, piece), "/data/other");
            assert_eq!(path_at(0x7f0000000010, piece), "", "memory without a file");
            assert_eq!(path_at(0x7ffd00000010, piece), "", "no path");
            assert_eq!(path_at(0x10, piece), "");
        }
    }

    #[test]
    fn this_process_is_asked() {
        // The binary itself is mapped, at the address of its code.
        let mut finder = PathFinder::new(path_at as *const () as usize);
        finder.feed(&std::fs::read("/proc/self/maps").unwrap());
        let found = std::path::PathBuf::from(String::from_utf8(finder.path().to_vec()).unwrap());
        assert_eq!(found, std::env::current_exe().unwrap().canonicalize().unwrap());
    }
}
