//! `lamina inspect`: looking into a database folder that no server uses.

mod as_json;

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use lamina_base::console;
use lamina_base::error::ApiError;
use lamina_base::options::human_size;
use lamina_base::plural::{counted, noun_for};
use lamina_base::timestamp::Timestamp;
use lamina_data::instance::{Aside, Instance, aside};
use lamina_engine::index::{DocumentReport, Index, IndexError, SegmentReport, Snapshot, TermReport, TokenReport};
use lamina_engine::segment::FileMeta;
use lamina_engine::text::normalize_word;
use lamina_protocol::wire::settings::show;
use thiserror::Error;

use crate::verify::{DatabaseArgs, OpenError, open};

const POSTINGS_SHOWN_MAX: usize = 20;
/// Longer names of sections push their sizes to the right.
const NAME_WIDTH_MAX: usize = 48;

/// Part of a database to print.
#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print one index in detail: its manifest, its segments and their sections.
    #[arg(long, value_name = "UID")]
    index: Option<String>,
    /// Print the postings of a word.
    #[arg(long, value_name = "WORD", requires = "index")]
    term: Option<String>,
    /// Print a document by its id: as it is stored, and its indexed words.
    #[arg(long, value_name = "ID", requires = "index")]
    document: Option<String>,
}

#[derive(Debug, Error)]
enum InspectError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{}", .0.message)]
    Index(ApiError),
    #[error("document: {0}")]
    Document(#[from] IndexError),
    #[error("there is no document `{0}`")]
    NoDocument(String),
    #[error("cannot print the results: {0}")]
    Print(std::io::Error),
}

/// Prints; fails when there is nothing to print.
pub fn inspect(args: &InspectArgs) -> ExitCode {
    let text = open(args.database.path()).map_err(InspectError::from).and_then(|instance| describe(&instance, args));
    match text.and_then(|text| console::print(&text).map_err(InspectError::Print)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::failed("inspect", args.database.json, &error, None);
            ExitCode::FAILURE
        }
    }
}

fn describe(instance: &Instance, args: &InspectArgs) -> Result<String, InspectError> {
    if args.database.json {
        return as_json::describe(instance, args).map(|found| format!("{found:#}\n"));
    }
    let index = |uid: &str| instance.index(uid).map_err(InspectError::Index);
    let mut out = String::new();
    let Some(uid) = &args.index else {
        for uid in instance.uids() {
            let report = index(&uid)?.report();
            let (documents, segments) = (report.document_count, report.segments.len());
            line(
                &mut out,
                format_args!(
                    "{uid:<24} {documents:>12} {:<9} {segments:>3} {:<8} {:>12}",
                    noun_for(documents, "document"),
                    noun_for(segments, "segment"),
                    human_size(report.segment_bytes)
                ),
            );
        }
        for Aside { name, files, bytes } in aside(instance.folder()) {
            line(&mut out, format_args!("quarantine: {name}, {}, {}", counted(files, "file"), human_size(bytes)));
        }
        return Ok(out);
    };
    let index = index(uid)?;
    let snapshot = index.snapshot();
    if let Some(word) = &args.term {
        describe_term(&mut out, &snapshot.inspect_term(&normalize_word(word), POSTINGS_SHOWN_MAX));
    }
    if let Some(key) = &args.document {
        let report = snapshot.inspect_document(key)?.ok_or_else(|| InspectError::NoDocument(key.clone()))?;
        describe_document(&mut out, &report);
    }
    if args.term.is_none() && args.document.is_none() {
        describe_index(&mut out, &index, &snapshot);
        describe_names_and_states(&mut out, instance, uid, &index);
    }
    Ok(out)
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("a String takes everything");
}

fn describe_index(out: &mut String, index: &Index, snapshot: &Snapshot) {
    let report = index.report();
    line(out, format_args!("generation   {}", report.generation));
    line(out, format_args!("documents    {}", report.document_count));
    line(out, format_args!("primary key  {}", snapshot.primary_key.as_deref().unwrap_or("none")));
    let last_batch = snapshot.last_outcome().map_or_else(|| "none".to_owned(), |(batch, _)| batch.to_string());
    line(out, format_args!("last batch   {last_batch}"));
    line(out, format_args!("fields       {}", snapshot.fields.names().collect::<Vec<_>>().join(", ")));
    line(out, format_args!("size         {}", human_size(report.segment_bytes)));
    // As clients see them: secrets are redacted.
    line(out, format_args!("settings     {}", show(&snapshot.settings, &|_| true)));
    for segment in &report.segments {
        describe_segment(out, segment);
    }
}

/// Describes the aliases of the index and its retained generations, if there are any.
fn describe_names_and_states(out: &mut String, instance: &Instance, uid: &str, index: &Index) {
    let aliases = aliases_of(instance, uid);
    if !aliases.is_empty() {
        line(out, format_args!("aliases      {}", aliases.join(", ")));
    }
    for state in index.generations().iter().filter(|state| !state.is_current) {
        let at = Timestamp::from(state.committed_at);
        let damage = state.damage.as_ref().map_or_else(String::new, |damage| format!(", damaged: {damage}"));
        let documents = counted(state.document_count, "document");
        line(out, format_args!("kept state   {:<8} of {at}, {documents}{damage}", state.generation));
    }
}

/// The aliases that stand for an index.
fn aliases_of(instance: &Instance, uid: &str) -> Vec<String> {
    let aliases = instance.aliases();
    aliases.iter().filter(|(_, alias)| alias.index_uid == uid).map(|(name, _)| name.clone()).collect()
}

fn describe_segment(out: &mut String, segment: &SegmentReport) {
    let SegmentReport { doc_count, deleted_count, term_count, token_count, .. } = segment;
    line(
        out,
        format_args!(
            "segment {:016x}: {}, {deleted_count} of them deleted, {}, {}, {} for {} of JSON",
            segment.id.0,
            counted(*doc_count, "document"),
            counted(*term_count, "term"),
            counted(*token_count, "token"),
            human_size(segment.bytes),
            human_size(segment.raw_bytes)
        ),
    );
    let names = segment.files.iter().map(|file| &file.name).chain(segment.sections.iter().map(|(name, _)| name));
    let width = names.map(|name| name.chars().count()).max().unwrap_or(0).clamp(24, NAME_WIDTH_MAX);
    for FileMeta { name, bytes, checksum } in &segment.files {
        line(out, format_args!("  {name:<width$} {bytes:>14} {}, checksum {checksum:08x}", noun_for(*bytes, "byte")));
    }
    for (name, bytes) in &segment.sections {
        line(out, format_args!("  {name:<width$} {bytes:>14} {}", noun_for(*bytes, "byte")));
    }
}

fn describe_term(out: &mut String, reports: &[TermReport]) {
    if reports.is_empty() {
        line(out, format_args!("no document holds this word"));
    }
    for report in reports {
        let TermReport { ordinal, doc_freq, .. } = report;
        let documents = counted(*doc_freq, "document");
        line(out, format_args!("segment {:016x}: ordinal {ordinal}, {documents}", report.segment.0));
        for posting in &report.postings {
            let deleted = if posting.deleted { ", deleted" } else { "" };
            line(out, format_args!("  document {}: {}{deleted}", posting.doc, posting.fields.join(", ")));
        }
        if *doc_freq as usize > report.postings.len() {
            line(out, format_args!("  and {} more", *doc_freq as usize - report.postings.len()));
        }
    }
}

fn describe_document(out: &mut String, report: &DocumentReport) {
    line(
        out,
        format_args!("segment {:016x}, document {}, internal id {}", report.segment.0, report.doc, report.internal_id),
    );
    line(out, format_args!("{}", String::from_utf8_lossy(&report.json)));
    for (field, tokens) in &report.fields {
        let words = tokens.iter().map(|token| match token {
            TokenReport::Word(word) => word.as_str(),
            TokenReport::Hole => "(too long)",
            TokenReport::Gap => "|",
        });
        line(out, format_args!("  {field}: {}", words.collect::<Vec<_>>().join(" ")));
    }
}
