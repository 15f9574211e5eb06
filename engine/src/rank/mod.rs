pub mod score;

pub use score::{ExactMatch, Rank, ScoreDetail, SortedValue, global_score};
