//! The plan of a merge, which all sections follow.

use std::sync::atomic::{AtomicBool, Ordering};

use lamina_text::id::{DocId, FieldId};

use super::order::{DocMap, DocRun, MergeInput};
use super::watch::{MergeStep, MergeWatch};
use crate::segment::error::Damage;
use crate::segment::format::SectionKind;
use crate::segment::{ListThresholds, SegmentError, SegmentReader, TextFields};

/// Settings that a merged segment is written with.
#[derive(Default)]
pub struct MergeOptions<'a> {
    /// Set from another thread to give up soon: the merge answers [`SegmentError::Cancelled`] and removes its file.
    pub cancelled: Option<&'a AtomicBool>,
    /// Called as often as the flag is looked at, every few milliseconds: a merge that can wait waits there.
    pub pause: Option<&'a (dyn Fn() + Sync)>,
    /// Observer of the progress of the merge.
    pub watch: Option<&'a dyn MergeWatch>,
    /// Fields whose columns are not carried over (no longer filterable or sortable).
    pub drop_columns: Vec<FieldId>,
    /// True if the geo column is not carried over.
    pub drop_geo: bool,
    /// True if the shapes are not carried over.
    pub drop_shapes: bool,
    /// Fields that are recorded as indexed if documents received values since they were written, because the words of
    /// those values are not indexed.
    pub text_fields: TextFields,
    /// Thresholds for the optional precomputed lists of the new segment.
    pub list_thresholds: ListThresholds,
}

/// The plan of a merge: which document goes where.
pub(crate) struct Merger<'a> {
    pub(super) inputs: &'a [MergeInput<'a>],
    pub(super) runs: Vec<DocRun>,
    pub(super) doc_maps: Vec<DocMap>,
    pub(super) doc_count: u32,
    pub(super) options: &'a MergeOptions<'a>,
}

/// Number of small steps between two checks of the cancellation flag.
pub(super) const STEPS_PER_CHECK: usize = 1024;

impl Merger<'_> {
    pub(crate) fn list_thresholds(&self) -> &ListThresholds {
        &self.options.list_thresholds
    }

    pub(crate) fn inputs(&self) -> impl Iterator<Item = &SegmentReader> {
        self.inputs.iter().map(|input| input.segment)
    }

    /// Documents in their new order, in runs that stay together.
    pub(crate) fn runs(&self) -> &[DocRun] {
        &self.runs
    }

    /// Input and old number of each document, in the new order.
    pub(crate) fn docs(&self) -> impl Iterator<Item = (usize, DocId)> {
        self.runs.iter().flat_map(|run| (run.start..run.start + run.count).map(|doc| (run.input, doc)))
    }

    pub(crate) fn check_cancelled(&self) -> Result<(), SegmentError> {
        if let Some(pause) = self.options.pause {
            pause();
        }
        match self.options.cancelled {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(SegmentError::Cancelled),
            _ => Ok(()),
        }
    }

    pub(crate) fn enter(&self, step: MergeStep, total: u64) {
        if let Some(watch) = self.options.watch {
            watch.enter(step, total);
        }
    }

    pub(crate) fn advance(&self, units: u64) {
        if let Some(watch) = self.options.watch {
            watch.advance(units);
        }
    }

    /// A contradiction that shows only when inputs are joined; `input` is where it was met.
    pub(super) fn damaged(&self, input: usize, section: SectionKind, what: &'static str) -> SegmentError {
        Damage(what).at(&self.inputs[input].segment.meta().file.name, section.name())
    }
}
