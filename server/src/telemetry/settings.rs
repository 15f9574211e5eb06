//! What a change of settings tells: how long lists are, which switches are used; no name of an attribute, no word.

use lamina_engine::index::settings::{FilterableAttribute, GEO_FIELD, RankingRule};
use lamina_engine::index::{Setting, SettingsPatch};
use serde_json::{Value, json};

use super::aggregate::Aggregate;

pub(super) fn add(event: &mut Aggregate, patch: &SettingsPatch) {
    ranking_rules(event, &patch.ranking_rules);
    if let Setting::Set(attributes) = &patch.sortable_attributes {
        event.max("sortable_attributes.total", attributes.len());
        event.any("sortable_attributes.has_geo", attributes.contains(GEO_FIELD));
    }
    if let Setting::Set(attributes) = &patch.filterable_attributes {
        let is_geo = |attribute: &FilterableAttribute| matches!(attribute, FilterableAttribute::Field(name) if name == GEO_FIELD);
        let is_pattern = |attribute: &FilterableAttribute| matches!(attribute, FilterableAttribute::Patterns(_));
        event.max("filterable_attributes.total", attributes.len());
        event.any("filterable_attributes.has_geo", attributes.iter().any(is_geo));
        event.any("filterable_attributes.has_patterns", attributes.iter().any(is_pattern));
    }
    // The rest is told by the form that clients send.
    let sent = serde_json::to_value(patch).unwrap_or_default();
    attribute_lists(event, &sent);
    objects(event, &sent);
    event_of_values(event, &sent);
    for (setting, name) in [
        ("stopWords", "stop_words.total"),
        ("separatorTokens", "separator_tokens.total"),
        ("nonSeparatorTokens", "non_separator_tokens.total"),
        ("dictionary", "dictionary.total"),
        ("synonyms", "synonyms.total"),
    ] {
        if let Some(length) = length(&sent[setting]) {
            event.max(name, length);
        }
    }
    embedders(event, &sent["embedders"]);
}

fn length(value: &Value) -> Option<usize> {
    value.as_array().map(Vec::len).or_else(|| value.as_object().map(serde_json::Map::len))
}

fn ranking_rules(event: &mut Aggregate, setting: &Setting<Vec<RankingRule>>) {
    let Setting::Set(rules) = setting else { return };
    let place = |wanted: &RankingRule| rules.iter().position(|rule| rule == wanted);
    for (rule, name) in [
        (RankingRule::Words, "ranking_rules.words_position"),
        (RankingRule::Typo, "ranking_rules.typo_position"),
        (RankingRule::Proximity, "ranking_rules.proximity_position"),
        (RankingRule::Attribute, "ranking_rules.attribute_position"),
        (RankingRule::AttributeRank, "ranking_rules.attribute_rank_position"),
        // The name of this rule in figures is older than its name in settings.
        (RankingRule::WordPosition, "ranking_rules.attribute_position_position"),
        (RankingRule::Sort, "ranking_rules.sort_position"),
        (RankingRule::Exactness, "ranking_rules.exactness_position"),
    ] {
        event.last(name, json!(place(&rule)));
    }
    // Custom rules without the names of their attributes.
    let value = |rule: &RankingRule| match rule {
        RankingRule::Asc(_) => "*:asc".to_owned(),
        RankingRule::Desc(_) => "*:desc".to_owned(),
        other => other.to_string(),
    };
    event.last("ranking_rules.values", rules.iter().map(value).collect::<Vec<String>>().join(", "));
}

fn attribute_lists(event: &mut Aggregate, sent: &Value) {
    for (setting, total, with_wildcard) in [
        ("searchableAttributes", "searchable_attributes.total", "searchable_attributes.with_wildcard"),
        ("displayedAttributes", "displayed_attributes.total", "displayed_attributes.with_wildcard"),
    ] {
        if let Some(names) = sent[setting].as_array() {
            event.max(total, names.len());
            event.any(with_wildcard, names.iter().any(|name| name == "*"));
        }
    }
}

fn objects(event: &mut Aggregate, sent: &Value) {
    let typos = &sent["typoTolerance"];
    if typos.is_object() {
        event.last("typo_tolerance.enabled", typos["enabled"].as_bool());
        event.any("typo_tolerance.disable_on_attributes", length(&typos["disableOnAttributes"]).unwrap_or(0) > 0);
        event.any("typo_tolerance.disable_on_words", length(&typos["disableOnWords"]).unwrap_or(0) > 0);
        let sizes = &typos["minWordSizeForTypos"];
        event.last("typo_tolerance.min_word_size_for_typos.one_typo", sizes["oneTypo"].as_u64());
        event.last("typo_tolerance.min_word_size_for_typos.two_typos", sizes["twoTypos"].as_u64());
    }
    if let Some(hits) = sent["pagination"]["maxTotalHits"].as_u64() {
        event.last("pagination.max_total_hits", hits);
    }
    let faceting = &sent["faceting"];
    if faceting.is_object() {
        event.last("faceting.max_values_per_facet", faceting["maxValuesPerFacet"].as_u64());
        if let Some(orders) = faceting["sortFacetValuesBy"].as_object() {
            event.last(
                "faceting.sort_facet_values_by_star_count",
                orders.get("*").is_some_and(|order| order == "count"),
            );
            event.last("faceting.sort_facet_values_by_total", orders.len());
        }
    }
}

fn event_of_values(event: &mut Aggregate, sent: &Value) {
    event.any("distinct_attribute.set", sent["distinctAttribute"].is_string());
    for (setting, set, value) in [
        ("proximityPrecision", "proximity_precision.set", "proximity_precision.value"),
        ("facetSearch", "facet_search.set", "facet_search.value"),
        ("prefixSearch", "prefix_search.set", "prefix_search.value"),
    ] {
        event.any(set, !sent[setting].is_null());
        if !sent[setting].is_null() {
            event.last(value, sent[setting].clone());
        }
    }
}

fn embedders(event: &mut Aggregate, embedders: &Value) {
    let Some(embedders) = embedders.as_object() else { return };
    // Only these names are told: whatever else stands there is a text of the request.
    const SOURCES: [&str; 6] = ["openAi", "huggingFace", "userProvided", "rest", "ollama", "composite"];
    event.max("embedders.total", embedders.len());
    for embedder in embedders.values() {
        if let Some(source) = SOURCES.iter().find(|source| embedder["source"] == **source) {
            event.text("embedders.sources", source);
        }
        event.any("embedders.document_template_used", embedder["documentTemplate"].is_string());
        event.any("embedders.binary_quantization_used", embedder["binaryQuantized"].as_bool() == Some(true));
        if let Some(bytes) = embedder["documentTemplateMaxBytes"].as_u64() {
            event.max("embedders.document_template_max_bytes", usize::try_from(bytes).unwrap_or(usize::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::settings;

    #[test]
    fn lengths_and_switches_but_no_names() {
        let body = json!({
            "searchableAttributes": ["secretTitle", "*"],
            "filterableAttributes": ["_geo", {"attributePatterns": ["secret*"]}],
            "sortableAttributes": ["secretYear"],
            "rankingRules": ["words", "sort", "secretYear:desc", "attributeRank", "wordPosition"],
            "synonyms": {"secret": ["hidden"]},
            "stopWords": ["secret"],
            "distinctAttribute": "secretId",
            "typoTolerance": {"enabled": false, "disableOnWords": ["secret"]},
            "prefixSearch": "disabled",
            "embedders": {"secret": {"source": "userProvided", "dimensions": 3}},
        });
        let mut event = Aggregate::default();
        add(&mut event, &settings::read(&body).unwrap());
        let properties = Value::Object(event.into_properties());
        assert!(!properties.to_string().contains("secret"), "{properties}");
        assert_eq!(properties["ranking_rules.values"], "words, sort, *:desc, attributeRank, wordPosition");
        assert_eq!(properties["ranking_rules.sort_position"], 1);
        assert_eq!(properties["ranking_rules.attribute_rank_position"], 3);
        assert_eq!(properties["ranking_rules.attribute_position_position"], 4);
        assert_eq!(properties["ranking_rules.attribute_position"], Value::Null);
        assert_eq!(properties["ranking_rules.typo_position"], Value::Null);
        assert_eq!(properties["filterable_attributes.has_patterns"], true);
        assert_eq!(properties["filterable_attributes.has_geo"], true);
        assert_eq!(properties["searchable_attributes.with_wildcard"], true);
        assert_eq!(properties["prefix_search.value"], "disabled");
        assert_eq!(properties["embedders.sources"], json!(["userProvided"]));
        assert_eq!(properties["synonyms.total"], 1);
    }
}
