//! Makes the vectors that documents wait for, in segments that are there.
//!
//! First what is missing is asked for, then the vectors that are there are copied: a document whose text a provider
//! refuses again and again must not cost a copy of its segment's vectors each time it is tried.

use lamina_text::id::DocId;

use super::super::super::document_vectors::waits;
use super::super::super::embedding::{EmbedFailure, Embedded, EmbeddingError, EmbeddingLog};
use super::super::super::error::IndexError;
use super::super::super::progress::Phase;
use super::super::super::snapshot::SegmentView;
use super::super::document_runs::{for_each_document, runs_of};
use super::super::document_writer::DocumentContext;
use super::super::resources::Resources;
use super::super::threads::check;
use super::active::{ActiveEmbedder, When};
use super::adapt::{Adaptation, SegmentVectors, Work};
use super::document_vectors::{DocumentVectors, VectorTarget};
use super::missing::Missing;

/// Makes the vectors that documents of `segments` wait for. Returns the segments with those that could be made.
///
/// # Errors
/// What has nothing to do with embedders and texts.
pub(in super::super) fn embed_waiting(
    resources: &Resources<'_>,
    reading: DocumentContext<'_>,
    segments: &[SegmentView],
) -> Result<(Vec<SegmentView>, Embedded), IndexError> {
    let log = EmbeddingLog::default();
    let mut embedders = Vec::new();
    let mut total = 0;
    for settings in reading.settings.all_embedders().filter(|settings| !settings.user_provided) {
        let name = settings.name.clone();
        let waiting = segments.iter().map(|segment| segment.waiting_count(&name)).sum::<u64>();
        if waiting == 0 {
            continue;
        }
        total += waiting;
        let opened = ActiveEmbedder::open(settings, resources, When::Now)
            .and_then(|embedder| embedder.check_stored(segments).map(|()| embedder));
        match opened {
            Ok(embedder) => embedders.push(embedder),
            Err(IndexError::Cancelled) => return Err(IndexError::Cancelled),
            Err(error) => {
                let failure = match error {
                    IndexError::Embedding(EmbeddingError::Unusable(failure)) => failure,
                    other => EmbedFailure::user(other.to_string()),
                };
                log.lasts(&name, usize::try_from(waiting).unwrap_or(usize::MAX), failure);
            }
        }
    }
    resources.progress.enter(Phase::Embedding, total);
    let works = vec![Work::Complete; embedders.len()];
    let adaptation = Adaptation { resources, reading, embedders: &embedders, works: &works, log: &log };
    let segments = segments.iter().map(|segment| adaptation.complete(segment)).collect::<Result<Vec<_>, _>>()?;
    Ok((segments, log.into_report()))
}

impl Adaptation<'_> {
    fn complete(&self, segment: &SegmentView) -> Result<SegmentView, IndexError> {
        if self.embedders.iter().all(|embedder| segment.waiting_count(embedder.name()) == 0) {
            return Ok(segment.clone());
        }
        let (resources, reader) = (self.resources, &segment.reader);
        let is_waiting = |doc: DocId| {
            segment.is_live(doc) && self.embedders.iter().any(|embedder| waits(reader, embedder.name(), doc))
        };
        let missing = Missing::default();
        let mut documents = DocumentVectors::new(resources, self.reading, self.embedders, &missing, self.log);
        let mut beside = SegmentVectors::default();
        for run in runs_of(reader.doc_count()) {
            check(resources.cancelled)?;
            let waiting = run.clone().filter(|doc| is_waiting(*doc)).count() as u64;
            if waiting == 0 {
                // Nothing has to be read of these documents.
                continue;
            }
            for_each_document(reader, run, |doc, json| {
                if is_waiting(doc) { self.document(&mut documents, &mut beside, reader, doc, json) } else { Ok(()) }
            })?;
            resources.progress.advance(waiting);
        }
        documents.flush(&mut beside)?;
        beside.0.retain(|vectors| !vectors.is_empty());
        for embedder in self.embedders {
            let made = beside.0.iter().any(|vectors| vectors.name() == embedder.name());
            let Some(stored) = reader.vectors_of(embedder.name()).filter(|_| made) else { continue };
            for doc in (0..reader.doc_count()).filter(|doc| segment.is_live(*doc)) {
                if stored.state(doc).is_present() {
                    beside.vectors(embedder.name(), embedder.shape).copy(doc, stored.get(doc)?, stored.shape());
                    beside.make_room(resources)?;
                }
            }
        }
        self.put_beside(segment, &beside)
    }
}
