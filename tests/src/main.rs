//! End-to-end tests: the real `lamina` binary on a free port and a folder of its own, spoken to over HTTP.
//!
//! A module per resource. [`server::Server`] is the fixture; its answers have small checks. `tidy` is apart: it checks
//! the house rules on the sources.

mod server;

mod backups;
mod bad_input;
mod bounds;
mod collector;
mod command_line;
mod commands;
mod commit;
mod connections;
mod damage;
mod database_format;
mod described;
mod documents;
mod editing;
mod elements;
mod embedders;
mod evaluate;
mod expiry;
mod export;
mod facets;
mod foreign_keys;
mod http;
mod http2;
mod import;
mod indexes;
mod keys;
mod kills;
mod languages;
mod local_models;
mod lost_store;
mod mcp;
mod memory_limits;
mod network;
mod object_storage;
mod observing;
mod odd_requests;
mod old_formats;
mod origins;
mod pages;
mod places;
mod points_in_time;
mod questions;
mod receiver;
mod repairs;
mod replication;
mod restart;
mod search;
mod secrets;
mod settings;
mod starved;
mod stopping;
mod tasks;
mod telemetry;
mod tenants;
mod tidy;
mod tls;
mod vectors;
mod waiting;
mod webhooks;
mod words;
