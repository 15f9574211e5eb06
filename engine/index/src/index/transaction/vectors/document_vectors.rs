//! One thread's view of the vectors of the documents it writes.

use std::borrow::Cow;

use lamina_segment::document::{Member, SuppliedVectors, VectorsError, append_vectors, members, split_vectors};
use lamina_segment::segment::{SegmentError, SegmentReader, StoredVectors, VectorShape, VectorState, VectorsBuilder};
use lamina_text::id::{DocId, InternalId};
use lamina_text::text::{TYPOS_MAX, TypoPattern};
use serde_json::{Map, Value};

use super::super::super::document_vectors::embedder_of;
use super::super::super::embedding::{Asking, EmbedFailure, Embedder, EmbeddingError, EmbeddingLog, Misspelt};
use super::super::super::error::IndexError;
use super::super::super::settings::{Settings, VECTORS_FIELD};
use super::super::document_writer::DocumentContext;
use super::super::geo::document_id_json;
use super::super::resources::Resources;
use super::super::threads::check;
use super::Origin;
use super::active::ActiveEmbedder;
use super::missing::{Missing, WithoutVectors};

/// Texts are handed to an embedder when there are this many, or this many bytes of them.
const PENDING_COUNT_MAX: usize = 1024;
const PENDING_BYTES_MAX: usize = 1 << 20;

/// Destination of vectors: a segment being built, or a file beside a segment.
pub(in super::super) trait VectorTarget {
    fn vectors(&mut self, embedder: &str, shape: VectorShape) -> &mut VectorsBuilder;
}

impl VectorTarget for lamina_segment::segment::SegmentWriter {
    fn vectors(&mut self, embedder: &str, shape: VectorShape) -> &mut VectorsBuilder {
        self.vectors(embedder, shape)
    }
}

/// Decides what the vectors of each document are, and gathers the texts of those that are to be made.
#[derive(Debug)]
pub(in super::super) struct DocumentVectors<'a> {
    resources: &'a Resources<'a>,
    settings: &'a Settings,
    primary_key: &'a str,
    embedders: &'a [ActiveEmbedder],
    missing: &'a Missing,
    log: &'a EmbeddingLog,
    /// By embedder.
    pending: Vec<Vec<Pending>>,
    pending_bytes: usize,
}

/// A document whose vectors are to be made.
#[derive(Debug)]
struct Pending {
    doc: DocId,
    /// The document's id as JSON: a number or a quoted text.
    document_id: String,
    texts: Vec<String>,
    hash: u64,
}

/// A document without the vectors that go elsewhere.
#[derive(Debug)]
pub(in super::super) struct Taken<'j> {
    /// JSON of the document that is stored.
    pub(in super::super) json: Cow<'j, [u8]>,
    /// Vectors that the document supplies, by name of the embedder.
    supplied: Vec<Member<'j>>,
}

/// A document that was written, whose vectors are settled.
#[derive(Clone, Copy)]
struct Document<'t> {
    doc: DocId,
    id: InternalId,
    taken: &'t Taken<'t>,
}

impl<'a> DocumentVectors<'a> {
    pub(in super::super) fn new(
        resources: &'a Resources<'a>,
        reading: DocumentContext<'a>,
        embedders: &'a [ActiveEmbedder],
        missing: &'a Missing,
        log: &'a EmbeddingLog,
    ) -> DocumentVectors<'a> {
        DocumentVectors {
            resources,
            settings: reading.settings,
            primary_key: reading.primary_key,
            embedders,
            missing,
            log,
            pending: embedders.iter().map(|_| Vec::new()).collect(),
            pending_bytes: 0,
        }
    }

    /// Takes the vectors of the embedders there are out of `json`. Those of unknown embedders are plain data.
    pub(in super::super) fn take<'j>(&self, json: &'j [u8]) -> Result<Taken<'j>, IndexError> {
        let (mut rest, vectors) = split_vectors(json)?;
        let Some(vectors) = vectors.filter(|vectors| *vectors != "null") else {
            return Ok(Taken { json: Cow::Borrowed(json), supplied: Vec::new() });
        };
        let supplied = members(vectors).map_err(|_| VectorsError::NotAnObject {
            document_id: document_id_json(json, self.primary_key).trim_matches('"').to_owned(),
            value: vectors.to_owned(),
        })?;
        let is_known = |name: &str| self.embedders.iter().any(|embedder| embedder.name() == name);
        if !supplied.iter().any(|(name, _)| is_known(name)) {
            return Ok(Taken { json: Cow::Borrowed(json), supplied });
        }
        let plain: Vec<Member<'_>> = supplied.iter().filter(|(name, _)| !is_known(name)).cloned().collect();
        append_vectors(rest.to_mut(), &plain);
        Ok(Taken { json: rest, supplied })
    }

    /// Settles the vectors of a document that was written as number `doc` of `target`.
    ///
    /// # Errors
    /// What is wrong with the vectors that came with it, or with the text to make them from.
    pub(in super::super) fn settle(
        &mut self,
        target: &mut dyn VectorTarget,
        doc: DocId,
        id: InternalId,
        taken: &Taken<'_>,
        origin: Origin<'_>,
    ) -> Result<(), IndexError> {
        let document = Document { doc, id, taken };
        for number in 0..self.embedders.len() {
            let embedder = &self.embedders[number];
            let earlier = earlier(origin, embedder.name(), embedder.shape)?;
            // The last of repeated names counts.
            let supplied = taken.supplied.iter().rev().find(|(name, _)| name == embedder.name());
            match supplied {
                Some((_, json)) => {
                    let document_id = || document_id_json(&taken.json, self.primary_key);
                    let supplied = SuppliedVectors::parse(embedder.name(), json.get(), document_id)?;
                    self.settle_supplied(target, number, document, supplied, earlier)?;
                }
                None => self.settle_unnamed(target, number, document, origin, earlier)?,
            }
        }
        if let (Origin::Updates(..) | Origin::Rewrites(..), Some((reader, old))) = (origin, origin.earlier()) {
            // What a removed embedder left behind is plain data of the document, which stays too.
            for vectors in reader.vectors() {
                let is_known = self.embedders.iter().any(|embedder| embedder.name() == vectors.name());
                let is_named = taken.supplied.iter().any(|(name, _)| name == embedder_of(vectors.name()));
                if !is_known && !is_named && vectors.state(old).is_present() {
                    target.vectors(vectors.name(), vectors.shape()).copy(doc, vectors.get(old)?, vectors.shape());
                }
            }
        }
        self.flush_if_full(target)
    }

    /// Makes vectors when many are to be made.
    ///
    /// # Errors
    /// The errors of [`DocumentVectors::flush`].
    pub(super) fn flush_if_full(&mut self, target: &mut dyn VectorTarget) -> Result<(), IndexError> {
        let many =
            self.pending.iter().any(|some| some.iter().map(|one| one.texts.len()).sum::<usize>() >= PENDING_COUNT_MAX);
        if many || self.pending_bytes >= PENDING_BYTES_MAX { self.flush(target) } else { Ok(()) }
    }

    /// Applies what the document says about the vectors of embedder `number`.
    fn settle_supplied(
        &mut self,
        target: &mut dyn VectorTarget,
        number: usize,
        Document { doc, id, taken }: Document<'_>,
        supplied: SuppliedVectors,
        earlier: Option<(StoredVectors<'_>, VectorShape)>,
    ) -> Result<(), IndexError> {
        let embedder = &self.embedders[number];
        embedder.check_known()?;
        let id_text = || document_id_json(&taken.json, self.primary_key).trim_matches('"').to_owned();
        supplied.check(embedder.name(), embedder.shape.dimensions as usize, id_text)?;
        match (supplied.vectors, supplied.regenerate, &embedder.maker) {
            (Some(vectors), true, Some(maker)) => {
                let (_, hash) = maker.texts(&taken.json, self.settings, self.primary_key)?;
                let state = VectorState::supplied(true).hashed();
                target.vectors(embedder.name(), embedder.shape).set(doc, state, hash, &vectors);
            }
            (Some(vectors), regenerate, _) => {
                let state = VectorState::supplied(regenerate);
                target.vectors(embedder.name(), embedder.shape).set(doc, state, 0, &vectors);
            }
            (None, true, Some(_)) => self.generate(target, number, doc, &taken.json, earlier, None)?,
            (None, true, None) => {
                self.missing.note(embedder.name(), id, || self.without_vectors(taken, embedder.name()))
            }
            (None, false, _) => {
                let vectors = target.vectors(embedder.name(), embedder.shape);
                match earlier {
                    Some((stored, shape)) => {
                        vectors.copy(doc, StoredVectors { state: stored.state.kept(), ..stored }, shape);
                    }
                    None => vectors.set::<&[f32]>(doc, VectorState::supplied(false), 0, &[]),
                }
            }
        }
        Ok(())
    }

    /// The document says nothing of the vectors of embedder `number`: where they come from depends on what it replaces.
    fn settle_unnamed(
        &mut self,
        target: &mut dyn VectorTarget,
        number: usize,
        Document { doc, id, taken }: Document<'_>,
        origin: Origin<'_>,
        earlier: Option<(StoredVectors<'_>, VectorShape)>,
    ) -> Result<(), IndexError> {
        let embedder = &self.embedders[number];
        let stays = match (origin, &earlier) {
            (Origin::Rewrites(..), Some(_)) => true,
            (Origin::Updates(..), Some((stored, _))) => embedder.maker.is_none() || !stored.state.regenerates(),
            _ => false,
        };
        match (earlier, &embedder.maker) {
            (Some((stored, shape)), _) if stays => {
                target.vectors(embedder.name(), embedder.shape).copy(doc, stored, shape);
            }
            (_, None) if matches!(origin, Origin::New | Origin::Replaces(..)) => {
                self.missing.note(embedder.name(), id, || self.without_vectors(taken, embedder.name()));
            }
            (earlier, Some(_)) if !matches!(origin, Origin::Rewrites(..)) => {
                self.generate(target, number, doc, &taken.json, earlier, origin.earlier())?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Builds the error details for a document without vectors that no embedder can make.
    fn without_vectors(&self, taken: &Taken<'_>, embedder: &str) -> WithoutVectors {
        let is_like = |name: &str, meant: &str| {
            let typos = TypoPattern::new(meant, false, TYPOS_MAX).typos_of(name);
            typos.is_some_and(|typos| (1..meant.chars().count()).contains(&usize::from(typos)))
        };
        let is_known = |name: &str| self.embedders.iter().any(|embedder| embedder.name() == name);
        let mut names = taken.supplied.iter().map(|(name, _)| name);
        let name = names.find(|name| !is_known(name) && is_like(name, embedder));
        let misspelt = match name {
            Some(name) => Some(Misspelt {
                found: format!("{VECTORS_FIELD}.{name}"),
                meant: format!("{VECTORS_FIELD}.{embedder}"),
            }),
            None => {
                let document: Map<String, Value> = serde_json::from_slice(&taken.json).unwrap_or_default();
                let field = document.into_iter().map(|(name, _)| name).find(|name| is_like(name, VECTORS_FIELD));
                field.map(|found| Misspelt { found, meant: VECTORS_FIELD.to_owned() })
            }
        };
        WithoutVectors {
            document_id: document_id_json(&taken.json, self.primary_key),
            misspelt: misspelt.map(Box::new),
        }
    }

    /// The vector of the document's text: the earlier one if the text is the same, else a new one, later. A document
    /// that gets none waits: nothing is known of its vectors. Passages of the document that was `replaced` keep theirs.
    pub(super) fn generate(
        &mut self,
        target: &mut dyn VectorTarget,
        number: usize,
        doc: DocId,
        json: &[u8],
        earlier: Option<(StoredVectors<'_>, VectorShape)>,
        replaced: Option<(&SegmentReader, DocId)>,
    ) -> Result<(), IndexError> {
        let embedder = &self.embedders[number];
        let Some(maker) = &embedder.maker else { return Ok(()) };
        let (texts, hash) = maker.texts(json, self.settings, self.primary_key)?;
        let same = |stored: &StoredVectors<'_>| {
            stored.state.has_hash() && stored.state.regenerates() && stored.text_hash == hash
        };
        match (earlier, replaced) {
            (Some((stored, shape)), _) if same(&stored) => {
                target.vectors(embedder.name(), embedder.shape).copy(doc, stored, shape);
                self.log.kept(embedder.name());
            }
            // Without a word on its vectors the document waits for them.
            (Some((stored, shape)), Some(replaced)) if maker.embedder.is_none() => {
                self.remember_passages(number, &texts, (stored, shape), replaced)?;
            }
            _ if maker.embedder.is_none() => {}
            _ => {
                self.pending_bytes += texts.iter().map(String::len).sum::<usize>();
                let document_id = document_id_json(json, self.primary_key);
                self.pending[number].push(Pending { doc, document_id, texts, hash });
            }
        }
        Ok(())
    }

    /// Leaves the vectors of passages that stay with those who will be asked for the vectors of `texts`.
    fn remember_passages(
        &self,
        number: usize,
        texts: &[String],
        (stored, shape): (StoredVectors<'_>, VectorShape),
        (reader, doc): (&SegmentReader, DocId),
    ) -> Result<(), IndexError> {
        let embedder = &self.embedders[number];
        let is_exact = !shape.binary && !stored.state.is_user_provided();
        let Some(maker) = embedder.maker.as_ref().filter(|_| embedder.settings.chunks.is_some() && is_exact) else {
            return Ok(());
        };
        let mut json = Vec::new();
        reader.store().get(doc, &mut json)?;
        let Ok((before, hash)) = maker.texts(&json, self.settings, self.primary_key) else { return Ok(()) };
        if hash == stored.text_hash && before.len() == stored.count as usize {
            let each = before.into_iter().zip(stored.rows.chunks_exact(shape.row_bytes()));
            let stay = each.filter(|(text, _)| texts.contains(text)).map(|(text, row)| (text, shape.decode(row)));
            self.resources.embedders.remember(&embedder.settings, &stay.collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Makes the vectors that are still to be made.
    ///
    /// # Errors
    /// When the call was cancelled.
    pub(in super::super) fn flush(&mut self, target: &mut dyn VectorTarget) -> Result<(), IndexError> {
        self.pending_bytes = 0;
        for (embedder, pending) in self.embedders.iter().zip(&mut self.pending) {
            let maker = embedder.maker.as_ref().and_then(|maker| maker.embedder.as_deref());
            let (Some(maker), false) = (maker, pending.is_empty()) else { continue };
            if made_at_once(maker, embedder, target, pending, self.log) {
                continue;
            }
            let Some(asking) = self.resources.asking() else {
                remembered(maker, embedder, target, pending, self.log);
                continue;
            };
            if let Some(failure) = self.log.lasting(embedder.name()) {
                self.log.lasts(embedder.name(), pending.drain(..).count(), failure);
                continue;
            }
            let counts: Vec<usize> = pending.iter().map(|pending| pending.texts.len()).collect();
            let texts: Vec<String> =
                pending.iter_mut().flat_map(|pending| std::mem::take(&mut pending.texts)).collect();
            let mut answers = embed(maker, embedder.shape, &texts, asking)?.into_iter();
            let builder = target.vectors(embedder.name(), embedder.shape);
            for (pending, count) in pending.drain(..).zip(counts) {
                // All of a document's vectors, or none of them.
                let of_document: Vec<_> = answers.by_ref().take(count).collect();
                match of_document.into_iter().collect::<Result<Vec<_>, _>>() {
                    Ok(vectors) => {
                        builder.set(pending.doc, VectorState::generated().hashed(), pending.hash, &vectors);
                        self.log.made(embedder.name());
                    }
                    Err(failure) if failure.is_of_text => {
                        self.log.failed(embedder.name(), pending.document_id, failure);
                    }
                    Err(failure) => self.log.lasts(embedder.name(), 1, failure),
                }
            }
        }
        Ok(())
    }
}

/// Sets the vectors of documents whose embedder makes them at once; `false` if it is another kind. A text may have none.
fn made_at_once(
    maker: &dyn Embedder,
    embedder: &ActiveEmbedder,
    target: &mut dyn VectorTarget,
    pending: &mut Vec<Pending>,
    log: &EmbeddingLog,
) -> bool {
    let texts: Vec<&str> = pending.iter().flat_map(|pending| &pending.texts).map(String::as_str).collect();
    let Some(made) = maker.at_once(&texts) else { return false };
    let mut made = made.into_iter();
    let builder = target.vectors(embedder.name(), embedder.shape);
    for Pending { doc, texts, hash, .. } in pending.drain(..) {
        let mut vectors: Vec<Option<Vec<f32>>> = made.by_ref().take(texts.len()).collect();
        // A passage that says nothing to the model shares the vector of the one before it, or of the first that has one.
        let mut last = vectors.iter().flatten().next().cloned();
        for vector in &mut vectors {
            last = vector.take().or(last);
            vector.clone_from(&last);
        }
        let vectors: Vec<Vec<f32>> = vectors.into_iter().flatten().collect();
        builder.set(doc, VectorState::generated().hashed(), hash, &vectors);
        log.made(embedder.name());
    }
    true
}

/// Sets the vectors that are known of documents; the others wait for theirs.
fn remembered(
    maker: &dyn Embedder,
    embedder: &ActiveEmbedder,
    target: &mut dyn VectorTarget,
    pending: &mut Vec<Pending>,
    log: &EmbeddingLog,
) {
    let expected = embedder.shape.dimensions as usize;
    let builder = target.vectors(embedder.name(), embedder.shape);
    for Pending { doc, texts, hash, .. } in pending.drain(..) {
        let known = maker.known(&texts).into_iter().map(|vector| vector.filter(|vector| vector.len() == expected));
        if let Some(vectors) = known.collect::<Option<Vec<_>>>() {
            builder.set(doc, VectorState::generated().hashed(), hash, &vectors);
            log.made(embedder.name());
        }
    }
}

/// An answer for each of `texts`, checked.
fn embed(
    maker: &dyn Embedder,
    shape: VectorShape,
    texts: &[String],
    asking: Asking<'_>,
) -> Result<Vec<Result<Vec<f32>, EmbedFailure>>, IndexError> {
    let answers = maker.embed(texts, asking);
    check(asking.cancelled)?;
    if answers.len() != texts.len() {
        let message = format!("vectors for {} texts were asked for, and there are {}", texts.len(), answers.len());
        return Ok(vec![Err(EmbedFailure::runtime(message)); texts.len()]);
    }
    let expected = shape.dimensions as usize;
    let checked = answers.into_iter().map(|answer| match answer {
        Ok(vector) if vector.len() != expected => Err(EmbedFailure::other_dimensions(expected, vector.len()).of_text()),
        answer => answer,
    });
    Ok(checked.collect())
}

/// Refuses to go on where no text of an embedder gets a vector.
///
/// # Errors
/// [`EmbeddingError::Failed`]
pub(in super::super) fn check_log(log: &EmbeddingLog, embedders: &[ActiveEmbedder]) -> Result<(), IndexError> {
    for embedder in embedders {
        if let Some(failure) = log.fruitless(embedder.name()) {
            return Err(EmbeddingError::Failed { embedder: embedder.name().to_owned(), failure }.into());
        }
    }
    Ok(())
}

/// Returns the vectors of the previous document for `embedder`, or nothing if they have another size.
fn earlier<'s>(
    origin: Origin<'s>,
    embedder: &str,
    shape: VectorShape,
) -> Result<Option<(StoredVectors<'s>, VectorShape)>, SegmentError> {
    let Some((reader, doc)) = origin.earlier() else { return Ok(None) };
    let vectors = reader
        .vectors_of(embedder)
        .filter(|vectors| vectors.shape().dimensions == shape.dimensions && vectors.state(doc).is_present());
    vectors.map(|vectors| Ok((vectors.get(doc)?, vectors.shape()))).transpose()
}
