//! Experiments and their states, in a file of the database folder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_engine::index::{Settings, Snapshot};
use lamina_protocol::wire::experiments::{Definition, Variant};
use lamina_protocol::wire::settings::written;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use crate::events::{identity, name_key};
use crate::instance::{Instance, StateFile, write_state};

/// The file in the database folder.
pub const FILE: &str = "experiments.json";
/// Experiments at most.
const EXPERIMENTS_MAX: usize = 100;
const DAY_SECONDS: i64 = 86_400;

pub type All = BTreeMap<String, Arc<Experiment>>;

/// An experiment, in the form in which it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Experiment {
    #[serde(flatten)]
    pub definition: Definition,
    pub started_at: Timestamp,
    /// The index at that time.
    index: Mark,
    /// The index of the variant, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variant_index: Option<Mark>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

/// Identity and settings of an index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Mark {
    identity: String,
    settings: String,
}

/// End of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    pub at: Timestamp,
    pub reason: Reason,
    /// The outcome at that time.
    pub outcome: Value,
    /// Settings that the index had in place of those that were applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Value>,
    /// Task that applies the variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
}

/// Reason for the end of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    Asked,
    Applied,
    /// Users click less.
    Guard,
    /// The index is gone, or another one has its name.
    IndexChanged,
    /// The same of the index of the variant.
    VariantChanged,
    SettingsChanged,
    /// The index records no searches any more.
    NotRecorded,
    /// The first records expire.
    Retention,
}

impl Mark {
    fn of(snapshot: &Snapshot) -> Mark {
        // Whether searches are recorded changes no ranking.
        let ranking = Settings { analytics: Settings::default().analytics, ..Settings::clone(&snapshot.settings) };
        let settings = xxh3_128(written(&ranking).to_string().as_bytes());
        Mark { identity: identity(snapshot.created_at()), settings: format!("{settings:032x}") }
    }

    fn is_of(&self, snapshot: &Snapshot) -> bool {
        self.identity == identity(snapshot.created_at())
    }
}

impl Experiment {
    /// One that begins now.
    ///
    /// # Errors
    /// `index_not_found`, `invalid_experiment` where the index records no searches, is its own variant, or lacks the embedder.
    fn begun(definition: Definition, instance: &Instance) -> ApiResult<Experiment> {
        let snapshot = instance.state(&definition.index_uid)?;
        let refused = |message: String| Err(ApiError::new(Code::InvalidExperiment, message));
        if !snapshot.settings.analytics.searches {
            return refused(format!(
                "Index `{}` does not record searches. Set `analytics.searches` to `true` first.",
                definition.index_uid
            ));
        }
        let variant_index = match &definition.variant {
            Variant::Index { index_uid } if *index_uid == definition.index_uid => {
                return refused(format!("Index `{index_uid}` cannot be a variant of itself."));
            }
            Variant::Index { index_uid } => Some(Mark::of(&*instance.state(index_uid)?)),
            Variant::Parameters { parameters } => {
                let embedder = parameters.get("hybrid").and_then(|hybrid| hybrid["embedder"].as_str());
                if let Some(name) = embedder.filter(|name| !snapshot.settings.embedders.contains_key(*name)) {
                    return refused(format!("Index `{}` has no embedder `{name}`.", definition.index_uid));
                }
                None
            }
        };
        let index = Mark::of(&snapshot);
        Ok(Experiment { definition, started_at: Timestamp::now(), index, variant_index, stopped: None })
    }

    /// The value of the records of the experiment with this id. One that begins anew has others.
    pub fn key(&self, id: &str) -> String {
        name_key(&format!("{id} {}", self.started_at))
    }

    /// Returns what records of its index have in their field `index`.
    pub fn index_identity(&self) -> &str {
        &self.index.identity
    }

    /// Returns whether it goes on in this index.
    pub fn runs_in(&self, uid: &str, snapshot: &Snapshot) -> bool {
        self.stopped.is_none() && self.definition.index_uid == uid && self.index.is_of(snapshot)
    }

    /// Returns the index of the variant as searches may use it: it is the same one as at the beginning, and has as many documents.
    pub fn variant_of(&self, snapshot: &Snapshot, instance: &Instance) -> Option<Arc<Snapshot>> {
        let Variant::Index { index_uid } = &self.definition.variant else { return None };
        let variant = instance.searchable(index_uid).ok()?;
        let has_all = variant.document_count() == snapshot.document_count();
        (has_all && self.variant_index.as_ref()?.is_of(&variant)).then_some(variant)
    }

    /// Returns why what is recorded from now on does not belong to what was recorded before.
    pub fn must_stop(&self, instance: &Instance) -> Option<Reason> {
        let Some(snapshot) = instance.state(&self.definition.index_uid).ok().filter(|now| self.index.is_of(now)) else {
            return Some(Reason::IndexChanged);
        };
        let mut is_changed = Mark::of(&snapshot) != self.index;
        if let (Variant::Index { index_uid }, Some(mark)) = (&self.definition.variant, &self.variant_index) {
            let Some(variant) = instance.state(index_uid).ok().filter(|now| mark.is_of(now)) else {
                return Some(Reason::VariantChanged);
            };
            is_changed |= Mark::of(&variant) != *mark;
        }
        let analytics = snapshot.settings.analytics;
        let age_seconds = (Timestamp::now().nanos() - self.started_at.nanos()) / 1_000_000_000;
        match () {
            () if is_changed => Some(Reason::SettingsChanged),
            () if !analytics.searches => Some(Reason::NotRecorded),
            () if age_seconds >= i64::from(analytics.retention_days) * DAY_SECONDS => Some(Reason::Retention),
            () => None,
        }
    }
}

/// The experiments and their file.
#[derive(Debug)]
pub struct Experiments {
    file: StateFile<All>,
    /// True if one of them goes on: all that most searches look at.
    is_any_running: AtomicBool,
    /// Held while a variant is applied, so that it is applied once.
    pub applying: tokio::sync::Mutex<()>,
}

impl Experiments {
    /// Reads the experiments from the database folder. Without the file, or with a damaged one, there are none.
    pub fn open(folder: &Path) -> Experiments {
        let file = StateFile::<All>::open(folder, FILE, "the experiments: there are none");
        let is_any_running = AtomicBool::new(is_any_running(&file.get()));
        Experiments { file, is_any_running, applying: tokio::sync::Mutex::new(()) }
    }

    /// Returns all experiments.
    pub fn all(&self) -> Arc<All> {
        self.file.get()
    }

    /// Returns all experiments, if one of them goes on.
    pub fn if_running(&self) -> Option<Arc<All>> {
        self.is_any_running.load(Ordering::Relaxed).then(|| self.all())
    }

    /// Returns an experiment.
    ///
    /// # Errors
    /// `experiment_not_found`
    pub fn get(&self, id: &str) -> ApiResult<Arc<Experiment>> {
        self.all().get(id).cloned().ok_or_else(|| not_found(id))
    }

    /// Begins an experiment, or leaves one alone that goes on with the same definition; blocks until the file is durable.
    ///
    /// # Errors
    /// `experiment_conflict` with one that goes on; what it cannot be; the errors of the file system.
    pub fn begin(&self, id: &str, definition: Definition, instance: &Instance) -> ApiResult<Arc<Experiment>> {
        self.change(|all| {
            let running = all.iter().filter(|(_, other)| other.stopped.is_none());
            for (other_id, other) in running {
                if other_id == id && other.definition == definition {
                    return Ok(Arc::clone(other));
                }
                if other_id == id || indexes(&other.definition).any(|uid| indexes(&definition).any(|own| own == uid)) {
                    let message = format!("Experiment `{other_id}` goes on with these indexes: stop it first.");
                    return Err(ApiError::new(Code::ExperimentConflict, message));
                }
            }
            let begun = Arc::new(Experiment::begun(definition, instance)?);
            all.insert(id.to_owned(), Arc::clone(&begun));
            if all.len() > EXPERIMENTS_MAX {
                let message = format!("There are already {EXPERIMENTS_MAX} experiments, the maximum: delete some.");
                return Err(ApiError::new(Code::ExperimentConflict, message));
            }
            Ok(begun)
        })
    }

    /// Ends an experiment that goes on, or does nothing if it began at another time than `started_at`. Returns it as it is then.
    ///
    /// # Errors
    /// `experiment_not_found`; the errors of the file system.
    pub fn stop(&self, id: &str, started_at: Timestamp, stopped: Stopped) -> ApiResult<Arc<Experiment>> {
        self.change(|all| {
            let experiment = all.get_mut(id).ok_or_else(|| not_found(id))?;
            let is_it = experiment.started_at == started_at;
            if is_it && (experiment.stopped.is_none() || stopped.reason == Reason::Applied) {
                Arc::make_mut(experiment).stopped = Some(stopped);
            }
            Ok(Arc::clone(experiment))
        })
    }

    /// Removes an experiment.
    ///
    /// # Errors
    /// `experiment_not_found`; the errors of the file system.
    pub fn remove(&self, id: &str) -> ApiResult<()> {
        self.change(|all| all.remove(id).map(drop).ok_or_else(|| not_found(id)))
    }

    fn change<R>(&self, edit: impl FnOnce(&mut All) -> ApiResult<R>) -> ApiResult<R> {
        let done = self.file.change(edit)?;
        self.is_any_running.store(is_any_running(&self.all()), Ordering::Relaxed);
        Ok(done)
    }
}

fn is_any_running(all: &All) -> bool {
    all.values().any(|experiment| experiment.stopped.is_none())
}

/// Uids of the indexes of an experiment.
fn indexes(definition: &Definition) -> impl Iterator<Item = &str> {
    let of_variant = match &definition.variant {
        Variant::Index { index_uid } => Some(index_uid.as_str()),
        Variant::Parameters { .. } => None,
    };
    std::iter::once(definition.index_uid.as_str()).chain(of_variant)
}

fn not_found(id: &str) -> ApiError {
    ApiError::new(Code::ExperimentNotFound, format!("Experiment `{id}` not found."))
}

/// The experiments of a database folder, as they are stored; none where there is no file.
///
/// # Errors
/// The errors of the file system.
pub fn export(folder: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(folder.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text.map(Some),
    }
}

/// Writes what [`export`] gave elsewhere into the database folder that is to become a copy.
///
/// # Errors
/// Text that is no such file; the errors of the file system.
pub fn import(folder: &Path, text: &str) -> io::Result<()> {
    write_state(folder, FILE, &serde_json::from_str::<All>(text)?)
}
