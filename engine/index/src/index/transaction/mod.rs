//! A batch in the making: operations change a private state, one commit publishes it.
//!
//! Runs of upserts and deletions by id are gathered into a [`WritePlan`] first and carried out together; anything else
//! sees their effect, because the plan is carried out before it. New segments are written and opened as the batch goes
//! along; they go again if it fails.

mod added_columns;
mod column_log;
mod document_runs;
mod document_target;
mod document_writer;
mod geo;
mod indexing;
mod payload;
mod removal;
mod resources;
mod scan;
mod settings_change;
mod threads;
mod upsert;
mod values;
mod vectors;
mod write_plan;

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use super::damaged::{Damage, DamagedSegment};
use super::embedding::{EmbedFailure, Embedded};
use super::error::{IndexError, OperationError};
use super::history::next_number;
use super::operation::{Marking, Operation, Outcome, Selector};
use super::settings::{Settings, SettingsPatch};
use super::snapshot::{DocumentAddress, SegmentView, Snapshot};

pub(super) use document_target::DocumentTarget;
pub(super) use document_writer::{DocumentContext, DocumentWriter, Extraction};
pub(super) use indexing::text_fields;
use lamina_segment::document::{FieldMap, FieldMapSnapshot};
use lamina_segment::segment::SegmentError;
use lamina_text::id::InternalId;
use lamina_text::text::Tokenizer;
pub(super) use removal::count_fields;
pub(super) use resources::{Asks, Resources};
pub(super) use settings_change::rewrite;
use values::Gathered;
pub(super) use vectors::asks_embedders;
use write_plan::WritePlan;

/// Result of one operation. The outer error fails the batch.
type Attempt = Result<Result<Outcome, OperationError>, IndexError>;

/// The state of an index during a batch.
#[derive(Debug)]
pub(super) struct Transaction<'a> {
    resources: Resources<'a>,
    base: &'a Snapshot,
    state: Draft,
    plan: WritePlan,
    /// Values that go beside the segments before the plan is carried out.
    gathered: Gathered,
    /// Tokenizer of the current settings.
    tokenizer: Tokenizer,
}

/// Result of adding vectors that were made from an earlier snapshot.
#[derive(Debug)]
pub(super) struct Completed {
    pub(super) snapshot: Snapshot,
    /// Segments that have got their vectors.
    pub(super) taken: usize,
    /// Segments that were written anew meanwhile.
    pub(super) lost: usize,
}

/// State that a commit publishes. It is cheap to clone: a long upsert keeps a copy for a rollback.
#[derive(Clone, Debug)]
struct Draft {
    segments: Vec<SegmentView>,
    damaged: Arc<[DamagedSegment]>,
    settings: Arc<Settings>,
    fields: Arc<FieldMapSnapshot>,
    primary_key: Option<Arc<str>>,
    mark: Option<Arc<str>>,
    next_internal_id: InternalId,
    distribution: Arc<BTreeMap<String, u64>>,
    /// True if documents or settings were written.
    is_changed: bool,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(resources: Resources<'a>, base: &'a Snapshot, tokenizer: Tokenizer) -> Transaction<'a> {
        let state = Draft {
            segments: base.segments.clone(),
            damaged: base.damaged.clone(),
            settings: base.settings.clone(),
            fields: base.fields.clone(),
            primary_key: base.primary_key.clone(),
            mark: base.mark.clone(),
            next_internal_id: base.next_internal_id,
            distribution: base.field_distribution.clone(),
            is_changed: false,
        };
        Transaction { resources, base, state, plan: WritePlan::default(), gathered: Gathered::default(), tokenizer }
    }

    /// Applies operations one after another.
    pub(super) fn run(&mut self, operations: &[Operation]) -> Result<Vec<Result<Outcome, OperationError>>, IndexError> {
        let mut results = Vec::with_capacity(operations.len());
        for operation in operations {
            threads::check(self.resources.cancelled)?;
            let (marking, operation) = operation.parts();
            if !matches!(operation, Operation::Clear)
                && let Some(error) = self.damage()
            {
                results.push(Err(OperationError::Damaged(Box::new(error))));
                continue;
            }
            results.push(match self.mark_after(marking, operation) {
                Err(error) => Err(error),
                Ok(mark) => {
                    let result = self.run_one(operation)?;
                    if result.is_ok() {
                        self.state.mark = mark;
                    }
                    result
                }
            });
        }
        self.carry_out_plan()?;
        Ok(results)
    }

    fn run_one(&mut self, operation: &Operation) -> Attempt {
        match operation {
            Operation::Upsert(upsert) => self.upsert(upsert),
            Operation::UpdateValues(payload) => self.update_values(payload),
            Operation::DeleteIds(ids) => Ok(Ok(self.delete_ids(ids))),
            Operation::DeleteMatching(selector) => self.delete_matching(selector),
            Operation::Clear => self.clear(),
            Operation::Settings(patch) => self.change_settings(patch),
            Operation::SetPrimaryKey(primary_key) => self.set_primary_key(primary_key.as_deref()),
            // A marking of a marking: the outer one counts.
            Operation::Marked(_, operation) => self.run_one(operation),
        }
    }

    /// The mark of the index once the operation has succeeded: who writes documents without knowing it removes it.
    fn mark_after(&self, marking: Option<&Marking>, operation: &Operation) -> Result<Option<Arc<str>>, OperationError> {
        match (marking, operation) {
            (Some(marking), _) => marking.moved(self.state.mark.as_ref()),
            (None, Operation::Settings(_)) => Ok(self.state.mark.clone()),
            (None, _) => Ok(None),
        }
    }

    /// Returns the error that forbids every write except clearing the index, if a segment is damaged.
    fn damage(&self) -> Option<IndexError> {
        let sealed = || {
            let damaged = self.state.segments.iter().find_map(|segment| segment.reader.health().sealed())?;
            Damage::of(&IndexError::from(SegmentError::from(damaged))).map(|damage| damage.error())
        };
        self.state.damaged.first().map(DamagedSegment::error).or_else(sealed)
    }

    /// The state as the next snapshot.
    pub(super) fn into_snapshot(mut self, batch: u64, outcome: Vec<u8>, now_nanos: u64) -> Snapshot {
        debug_assert!(self.plan.is_empty(), "run() carries out the plan");
        let segments = mem::take(&mut self.state.segments);
        let mut snapshot = Snapshot { segments, generation: self.next_generation(), ..self.snapshot() };
        // A segment without live documents is of no use.
        snapshot.segments.retain(|segment| segment.live_count() > 0);
        if self.state.is_changed {
            // Clocks may go back; this one does not.
            snapshot.updated_at_nanos = now_nanos.max(self.base.updated_at_nanos);
            snapshot.contents = snapshot.generation;
            snapshot.committed_at_nanos = now_nanos.max(self.base.committed_at_nanos);
        }
        snapshot.last_batch = Some(batch);
        snapshot.last_outcome = outcome.into();
        snapshot
    }

    /// Makes the vectors that documents wait for.
    pub(super) fn embed_waiting(&mut self) -> Result<Embedded, IndexError> {
        let settings = self.state.settings.clone();
        let fields = FieldMap::from(self.state.fields.clone());
        let primary_key = self.state.primary_key.clone().unwrap_or_default();
        let reading = DocumentContext {
            settings: &settings,
            fields: &fields,
            tokenizer: &self.tokenizer,
            primary_key: &primary_key,
        };
        let (segments, embedded) = vectors::embed_waiting(&self.resources, reading, &self.state.segments)?;
        self.state.segments = segments;
        Ok(embedded)
    }

    /// The vectors that were made, in the state as it is `now`; how many segments have got theirs, and how many have been written
    /// anew since, so that theirs are of no use. No document has changed.
    pub(super) fn complete(self, now: &Snapshot, now_nanos: u64) -> Completed {
        let made = self.base.segments.iter().zip(&self.state.segments);
        let mut made: Vec<_> = made.filter(|(base, made)| !Arc::ptr_eq(&base.reader, &made.reader)).collect();
        let is_outdated = now.settings.embedders != self.base.settings.embedders;
        let made_count = made.len();
        let mut segments = now.segments.clone();
        if !is_outdated {
            for segment in &mut segments {
                let Some(place) = made.iter().position(|(base, _)| Arc::ptr_eq(&base.reader, &segment.reader)) else {
                    continue;
                };
                let (_, with_vectors) = made.swap_remove(place);
                *segment = SegmentView { deleted: segment.deleted.clone(), ..with_vectors.clone() };
            }
        }
        let generation = next_number(now.generation, self.resources.first_number);
        let committed_at_nanos = now_nanos.max(now.committed_at_nanos);
        let snapshot = Snapshot { segments, generation, contents: generation, committed_at_nanos, ..now.clone() };
        Completed { snapshot, taken: made_count - made.len(), lost: made.len() }
    }

    /// Asks for the vectors that a change of settings needs; nothing of it is kept here. Which embedders cannot be reached.
    pub(super) fn prepare(
        &self,
        patch: &SettingsPatch,
    ) -> Result<Result<BTreeMap<String, EmbedFailure>, OperationError>, IndexError> {
        let old = &self.state.settings;
        let new = match old.patched(patch) {
            Ok(new) => new,
            Err(error) => return Ok(Err(error.into())),
        };
        let tokenizer = new.tokenizer();
        let fields = FieldMap::from(self.state.fields.clone());
        let primary_key = self.state.primary_key.clone().unwrap_or_default();
        let reading =
            DocumentContext { settings: &new, fields: &fields, tokenizer: &tokenizer, primary_key: &primary_key };
        vectors::prepare_vectors(&self.resources, reading, old, &self.state.segments).map(Ok)
    }

    fn next_generation(&self) -> u64 {
        next_number(self.base.generation, self.resources.first_number)
    }

    /// The tokenizer of the settings as they are now.
    pub(super) fn tokenizer(&self) -> Tokenizer {
        self.tokenizer.clone()
    }

    fn snapshot(&self) -> Snapshot {
        let has_same_settings = Arc::ptr_eq(&self.state.settings, &self.base.settings);
        Snapshot {
            segments: self.state.segments.clone(),
            damaged: self.state.damaged.clone(),
            settings: self.state.settings.clone(),
            resolved: if has_same_settings { self.base.resolved.clone() } else { Arc::default() },
            fields: self.state.fields.clone(),
            primary_key: self.state.primary_key.clone(),
            mark: self.state.mark.clone(),
            generation: self.base.generation,
            contents: self.base.contents,
            committed_at_nanos: self.base.committed_at_nanos,
            name: self.base.name.clone(),
            field_distribution: self.state.distribution.clone(),
            created_at_nanos: self.base.created_at_nanos,
            updated_at_nanos: self.base.updated_at_nanos,
            next_internal_id: self.state.next_internal_id,
            next_segment_id: self.base.next_segment_id,
            ancestors: self.base.ancestors.clone(),
            last_batch: self.base.last_batch,
            last_outcome: self.base.last_outcome.clone(),
        }
    }

    fn document_count(&self) -> u64 {
        let damaged: u64 = self.state.damaged.iter().map(|segment| u64::from(segment.live_count())).sum();
        self.state.segments.iter().map(|segment| u64::from(segment.live_count())).sum::<u64>() + damaged
    }

    fn delete_ids(&mut self, ids: &[String]) -> Outcome {
        let mut deleted = 0;
        for id in ids {
            let segments = &self.state.segments;
            if self.plan.delete(id, || scan::find_existing(segments, id)) {
                deleted += 1;
            }
        }
        Outcome::Deleted { deleted }
    }

    fn delete_matching(&mut self, selector: &Selector) -> Attempt {
        self.carry_out_plan()?;
        let selected = selector.select(&self.snapshot(), self.resources.cancelled);
        threads::check(self.resources.cancelled)?;
        let sets = match selected {
            Ok(sets) => sets,
            Err(error) => return Ok(Err(error)),
        };
        let mut removed = Vec::new();
        for (index, (segment, set)) in self.state.segments.iter().zip(&sets).enumerate() {
            let index = u32::try_from(index).expect("few segments");
            let live = set.iter().filter(|&doc| segment.is_live(doc));
            removed.extend(live.map(|doc| DocumentAddress { segment: index, doc }));
        }
        let deleted = removed.len() as u64;
        self.remove(removed)?;
        Ok(Ok(Outcome::Deleted { deleted }))
    }

    fn clear(&mut self) -> Attempt {
        self.carry_out_plan()?;
        let deleted = self.document_count();
        // An index that is cleared is whole again.
        self.state.is_changed |= !self.state.damaged.is_empty();
        self.state.damaged = Arc::new([]);
        self.state.segments.clear();
        self.state.distribution = Arc::default();
        self.state.is_changed |= deleted > 0;
        Ok(Ok(Outcome::Deleted { deleted }))
    }

    fn set_primary_key(&mut self, primary_key: Option<&str>) -> Attempt {
        self.carry_out_plan()?;
        let Some(new) = primary_key else { return Ok(Ok(Outcome::PrimaryKeySet)) };
        if let Some(current) = &self.state.primary_key {
            if &**current == new {
                return Ok(Ok(Outcome::PrimaryKeySet));
            }
            if self.document_count() > 0 {
                return Ok(Err(OperationError::PrimaryKeyAlreadyExists { current: current.to_string() }));
            }
        }
        self.state.primary_key = Some(new.into());
        self.state.is_changed = true;
        Ok(Ok(Outcome::PrimaryKeySet))
    }

    fn change_settings(&mut self, patch: &SettingsPatch) -> Attempt {
        self.carry_out_plan()?;
        let old = self.state.settings.clone();
        let new = match old.patched(patch) {
            Ok(new) => Arc::new(new),
            Err(error) => return Ok(Err(error.into())),
        };
        if *new == *old {
            return Ok(Ok(Outcome::SettingsChanged));
        }
        let tokenizer = new.tokenizer();
        let fields = FieldMap::from(self.state.fields.clone());
        let primary_key = self.state.primary_key.clone().unwrap_or_default();
        let reading =
            DocumentContext { settings: &new, fields: &fields, tokenizer: &tokenizer, primary_key: &primary_key };
        if let Some(segments) = settings_change::adapt_segments(&self.resources, reading, &old, &self.state.segments)? {
            self.state.segments = segments;
        }
        if let Some(segments) = vectors::adapt_vectors(&self.resources, reading, &old, &self.state.segments)? {
            self.state.segments = segments;
        }
        self.state.settings = new;
        self.state.is_changed = true;
        self.tokenizer = tokenizer;
        Ok(Ok(Outcome::SettingsChanged))
    }

    /// Writes what the plan has gathered; afterwards it is empty.
    fn carry_out_plan(&mut self) -> Result<(), IndexError> {
        if !self.gathered.is_empty() {
            self.apply_gathered()?;
        }
        if self.plan.is_empty() {
            return Ok(());
        }
        let plan = mem::take(&mut self.plan);
        let settings = self.state.settings.clone();
        let fields = FieldMap::from(self.state.fields.clone());
        let primary_key = self.state.primary_key.clone().unwrap_or_default();
        let reading = DocumentContext {
            settings: &settings,
            fields: &fields,
            tokenizer: &self.tokenizer,
            primary_key: &primary_key,
        };
        let written = indexing::write_documents(&self.resources, reading, &plan, &self.state.segments)?;
        let removed = plan.entries().iter().filter_map(|entry| entry.removed()).collect();
        self.remove(removed)?;
        self.state.is_changed |= !written.segments.is_empty();
        self.state.fields = fields.snapshot();
        self.state.segments.extend(written.segments);
        let distribution = Arc::make_mut(&mut self.state.distribution);
        for (field, count) in written.distribution {
            *distribution.entry(field).or_default() += count;
        }
        Ok(())
    }

    fn remove(&mut self, mut removed: Vec<DocumentAddress>) -> Result<(), IndexError> {
        if removed.is_empty() {
            return Ok(());
        }
        removal::delete_documents(&mut self.state.segments, &mut removed);
        let distribution = Arc::make_mut(&mut self.state.distribution);
        removal::subtract_fields(&self.resources, &self.state.segments, &removed, distribution)?;
        self.state.is_changed = true;
        Ok(())
    }
}
