//! One segment: its file with a module for each section ([`segment`]), the documents that go in ([`document`]), packed numbers and sets
//! of documents ([`bits`]), and the files themselves ([`storage`]). `segment-format.md` describes the file byte by byte.
//!
//! Uses `lamina-text`. Starts no thread, and knows neither indexes nor queries.
//!
//! ```
//! use lamina_segment::storage::{Directory, MemoryDirectory, write_file};
//!
//! let directory = MemoryDirectory::default();
//! write_file(&directory, "a.lam", b"bytes").expect("memory takes it");
//! assert_eq!(&directory.open_read("a.lam").expect("it is there")[..], b"bytes");
//! ```
#![deny(unsafe_code)]

pub mod bits;
pub mod document;
pub mod segment;
pub mod storage;
