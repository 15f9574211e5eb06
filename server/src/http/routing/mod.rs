//! Rows of routes, the search for the row of a request, and the one filter that hands the request to it.

mod dispatch;
mod route;
mod table;

pub(crate) use dispatch::dispatch;
pub(crate) use route::{Answer, Body, PAGE, Route};
pub(crate) use table::Table;
