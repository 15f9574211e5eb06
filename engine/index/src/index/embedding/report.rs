//! What came of making vectors for many documents.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use super::EmbedFailure;

/// Failures whose reasons are remembered, at most; all are counted.
const FAILURES_MAX: usize = 10_000;

/// Result of [`Index::embed_waiting`](crate::index::Index::embed_waiting).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Embedded {
    /// Documents that got their vectors; one counts once for each embedder.
    pub made: u64,
    /// Documents that got none.
    pub failed: u64,
    /// The first documents whose own text is the reason.
    pub documents: Vec<DocumentFailure>,
    /// By embedder: what stands in the way of all texts. Those that came after it were not tried. Of an embedder that refused
    /// each text for itself, it is the first reason.
    pub lasting: BTreeMap<String, EmbedFailure>,
}

/// A document that an embedder made no vector for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFailure {
    pub embedder: String,
    /// The document's id as JSON: a number or a quoted text.
    pub document_id: String,
    pub failure: EmbedFailure,
}

/// Gathers what happens. Shared by the threads of a batch.
#[derive(Debug, Default)]
pub(in super::super) struct EmbeddingLog(Mutex<Log>);

#[derive(Debug, Default)]
struct Log {
    report: Embedded,
    /// Embedders that made vectors, now or before.
    makers: BTreeSet<String>,
}

impl Log {
    /// The report, with embedders of which no text got a vector.
    fn settle(&mut self) -> &mut Embedded {
        let Log { report, makers } = self;
        for DocumentFailure { embedder, failure, .. } in &report.documents {
            if !makers.contains(embedder) && !report.lasting.contains_key(embedder) {
                report.lasting.insert(embedder.clone(), failure.clone());
            }
        }
        report
    }
}

impl EmbeddingLog {
    /// A document got its vectors.
    pub(in super::super) fn made(&self, embedder: &str) {
        self.0.lock().report.made += 1;
        self.kept(embedder);
    }

    /// A document keeps the vectors that it had.
    pub(in super::super) fn kept(&self, embedder: &str) {
        let makers = &mut self.0.lock().makers;
        if !makers.contains(embedder) {
            makers.insert(embedder.to_owned());
        }
    }

    /// A document failed for a reason of its own.
    pub(in super::super) fn failed(&self, embedder: &str, document_id: String, failure: EmbedFailure) {
        let log = &mut self.0.lock().report;
        log.failed += 1;
        if log.documents.len() < FAILURES_MAX {
            log.documents.push(DocumentFailure { embedder: embedder.to_owned(), document_id, failure });
        }
    }

    /// Documents of `embedder` were not, or in vain, asked for. The first reason is remembered.
    pub(in super::super) fn lasts(&self, embedder: &str, count: usize, failure: EmbedFailure) {
        let log = &mut self.0.lock().report;
        log.failed += count as u64;
        log.lasting.entry(embedder.to_owned()).or_insert(failure);
    }

    /// Returns the failure that affects all texts of an embedder, if one is known.
    pub(in super::super) fn lasting(&self, embedder: &str) -> Option<EmbedFailure> {
        self.0.lock().report.lasting.get(embedder).cloned()
    }

    /// The same at the end, when no text got a vector for whatever reasons.
    pub(in super::super) fn fruitless(&self, embedder: &str) -> Option<EmbedFailure> {
        self.0.lock().settle().lasting.get(embedder).cloned()
    }

    pub(in super::super) fn into_report(self) -> Embedded {
        let mut log = self.0.into_inner();
        log.settle();
        log.report
    }
}
