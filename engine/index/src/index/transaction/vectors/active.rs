//! The embedders of the settings, ready for a batch.

use std::sync::Arc;

use lamina_segment::document::VectorsError;
use lamina_segment::segment::{VectorShape, fragments_hash};

use super::super::super::embedding::{
    DocumentTemplate, EmbedFailure, Embedder, EmbeddingError, JsonTemplate, PassageTemplate, RenderFailure, Rendered,
    TemplateError, texts_hash,
};
use super::super::super::error::IndexError;
use super::super::super::settings::{DIMENSIONS_MAX, EmbedderSettings, Settings};
use super::super::super::snapshot::SegmentView;
use super::super::geo::document_id_json;
use super::super::resources::{Asks, Resources};
use super::super::threads::check;

/// One embedder.
#[derive(Debug)]
pub(in super::super) struct ActiveEmbedder {
    pub(super) settings: EmbedderSettings,
    pub(super) shape: VectorShape,
    /// `None`: vectors come with the documents.
    pub(super) maker: Option<Maker>,
}

/// Time at which vectors are made.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    Now,
    /// The size of the vectors has to be known, from the settings or from those that are stored; if it is not, documents without
    /// vectors can be written nevertheless.
    Later {
        known_dimensions: Option<u32>,
    },
}

/// Makes vectors.
#[derive(Debug)]
pub(super) struct Maker {
    name: String,
    /// `None`: they are made later.
    pub(super) embedder: Option<Arc<dyn Embedder>>,
    template: DocumentTemplate,
}

impl ActiveEmbedder {
    /// All embedders of `settings`, for documents that are written. Where vectors are made later, a provider that is away is no reason
    /// not to write documents, nor is one that has not said yet how long its vectors are.
    ///
    /// # Errors
    /// The first that can't be used, or [`IndexError::Cancelled`].
    pub(in super::super) fn all(
        settings: &Settings,
        resources: &Resources<'_>,
        segments: &[SegmentView],
    ) -> Result<Vec<ActiveEmbedder>, IndexError> {
        let open = |settings: EmbedderSettings| {
            let when = match resources.asks {
                Asks::Never => When::Later {
                    known_dimensions: settings.dimensions.or_else(|| stored_dimensions(segments, &settings.name)),
                },
                Asks::Briefly | Asks::Patiently => When::Now,
            };
            ActiveEmbedder::open(settings, resources, when)
        };
        settings.all_embedders().map(open).collect()
    }

    pub(super) fn open(
        settings: EmbedderSettings,
        resources: &Resources<'_>,
        when: When,
    ) -> Result<ActiveEmbedder, IndexError> {
        let (dimensions, maker) = if settings.user_provided {
            (settings.dimensions, None)
        } else {
            let template = template_of(&settings)
                .map_err(|reason| EmbeddingError::Template { embedder: settings.name.clone(), reason })?;
            let open = || {
                let opened = resources.embedders.open(&settings, resources.asking());
                opened.map_err(|failure| match check(resources.cancelled) {
                    Ok(()) => EmbeddingError::Unusable(failure).into(),
                    Err(cancelled) => cancelled,
                })
            };
            let (dimensions, embedder) = match when {
                When::Now => {
                    let embedder = open()?;
                    (embedder.dimensions(), Some(embedder))
                }
                When::Later { known_dimensions } => {
                    match (at_hand(&settings, resources, known_dimensions), known_dimensions) {
                        (Some(embedder), _) => (embedder.dimensions(), Some(embedder)),
                        (None, Some(known)) => (known, None),
                        (None, None) => {
                            let opened = open();
                            (opened.map_or(UNKNOWN_DIMENSIONS, |embedder| embedder.dimensions()), None)
                        }
                    }
                }
            };
            (Some(dimensions), Some(Maker { name: settings.name.clone(), embedder, template }))
        };
        let may_be_unknown = matches!(when, When::Later { .. }) && !settings.user_provided;
        let dimensions = dimensions.filter(|dimensions| *dimensions > 0 || may_be_unknown).ok_or_else(|| {
            EmbeddingError::Unusable(EmbedFailure::user(format!(
                "the dimensions of embedder `{}` are not known",
                settings.name
            )))
        })?;
        if dimensions > DIMENSIONS_MAX {
            return Err(EmbeddingError::Unusable(EmbedFailure::user(format!(
                "the vectors of embedder `{}` have {dimensions} dimensions, and may have {DIMENSIONS_MAX}",
                settings.name
            )))
            .into());
        }
        let shape = VectorShape { dimensions, binary: settings.binary_quantized };
        Ok(ActiveEmbedder { settings, shape, maker })
    }

    /// Refuses vectors that come with a document as long as their size is not known.
    ///
    /// # Errors
    /// [`EmbeddingError::Unusable`]
    pub(super) fn check_known(&self) -> Result<(), IndexError> {
        if self.shape.dimensions != UNKNOWN_DIMENSIONS {
            return Ok(());
        }
        let name = self.name();
        Err(EmbeddingError::Unusable(EmbedFailure::runtime(format!(
            "documents bring vectors of embedder `{name}`, whose provider has not said yet how long its vectors are. Set \
             `dimensions` of `{name}`, or send the documents again when the provider answers"
        )))
        .into())
    }

    /// Refuses to write vectors beside those of another size: the dimensions of an embedder were changed, which makes
    /// no new vectors by itself.
    ///
    /// # Errors
    /// [`VectorsError::Stored`]
    pub(in super::super) fn check_stored(&self, segments: &[SegmentView]) -> Result<(), IndexError> {
        let stored = segments.iter().filter_map(|segment| segment.reader.vectors_of(self.name()));
        let mut sizes = stored.filter(|vectors| vectors.vector_count() > 0).map(|vectors| vectors.shape().dimensions);
        let is_other = |stored: &u32| *stored != self.shape.dimensions && self.shape.dimensions != UNKNOWN_DIMENSIONS;
        match sizes.find(is_other) {
            Some(stored) => {
                let (expected, found) = (stored as usize, self.shape.dimensions as usize);
                Err(VectorsError::Stored { expected, found }.into())
            }
            None => Ok(()),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.settings.name
    }

    /// Reports whether vectors are made while documents are written: none of them is asked for beforehand.
    pub(super) fn makes_at_once(&self) -> bool {
        let embedder = self.maker.as_ref().and_then(|maker| maker.embedder.as_ref());
        embedder.is_some_and(|embedder| embedder.at_once(&[]).is_some())
    }
}

/// An embedder whose model is here, if its vectors have the size of those that are stored. Otherwise documents wait, and making their
/// vectors reports what is wrong.
fn at_hand(
    settings: &EmbedderSettings,
    resources: &Resources<'_>,
    known_dimensions: Option<u32>,
) -> Option<Arc<dyn Embedder>> {
    let embedder = resources.embedders.at_hand(settings)?;
    known_dimensions.is_none_or(|known| known == embedder.dimensions()).then_some(embedder)
}

/// Placeholder for the dimensions of an embedder that has not reported them yet.
const UNKNOWN_DIMENSIONS: u32 = 0;

/// Fragments take the place of a template.
fn template_of(settings: &EmbedderSettings) -> Result<DocumentTemplate, TemplateError> {
    if settings.fragments.is_empty() {
        return PassageTemplate::new(settings).map(DocumentTemplate::Text);
    }
    let fragments = settings.fragments.iter().map(|(_, value)| JsonTemplate::new(value));
    fragments.collect::<Result<_, _>>().map(DocumentTemplate::Fragments)
}

pub(super) fn stored_dimensions(segments: &[SegmentView], embedder: &str) -> Option<u32> {
    let stored = segments.iter().filter_map(|segment| segment.reader.vectors_of(embedder));
    let mut sizes = stored.filter(|vectors| vectors.vector_count() > 0).map(|vectors| vectors.shape().dimensions);
    sizes.next()
}

impl Maker {
    /// The texts of a document and their hash.
    ///
    /// # Errors
    /// When the document lacks a field that the template reads, or rendering it costs too much.
    pub(super) fn texts(
        &self,
        document: &[u8],
        settings: &Settings,
        primary_key: &str,
    ) -> Result<(Vec<String>, u64), IndexError> {
        let is_searchable = |name: &str| settings.is_searchable_to_templates(name);
        let Rendered { texts, fragments } = self.template.render(document, &is_searchable).map_err(|failure| {
            let document_id = document_id_json(document, primary_key);
            match failure {
                RenderFailure::Missing(reason) => EmbeddingError::Render { document_id, reason },
                RenderFailure::Limit(limit) => {
                    EmbeddingError::RenderLimit { embedder: self.name.clone(), document_id, limit }
                }
            }
        })?;
        let hash = match &self.template {
            DocumentTemplate::Text(_) => texts_hash(&texts),
            DocumentTemplate::Fragments(_) => fragments_hash(texts_hash(&texts), fragments),
        };
        Ok((texts, hash))
    }
}
