//! A search as a JSON body again, for other servers.

use lamina_engine::search::Fusion;
use serde_json::{Map, Value, json};

use super::{ArmThresholds, FIELDS, Hybrid, MATCHING_STRATEGIES, SearchQuery};

impl SearchQuery {
    /// The body of a query of a federated search: everything but pages, facets and `useNetwork`, which belong to the
    /// merged list.
    pub fn as_federated_query(&self) -> Map<String, Value> {
        let fields = FIELDS.iter().map(|name| ((*name).to_owned(), self.written_field(name)));
        fields.filter(|(_, value)| !value.is_null()).collect()
    }

    /// A field as it is sent to another server; null for what is not.
    fn written_field(&self, name: &str) -> Value {
        match name {
            "q" => json!(self.q),
            "vector" => json!(self.vector),
            "media" => json!(self.media),
            "hybrid" => json!(self.hybrid.as_ref().map(written_hybrid)),
            "attributesToRetrieve" => json!(self.attributes_to_retrieve),
            "retrieveVectors" => json!(self.retrieve_vectors),
            "attributesToCrop" => json!(self.attributes_to_crop),
            "cropLength" => json!(self.crop_length),
            "attributesToHighlight" => json!(self.attributes_to_highlight),
            "showMatchesPosition" => json!(self.show_matches_position),
            "showRankingScore" => json!(self.show_ranking_score),
            "showRankingScoreDetails" => json!(self.show_ranking_score_details),
            "filter" => json!(self.filter),
            "sort" => json!(self.sort),
            "boosts" => json!(self.boosts),
            "highlightPreTag" => json!(self.highlight_pre_tag),
            "highlightPostTag" => json!(self.highlight_post_tag),
            "cropMarker" => json!(self.crop_marker),
            "matchingStrategy" => {
                let strategy = MATCHING_STRATEGIES.iter().find(|(_, one)| Some(*one) == self.matching_strategy);
                json!(strategy.map(|(name, _)| name))
            }
            "attributesToSearchOn" => json!(self.attributes_to_search_on),
            "rankingScoreThreshold" => json!(self.ranking_score_threshold),
            "locales" if self.locales.is_empty() => Value::Null,
            "locales" => self.locales.iter().map(|language| language.code()).collect(),
            "explain" => json!(self.explain.as_ref().map(|explain| match &explain.document_id {
                Some(id) => json!({ "documentId": id }),
                None => json!(true),
            })),
            // Of the merged list.
            "offset" | "limit" | "page" | "hitsPerPage" | "facets" | "distinct" | "showPerformanceDetails" => {
                Value::Null
            }
            // Of this server: where it sends the query, which state it holds, and what it refuses.
            "useNetwork" | "pointInTime" | "at" | "personalize" => Value::Null,
            // No merged list has groups, a query of its own, or a reranker.
            "distinctLimit" | "didYouMean" | "rerank" => Value::Null,
            other => unreachable!("`{other}` is a field of a search: say here what others get of it"),
        }
    }
}

fn written_hybrid(hybrid: &Hybrid) -> Value {
    let mut written = json!({ "embedder": hybrid.embedder, "semanticRatio": f64::from(hybrid.semantic_ratio) });
    let name = |fusion: Fusion| match fusion {
        Fusion::Score => "score",
        Fusion::Rrf { .. } => "rrf",
        Fusion::Relative => "relative",
    };
    if let Some(fusion) = hybrid.fusion {
        written["fusion"] = name(fusion).into();
    }
    if let Some(Fusion::Rrf { k }) = hybrid.fusion {
        written["rrfK"] = k.into();
    }
    let ArmThresholds { words, vectors } = hybrid.thresholds;
    if hybrid.thresholds != ArmThresholds::default() {
        written["thresholds"] = json!({ "words": words, "vectors": vectors });
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_query_is_read_as_the_same() {
        let body = json!({
            "q": "a \"b\"", "hybrid": {"embedder": "e", "semanticRatio": 0.25, "thresholds": {"vectors": 0.5}}, "attributesToRetrieve": ["a"],
            "attributesToCrop": ["b:3"], "cropLength": 7, "showMatchesPosition": true, "filter": ["x = 1", ["y = 2"]],
            "sort": ["z:asc"], "highlightPreTag": "<b>", "matchingStrategy": "frequency", "locales": ["fra"],
            "rankingScoreThreshold": 0.5, "vector": [0.5, 1.0], "explain": {"documentId": 7},
            "boosts": [{"boost": {"field": "n", "weight": 0.5}}, {"boostIf": {"filter": "a = 1", "weight": 2}}],
        });
        let query = SearchQuery::from_body(&body).unwrap();
        let written = Value::Object(query.as_federated_query());
        assert_eq!(SearchQuery::from_body(&written).unwrap(), query);
        // No field is forgotten.
        assert!(FIELDS.iter().all(|name| written.get(name).is_none_or(|value| !value.is_null())));
        let paged = SearchQuery::from_body(&json!({"limit": 3, "facets": ["a"], "useNetwork": true})).unwrap();
        let written = paged.as_federated_query();
        assert!(["limit", "facets", "useNetwork"].iter().all(|name| !written.contains_key(*name)), "{written:?}");
    }
}
