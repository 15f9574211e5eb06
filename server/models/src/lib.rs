//! Models that the server calls: embedders and rerankers (over HTTP, or inside the process), and functions that edit documents.
//!
//! Uses the engine and `lamina-base`. Knows no route and no task. The crates of tensors are compiled with this one only, and only with
//! the feature `local-models`.
//!
//! ```
//! use lamina_models::rerankers::best_first;
//!
//! let scores = [(0, 0.2), (1, 0.9)];
//! assert_eq!(best_first(scores.into_iter()), [(1, 0.9), (0, 0.2)]);
//! ```

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod edition;
pub mod embedders;
pub mod rerankers;

// Functions are stopped by what their thread holds, which this allocator counts.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: lamina_base::memory::Counting<mimalloc::MiMalloc> = lamina_base::memory::Counting(mimalloc::MiMalloc);
