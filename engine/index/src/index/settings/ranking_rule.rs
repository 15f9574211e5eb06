//! `rankingRules`, parsed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::boost::{BoostRule, InvalidBoost};
use super::value::Entry;

/// One ranking rule; the list of an index is applied lexicographically.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum RankingRule {
    Words,
    Typo,
    Proximity,
    /// [`RankingRule::AttributeRank`] immediately followed by [`RankingRule::WordPosition`], as one rule.
    Attribute,
    AttributeRank,
    WordPosition,
    /// The `sort` of the request.
    Sort,
    Exactness,
    /// `field:asc`; the field need not be sortable.
    Asc(String),
    /// `field:desc`
    Desc(String),
    /// An object: what makes documents count more.
    Boost(BoostRule),
}

impl Entry for RankingRule {
    fn differ(old: &[RankingRule], new: &[RankingRule]) -> bool {
        // Rules of the engine need no column.
        !old.iter().filter_map(RankingRule::field).eq(new.iter().filter_map(RankingRule::field))
    }
}

/// A name that is no ranking rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{name}` is not a ranking rule")]
pub struct UnknownRankingRule {
    pub name: String,
}

impl RankingRule {
    /// The rules of an index that sets none.
    pub fn defaults() -> Vec<RankingRule> {
        use RankingRule::{AttributeRank, Exactness, Proximity, Sort, Typo, WordPosition, Words};
        vec![Words, Typo, Proximity, AttributeRank, Sort, WordPosition, Exactness]
    }

    /// The field whose values a rule reads.
    pub fn field(&self) -> Option<&str> {
        match self {
            RankingRule::Asc(field) | RankingRule::Desc(field) => Some(field),
            RankingRule::Boost(rule) => rule.field(),
            _ => None,
        }
    }

    /// The boost, if it is one.
    pub fn boost(&self) -> Option<&BoostRule> {
        match self {
            RankingRule::Boost(rule) => Some(rule),
            _ => None,
        }
    }
}

impl FromStr for RankingRule {
    type Err = UnknownRankingRule;

    /// The last `:` separates a field from its direction. Reserved geo names are for the caller to refuse.
    fn from_str(name: &str) -> Result<RankingRule, UnknownRankingRule> {
        Ok(match name {
            "words" => RankingRule::Words,
            "typo" => RankingRule::Typo,
            "proximity" => RankingRule::Proximity,
            "attribute" => RankingRule::Attribute,
            "attributeRank" => RankingRule::AttributeRank,
            "wordPosition" => RankingRule::WordPosition,
            "sort" => RankingRule::Sort,
            "exactness" => RankingRule::Exactness,
            custom => match custom.rsplit_once(':') {
                Some((field, "asc")) if !field.is_empty() => RankingRule::Asc(field.to_owned()),
                Some((field, "desc")) if !field.is_empty() => RankingRule::Desc(field.to_owned()),
                _ => return Err(UnknownRankingRule { name: name.to_owned() }),
            },
        })
    }
}

impl fmt::Display for RankingRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankingRule::Words => formatter.write_str("words"),
            RankingRule::Typo => formatter.write_str("typo"),
            RankingRule::Proximity => formatter.write_str("proximity"),
            RankingRule::Attribute => formatter.write_str("attribute"),
            RankingRule::AttributeRank => formatter.write_str("attributeRank"),
            RankingRule::WordPosition => formatter.write_str("wordPosition"),
            RankingRule::Sort => formatter.write_str("sort"),
            RankingRule::Exactness => formatter.write_str("exactness"),
            RankingRule::Asc(field) => write!(formatter, "{field}:asc"),
            RankingRule::Desc(field) => write!(formatter, "{field}:desc"),
            RankingRule::Boost(rule) => write!(formatter, "{}", rule.sent()),
        }
    }
}

/// A value that is no ranking rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidRankingRule {
    #[error(transparent)]
    Unknown(#[from] UnknownRankingRule),
    #[error(transparent)]
    Boost(#[from] InvalidBoost),
}

impl TryFrom<Value> for RankingRule {
    type Error = InvalidRankingRule;

    /// Rules are texts, boosts are objects.
    fn try_from(value: Value) -> Result<RankingRule, InvalidRankingRule> {
        match value {
            Value::String(name) => Ok(name.parse()?),
            other => Ok(RankingRule::Boost(BoostRule::try_from(other)?)),
        }
    }
}

impl From<RankingRule> for Value {
    fn from(rule: RankingRule) -> Value {
        match rule {
            RankingRule::Boost(rule) => rule.into(),
            named => Value::String(named.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        for name in [
            "words",
            "typo",
            "proximity",
            "attribute",
            "attributeRank",
            "wordPosition",
            "sort",
            "exactness",
            "price:asc",
            "a.b:desc",
            "a:b:desc",
        ] {
            let rule: RankingRule = name.parse().expect("valid rule");
            assert_eq!(rule.to_string(), name);
        }
        assert_eq!("a:b:desc".parse(), Ok(RankingRule::Desc("a:b".to_owned())));
    }

    #[test]
    fn anything_else_is_refused() {
        for name in ["", "Words", "price", "price:up", ":asc", "price:asc "] {
            assert!(name.parse::<RankingRule>().is_err(), "{name} should be refused");
        }
    }
}
