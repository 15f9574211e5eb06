//! What requests carry: the schema of each body and of each parameter.

use lamina_data::access::Action;
use lamina_data::features::Feature;
use lamina_data::tasks::{Kind, Status};
use lamina_protocol::wire::schema::{
    anything, count, exactly, flag, index_pattern, index_uid, instant, list, map_of, named, one_of, or_null, state,
    text, texts,
};
use lamina_protocol::wire::{chats, documents, render, rules, search, value_updates};
use serde_json::{Value, json};

use super::{searches, settings};

/// The name of a folder: one part, not hidden.
fn folder_name() -> Value {
    json!({ "type": "string", "pattern": "^[^./\\\\][^/\\\\]{0,254}$" })
}

/// The schema of the JSON body of a route.
pub(super) fn body_of(method: &str, pattern: &str) -> Value {
    match (method, pattern) {
        ("POST", "/indexes") => exactly([("uid", index_uid()), ("primaryKey", or_null(text()))], &["uid"]),
        ("PATCH", "/indexes/{indexUid}") => {
            exactly([("uid", or_null(index_uid())), ("primaryKey", or_null(text()))], &[])
        }
        ("POST", "/indexes/{indexUid}/fields") => fields(),
        ("POST", "/indexes/{indexUid}/clone") => exactly([("uid", index_uid())], &["uid"]),
        ("POST", "/indexes/{indexUid}/attach") => exactly([("folder", folder_name())], &["folder"]),
        ("POST", "/indexes/{indexUid}/restore") => exactly([("at", state())], &["at"]),
        ("POST", "/swap-indexes") => {
            let pair = json!({ "type": "array", "items": index_uid(), "minItems": 2, "maxItems": 2 });
            list(exactly([("indexes", pair), ("rename", or_null(flag()))], &["indexes"]))
        }
        ("PATCH", "/aliases") => {
            let mut moves = map_of(or_null(index_uid()));
            moves["propertyNames"] = index_uid();
            moves
        }
        ("PUT", "/aliases/{alias}") => exactly([("indexUid", index_uid())], &["indexUid"]),
        ("POST", "/indexes/{indexUid}/documents/fetch") => {
            exactly(documents::LIST_FIELDS.into_iter().map(|name| (name, of_fetch(name))), &[])
        }
        ("POST", "/indexes/{indexUid}/documents/delete") => exactly([("filter", some_filter())], &["filter"]),
        // What is no id is the id of no document.
        ("POST", "/indexes/{indexUid}/documents/delete-batch") => list(anything()),
        ("POST", "/indexes/{indexUid}/documents/edit") => {
            let context = json!({ "type": ["object", "null"] });
            exactly([("function", text()), ("context", context), ("filter", or_null(some_filter()))], &["function"])
        }
        ("PATCH", "/indexes/{indexUid}/settings") => settings::body(),
        ("POST", "/indexes/{indexUid}/search") => searches::body(),
        ("POST", "/indexes/{indexUid}/similar") => searches::similar_body(),
        ("POST", "/indexes/{indexUid}/facet-search") => searches::facet_body(),
        ("POST", "/indexes/{indexUid}/completions") => searches::completions_body(),
        ("POST", "/multi-search") => searches::multi_body(),
        ("POST", "/mcp") => messages(),
        ("PATCH", "/experimental-features") => {
            exactly(Feature::ALL.iter().map(|feature| (feature.name(), or_null(flag()))), &[])
        }
        ("POST", "/export") => export(),
        ("POST", "/keys") => key(),
        ("PATCH", "/keys/{key}") => exactly([("name", or_null(text())), ("description", or_null(text()))], &[]),
        ("POST", "/webhooks") => exactly([("url", url()), ("headers", or_null(headers()))], &["url"]),
        ("PATCH", "/webhooks/{uuid}") => exactly([("url", url()), ("headers", or_null(headers()))], &[]),
        ("PATCH", "/network") => network(),
        ("POST", "/logs/stream") => {
            let fields = [
                ("target", or_null(log_target())),
                ("mode", or_null(one_of(&["human", "json"]))),
                ("profileMemory", or_null(json!({ "const": false }))),
            ];
            exactly(fields, &[])
        }
        ("POST", "/logs/stderr") => exactly([("target", or_null(log_target()))], &[]),
        _ => described_beside(method, pattern),
    }
}

/// Returns the schema like [`body_of`], where it is defined next to the reader of the body.
fn described_beside(method: &str, pattern: &str) -> Value {
    match (method, pattern) {
        ("POST", "/dynamic-search-rules") => rules::list_schema(),
        ("PATCH", "/dynamic-search-rules/{ruleUid}") => rules::patch_schema(),
        ("PATCH", "/indexes/{indexUid}/documents") => value_updates::schema(),
        ("PATCH", "/chats/{chatUid}/settings") => chats::settings_schema(),
        ("POST", "/chats/{chatUid}/chat/completions") => chats::completion_schema(),
        ("POST", "/render-template") => render::schema(),
        _ => json!({ "type": "object" }),
    }
}

/// A message of JSON-RPC, or several.
fn messages() -> Value {
    let message = json!({ "type": "object" });
    let several = json!({ "type": "array", "items": message.clone(), "minItems": 1, "maxItems": 50 });
    json!({ "anyOf": [message, several] })
}

/// Indexes that are sent to another server.
fn export() -> Value {
    let unit = r"^$|^\s*([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)\s*([bB]|[kKmMgGtT][iI]?[bB]?)?\s*$";
    let size = json!({ "type": ["integer", "string", "null"], "minimum": 1, "pattern": unit });
    // Without an address the task fails.
    let url = json!({ "anyOf": [url(), { "const": "" }] });
    let how = exactly([("filter", named("Filter")), ("overrideSettings", or_null(flag()))], &[]);
    let mut indexes = map_of(or_null(how));
    indexes["propertyNames"] = index_pattern();
    let fields = [("url", url), ("apiKey", or_null(text())), ("payloadSize", size), ("indexes", or_null(indexes))];
    exactly(fields, &[])
}

/// A new key.
fn key() -> Value {
    let actions: Vec<&str> = Action::ALL.iter().map(|action| action.name()).collect();
    // Also without a time, and without a time zone. What has passed is refused.
    let day = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})?)?$";
    let fields = [
        ("name", or_null(text())),
        ("description", or_null(text())),
        ("uid", or_null(json!({ "type": "string", "format": "uuid" }))),
        ("actions", list(one_of(&actions))),
        ("indexes", list(index_pattern())),
        ("expiresAt", json!({ "type": ["string", "null"], "pattern": day })),
    ];
    exactly(fields, &["actions", "indexes", "expiresAt"])
}

/// A filter that says something: of others, everything would be deleted or edited.
fn some_filter() -> Value {
    let said = || json!({ "type": "string", "pattern": r"\S" });
    let anywhere = json!({ "anyOf": [said(), { "type": "array", "contains": said() }] });
    let expressions = json!({ "type": "array", "items": { "anyOf": [text(), texts()] }, "contains": anywhere });
    json!({ "anyOf": [said(), expressions] })
}

/// Documents as JSON: one, or several.
pub(super) fn documents() -> Value {
    let document = json!({ "type": "object" });
    json!({ "anyOf": [list(document.clone()), document] })
}

fn fields() -> Value {
    let switches = ["displayed", "searchable", "sortable", "distinct", "rankingRule", "filterable"];
    let filter =
        switches.map(|name| (name, or_null(flag()))).into_iter().chain([("attributePatterns", or_null(texts()))]);
    let page = or_null(count());
    exactly([("offset", page.clone()), ("limit", page), ("filter", or_null(exactly(filter, &[])))], &[])
}

fn of_fetch(name: &str) -> Value {
    match name {
        "offset" | "limit" => or_null(count()),
        "retrieveVectors" | "useNetwork" => or_null(flag()),
        "ids" => or_null(list(named("DocumentId"))),
        "at" => or_null(state()),
        "filter" => named("Filter"),
        _ => or_null(texts()),
    }
}

fn url() -> Value {
    json!({ "type": "string", "format": "uri", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?:" })
}

/// A level, or modules with a level each.
fn log_target() -> Value {
    let level = "(off|error|warn|info|debug|trace|OFF|ERROR|WARN|INFO|DEBUG|TRACE|[0-5])";
    let directive = format!("[^,=]+(={level})?");
    json!({ "type": "string", "pattern": format!("^{directive}(,{directive})*$") })
}

/// A null value removes a header.
fn headers() -> Value {
    map_of(or_null(text()))
}

fn network() -> Value {
    let remote = exactly([("url", url()), ("searchApiKey", or_null(text())), ("writeApiKey", or_null(text()))], &[]);
    // Shards belong to a leader, which this server does not have: what is said of them is not read.
    let fields = [
        ("self", or_null(text())),
        ("remotes", or_null(map_of(or_null(remote)))),
        ("leader", json!({ "enum": [null, ""] })),
        ("shards", anything()),
        ("previousShards", anything()),
        ("previousRemotes", anything()),
    ];
    exactly(fields, &[])
}

/// The schema of a parameter in the query string, where lists are texts with commas: a name means the same everywhere.
pub(super) fn parameter(name: &str) -> Value {
    let statuses: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    if let Some(schema) = search::parameter_schema(name) {
        return schema;
    }
    match name {
        "from" | "since" | "waitMs" => count(),
        "reverse" | "skipCreation" | "skipDamaged" | "showInternalDatabaseSizes" => flag(),
        "uids" | "batchUids" | "canceledBy" => commas("[0-9]+"),
        "indexUids" => commas("[A-Za-z0-9_-]{1,400}"),
        "statuses" => commas(&format!("({})", statuses.join("|"))),
        "types" => commas(&format!("({})", kinds.join("|"))),
        "beforeEnqueuedAt" | "afterEnqueuedAt" | "beforeStartedAt" | "afterStartedAt" | "beforeFinishedAt"
        | "afterFinishedAt" => {
            json!({ "anyOf": [instant(), { "type": "string", "format": "date" }, { "const": "*" }] })
        }
        "index" => index_uid(),
        "csvDelimiter" => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        "sizeFormat" => one_of(&["raw", "human"]),
        "mark" | "ifMark" => json!({ "type": "string", "minLength": 1, "maxLength": 2000 }),
        "wait" => json!({ "const": "searchable" }),
        _ => text(),
    }
}

/// A star, or values between commas.
fn commas(value: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^(\\*|{value}(,{value})*)$") })
}

/// The schema of a part of a path.
pub(super) fn in_path(name: &str) -> Value {
    match name {
        "indexUid" | "alias" | "ruleUid" => index_uid(),
        "taskUid" | "batchUid" => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        "uuid" => json!({ "type": "string", "format": "uuid" }),
        _ => json!({ "type": "string", "minLength": 1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_types_and_bounds() {
        let search = body_of("POST", "/indexes/{indexUid}/search");
        let limit = &search["properties"]["limit"];
        assert_eq!((&limit["type"], &limit["minimum"]), (&json!(["integer", "null"]), &json!(0)));
        assert_eq!(search["properties"].as_object().unwrap().len(), search::fields().len());
        assert_eq!(body_of("POST", "/keys")["required"], json!(["actions", "indexes", "expiresAt"]));
        let settings = body_of("PATCH", "/indexes/{indexUid}/settings");
        let fields = &settings["properties"];
        assert_eq!(fields["pagination"]["properties"]["maxTotalHits"]["minimum"], 1);
        assert_eq!(fields["proximityPrecision"]["anyOf"][0]["enum"], json!(["byWord", "byAttribute"]));
        assert_eq!(settings["additionalProperties"], false);
    }

    #[test]
    fn parameters_have_their_words() {
        assert!(parameter("statuses")["pattern"].as_str().unwrap().contains("(enqueued|processing|"));
        assert_eq!(in_path("taskUid")["maximum"], u32::MAX);
    }
}
