//! stub
use crate::id::DocId;
use crate::rank::ScoreDetail;
use std::cmp::Ordering;
#[derive(Clone, Debug, PartialEq)]
pub struct SortCriterion { pub field: String, pub ascending: bool }
impl SortCriterion { pub fn field(f: &str, ascending: bool) -> Self { SortCriterion { field: f.into(), ascending } } pub fn same_target(&self, o: &Self) -> bool { self.field == o.field } }
#[derive(Debug, thiserror::Error)]
#[error("sort")]
pub struct SortError;
pub struct SegmentSort<'a>(&'a ());
impl SegmentSort<'_> {
  pub fn keys(&self, _d: DocId, _o: &mut Vec<u64>) {}
  pub fn compare_across(&self, _i: usize, _d: DocId, _o: &Self, _e: DocId) -> Ordering { Ordering::Equal }
  pub fn detail(&self, _i: usize, _d: DocId) -> ScoreDetail { ScoreDetail::Skipped }
}
