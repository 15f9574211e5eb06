//! `rankingRules`: names, reserved ones, boosts, and the mixture that makes no sense.

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::options::Feature;
use lamina_engine::condition::check_filter;
use lamina_engine::index::settings::{Boost, BoostRule, RankingRule, SettingId};
use lamina_engine::index::{Settings, SettingsPatch};
use serde_json::{Value, json};

use super::bounds;
use super::figures::{place, rules};
use super::kind::{SettingKind, plain};
use super::shape::Shape;
use crate::wire::boosts;
use crate::wire::json::At;

pub(super) const RANKING_RULES: SettingKind = SettingKind {
    // Boosts are objects.
    portable: |mut value| {
        if let Value::Array(rules) = &mut value {
            rules.retain(Value::is_string);
        }
        value
    },
    check_features: |value, is_on| {
        let rules = value.as_array().into_iter().flatten().filter(|rule| rule.is_object());
        let rules: Vec<BoostRule> = rules.filter_map(|rule| BoostRule::try_from(rule.clone()).ok()).collect();
        boosts::check_contains(&rules, is_on(Feature::ContainsFilter))
    },
    check_merged,
    ..plain(
        SettingId::RankingRules,
        ["rankingRules", "ranking-rules"],
        Code::InvalidSettingsRankingRules,
        Shape::After(&Shape::List(&RULE, bounds::RANKING_RULES), check_mixture),
        &[
            ("ranking_rules.words_position", |rules| place(rules, "words")),
            ("ranking_rules.typo_position", |rules| place(rules, "typo")),
            ("ranking_rules.proximity_position", |rules| place(rules, "proximity")),
            ("ranking_rules.attribute_position", |rules| place(rules, "attribute")),
            ("ranking_rules.attribute_rank_position", |rules| place(rules, "attributeRank")),
            // The name of this rule in figures is older than its name in settings.
            ("ranking_rules.attribute_position_position", |rules| place(rules, "wordPosition")),
            ("ranking_rules.sort_position", |rules| place(rules, "sort")),
            ("ranking_rules.exactness_position", |rules| place(rules, "exactness")),
            ("ranking_rules.values", rules),
        ],
        [
            "the order of hits: each rule orders the hits that the rules before it leave equal",
            "array: names of rules, `attribute:asc`, `attribute:desc`, and [boosts](../how-to/popularity.md), which are objects",
            r#"["words", "typo", "proximity", "sort", "exactness", "year:desc"]"#,
        ],
    )
};

const RULE: Shape = Shape::Own(rule, || {
    let name = json!({
        "type": "string",
        "pattern": "^(words|typo|proximity|attribute|attributeRank|wordPosition|sort|exactness|.+:(asc|desc))$",
    });
    json!({ "anyOf": [name, boosts::schema()] })
});

fn check_mixture(at: &At<'_>, rules: &Value) -> ApiResult<()> {
    let rules = || rules.as_array().into_iter().flatten();
    let has = |name: &str| rules().any(|rule| rule == name);
    // `attribute` is the other two in one: beside one of them it would rank by the same thing twice.
    if has("attribute") && (has("attributeRank") || has("wordPosition")) {
        return Err(at.error(
            "Mixed usage of the attribute, attributeRank, and wordPosition ranking rules. Use either `attribute` \
             alone, or `attributeRank` and `wordPosition`.",
        ));
    }
    boosts::check_count(at, rules().filter(|rule| rule.is_object()).count())
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

fn rule(at: At<'_>) -> ApiResult<Value> {
    if at.value().is_object() {
        return boosts::read(&at).map(Value::from);
    }
    let name = at.string()?;
    if let Some(reason) = reserved(&name) {
        return Err(at.invalid(reason));
    }
    name.parse::<RankingRule>().map(Value::from).map_err(|_| {
        at.invalid(format!(
            "`{name}` ranking rule is invalid. Valid ranking rules are words, typo, proximity, attribute, attributeRank, \
             wordPosition, sort, exactness, `ATTRIBUTE:asc`, `ATTRIBUTE:desc`, and boosts, which are objects like \
             `{{\"boostIf\": {{\"filter\": \"stock > 0\", \"weight\": 2}}}}`. The default is {}: \
             `lamina settings reset rankingRules` restores it.",
            RankingRule::defaults().iter().map(RankingRule::to_string).collect::<Vec<_>>().join(", ")
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
