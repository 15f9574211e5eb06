//! What carries tasks out: a thread that puts them into batches, applies each to its index, and writes down what became of
//! it.

mod batch;
mod cleanup;
mod run;
mod scheduler;

pub(crate) use batch::Limits;
pub(crate) use scheduler::{Scheduler, StartError};
