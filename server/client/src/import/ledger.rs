//! What is known of an import while it goes on: what was sent, what became of it, and whether it goes on.

use indicatif::HumanCount;
use lamina_base::console;
use serde_json::{Value, json};

use super::failures::Failures;
use super::part::Part;
use super::place::Place;
use super::progress::Progress;
use super::{Args, ImportError};

/// Outcome of the import.
#[derive(Default)]
pub(super) struct Summary {
    failures: Failures,
    /// Error that ended the import before its input ended, if no failure reports it.
    error: Option<ImportError>,
    /// Place where the import ended before its input did.
    cut_short: Option<String>,
}

impl Summary {
    pub(super) fn is_success(&self) -> bool {
        self.failures.is_empty() && self.error.is_none() && self.cut_short.is_none()
    }

    /// Says on standard error what went wrong. Programs were given the failures with the account of the import.
    pub(super) fn complain(&self, as_json: bool) {
        let say = |reason: &dyn std::fmt::Display, code| console::failed("import", as_json, reason, code);
        if !as_json {
            self.failures.lines().iter().for_each(|line| say(line, None));
        }
        self.error.iter().for_each(|error| say(error, error.code()));
        if !as_json {
            self.cut_short.iter().for_each(|cut| say(cut, None));
        }
    }
}

/// The account of an import that goes on.
pub(super) struct Ledger {
    progress: Progress,
    summary: Summary,
    /// True if there may be more to send; `waits`: true if tasks are awaited. Different errors end the two.
    pub(super) reads: bool,
    pub(super) waits: bool,
    /// The last that was sent.
    last: Option<Place>,
    accepted_documents: u64,
    searchable_documents: u64,
}

impl Ledger {
    pub(super) fn new(progress: Progress, waits: bool) -> Ledger {
        Ledger {
            progress,
            summary: Summary::default(),
            reads: true,
            waits,
            last: None,
            accepted_documents: 0,
            searchable_documents: 0,
        }
    }

    pub(super) fn sending(&mut self, part: &Part) {
        self.last = Some(part.place.clone());
    }

    pub(super) fn accepted(&mut self, part: &Part) {
        self.accepted_documents += part.place.document_count;
        self.progress.sent(part.place.document_count);
    }

    pub(super) fn searchable(&mut self, part: &Part) {
        self.searchable_documents += part.place.document_count;
        self.progress.done(part.place.document_count, part.bytes);
    }

    pub(super) fn failed(&mut self, part: &Part, reason: String) {
        self.progress.done(0, part.bytes);
        self.summary.failures.add(part.input, part.place.clone(), reason);
    }

    /// Nothing more is sent. The first reason is kept: others tend to follow from it.
    pub(super) fn stopped(&mut self, error: Option<ImportError>) {
        if std::mem::take(&mut self.reads) {
            self.summary.cut_short = Some(match &self.last {
                None => "nothing was sent".to_owned(),
                Some(place) => format!("nothing after document {} of {} was sent", place.last_document(), place.file),
            });
        }
        self.summary.error = self.summary.error.take().or(error);
    }

    /// The server takes nothing at all, so that no place in the input is at fault.
    pub(super) fn shut_out(&mut self, error: ImportError) {
        (self.reads, self.waits, self.last) = (false, false, None);
        self.summary.cut_short = Some("nothing was sent".to_owned());
        self.summary.error.get_or_insert(error);
    }

    pub(super) fn has_accepted(&self) -> bool {
        self.accepted_documents > 0
    }

    /// Returns and prints the outcome of the whole import.
    pub(super) fn closed(mut self, args: &Args) -> Summary {
        self.progress.finish();
        if (args.json || !args.quiet)
            && let Err(error) = self.print_summary(args)
        {
            self.summary.error.get_or_insert(ImportError::Print(error));
        }
        self.summary
    }

    fn as_json(&self, args: &Args) -> Value {
        let last = self.last.as_ref().filter(|_| self.summary.cut_short.is_some());
        json!({
            "indexUid": args.index,
            "succeeded": self.summary.is_success(),
            "acceptedDocuments": self.accepted_documents,
            "searchableDocuments": self.searchable_documents,
            "seconds": self.progress.elapsed().as_secs_f64(),
            "failures": self.summary.failures.as_json(),
            "isWhole": self.summary.cut_short.is_none(),
            "endedAfter": last.map(|place| json!({"file": place.file, "document": place.last_document()})),
        })
    }

    fn print_summary(&self, args: &Args) -> std::io::Result<()> {
        if args.json {
            return console::print(&format!("{:#}\n", self.as_json(args)));
        }
        let (verb, documents) =
            if args.no_wait { ("sent", self.accepted_documents) } else { ("imported", self.searchable_documents) };
        let noun = if documents == 1 { "document" } else { "documents" };
        let seconds = self.progress.elapsed().as_secs_f64();
        // Of what went wrong the errors speak, and a rate would be one of failures.
        if !self.summary.is_success() {
            let line = format!("{} {noun} {verb} into `{}`\n", HumanCount(documents), args.index);
            return if documents == 0 { Ok(()) } else { console::print(&line) };
        }
        let rate = HumanCount((documents as f64 / seconds.max(0.001)) as u64);
        let (documents, index) = (HumanCount(documents), &args.index);
        console::print(&format!("{documents} {noun} {verb} into `{index}` in {seconds:.1} s ({rate}/s)\n"))
    }
}
