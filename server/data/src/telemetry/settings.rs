//! The figures of a change of settings: each setting of the wire has its own.

use lamina_engine::index::SettingsPatch;
use lamina_protocol::wire::settings::{Figure, SettingKind};

use super::aggregate::Aggregate;

pub(super) fn add(event: &mut Aggregate, patch: &SettingsPatch) {
    for (name, figure) in SettingKind::all().flat_map(|setting| setting.figures(patch)) {
        match figure {
            Figure::Max(count) => event.max(name, count),
            Figure::Any(is_so) => event.any(name, is_so),
            Figure::Last(value) => event.last(name, value),
            Figure::Word(word) => event.text(name, word),
        }
    }
}

#[cfg(test)]
mod tests {
    use lamina_protocol::wire::settings;
    use serde_json::{Value, json};

    use super::*;

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
