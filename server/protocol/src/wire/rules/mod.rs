//! Dynamic search rules: documents that an operator pins to places of the hits, and when.

mod list;
mod read;
mod schema;
#[cfg(test)]
mod tests;

use lamina_base::timestamp::{NoInstant, Timestamp, instant};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub use list::{ListBody, list_body};
pub use read::{patch, uid_in_path};
pub use schema::{answer, list_schema, patch_schema};

/// The name under which tasks, batches and dumps show the rules, as if they were an index: no index can be called so.
pub const RULES_UID: &str = ".meili_dsr";

/// A change of a rule. Outer `None`: as it is. Inner `None`: null, which is the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RulePatch {
    /// Purpose of the rule.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "sent")]
    pub description: Option<Option<String>>,
    /// Lower ones come first; those without come last.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "sent")]
    pub precedence: Option<Option<u64>>,
    /// True if the rule may act.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "sent")]
    pub active: Option<Option<bool>>,
    /// Replaced whole.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "sent")]
    pub conditions: Option<Option<Conditions>>,
    /// Replaced whole.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "sent")]
    pub actions: Option<Option<Vec<RuleAction>>>,
}

/// Conditions under which a rule acts: all of them must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    /// Between two instants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeWindow>,
    /// Condition on the text of the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<QueryCondition>,
    /// Condition on the filter of the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterCondition>,
}

/// From one instant to another, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeWindow {
    /// With the zone that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Instant>,
    /// With the zone that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Instant>,
}

/// An instant, shown in the zone that it was sent in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instant(pub OffsetDateTime);

/// Condition on the words of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct QueryCondition {
    /// True if the search must have no words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_empty: Option<bool>,
    /// Words that must all be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// Condition on the values in the filter of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilterCondition {
    /// By field.
    pub values: Map<String, Value>,
}

/// Action of a rule: it pins a document to a position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleAction {
    /// Document to pin.
    pub selector: Selector,
    /// To which place.
    pub action: Pin,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// Index of the document; every index if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_uid: Option<String>,
    /// Primary key of the document, as text.
    pub id: String,
}

/// A place among the hits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Pin {
    /// Counted from 0.
    Pin {
        /// Hits before it.
        position: u32,
    },
}

impl Pin {
    /// The place, counted from 0.
    pub fn position(&self) -> u32 {
        let Pin::Pin { position } = self;
        *position
    }
}

/// Reads a value that was sent, null included.
fn sent<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

impl Instant {
    /// Nanoseconds since 1970, as near as 64 bits get.
    pub fn nanos(self) -> i64 {
        Timestamp::from(self.0).nanos()
    }
}

impl Serialize for Instant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0.format(&Rfc3339).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
        let text = String::deserialize(deserializer)?;
        instant(&text).map(Instant).ok_or_else(|| serde::de::Error::custom(NoInstant))
    }
}
