//! Brings the vectors of segments in line with changed settings: a file beside each segment that needs one.

use std::collections::BTreeMap;

use lamina_segment::document::{SuppliedVectors, VectorsError, members, split_vectors};
use lamina_segment::segment::{
    SegmentError, SegmentReader, StoredVectors, VectorShape, VectorState, VectorsBuilder, write_vector_file,
};
use serde_json::value::RawValue;

use super::super::super::document_vectors::name_aside;
use super::super::super::embedding::{EmbedFailure, EmbeddingError, EmbeddingLog};
use super::super::super::error::IndexError;
use super::super::super::files::FileGuard;
use super::super::super::progress::Phase;
use super::super::super::settings::{EmbedderSettings, Settings};
use super::super::super::snapshot::SegmentView;
use super::super::document_runs::{for_each_document, runs_of};
use super::super::document_writer::DocumentContext;
use super::super::geo::document_id_json;
use super::super::resources::Resources;
use super::super::threads::check;
use super::active::{ActiveEmbedder, When, stored_dimensions};
use super::document_vectors::{DocumentVectors, VectorTarget, check_log};
use super::missing::Missing;

/// Effect of a change of settings on the vectors of one embedder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Vectors stay as they are.
    None,
    /// Vectors become bits.
    Quantize,
    /// Vectors stay as they are; those that documents wait for are made ([`super::complete`]).
    Complete,
    /// The texts may have changed; vectors of texts that have not stay.
    Render,
    /// All that can be made are made anew.
    Make,
    /// The same, for an embedder that is new: what an earlier one of its name left is of use if it has the right size.
    Add,
}

impl Work {
    /// Returns whether vectors are made.
    fn makes(self) -> bool {
        matches!(self, Work::Render | Work::Make | Work::Add)
    }
}

fn work(old: Option<&EmbedderSettings>, new: &EmbedderSettings, searchable_changed: bool) -> Work {
    match old {
        None => Work::Add,
        Some(old) if !new.makes_same_vectors(old) => Work::Make,
        Some(old) if !new.user_provided && (searchable_changed || !new.is_content_with_texts_of(old)) => Work::Render,
        Some(old) if new.binary_quantized != old.binary_quantized => Work::Quantize,
        Some(_) => Work::None,
    }
}

/// The segments with the vectors that the new settings ask for, or `None` when they serve as they are.
///
/// # Errors
/// Embedders that can't be used, texts that get no vectors, and data of documents that is no vector of the embedder's size.
pub(in super::super) fn adapt_vectors(
    resources: &Resources<'_>,
    reading: DocumentContext<'_>,
    old: &Settings,
    segments: &[SegmentView],
) -> Result<Option<Vec<SegmentView>>, IndexError> {
    let new = reading.settings;
    let searchable_changed = old.searchable_attributes != new.searchable_attributes;
    if old.embedders == new.embedders && (new.embedders.is_empty() || !searchable_changed) {
        return Ok(None);
    }
    let (embedders, works): (Vec<_>, Vec<_>) = changed(resources, old, new, segments)?.into_iter().unzip();
    if embedders.is_empty() || segments.is_empty() {
        return Ok(None);
    }
    resources.progress.enter(Phase::BuildingColumns, document_total(segments));
    // One segment after the other: its vectors are gathered before they are written.
    let log = EmbeddingLog::default();
    let adaptation = Adaptation { resources, reading, embedders: &embedders, works: &works, log: &log };
    let adapt = |segment| {
        let adapted = adaptation.adapt(segment)?;
        // Settings take effect with all vectors that can be made, or not at all. A text that is refused for itself waits.
        check_log(&log, &embedders).map(|()| adapted)
    };
    segments.iter().map(adapt).collect::<Result<_, _>>().map(Some)
}

/// Asks for the vectors that [`adapt_vectors`] will need, and leaves it to the embedders to remember them. Returns why embedders
/// cannot be reached that need not be asked yet.
///
/// # Errors
/// The errors of [`adapt_vectors`].
pub(in super::super) fn prepare_vectors(
    resources: &Resources<'_>,
    reading: DocumentContext<'_>,
    old: &Settings,
    segments: &[SegmentView],
) -> Result<BTreeMap<String, EmbedFailure>, IndexError> {
    let changed = changed(resources, old, reading.settings, segments)?;
    let is_asked = |(embedder, work): &(ActiveEmbedder, Work)| work.makes() && !embedder.makes_at_once();
    let (embedders, works): (Vec<_>, Vec<_>) = changed.into_iter().filter(is_asked).unzip();
    if embedders.is_empty() || segments.is_empty() {
        let unreached = embedders.iter().filter_map(|embedder: &ActiveEmbedder| {
            let maker = embedder.maker.as_ref()?.embedder.as_ref()?;
            Some((embedder.name().to_owned(), maker.reach(resources.asking()?).err()?))
        });
        let unreached = unreached.collect();
        return check(resources.cancelled).map(|()| unreached);
    }
    resources.progress.enter(Phase::Embedding, document_total(segments));
    let log = EmbeddingLog::default();
    let adaptation = Adaptation { resources, reading, embedders: &embedders, works: &works, log: &log };
    for segment in segments {
        adaptation.ask(segment)?;
        check_log(&log, &embedders)?;
    }
    Ok(BTreeMap::new())
}

/// Returns whether a change of settings may have to ask an embedder.
pub(in super::super::super) fn asks_embedders(old: &Settings, new: &Settings) -> bool {
    let searchable_changed = old.searchable_attributes != new.searchable_attributes;
    new.all_embedders().any(|embedder| {
        let before = old.embedder(&embedder.name);
        !embedder.user_provided && work(before.as_ref(), &embedder, searchable_changed).makes()
    })
}

fn document_total(segments: &[SegmentView]) -> u64 {
    segments.iter().map(|segment| u64::from(segment.reader.doc_count())).sum()
}

/// The embedders whose vectors are not what the new settings ask for, and what there is to do. No other one is opened.
fn changed(
    resources: &Resources<'_>,
    old: &Settings,
    new: &Settings,
    segments: &[SegmentView],
) -> Result<Vec<(ActiveEmbedder, Work)>, IndexError> {
    let searchable_changed = old.searchable_attributes != new.searchable_attributes;
    let mut changed = Vec::new();
    for settings in new.all_embedders() {
        let work = work(old.embedder(&settings.name).as_ref(), &settings, searchable_changed);
        let known_dimensions = settings.dimensions.or_else(|| stored_dimensions(segments, &settings.name));
        let embedder = match work {
            Work::None => continue,
            Work::Quantize => ActiveEmbedder::open(settings, resources, When::Later { known_dimensions })?,
            _ => ActiveEmbedder::open(settings, resources, When::Now)?,
        };
        // Other dimensions alone make no new vectors: what is stored stays, and fails whatever needs the new size.
        let is_waiting = embedder.check_known().is_err() || embedder.check_stored(segments).is_err();
        if work != Work::Quantize || !is_waiting {
            changed.push((embedder, work));
        }
    }
    Ok(changed)
}

pub(super) struct Adaptation<'a> {
    pub(super) resources: &'a Resources<'a>,
    pub(super) reading: DocumentContext<'a>,
    pub(super) embedders: &'a [ActiveEmbedder],
    pub(super) works: &'a [Work],
    pub(super) log: &'a EmbeddingLog,
}

/// The vectors of one segment in the making.
#[derive(Default)]
pub(super) struct SegmentVectors(pub(super) Vec<VectorsBuilder>);

/// One part in this many of the memory of a batch may hold rows: while they grow, two copies of them are there, the new one
/// twice as long.
const ROWS_MEMORY_DIVISOR: usize = 4;

impl SegmentVectors {
    /// Puts rows into files when they take more memory than they may.
    pub(super) fn make_room(&mut self, resources: &Resources<'_>) -> Result<(), IndexError> {
        if self.0.iter().map(VectorsBuilder::movable_bytes).sum::<usize>()
            < resources.memory_bytes / ROWS_MEMORY_DIVISOR
        {
            return Ok(());
        }
        for vectors in self.0.iter_mut().filter(|vectors| vectors.movable_bytes() > 0) {
            // A number that no segment gets makes a name that no file has. A crash may leave one.
            let name = format!("rows-{:016x}.lam", resources.new_segment_id().0);
            vectors.put_aside(&**resources.directory, &name)?;
        }
        Ok(())
    }
}

impl VectorTarget for SegmentVectors {
    fn vectors(&mut self, embedder: &str, shape: VectorShape) -> &mut VectorsBuilder {
        let position = self.0.iter().position(|vectors| vectors.name() == embedder).unwrap_or_else(|| {
            self.0.push(VectorsBuilder::new(embedder, shape));
            self.0.len() - 1
        });
        &mut self.0[position]
    }
}

/// The vectors that a document has in its segment.
fn stored<'r>(
    reader: &'r SegmentReader,
    embedder: &ActiveEmbedder,
    doc: u32,
) -> Result<Option<(StoredVectors<'r>, VectorShape)>, IndexError> {
    let stored = reader.vectors_of(embedder.name()).filter(|vectors| vectors.state(doc).is_present());
    // Vectors that were set aside are those of the document again when the embedder has their size.
    let aside = stored.filter(|vectors| vectors.of(doc).is_empty()).and_then(|_| {
        let aside = reader.vectors_of(&name_aside(embedder.name(), embedder.shape.dimensions));
        aside.filter(|vectors| vectors.state(doc).is_present())
    });
    let stored = aside.or(stored).map(|vectors| Ok((vectors.get(doc)?, vectors.shape()))).transpose();
    stored.map_err(|error: SegmentError| IndexError::from(error))
}

/// Reports whether stored vectors are kept, whatever the document says.
fn stays(embedder: &ActiveEmbedder, work: Work, stored: &StoredVectors<'_>, shape: VectorShape) -> bool {
    // What is made anew makes all vectors of one size: those that came with the document go if they have another.
    let is_anew = work.makes();
    // What a user gave for good stays, whatever becomes of the embedder.
    if work != Work::Add && stored.state.is_user_provided() && !stored.state.regenerates() {
        return true;
    }
    let fits = stored.count == 0 || shape.dimensions == embedder.shape.dimensions;
    // What came with the document stays, unless it waits for a better one.
    let waits = stored.state.regenerates() && embedder.maker.is_some();
    (!is_anew || fits)
        && (stored.state.is_user_provided() && !waits
            || !stored.state.regenerates()
            || matches!(work, Work::Quantize | Work::Complete | Work::None))
}

/// Keeps vectors of another size than the embedder makes now beside the others. The document waits for none.
fn set_aside(
    beside: &mut SegmentVectors,
    embedder: &ActiveEmbedder,
    doc: u32,
    stored: StoredVectors<'_>,
    shape: VectorShape,
) {
    beside.vectors(&name_aside(embedder.name(), shape.dimensions), shape).copy(doc, stored, shape);
    beside.vectors(embedder.name(), embedder.shape).set::<&[f32]>(doc, VectorState::supplied(false), 0, &[]);
}

/// Returns the entry of an embedder in the text of `_vectors`. Of repeated names the last one counts.
fn named<'v>(vectors: &'v str, embedder: &ActiveEmbedder) -> Option<&'v RawValue> {
    let entries = members(vectors).ok()?;
    entries.into_iter().rev().find(|(name, _)| name == embedder.name()).map(|(_, json)| json)
}

impl Adaptation<'_> {
    fn adapt(&self, segment: &SegmentView) -> Result<SegmentView, IndexError> {
        let (resources, reader) = (self.resources, &segment.reader);
        let missing = Missing::default();
        let mut documents = DocumentVectors::new(resources, self.reading, self.embedders, &missing, self.log);
        let mut beside = SegmentVectors::default();
        for embedder in self.embedders {
            // Masks vectors of an embedder of the same name that is gone.
            if reader.vectors_of(embedder.name()).is_some() {
                beside.vectors(embedder.name(), embedder.shape);
            }
        }
        for run in runs_of(reader.doc_count()) {
            check(resources.cancelled)?;
            let done = u64::from(run.end - run.start);
            for_each_document(reader, run, |doc, json| {
                if segment.is_live(doc) {
                    self.document(&mut documents, &mut beside, reader, doc, json)
                } else {
                    Ok(())
                }
            })?;
            resources.progress.advance(done);
        }
        documents.flush(&mut beside)?;
        self.put_beside(segment, &beside)
    }

    /// Asks for the vectors of a segment, and forgets them: they are remembered elsewhere.
    fn ask(&self, segment: &SegmentView) -> Result<(), IndexError> {
        let (resources, reader) = (self.resources, &segment.reader);
        let missing = Missing::default();
        let mut documents = DocumentVectors::new(resources, self.reading, self.embedders, &missing, self.log);
        let mut beside = SegmentVectors::default();
        for run in runs_of(reader.doc_count()) {
            check(resources.cancelled)?;
            let done = u64::from(run.end - run.start);
            for_each_document(reader, run, |doc, json| match segment.is_live(doc) {
                true => self.document(&mut documents, &mut beside, reader, doc, json),
                false => Ok(()),
            })?;
            beside.0.clear();
            resources.progress.advance(done);
        }
        documents.flush(&mut beside)
    }

    /// The segment with these vectors in the place of those that it has of the same embedders.
    pub(super) fn put_beside(&self, segment: &SegmentView, beside: &SegmentVectors) -> Result<SegmentView, IndexError> {
        if beside.0.is_empty() {
            return Ok(segment.clone());
        }
        let (directory, reader) = (self.resources.directory, &segment.reader);
        let (first, thresholds) = (self.resources.first_number, &self.resources.list_thresholds);
        let file = write_vector_file(&beside.0, &**directory, reader.meta(), first, thresholds)?;
        let added = FileGuard::provisional(directory.clone(), file.file.clone());
        let files = segment.files.iter().cloned().chain([added]).collect();
        let mut meta = reader.meta().clone();
        meta.column_files.push(file);
        let reader = SegmentReader::open(&**directory, &meta)?;
        Ok(SegmentView::new(reader, segment.deleted.clone(), files, self.resources.runtime))
    }

    /// Settles the vectors of one document. Where they are only completed, those that are there are left to the caller.
    pub(super) fn document(
        &self,
        documents: &mut DocumentVectors<'_>,
        beside: &mut SegmentVectors,
        reader: &SegmentReader,
        doc: u32,
        json: &[u8],
    ) -> Result<(), IndexError> {
        let (plain, vectors) = split_vectors(json)?;
        for (number, (embedder, &work)) in self.embedders.iter().zip(self.works).enumerate() {
            let stored = stored(reader, embedder, doc)?;
            if let Some((kept, shape)) = stored.filter(|(stored, shape)| stays(embedder, work, stored, *shape)) {
                if work.makes() && kept.count > 0 && shape.dimensions != embedder.shape.dimensions {
                    set_aside(beside, embedder, doc, kept, shape);
                } else if work != Work::Complete {
                    self.keep(beside, embedder, doc, &plain, kept, shape)?;
                }
                continue;
            }
            // Data of the document until now.
            let named = vectors.filter(|_| stored.is_none()).and_then(|vectors| named(vectors, embedder));
            if let Some(json) = named
                && self.take_supplied(beside, embedder, doc, &plain, json.get())?
            {
                continue;
            }
            let reusable = stored.filter(|(_, shape)| work == Work::Render && *shape == embedder.shape);
            match documents.generate(beside, number, doc, &plain, reusable, None) {
                Err(IndexError::Embedding(EmbeddingError::Render { document_id, reason }))
                    if work == Work::Complete =>
                {
                    self.log.failed(embedder.name(), document_id, EmbedFailure::user(reason).of_text());
                }
                Err(IndexError::Embedding(EmbeddingError::RenderLimit { document_id, limit, .. }))
                    if work == Work::Complete =>
                {
                    self.log.failed(embedder.name(), document_id, EmbedFailure::user(limit.to_string()).of_text());
                }
                generated => generated?,
            }
        }
        documents.flush_if_full(beside)?;
        beside.make_room(self.resources)
    }

    /// Keeps stored vectors, if they have the size of the others.
    fn keep(
        &self,
        beside: &mut SegmentVectors,
        embedder: &ActiveEmbedder,
        doc: u32,
        plain: &[u8],
        stored: StoredVectors<'_>,
        shape: VectorShape,
    ) -> Result<(), IndexError> {
        let id = || document_id_json(plain, self.reading.primary_key).trim_matches('"').to_owned();
        self.check_size(embedder, shape, stored.count, id)?;
        let vectors = beside.vectors(embedder.name(), embedder.shape);
        if shape.dimensions == embedder.shape.dimensions {
            vectors.copy(doc, stored, shape);
        } else {
            // It has none, whatever their size, and wants none.
            vectors.set::<&[f32]>(doc, stored.state, 0, &[]);
        }
        Ok(())
    }

    /// Takes what the document says of its vectors; `false` when they are to be made.
    fn take_supplied(
        &self,
        beside: &mut SegmentVectors,
        embedder: &ActiveEmbedder,
        doc: u32,
        plain: &[u8],
        json: &str,
    ) -> Result<bool, IndexError> {
        let id = || document_id_json(plain, self.reading.primary_key);
        let supplied = SuppliedVectors::parse(embedder.name(), json, id)?;
        let size = embedder.shape.dimensions as usize;
        supplied.check(embedder.name(), size, || id().trim_matches('"').to_owned())?;
        let (state, vectors) = match (supplied.vectors, supplied.regenerate) {
            (Some(vectors), regenerate) => (VectorState::supplied(regenerate), vectors),
            (None, false) => (VectorState::supplied(false), Vec::new()),
            (None, true) => return Ok(false),
        };
        // Its text is the one that they stand for, as of a document that is written.
        let maker = embedder.maker.as_ref().filter(|_| supplied.regenerate);
        let texts = maker.and_then(|maker| maker.texts(plain, self.reading.settings, self.reading.primary_key).ok());
        let (state, hash) = texts.map_or((state, 0), |(_, hash)| (state.hashed(), hash));
        beside.vectors(embedder.name(), embedder.shape).set(doc, state, hash, &vectors);
        Ok(true)
    }

    fn check_size(
        &self,
        embedder: &ActiveEmbedder,
        shape: VectorShape,
        count: u32,
        document_id: impl Fn() -> String,
    ) -> Result<(), IndexError> {
        if shape.dimensions == embedder.shape.dimensions || count == 0 {
            return Ok(());
        }
        Err(VectorsError::Dimensions {
            document_id: document_id(),
            embedder: embedder.name().to_owned(),
            position: 0,
            found: shape.dimensions as usize,
            expected: embedder.shape.dimensions as usize,
        }
        .into())
    }
}
