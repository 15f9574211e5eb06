//! Indexes that are written anew in one piece.

use lamina_base::error::ApiError;
use lamina_base::options::human_disk_size;
use lamina_data::tasks::steps::Steps;
use lamina_engine::index::IndexError;
use lamina_engine::segment::{MergeStep, MergeWatch};
use serde_json::Map;

use super::{Context, Done, failed, reported};

/// Searches and, on other indexes, nothing else goes on meanwhile.
pub(super) fn compact(context: Context<'_>, uid: &str, task: u32) -> Option<Done> {
    let index = match context.instance.index(uid) {
        Ok(index) => index,
        Err(error) => return Some(context.stored_only(&[failed(task, &error)], &[])),
    };
    let size = || {
        let report = index.report();
        human_disk_size(report.segment_bytes + report.manifest_bytes)
    };
    let before = size();
    let watch = Watch(&context.live.steps);
    watch.0.enter("waiting for other merges", 0, Watch::COUNT);
    match index.compact_watched(&context.live.cancelled, &watch) {
        Ok(()) => {
            let mut report = Map::new();
            report.insert("preCompactionSize".to_owned(), before.into());
            report.insert("postCompactionSize".to_owned(), size().into());
            Some(context.stored_only(&[reported(task, report)], &[]))
        }
        Err(IndexError::Cancelled) if context.is_cancelled() => None,
        Err(error) => {
            let error = ApiError::from(error).prefixed(format_args!("Index `{uid}`: "));
            Some(context.stored_only(&[failed(task, &error)], &[]))
        }
    }
}

/// Shows the steps of the merge as those of the batch.
#[derive(Debug)]
struct Watch<'a>(&'a Steps);

impl Watch<'_> {
    /// The wait before the merge is one too.
    const COUNT: u64 = 1 + MergeStep::ALL.len() as u64;
}

impl MergeWatch for Watch<'_> {
    fn enter(&self, step: MergeStep, total: u64) {
        let (name, unit) = match step {
            MergeStep::Keys => ("merging primary keys", "document"),
            MergeStep::Columns => ("merging columns", "column"),
            MergeStep::Vectors => ("merging vectors", "embedder"),
            MergeStep::Documents => ("copying documents", "document"),
            MergeStep::Postings => ("merging postings", "term"),
            MergeStep::Tokens => ("merging tokens", "document"),
        };
        let before = MergeStep::ALL.iter().zip(1..).find(|(other, _)| **other == step).map_or(0, |(_, place)| place);
        self.0.enter(name, before, Watch::COUNT);
        self.0.enter_inner(1, unit, total);
    }

    fn advance(&self, units: u64) {
        self.0.advance_by(units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_a_merge_are_those_of_the_batch() {
        let steps = Steps::default();
        let watch = Watch(&steps);
        watch.enter(MergeStep::Documents, 1000);
        watch.advance(200);
        watch.advance(50);
        let shown: Vec<_> = steps.open().into_iter().map(|step| (step.name, step.finished, step.total)).collect();
        assert_eq!(shown, [("copying documents".to_owned(), 4, 7), ("document".to_owned(), 250, 1000)]);
        watch.enter(MergeStep::Tokens, 1000);
        assert_eq!((steps.open()[0].finished, steps.open()[1].finished), (6, 0));
    }
}
