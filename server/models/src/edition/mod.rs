//! Editing documents with a function that a request brings along, in Rhai. The function sees one document and what the
//! request gives as context, and nothing else: no files, no network, no clock, no other document.

mod document;
mod function;
mod texts;
mod value;

use std::io;

use lamina_base::error::panic_text;

pub use document::{Document, Edition};
pub use function::{EditionError, Function};

/// Values that a function makes can be nested as deeply as its memory and its steps allow, and are copied and dropped by
/// recursion: some 80,000 levels of 300 to 1,000 bytes. Only what is used of it takes memory.
const STACK_BYTES: usize = 256 << 20;

/// Runs `work`, which edits documents, on a thread whose stack suffices.
///
/// # Errors
/// When there is no such thread, or `work` panics.
pub fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("edition".to_owned()).stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, work)?;
        thread.join().map_err(|panic| io::Error::other(format!("a function panicked: {}", panic_text(&*panic))))
    })
}
