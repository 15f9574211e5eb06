//! Dumps: everything as JSON in one archive, for other versions and other programs. The layout is in `docs/reference/dumps.md`.

mod archive;
mod embedders;
mod import;
mod layout;
mod queue;
mod task_details;
mod task_line;
mod unpack;
mod write;

pub(super) use import::DumpError;
pub(super) use import::restore;
pub(super) use unpack::unpack;
pub(crate) use write::{CreatedDump, create};
