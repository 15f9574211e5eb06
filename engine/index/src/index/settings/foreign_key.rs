//! `foreignKeys`: fields that hold ids of documents of other indexes.

use serde::{Deserialize, Serialize};

use super::value::Entry;

/// One such field. What it refers to is looked up when a search runs, by a caller that knows the other indexes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForeignKey {
    /// The uid of the other index.
    pub foreign_index_uid: String,
    /// The field (dotted path) that holds an id or an array of ids.
    pub field_name: String,
}

impl Entry for ForeignKey {}
