//! `rankingRules`: names, reserved ones, boosts, and the mixture that makes no sense.

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::options::Feature;
use lamina_engine::condition::check_filter;
use lamina_engine::index::settings::{Boost, BoostRule, RankingRule, SettingId};
use lamina_engine::index::{Setting, Settings, SettingsPatch};
use serde_json::{Value, json};

use super::bounds;
use super::kind::{Figure, Figures, Reference, SettingKind};
use super::values::{sent, setting};
use crate::wire::json::At;
use crate::wire::{boosts, schema};

pub(super) const RANKING_RULES: SettingKind = SettingKind {
    id: SettingId::RankingRules,
    key: "rankingRules",
    route: "ranking-rules",
    code: Code::InvalidSettingsRankingRules,
    bounds: bounds::ranking_rules,
    read: |at, patch| {
        patch.ranking_rules = setting(at, read)?;
        Ok(())
    },
    written: |settings| write_all(&settings.ranking_rules),
    // Boosts are objects.
    portable: |mut value| {
        if let Value::Array(rules) = &mut value {
            rules.retain(Value::is_string);
        }
        value
    },
    sent: |patch| sent(&patch.ranking_rules, |rules| write_all(rules)),
    schema: || {
        let name = json!({
            "type": "string",
            "pattern": "^(words|typo|proximity|attribute|attributeRank|wordPosition|sort|exactness|.+:(asc|desc))$",
        });
        schema::list(json!({ "anyOf": [name, boosts::schema()] }))
    },
    check_features: |value, is_on| {
        let rules = value.as_array().into_iter().flatten().filter(|rule| rule.is_object());
        let rules: Vec<BoostRule> = rules.filter_map(|rule| BoostRule::try_from(rule.clone()).ok()).collect();
        boosts::check_contains(&rules, is_on(Feature::ContainsFilter))
    },
    check_merged,
    figures,
    reference: Reference {
        purpose: "the order of hits: each rule orders the hits that the rules before it leave equal",
        value: "array: names of rules, `attribute:asc`, `attribute:desc`, and [boosts](relevance.md#boosts), which are objects",
        example: r#"["words", "typo", "proximity", "sort", "exactness", "year:desc"]"#,
    },
    ..SettingKind::PLAIN
};

fn write_all(rules: &[RankingRule]) -> Value {
    rules.iter().cloned().map(Value::from).collect()
}

fn figures(patch: &SettingsPatch) -> Figures {
    let Setting::Set(rules) = &patch.ranking_rules else { return Figures::new() };
    let place = |(wanted, name): (RankingRule, &'static str)| {
        let place = rules.iter().position(|rule| *rule == wanted);
        (name, Figure::Last(json!(place)))
    };
    let places = [
        (RankingRule::Words, "ranking_rules.words_position"),
        (RankingRule::Typo, "ranking_rules.typo_position"),
        (RankingRule::Proximity, "ranking_rules.proximity_position"),
        (RankingRule::Attribute, "ranking_rules.attribute_position"),
        (RankingRule::AttributeRank, "ranking_rules.attribute_rank_position"),
        // The name of this rule in figures is older than its name in settings.
        (RankingRule::WordPosition, "ranking_rules.attribute_position_position"),
        (RankingRule::Sort, "ranking_rules.sort_position"),
        (RankingRule::Exactness, "ranking_rules.exactness_position"),
    ];
    // Custom rules without the names of their attributes.
    let value = |rule: &RankingRule| match rule {
        RankingRule::Asc(_) => "*:asc".to_owned(),
        RankingRule::Desc(_) => "*:desc".to_owned(),
        RankingRule::Boost(rule) => rule.name().to_owned(),
        other => other.to_string(),
    };
    let values = rules.iter().map(value).collect::<Vec<String>>().join(", ");
    places.into_iter().map(place).chain([("ranking_rules.values", Figure::Last(values.into()))]).collect()
}

fn read(at: At<'_>) -> ApiResult<Vec<RankingRule>> {
    let rules = at.list(rule)?;
    let has = |rule| rules.contains(&rule);
    // `attribute` is the other two in one: beside one of them it would rank by the same thing twice.
    if has(RankingRule::Attribute) && (has(RankingRule::AttributeRank) || has(RankingRule::WordPosition)) {
        return Err(at.error(
            "Mixed usage of the attribute, attributeRank, and wordPosition ranking rules. Use either `attribute` \
             alone, or `attributeRank` and `wordPosition`.",
        ));
    }
    boosts::check_count(&at, rules.iter().filter(|rule| rule.boost().is_some()).count())?;
    Ok(rules)
}

/// Checks that the fields in filters of boosts are filterable, now and after later changes.
fn check_merged(patch: &SettingsPatch, _: &Settings, after: &Settings) -> ApiResult<()> {
    if patch.ranking_rules.is_unset() && patch.filterable_attributes.is_unset() {
        return Ok(());
    }
    for rule in after.boosts() {
        if let Boost::Filter(boost) = rule.boost() {
            check_filter(&boost.filter, after).map_err(|error| {
                let message = format!("A `boostIf` of `rankingRules` cannot be evaluated: {}", error.sentence());
                ApiError::new(Code::InvalidSettingsRankingRules, message)
            })?;
        }
    }
    Ok(())
}

fn rule(at: At<'_>) -> ApiResult<RankingRule> {
    if at.value().is_object() {
        return boosts::read(&at).map(RankingRule::Boost);
    }
    let name = at.string()?;
    if let Some(reason) = reserved(&name) {
        return Err(at.invalid(reason));
    }
    name.parse().map_err(|_| {
        at.invalid(format!(
            "`{name}` ranking rule is invalid. Valid ranking rules are words, typo, sort, proximity, attribute, \
             exactness and custom ranking rules. Custom ones are `ATTRIBUTE:asc` and `ATTRIBUTE:desc`; `attributeRank`, \
             `wordPosition` and boosts, which are objects, are valid too."
        ))
    })
}

/// Returns the refusal of a ranking rule whose name has another meaning elsewhere.
fn reserved(name: &str) -> Option<String> {
    let field = name.strip_suffix(":asc").or_else(|| name.strip_suffix(":desc")).unwrap_or(name);
    let refusal = format!("`{field}` is a reserved keyword and thus can't be used as a ranking rule.");
    if field.starts_with("_geoPoint(") {
        return Some(format!("{refusal} `_geoPoint` can only be used for sorting at search time"));
    }
    for filter in ["_geoRadius", "_geoBoundingBox"] {
        if field.starts_with(filter) {
            return Some(format!("{refusal} `{filter}` can only be used for filtering at search time"));
        }
    }
    matches!(field, "_geo" | "_geoDistance").then_some(refusal)
}
