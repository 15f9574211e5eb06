//! Static models: the source `static`. A vector for each token, and the vector of a text is the mean of those of its tokens.
//!
//! There is no network to run: a model is a [matrix](matrix) and a tokenizer, in a [folder](folder) as model2vec or
//! sentence-transformers write it. It is in memory once, whatever indexes use it, and makes a vector in some microseconds on
//! the thread that asks. So no queue is before it: documents get their vectors while they are written.

mod folder;
mod matrix;
mod tensors;
mod words;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lamina_engine::index::embedding::{Asking, EmbedFailure, Embedder};
use parking_lot::Mutex;
use rayon::prelude::*;
use serde_json::{Map, Value};

use folder::StaticLayout;
pub(super) use matrix::StaticModel;

use super::store::{MAIN_REVISION, ModelStore, lock_unless_cancelled};

/// Models kept in memory, at most; more make all others leave.
const OPENED_MAX: usize = 8;
/// Texts with fewer bytes are not worth another thread.
const PARALLEL_BYTES_MIN: usize = 16 << 10;
/// Pause between two looks at a model that another query opens.
const WAIT: Duration = Duration::from_millis(10);

/// Model, and its revision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StaticName {
    pub(super) model: String,
    pub(super) revision: String,
}

impl StaticName {
    /// The model that a configuration names; `None` when its source is another.
    pub(super) fn of(configuration: &Map<String, Value>) -> Option<StaticName> {
        let text = |field: &str| configuration.get(field).and_then(Value::as_str);
        let is_static = text("source") == Some("static");
        is_static.then(|| StaticName {
            model: text("model").unwrap_or_default().to_owned(),
            revision: text("revision").unwrap_or(MAIN_REVISION).to_owned(),
        })
    }
}

/// Set by the first who needs the model; the others wait.
type Opening = Arc<Mutex<Option<Arc<StaticModel>>>>;

/// All static models of the server.
#[derive(Debug)]
pub(super) struct StaticModels {
    store: Arc<ModelStore>,
    opened: Mutex<HashMap<StaticName, Opening>>,
}

impl StaticModels {
    pub(super) fn new(store: Arc<ModelStore>) -> StaticModels {
        StaticModels { store, opened: Mutex::default() }
    }

    /// The model for a query, downloaded if it is not here. However many wait, one thread opens it, which goes on when they have given up.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub(super) async fn loaded(self: &Arc<Self>, wanted: &StaticName) -> Result<Arc<StaticModel>, EmbedFailure> {
        loop {
            if let Some(model) = self.opened(wanted) {
                return Ok(model);
            }
            let (models, wanted) = (Arc::clone(self), wanted.clone());
            let open = move || {
                let opening = models.opening(&wanted);
                let mut opening = opening.try_lock()?;
                Some(models.open_in(&mut opening, &wanted, &AtomicBool::new(false)))
            };
            match tokio::task::spawn_blocking(open).await {
                Ok(Some(opened)) => return opened,
                // Another thread opens it.
                Ok(None) => {}
                Err(panic) => return Err(EmbedFailure::runtime(format!("the model failed: {panic}"))),
            }
            tokio::time::sleep(WAIT).await;
        }
    }

    /// The model if it is in memory. Returns at once.
    fn opened(&self, wanted: &StaticName) -> Option<Arc<StaticModel>> {
        let opening = Arc::clone(self.opened.lock().get(wanted)?);
        opening.try_lock()?.clone()
    }

    /// The model, read if it is on this machine. Does not wait for a download.
    ///
    /// # Errors
    /// When it is not here, or cannot be used.
    pub(super) fn at_hand(&self, wanted: &StaticName) -> Result<Arc<StaticModel>, EmbedFailure> {
        let opening = self.opening(wanted);
        let not_here = || EmbedFailure::runtime(format!("model `{}` has not been loaded yet", wanted.model));
        let mut opening = opening.try_lock().ok_or_else(not_here)?;
        if let Some(open) = &*opening {
            return Ok(Arc::clone(open));
        }
        let files = self.store.find(&StaticLayout, &wanted.model, &wanted.revision)?.ok_or_else(not_here)?;
        let open = Arc::new(StaticModel::read(&wanted.model, &files)?);
        Ok(Arc::clone(opening.insert(open)))
    }

    /// The model, downloaded if it is not here. Blocks, for minutes when it is downloaded.
    ///
    /// # Errors
    /// When it can't be had, or cannot be used.
    pub(super) fn open(&self, wanted: &StaticName, cancelled: &AtomicBool) -> Result<Arc<StaticModel>, EmbedFailure> {
        let opening = self.opening(wanted);
        let mut opening = lock_unless_cancelled(cancelled, &opening).ok_or_else(EmbedFailure::cancelled)?;
        self.open_in(&mut opening, wanted, cancelled)
    }

    fn open_in(
        &self,
        opening: &mut Option<Arc<StaticModel>>,
        wanted: &StaticName,
        cancelled: &AtomicBool,
    ) -> Result<Arc<StaticModel>, EmbedFailure> {
        if let Some(open) = &*opening {
            return Ok(Arc::clone(open));
        }
        let files = self.store.obtain(&StaticLayout, &wanted.model, &wanted.revision, cancelled)?;
        let open = Arc::new(StaticModel::read(&wanted.model, &files)?);
        Ok(Arc::clone(opening.insert(open)))
    }

    fn opening(&self, wanted: &StaticName) -> Opening {
        let mut opened = self.opened.lock();
        if opened.len() >= OPENED_MAX && !opened.contains_key(wanted) {
            opened.clear();
        }
        Arc::clone(opened.entry(wanted.clone()).or_default())
    }
}

impl Embedder for StaticModel {
    fn dimensions(&self) -> u32 {
        self.dimensions
    }

    fn embed(&self, texts: &[String], _: Asking<'_>) -> Vec<Result<Vec<f32>, EmbedFailure>> {
        let none = || EmbedFailure::user(format!("model `{}` knows no word of the text", self.name)).of_text();
        texts.iter().map(|text| self.vector(text).ok_or_else(none)).collect()
    }

    fn at_once(&self, texts: &[&str]) -> Option<Vec<Option<Vec<f32>>>> {
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        Some(if bytes < PARALLEL_BYTES_MIN {
            texts.iter().map(|text| self.vector(text)).collect()
        } else {
            texts.par_iter().map(|text| self.vector(text)).collect()
        })
    }
}

#[cfg(test)]
mod tests;
