//! `rankingRules`: names, reserved ones, and the mixture that makes no sense.

use lamina_engine::index::settings::RankingRule;

use crate::error::ApiResult;
use crate::wire::json::At;

pub(super) fn read(at: At<'_>) -> ApiResult<Vec<RankingRule>> {
    let rules = at.list(rule)?;
    let has = |rule| rules.contains(&rule);
    // `attribute` is the other two in one: beside one of them it would rank by the same thing twice.
    if has(RankingRule::Attribute) && (has(RankingRule::AttributeRank) || has(RankingRule::WordPosition)) {
        return Err(at.error(
            "Mixed usage of the attribute, attributeRank, and wordPosition ranking rules. Use either `attribute` \
             alone, or `attributeRank` and `wordPosition`.",
        ));
    }
    Ok(rules)
}

fn rule(at: At<'_>) -> ApiResult<RankingRule> {
    let name = at.string()?;
    if let Some(reason) = reserved(&name) {
        return Err(at.invalid(reason));
    }
    name.parse().map_err(|_| {
        at.invalid(format!(
            "`{name}` ranking rule is invalid. Valid ranking rules are words, typo, sort, proximity, attribute, \
             exactness and custom ranking rules."
        ))
    })
}

/// Why a name with a meaning elsewhere is no ranking rule.
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
