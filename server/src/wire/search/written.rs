//! A search as a JSON body again, for other servers.

use lamina_engine::search::Fusion;
use serde_json::{Map, Value, json};

use super::{Hybrid, MATCHING_STRATEGIES, SearchQuery};

impl SearchQuery {
    /// The body of a query of a federated search: everything but pages, facets and `useNetwork`, which belong to the
    /// merged list.
    pub fn as_federated_query(&self) -> Map<String, Value> {
        // By name, so that a new field is not forgotten here.
        let SearchQuery {
            q,
            vector,
            media,
            hybrid,
            offset: _,
            limit: _,
            page: _,
            hits_per_page: _,
            attributes_to_retrieve,
            retrieve_vectors,
            attributes_to_crop,
            crop_length,
            attributes_to_highlight,
            show_matches_position,
            show_ranking_score,
            show_ranking_score_details,
            show_performance_details: _,
            filter,
            sort,
            distinct: _,
            facets: _,
            highlight_pre_tag,
            highlight_post_tag,
            crop_marker,
            matching_strategy,
            attributes_to_search_on,
            ranking_score_threshold,
            locales,
            explain,
            use_network: _,
            // States of this server.
            point_in_time: _,
        } = self;
        let strategy =
            MATCHING_STRATEGIES.iter().find(|(_, one)| Some(*one) == *matching_strategy).map(|(name, _)| *name);
        let hybrid = hybrid.as_ref().map(written_hybrid);
        let explain = explain.as_ref().map(|explain| match &explain.document_id {
            Some(id) => json!({ "documentId": id }),
            None => json!(true),
        });
        let locales: Vec<&str> = locales.iter().map(|language| language.code()).collect();
        let all = json!({
            "q": q,
            "vector": vector,
            "media": media,
            "hybrid": hybrid,
            "attributesToRetrieve": attributes_to_retrieve,
            "retrieveVectors": retrieve_vectors,
            "attributesToCrop": attributes_to_crop,
            "cropLength": crop_length,
            "attributesToHighlight": attributes_to_highlight,
            "showMatchesPosition": show_matches_position,
            "showRankingScore": show_ranking_score,
            "showRankingScoreDetails": show_ranking_score_details,
            "filter": filter,
            "sort": sort,
            "highlightPreTag": highlight_pre_tag,
            "highlightPostTag": highlight_post_tag,
            "cropMarker": crop_marker,
            "matchingStrategy": strategy,
            "attributesToSearchOn": attributes_to_search_on,
            "rankingScoreThreshold": ranking_score_threshold,
            "locales": (!locales.is_empty()).then_some(locales),
            "explain": explain,
        });
        match all {
            Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => Map::new(),
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
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_query_is_read_as_the_same() {
        let body = json!({
            "q": "a \"b\"", "hybrid": {"embedder": "e", "semanticRatio": 0.25}, "attributesToRetrieve": ["a"],
            "attributesToCrop": ["b:3"], "cropLength": 7, "showMatchesPosition": true, "filter": ["x = 1", ["y = 2"]],
            "sort": ["z:asc"], "highlightPreTag": "<b>", "matchingStrategy": "frequency", "locales": ["fra"],
            "rankingScoreThreshold": 0.5, "vector": [0.5, 1.0], "explain": {"documentId": 7},
        });
        let query = SearchQuery::from_body(&body).unwrap();
        let written = Value::Object(query.as_federated_query());
        assert_eq!(SearchQuery::from_body(&written).unwrap(), query);
        let paged = SearchQuery::from_body(&json!({"limit": 3, "facets": ["a"], "useNetwork": true})).unwrap();
        let written = paged.as_federated_query();
        assert!(["limit", "facets", "useNetwork"].iter().all(|name| !written.contains_key(*name)), "{written:?}");
    }
}
