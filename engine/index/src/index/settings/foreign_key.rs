//! `foreignKeys`: fields that hold ids of documents of other indexes.

use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::attribute_list::without_duplicates;
use super::definition::{Definition, Effect};

/// One such field. What it refers to is looked up when a search runs, by a caller that knows the other indexes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForeignKey {
    /// The uid of the other index.
    pub foreign_index_uid: String,
    /// The field (dotted path) that holds an id or an array of ids.
    pub field_name: String,
}

/// Attributes that hold ids of documents of other indexes.
#[derive(Debug)]
pub struct ForeignKeys;

impl Definition for ForeignKeys {
    const NAME: &'static str = "foreignKeys";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = Vec<ForeignKey>;
    type Patch = Vec<ForeignKey>;

    fn default_value() -> Vec<ForeignKey> {
        Vec::new()
    }

    fn applied(_: &Vec<ForeignKey>, sent: &Vec<ForeignKey>) -> Result<Vec<ForeignKey>, SettingsError> {
        Ok(without_duplicates(sent.clone()))
    }
}
