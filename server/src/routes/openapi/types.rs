//! What bodies hold: the fields of each, from the lists that read them where there is one, and the type of each name.

use serde_json::{Map, Value, json};

use crate::features::Feature;
use crate::wire::{documents, search, similar};

/// The schema of a JSON body that is an object or an array.
pub(super) fn body_of(method: &str, pattern: &str) -> Value {
    match (method, pattern) {
        ("POST", "/indexes") => object(&["uid", "primaryKey"], &["uid"]),
        ("PATCH", "/indexes/{indexUid}") => object(&["uid", "primaryKey"], &[]),
        ("POST", "/indexes/{indexUid}/fields") => object(&["offset", "limit", "filter"], &[]),
        ("POST", "/swap-indexes") => {
            let pair = json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 });
            let swap = json!({
                "type": "object",
                "properties": { "indexes": pair, "rename": { "type": "boolean" } },
                "required": ["indexes"],
                "additionalProperties": false,
            });
            json!({ "type": "array", "items": swap })
        }
        ("POST", "/indexes/{indexUid}/documents/fetch") => object(&documents::LIST_FIELDS, &[]),
        ("POST", "/indexes/{indexUid}/documents/delete") => object(&["filter"], &["filter"]),
        ("POST", "/indexes/{indexUid}/documents/delete-batch") => {
            json!({ "type": "array", "items": { "type": ["string", "integer"] } })
        }
        ("POST", "/indexes/{indexUid}/documents/edit") => object(&["function", "context", "filter"], &["function"]),
        ("POST", "/indexes/{indexUid}/search") => object(&search::FIELDS, &[]),
        ("POST", "/indexes/{indexUid}/similar") => object(&similar::FIELDS, &["id", "embedder"]),
        ("POST", "/indexes/{indexUid}/facet-search") => {
            let own = ["facetQuery", "facetName", "exhaustiveFacetCount"];
            let fields: Vec<&str> = own.into_iter().chain(search::FIELDS).collect();
            object(&fields, &["facetName"])
        }
        ("POST", "/multi-search") => {
            let fields: Vec<&str> = ["indexUid", "federationOptions"].into_iter().chain(search::FIELDS).collect();
            json!({
                "type": "object",
                "properties": {
                    "queries": { "type": "array", "items": object(&fields, &["indexUid"]) },
                    "federation": { "type": ["object", "null"] },
                    "pointInTime": kind_of("pointInTime"),
                },
                "required": ["queries"],
                "additionalProperties": false,
            })
        }
        ("PATCH", "/experimental-features") => {
            let names: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
            let switches = names.iter().map(|name| ((*name).to_owned(), json!({ "type": ["boolean", "null"] })));
            json!({
                "type": "object",
                "properties": Value::Object(switches.collect()),
                "additionalProperties": false,
            })
        }
        ("POST", "/export") => object(&["url", "apiKey", "payloadSize", "indexes"], &[]),
        ("POST", "/keys") => {
            let fields = ["name", "description", "uid", "actions", "indexes", "expiresAt"];
            object(&fields, &["actions", "indexes", "expiresAt"])
        }
        ("PATCH", "/keys/{key}") => object(&["name", "description"], &[]),
        ("POST", "/webhooks") => object(&["url", "headers"], &["url"]),
        ("PATCH", "/webhooks/{uuid}") => object(&["url", "headers"], &[]),
        ("PATCH", "/network") => {
            object(&["self", "remotes", "leader", "shards", "previousShards", "previousRemotes"], &[])
        }
        ("POST", "/logs/stream") => object(&["target", "mode", "profileMemory"], &[]),
        ("POST", "/logs/stderr") => object(&["target"], &[]),
        // Settings have a description of their own in the guide; their names grow with the engine.
        _ => json!({ "type": "object" }),
    }
}

fn object(fields: &[&str], required: &[&str]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|name| ((*name).to_owned(), kind_of(name))).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// The schema of a field or parameter: a name means the same everywhere, but where the text says otherwise.
pub(super) fn kind_of(name: &str) -> Value {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    match name {
        "offset" | "limit" | "page" | "hitsPerPage" | "cropLength" | "from" | "waitMs" | "pointInTimeKeepAliveMs" => {
            json!({ "type": "integer", "minimum": 0 })
        }
        "rankingScoreThreshold" | "hybridSemanticRatio" => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        "retrieveVectors"
        | "showMatchesPosition"
        | "showRankingScore"
        | "showRankingScoreDetails"
        | "showPerformanceDetails"
        | "useNetwork"
        | "reverse"
        | "profileMemory"
        | "skipCreation"
        | "showInternalDatabaseSizes"
        | "exhaustiveFacetCount" => json!({ "type": "boolean" }),
        "attributesToRetrieve"
        | "attributesToCrop"
        | "attributesToHighlight"
        | "attributesToSearchOn"
        | "facets"
        | "sort"
        | "locales"
        | "fields" => texts,
        // `indexes` is a list of patterns for keys, and an object of them for exports.
        "actions" => texts,
        "vector" => json!({ "type": "array", "items": { "type": "number" } }),
        "ids" => json!({ "type": "array", "items": { "type": ["string", "integer"] } }),
        "id" => json!({ "type": ["string", "integer"] }),
        "filter" => json!({ "type": ["string", "array", "object", "null"] }),
        "hybrid" => json!({
            "type": "object",
            "properties": { "embedder": { "type": "string" }, "semanticRatio": { "type": "number", "minimum": 0, "maximum": 1 } },
            "required": ["embedder"],
        }),
        // A text in query strings.
        "pointInTime" => json!({
            "type": ["object", "string", "null"],
            "properties": { "id": { "type": ["string", "null"] }, "keepAliveMs": { "type": ["integer", "null"], "minimum": 0 } },
            "additionalProperties": false,
        }),
        "headers" | "remotes" | "context" | "federationOptions" | "shards" => json!({ "type": ["object", "null"] }),
        "matchingStrategy" => json!({ "enum": search::strategy_names() }),
        "mode" => json!({ "enum": ["human", "json"] }),
        "sizeFormat" => json!({ "enum": ["raw", "human"] }),
        "wait" => json!({ "const": "searchable" }),
        "uid" | "q" | "primaryKey" | "name" | "description" | "expiresAt" | "apiKey" | "self" | "distinct"
        | "indexUid" | "facetName" | "facetQuery" | "embedder" | "url" | "target" | "function" | "cropMarker"
        | "highlightPreTag" | "highlightPostTag" => json!({ "type": ["string", "null"] }),
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_name_their_fields() {
        let search = body_of("POST", "/indexes/{indexUid}/search");
        assert_eq!(search["properties"]["limit"]["type"], "integer");
        assert_eq!(search["properties"].as_object().unwrap().len(), search::FIELDS.len());
        assert_eq!(body_of("POST", "/keys")["required"], json!(["actions", "indexes", "expiresAt"]));
        assert_eq!(kind_of("explain"), json!({}), "anything, where nothing is said");
    }
}
