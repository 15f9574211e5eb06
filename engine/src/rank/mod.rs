//! The order of hits: ranking rules, keys, the best documents, and scores.
//!
//! Files use each other downwards: `rules` and `key` (the costs of a rule, packed) | `matcher`, `path` (the costs of one document) |
//! `context` (the immutable parts of a search) | `classes`, `groups` (documents by their least costs) | `bounds`, `word_pairs` (what decides them) | `cut` (a level into
//! groups, best first) | `scan` (a group into the top k) | `details` (the result of each rule for a hit) | `keyword` (one level after
//! another).

pub(crate) mod bm25;
mod bounds;
mod classes;
mod compare;
pub(crate) mod context;
mod cut;
mod deadline;
mod details;
mod document_scanner;
mod exact_attribute;
mod explain;
mod groups;
pub(crate) mod key;
pub(crate) mod keyword;
pub(crate) mod matcher;
pub(crate) mod merge;
mod order;
pub(crate) mod path;
pub(crate) mod plan;
pub(crate) mod rules;
mod scan;
pub mod score;
mod thresholds;
pub(crate) mod top_k;
mod word_pairs;

pub use compare::{compare_scores, compare_sorted, in_direction};
pub use explain::{AppliedRule, RuleCandidates};
pub use score::{
    ExactMatch, Exactness, FusedArm, Rank, ScoreDetail, SortedValue, boosted, global_score, multiplied_boosts,
    run_score,
};
pub use thresholds::SearchThresholds;
