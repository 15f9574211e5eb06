//! An index: commits, merges, recovery, settings, snapshots ([`index`]), recent query results beside the readers of segments
//! ([`caches`]), and what all indexes of a process share ([`runtime`]). `database-format.md` describes its files.
//!
//! Uses `lamina-text` and `lamina-segment`. Knows no query: `lamina-engine` searches the snapshots that it publishes.
//!
//! ```
//! use lamina_index::index::{Index, IndexOptions};
//!
//! let folder = tempfile::tempdir().expect("a folder");
//! let index = Index::create(folder.path(), IndexOptions::default()).expect("an index");
//! assert_eq!(index.snapshot().document_count(), 0);
//! ```
#![deny(unsafe_code)]

pub mod caches;
pub mod index;
pub mod runtime;
