//! What routes answer: the schemas of the components.

use lamina_data::features::Feature;
use lamina_data::observe::Window;
use lamina_data::tasks::{Kind, Status};
use lamina_protocol::wire::locale_codes;
use lamina_protocol::wire::schema::{
    all_of, count, exactly, flag, instant, list, map_of, named, one_of, open, or_null, share, text, texts,
};
use serde_json::{Map, Value, json};

use super::{searches, settings};

/// All of them.
pub(super) fn schemas() -> Value {
    let own = values()
        .into_iter()
        .chain(server_state())
        .chain(indexes())
        .chain(names_and_states())
        .chain(analytics())
        .chain(peers())
        .chain(tasks())
        .chain(pages());
    let all: Map<String, Value> = own
        .chain(searches::answers())
        .chain(settings::answers())
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    Value::Object(all)
}

/// Returns the schemas of values inside others.
fn values() -> Vec<(&'static str, Value)> {
    let kinds = one_of(&["invalid_request", "auth", "internal", "system"]);
    vec![
        ("Document", json!({ "type": "object" })),
        ("DocumentId", json!({ "type": ["string", "integer"], "pattern": "^[A-Za-z0-9_-]{1,511}$" })),
        (
            "Filter",
            json!({
                "description": "An expression, or arrays of expressions: the outer array is AND, inner ones are OR.",
                "type": ["string", "array", "null"],
                "items": { "anyOf": [text(), texts()] },
            }),
        ),
        ("Locale", one_of(&locale_codes())),
        (
            "Size",
            json!({ "description": "Bytes; a text with a unit for `sizeFormat=human`.", "type": ["integer", "string"] }),
        ),
        ("Error", all_of([("message", text()), ("code", text()), ("type", kinds), ("link", text())])),
    ]
}

/// Lists of the same length: an element for each step.
fn history() -> Value {
    let numbers = |names: &[&'static str], element: Value| {
        names.iter().map(|name| (*name, list(element.clone()))).collect::<Vec<_>>()
    };
    let rates = numbers(&["requestsPerSecond", "failuresPerSecond", "searchesPerSecond"], json!({ "type": "number" }));
    let times = ["requestP50Ms", "requestP99Ms", "searchP50Ms", "searchP99Ms"];
    let times = numbers(&times, json!({ "type": ["number", "null"] }));
    let gauges = numbers(&["memoryBytes", "heapBytes", "diskBytes", "waitingTasks"], count());
    let head =
        [("window", one_of(&Window::ALL.map(|(name, _)| name))), ("stepSeconds", count()), ("at", list(instant()))];
    all_of(head.into_iter().chain(rates).chain(times).chain(gauges))
}

/// Returns the schemas of events and of what is made of them.
fn analytics() -> Vec<(&'static str, Value)> {
    let number = || json!({ "type": ["number", "null"] });
    let figures = || {
        let counts = ["searches", "clicks", "conversions", "views", "maxMs"].map(|name| (name, count()));
        let rates = ["noHitRate", "noClickRate", "clickThroughRate", "conversionRate", "meanClickPosition", "meanMs"]
            .map(|name| (name, number()));
        counts.into_iter().chain(rates)
    };
    let of_time = || figures().chain([("users", count())]);
    let step = all_of(of_time().chain([("at", instant())]));
    let head = [("indexUid", text()), ("start", instant()), ("end", instant()), ("unmatchedEvents", count())];
    let required: Vec<&str> = head.iter().map(|(name, _)| *name).chain(of_time().map(|(name, _)| name)).collect();
    let whole = exactly(head.clone().into_iter().chain(of_time()).chain([("series", list(step))]), &required);
    let row_fields: Vec<&str> = figures().map(|(name, _)| name).collect();
    let own = [("query", text()), ("filter", text()), ("searchesBefore", count())];
    vec![
        ("EventsTaken", all_of([("taken", count()), ("commitIntervalMs", count())])),
        ("EventsDeleted", all_of([("deleted", count())])),
        ("Analytics", whole),
        ("AnalyticsRow", exactly(own.into_iter().chain(figures()), &row_fields)),
        ("Experiment", experiment()),
    ]
}

fn experiment() -> Value {
    let counts = |names: &[&'static str]| names.iter().map(|name| (*name, count())).collect::<Vec<_>>();
    let group = all_of(counts(&["visits", "visitsWithClick", "visitsWithGoal"]));
    let numbers = ["preference", "low", "high"].map(|name| (name, json!({ "type": ["number", "null"] })));
    let outcome = counts(&["votes", "searches", "fallbacks", "unmatchedEvents"]).into_iter().chain(numbers).chain([
        ("pValue", share()),
        ("winner", or_null(one_of(&["control", "variant"]))),
        ("groups", map_of(group)),
    ]);
    let mut whole = lamina_protocol::wire::experiments::schema();
    let own = [
        ("id", text()),
        ("startedAt", instant()),
        ("stoppedAt", instant()),
        ("stopReason", text()),
        ("outcome", or_null(all_of(outcome))),
        ("undo", json!({ "type": "object" })),
        ("taskUid", count()),
    ];
    for (name, schema) in own {
        whole["properties"][name] = schema;
    }
    whole["required"] = json!(["id", "indexUid", "variant", "method", "share", "goal", "windowSeconds", "startedAt"]);
    whole
}

/// Returns the schemas of the state of the server.
fn server_state() -> Vec<(&'static str, Value)> {
    vec![
        ("Greeting", all_of([("status", text())])),
        ("Health", all_of([("status", one_of(&["available"]))])),
        ("Version", all_of([("commitSha", text()), ("commitDate", text()), ("pkgVersion", text())])),
        (
            "Stats",
            exactly(
                [
                    ("databaseSize", named("Size")),
                    ("usedDatabaseSize", named("Size")),
                    ("lastUpdate", or_null(instant())),
                    ("indexes", map_of(named("IndexStats"))),
                    ("unreadable", map_of(named("Error"))),
                ],
                &["databaseSize", "usedDatabaseSize", "lastUpdate", "indexes"],
            ),
        ),
        ("History", history()),
        (
            "Sample",
            all_of([
                ("indexUid", text()),
                ("primaryKey", text()),
                ("settings", json!({ "type": "object" })),
                ("searches", list(json!({ "type": "object" }))),
                ("documents", list(named("Document"))),
            ]),
        ),
        ("Features", all_of(Feature::ALL.iter().map(|feature| (feature.name(), flag())))),
        (
            "QueueCompaction",
            all_of([
                ("preSize", text()),
                ("postSize", text()),
                ("status", text()),
                ("actionRequired", or_null(text())),
            ]),
        ),
        (
            "ManualHits",
            all_of([("hits", list(all_of(["path", "page", "title", "kind", "lead"].map(|name| (name, text())))))]),
        ),
        ("Description", open([("openapi", text())], &["openapi", "info", "paths", "components"])),
    ]
}

/// Indexes, and what is in them.
fn indexes() -> Vec<(&'static str, Value)> {
    let enabled = || open([("enabled", flag())], &["enabled"]);
    let index_stats = open(
        [
            ("numberOfDocuments", count()),
            ("rawDocumentDbSize", named("Size")),
            ("avgDocumentSize", named("Size")),
            ("isIndexing", flag()),
            ("numberOfEmbeddings", count()),
            ("numberOfEmbeddedDocuments", count()),
            ("fieldDistribution", map_of(count())),
            ("indexSize", named("Size")),
            ("usedIndexSize", named("Size")),
            ("internalDatabaseSizes", map_of(named("Size"))),
            ("segments", list(json!({ "type": "object" }))),
            ("damagedSegments", list(json!({ "type": "object" }))),
            ("aliases", list(text())),
            ("keptStates", count()),
        ],
        &[
            "numberOfDocuments",
            "rawDocumentDbSize",
            "avgDocumentSize",
            "isIndexing",
            "numberOfEmbeddings",
            "numberOfEmbeddedDocuments",
            "fieldDistribution",
        ],
    );
    vec![
        (
            "Index",
            open(
                [
                    ("uid", text()),
                    ("createdAt", instant()),
                    ("updatedAt", instant()),
                    ("primaryKey", or_null(text())),
                    ("mark", text()),
                    ("degraded", flag()),
                ],
                &["uid", "createdAt", "updatedAt", "primaryKey"],
            ),
        ),
        ("IndexStats", index_stats),
        (
            "Field",
            all_of([
                ("name", text()),
                ("displayed", enabled()),
                ("searchable", enabled()),
                ("sortable", enabled()),
                ("distinct", enabled()),
                ("rankingRule", enabled()),
                ("filterable", enabled()),
                ("localized", all_of([("locales", texts())])),
            ]),
        ),
    ]
}

/// Other names and earlier states of indexes.
fn names_and_states() -> Vec<(&'static str, Value)> {
    vec![
        (
            "Generation",
            open(
                [
                    ("generation", count()),
                    ("committedAt", instant()),
                    ("numberOfDocuments", count()),
                    ("batchUid", or_null(count())),
                    ("isCurrent", flag()),
                    ("damage", text()),
                ],
                &["generation", "committedAt", "numberOfDocuments", "batchUid", "isCurrent"],
            ),
        ),
        ("Alias", all_of([("alias", text()), ("indexUid", text()), ("updatedAt", instant())])),
    ]
}

/// Returns the schemas of keys, webhooks and remotes.
fn peers() -> Vec<(&'static str, Value)> {
    let remote = all_of([
        ("url", text()),
        ("searchApiKey", or_null(text())),
        ("writeApiKey", or_null(text())),
        ("status", one_of(&["available"])),
    ]);
    vec![
        (
            "Key",
            all_of([
                ("name", or_null(text())),
                ("description", or_null(text())),
                ("key", json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })),
                ("uid", json!({ "type": "string", "format": "uuid" })),
                ("actions", texts()),
                ("indexes", texts()),
                ("expiresAt", or_null(instant())),
                ("createdAt", instant()),
                ("updatedAt", instant()),
            ]),
        ),
        (
            "Webhook",
            all_of([
                ("uuid", json!({ "type": "string", "format": "uuid" })),
                ("isEditable", flag()),
                ("url", text()),
                ("headers", map_of(text())),
            ]),
        ),
        (
            "Replicas",
            exactly(
                [
                    ("role", one_of(&["alone", "writer", "replica", "superseded"])),
                    ("generation", or_null(count())),
                    ("failure", text()),
                    ("results", list(replica())),
                ],
                &["role", "generation", "results"],
            ),
        ),
        (
            "Network",
            all_of([
                ("self", or_null(text())),
                ("remotes", map_of(remote)),
                ("leader", json!({ "type": "null" })),
                ("shards", json!({ "type": "object" })),
                ("version", text()),
            ]),
        ),
    ]
}

/// Returns the schema of the report of a replica.
fn replica() -> Value {
    all_of([
        ("uid", text()),
        ("url", or_null(text())),
        ("version", text()),
        ("standby", flag()),
        ("generation", or_null(count())),
        ("batchesBehind", or_null(count())),
        ("lagMs", or_null(count())),
        ("failure", or_null(text())),
        ("seenAt", instant()),
        ("silentMs", count()),
    ])
}

/// Tasks and batches.
fn tasks() -> Vec<(&'static str, Value)> {
    vec![("Task", task()), ("SummarizedTask", registered_task()), ("Batch", batch())]
}

fn statuses() -> Value {
    let names: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
    one_of(&names)
}

fn kinds() -> Value {
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    one_of(&names)
}

fn task() -> Value {
    exactly(
        [
            ("uid", count()),
            ("batchUid", or_null(count())),
            ("indexUid", or_null(text())),
            ("status", statuses()),
            ("type", kinds()),
            ("canceledBy", or_null(count())),
            ("details", json!({ "type": "object" })),
            ("error", or_null(named("Error"))),
            ("duration", or_null(text())),
            ("enqueuedAt", instant()),
            ("startedAt", or_null(instant())),
            ("finishedAt", or_null(instant())),
            ("customMetadata", text()),
        ],
        &[
            "uid",
            "batchUid",
            "indexUid",
            "status",
            "type",
            "canceledBy",
            "error",
            "duration",
            "enqueuedAt",
            "startedAt",
            "finishedAt",
        ],
    )
}

/// With `wait` it also has what the task has once it is over.
fn registered_task() -> Value {
    open(
        [
            ("taskUid", count()),
            ("indexUid", or_null(text())),
            ("status", statuses()),
            ("type", kinds()),
            ("enqueuedAt", instant()),
            ("error", named("Error")),
            ("customMetadata", text()),
        ],
        &["taskUid", "indexUid", "status", "type", "enqueuedAt"],
    )
}

fn batch() -> Value {
    let step = all_of([("currentStep", text()), ("finished", count()), ("total", count())]);
    let percentage = json!({ "type": "number", "minimum": 0, "maximum": 100 });
    let stats = open(
        [
            ("totalNbTasks", count()),
            ("status", map_of(count())),
            ("types", map_of(count())),
            ("indexUids", map_of(count())),
            ("progressTrace", map_of(text())),
            (
                "embedderRequests",
                open([("total", count()), ("failed", count()), ("lastError", text())], &["total", "failed"]),
            ),
        ],
        &["totalNbTasks", "status", "types", "indexUids"],
    );
    all_of([
        ("uid", count()),
        ("progress", or_null(all_of([("steps", list(step)), ("percentage", percentage)]))),
        ("details", json!({ "type": "object" })),
        ("stats", stats),
        ("duration", or_null(text())),
        ("startedAt", instant()),
        ("finishedAt", or_null(instant())),
        ("batchStrategy", text()),
    ])
}

fn pages() -> Vec<(&'static str, Value)> {
    let page =
        |of: &str| all_of([("results", list(named(of))), ("offset", count()), ("limit", count()), ("total", count())]);
    let queue_page = |of: &str| {
        all_of([
            ("results", list(named(of))),
            ("total", count()),
            ("limit", count()),
            ("from", or_null(count())),
            ("next", or_null(count())),
        ])
    };
    vec![
        (
            "IndexPage",
            exactly(
                [
                    ("results", list(named("Index"))),
                    ("offset", count()),
                    ("limit", count()),
                    ("total", count()),
                    ("unreadable", map_of(named("Error"))),
                ],
                &["results", "offset", "limit", "total"],
            ),
        ),
        ("AliasPage", page("Alias")),
        ("GenerationPage", page("Generation")),
        ("DocumentPage", page("Document")),
        ("FieldPage", page("Field")),
        ("AnalyticsPage", page("AnalyticsRow")),
        ("ExperimentPage", page("Experiment")),
        ("KeyPage", page("Key")),
        ("WebhookPage", page("Webhook")),
        ("Chat", all_of([("uid", text())])),
        ("ChatPage", page("Chat")),
        ("ChatSettings", json!({ "type": "object" })),
        ("RenderedTemplate", lamina_protocol::wire::render::answer()),
        ("SearchRule", lamina_protocol::wire::rules::answer()),
        ("SearchRulePage", page("SearchRule")),
        ("TaskPage", queue_page("Task")),
        ("BatchPage", queue_page("Batch")),
    ]
}
