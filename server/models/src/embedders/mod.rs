//! Embedders: those that are asked over HTTP (`openAi`, `ollama`, `rest`), models that run here (`huggingFace`, `static`),
//! and pairs of them.
//!
//! All providers are the same machinery: a JSON request made from a template, sent, retried, and an answer that
//! another template finds the vectors in. What is special about a provider is a template of its own.
//!
//! Documents are embedded by the engine's indexing threads through [`EmbedderProvider`]; texts of queries by
//! [`Embedders::embed_query`], with a deadline and without holding a search thread.

mod budget;
mod cache;
mod call;
mod fragments;
mod kept;
#[cfg(feature = "local-models")]
mod local;
mod provider;
mod remembering;
mod remote;
mod side;
mod static_models;
mod store;
mod template;
mod tokens;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lamina_base::options::RateLimits;
use lamina_base::outbound::Outbound;
use lamina_engine::index::embedding::{Asking, EmbedFailure, Embedder, EmbedderProvider, EmbeddingWatch};
use lamina_engine::index::settings::EmbedderSettings;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use budget::Budgets;
use cache::VectorCache;
pub use fragments::{QueryInput, check_fragments};
use kept::KeptVectors;
use provider::Provider;
pub use provider::check_templates;
use remembering::{Remembering, VectorMaker};
use remote::RemoteEmbedder;
use side::Side;
#[cfg(feature = "local-models")]
use side::side_of;
use static_models::{StaticModel, StaticModels, StaticName};
use store::ModelStore;

/// Opened embedders kept for later batches and queries, at most.
const OPENED_MAX: usize = 256;

/// All embedders of the server.
pub struct Embedders {
    outbound: Outbound,
    /// By configuration and side: what was measured once need not be measured again.
    opened: Mutex<HashMap<String, Arc<dyn Embedder>>>,
    queries: VectorCache,
    budgets: Budgets,
    kept: Arc<KeptVectors>,
    store: Arc<ModelStore>,
    static_models: Arc<StaticModels>,
    #[cfg(feature = "local-models")]
    models: Arc<local::LocalModels>,
    #[cfg(feature = "local-models")]
    cross_encoders: local::CrossEncoders,
}

/// Resources of embedders, and the folders for their data.
#[derive(Clone, Debug)]
pub struct EmbedderOptions {
    /// Texts of queries that are remembered.
    pub cached_queries: usize,
    /// Rate limits of an account of a provider.
    pub limits: RateLimits,
    /// Models are kept here; it need not be there.
    pub models_folder: PathBuf,
    /// Vectors that were made are kept here; it need not be there.
    pub kept_folder: PathBuf,
    /// Maximum number of bytes of kept vectors once they are committed.
    pub kept_bytes_max: u64,
}

/// Configurations hold secrets.
impl std::fmt::Debug for Embedders {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Embedders").field("opened_count", &self.opened.lock().len()).finish_non_exhaustive()
    }
}

impl Embedders {
    /// Embedders that send their requests through `outbound`.
    pub fn new(outbound: Outbound, options: EmbedderOptions) -> Embedders {
        let store = Arc::new(ModelStore::from_environment(options.models_folder, outbound.clone()));
        Embedders {
            static_models: Arc::new(StaticModels::new(Arc::clone(&store))),
            #[cfg(feature = "local-models")]
            models: Arc::new(local::LocalModels::new(Arc::clone(&store))),
            #[cfg(feature = "local-models")]
            cross_encoders: local::CrossEncoders::new(Arc::clone(&store)),
            store,
            outbound,
            opened: Mutex::default(),
            queries: VectorCache::new(options.cached_queries),
            budgets: Budgets::new(options.limits),
            kept: Arc::new(KeptVectors::new(options.kept_folder, options.kept_bytes_max)),
        }
    }

    /// Ends downloads of models, for good.
    pub fn stop(&self) {
        self.store.stop();
    }

    /// The vector of a query, by `deadline`; an empty one if the model knows no word of it. `dimensions`: those that it must have,
    /// where they are known.
    ///
    /// # Errors
    /// When the embedder does not take such a query, or the provider gives no such vector in time.
    pub async fn embed_query(
        &self,
        settings: &EmbedderSettings,
        input: QueryInput<'_>,
        dimensions: Option<u32>,
        deadline: Instant,
    ) -> Result<Arc<[f32]>, EmbedFailure> {
        let text = &*input.text(&settings.configuration)?;
        if let Some(wanted) = StaticName::of(&settings.configuration) {
            let vector = self.embed_query_at_once(wanted, text, deadline).await?.unwrap_or_default();
            return match dimensions {
                Some(expected) if !vector.is_empty() && vector.len() != expected as usize => {
                    Err(EmbedFailure::other_dimensions(expected as usize, vector.len()))
                }
                _ => Ok(vector.into()),
            };
        }
        let key = key(&settings.configuration, Side::Search);
        let expected = dimensions.map(|dimensions| dimensions as usize);
        let fits = |vector: &[f32]| expected.is_none_or(|expected| expected == vector.len());
        if let Some(vector) = self.queries.get(&key, text).filter(|vector| fits(vector)) {
            return Ok(vector);
        }
        let vectors = match self.embed_query_here(settings, text, deadline).await {
            Some(vectors) => vectors?,
            None => self.ask(settings, text, deadline).await?,
        };
        let vector = vectors.into_iter().next().ok_or_else(|| EmbedFailure::runtime("a text got no vector"))?;
        if let Some(expected) = expected.filter(|_| !fits(&vector)) {
            return Err(EmbedFailure::other_dimensions(expected, vector.len()));
        }
        let vector: Arc<[f32]> = vector.into();
        self.queries.insert(key, text, Arc::clone(&vector));
        Ok(vector)
    }
}

/// Longest text that becomes tokens without a thread of its own, in bytes: some 50 us.
const AT_ONCE_BYTES_MAX: usize = 2048;

impl Embedders {
    /// The vector that a static model makes. One that is not in memory by the deadline serves a later query.
    async fn embed_query_at_once(
        &self,
        wanted: StaticName,
        text: &str,
        deadline: Instant,
    ) -> Result<Option<Vec<f32>>, EmbedFailure> {
        let late = || EmbedFailure::runtime("the model did not answer in time");
        let in_time = tokio::time::timeout_at(deadline.into(), self.static_models.loaded(&wanted));
        let model = in_time.await.map_err(|_| EmbedFailure::runtime("the model is not loaded yet"))??;
        if text.len() <= AT_ONCE_BYTES_MAX {
            return Ok(model.vector(text));
        }
        let text = text.to_owned();
        let work = tokio::task::spawn_blocking(move || StaticModel::vector(&model, &text));
        let vector = tokio::time::timeout_at(deadline.into(), work).await.map_err(|_| late())?;
        vector.map_err(|panic| EmbedFailure::runtime(format!("the model failed: {panic}")))
    }

    async fn ask(
        &self,
        settings: &EmbedderSettings,
        text: &str,
        deadline: Instant,
    ) -> Result<Vec<Vec<f32>>, EmbedFailure> {
        let provider = Provider::new(&settings.configuration, Side::Search, &self.budgets)?;
        let texts = [text.to_owned()];
        let (never, watch) = (AtomicBool::new(false), EmbeddingWatch::default());
        let asking = Asking { cancelled: &never, watch: &watch, is_brief: false };
        let call = call::embed(&self.outbound, &provider, &texts, Some(deadline), asking);
        let in_time = tokio::time::timeout_at(deadline.into(), call).await;
        let answers = in_time.map_err(|_| EmbedFailure::runtime("the embedding server did not answer in time"))??;
        answers.into_iter().collect()
    }

    /// The vector that a model of this server makes; `None` when the configuration names none. A model that is not loaded by
    /// the deadline serves a later query.
    #[cfg(feature = "local-models")]
    async fn embed_query_here(
        &self,
        settings: &EmbedderSettings,
        text: &str,
        deadline: Instant,
    ) -> Option<Result<Vec<Vec<f32>>, EmbedFailure>> {
        let wanted = local::LocalModel::of(side_of(&settings.configuration, Side::Search))?;
        let (models, texts) = (Arc::clone(&self.models), [text.to_owned()]);
        let work = tokio::task::spawn_blocking(move || {
            let never = AtomicBool::new(false);
            models.open(&wanted, &never)?.embed(&texts, &never)
        });
        Some(match tokio::time::timeout_at(deadline.into(), work).await {
            Ok(Ok(vectors)) => vectors,
            Ok(Err(panic)) => Err(EmbedFailure::runtime(format!("the model failed: {panic}"))),
            Err(_) => Err(EmbedFailure::runtime("the model did not answer in time")),
        })
    }

    #[cfg(not(feature = "local-models"))]
    async fn embed_query_here(
        &self,
        _: &EmbedderSettings,
        _: &str,
        _: Instant,
    ) -> Option<Result<Vec<Vec<f32>>, EmbedFailure>> {
        None
    }

    /// Opens the maker of vectors for one side.
    fn open_side(
        &self,
        configuration: &Map<String, Value>,
        side: Side,
        asking: Option<Asking<'_>>,
    ) -> Result<Arc<dyn VectorMaker>, EmbedFailure> {
        #[cfg(feature = "local-models")]
        if let Some(wanted) = local::LocalModel::of(side_of(configuration, side)) {
            let asking = asking.ok_or_else(|| EmbedFailure::runtime("the model has not been loaded yet"))?;
            return Ok(self.models.open(&wanted, asking.cancelled)?);
        }
        let provider = Provider::new(configuration, side, &self.budgets)?;
        Ok(Arc::new(RemoteEmbedder::open(self.outbound.clone(), provider, asking)?))
    }
}

impl Embedders {
    /// Scores how well each text answers `query`, from 0 to 1, in order, by `deadline`. Uses a cross-encoder that runs
    /// in this server, from the folders of models. `wanted`: model and revision.
    ///
    /// # Errors
    /// Fails if the model cannot be obtained or run, or is late.
    #[cfg(feature = "local-models")]
    pub async fn cross_encode(
        &self,
        wanted: [&str; 2],
        query: &str,
        texts: &[String],
        deadline: Instant,
    ) -> Result<Vec<f64>, String> {
        let [model, revision] = wanted.map(str::to_owned);
        self.cross_encoders.scores(local::CrossModel { model, revision }, query, texts, deadline).await
    }

    /// No model runs here.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "local-models"))]
    pub async fn cross_encode(&self, _: [&str; 2], _: &str, _: &[String], _: Instant) -> Result<Vec<f64>, String> {
        Err("this server was built without the feature `local-models`, which source `huggingFace` needs".to_owned())
    }
}

impl EmbedderProvider for Embedders {
    fn open(&self, settings: &EmbedderSettings, asking: Option<Asking<'_>>) -> Result<Arc<dyn Embedder>, EmbedFailure> {
        if let Some(wanted) = StaticName::of(&settings.configuration) {
            let model = match asking {
                Some(asking) => self.static_models.open(&wanted, asking.cancelled)?,
                None => self.static_models.at_hand(&wanted)?,
            };
            return Ok(model);
        }
        let key = key(&settings.configuration, Side::Indexing);
        if let Some(opened) = self.opened.lock().get(&key) {
            return Ok(Arc::clone(opened));
        }
        let maker = self.open_side(&settings.configuration, Side::Indexing, asking)?;
        if settings.configuration.contains_key("searchEmbedder") {
            let asking = asking.ok_or_else(|| EmbedFailure::runtime("the pair has not been compared yet"))?;
            self.check_pair(&*maker, &settings.configuration, asking)?;
        }
        let opened: Arc<dyn Embedder> =
            Arc::new(Remembering::new(maker, &settings.configuration, Arc::clone(&self.kept)));
        let mut all = self.opened.lock();
        if all.len() >= OPENED_MAX {
            all.clear();
        }
        all.insert(key, Arc::clone(&opened));
        Ok(opened)
    }

    fn at_hand(&self, settings: &EmbedderSettings) -> Option<Arc<dyn Embedder>> {
        let wanted = StaticName::of(&settings.configuration)?;
        let model = self.static_models.at_hand(&wanted).ok()?;
        Some(model)
    }

    fn remember(&self, settings: &EmbedderSettings, vectors: &[(String, Vec<f32>)]) {
        for (text, vector) in vectors {
            let dimensions = u32::try_from(vector.len()).unwrap_or(u32::MAX);
            let maker = remembering::identity(&settings.configuration, dimensions);
            self.kept.put(kept::Key::new(&maker, text), vector);
        }
    }

    fn committed(&self) {
        self.kept.committed();
    }
}

/// Maximum distance between the vectors that the two sides of a pair make of the same text.
const PAIR_DISTANCE_MAX: f32 = 0.01;
const PAIR_TEXTS: [&str; 3] = ["test", "a red fox in the snow", "How does the engine rank documents?"];

impl Embedders {
    /// Refuses a pair whose sides do not make the same vectors.
    fn check_pair(
        &self,
        indexing: &dyn VectorMaker,
        configuration: &Map<String, Value>,
        asking: Asking<'_>,
    ) -> Result<(), EmbedFailure> {
        let search = self.open_side(configuration, Side::Search, Some(asking))?;
        if search.dimensions() != indexing.dimensions() {
            return Err(EmbedFailure::user(format!(
                "the dimensions of the search embedder ({}) and of the indexing embedder ({}) differ",
                search.dimensions(),
                indexing.dimensions()
            )));
        }
        let texts = PAIR_TEXTS.map(str::to_owned);
        let make =
            |maker: &dyn VectorMaker| maker.make(&texts, asking, &|_, _| ()).into_iter().collect::<Result<Vec<_>, _>>();
        for (one, other) in make(&*search)?.iter().zip(make(indexing)?) {
            let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let norms = (product(one, one) * product(&other, &other)).sqrt();
            let cosine = if norms > 0.0 { product(one, &other) / norms } else { 1.0 };
            let distance = (1.0 - cosine) / 2.0;
            if distance > PAIR_DISTANCE_MAX {
                return Err(EmbedFailure::user(format!(
                    "the search embedder and the indexing embedder make different vectors of the same text: they are \
                     {distance} apart, and may be {PAIR_DISTANCE_MAX}"
                )));
            }
        }
        Ok(())
    }
}

fn key(configuration: &Map<String, Value>, side: Side) -> String {
    format!("{side:?} {}", Value::Object(configuration.clone()))
}

#[cfg(test)]
mod tests;
