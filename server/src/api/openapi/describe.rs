//! What each route does, takes and answers, in words and by the names of schemas.

use lamina_protocol::wire::{marking, search, tasks};

/// Body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    None,
    /// JSON of the schema of [`body_of`](super::bodies::body_of).
    Json,
    /// JSON, lines of JSON, or CSV.
    Documents,
}

/// Response of a route on success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// 200 with this schema of the components.
    Ok(&'static str),
    /// 201 with this schema.
    Created(&'static str),
    /// 200 or 202 with a registered task.
    Task(u16),
    /// 204
    Nothing,
    /// 200 with text.
    Text,
    /// 200 with a page, or with JSON in production.
    Page,
    /// 200 with a page.
    Html,
    /// 200 with a message of JSON-RPC, or 202 without one.
    Message,
    /// 200 with a JSON object a line.
    Lines,
    /// 200 with server-sent events.
    Events,
}

pub(super) struct Description {
    pub(super) summary: &'static str,
    pub(super) body: Body,
    pub(super) answer: Answer,
    /// Query parameters; those of [`WRITE`] go without saying.
    pub(super) parameters: &'static [&'static str],
}

const PAGE: &[&str] = &["offset", "limit"];
const TASK_FILTERS: &[&str] = &tasks::FILTERS;
const TASK_LIST: &[&str] = &tasks::LIST;
const STATS: &[&str] = &["showInternalDatabaseSizes", "sizeFormat"];
const ADDITION: &[&str] = &["primaryKey", "csvDelimiter", "skipCreation", "mark", "ifMark"];
const MARKED: &[&str] = &marking::PARAMETERS;
/// Parameters of every route that registers a task.
pub(super) const WRITE: [&str; 3] = ["customMetadata", "wait", "waitMs"];

/// Summary, body, answer and query parameters of a route.
type Row = (&'static str, Body, Answer, &'static [&'static str]);

/// Describes a route of the table.
pub(super) fn describe(method: &str, pattern: &str) -> Option<Description> {
    let resources = [of_indexes, of_documents, of_searches, of_tasks, of_server, of_chats];
    let (summary, body, answer, parameters) = resources.iter().find_map(|rows| rows(method, pattern))?;
    Some(Description { summary, body, answer, parameters })
}

/// Routes of indexes, their fields and settings.
fn of_indexes(method: &str, pattern: &str) -> Option<Row> {
    use Answer::{Lines, Ok, Task};
    Some(match (method, pattern) {
        ("GET", "/indexes") => ("List indexes", Body::None, Ok("IndexPage"), PAGE),
        ("POST", "/indexes") => ("Create an index", Body::Json, Task(202), &[]),
        ("GET", "/indexes/{indexUid}") => ("Get an index", Body::None, Ok("Index"), &[]),
        ("PATCH", "/indexes/{indexUid}") => {
            ("Set the primary key of an index, or rename it", Body::Json, Task(202), &[])
        }
        ("DELETE", "/indexes/{indexUid}") => ("Delete an index", Body::None, Task(202), &[]),
        ("POST", "/indexes/{indexUid}/compact") => {
            ("Compact an index: rewrite it without deleted documents", Body::None, Task(202), &[])
        }
        ("POST", "/indexes/{indexUid}/fields") => ("List the fields of an index", Body::Json, Ok("FieldPage"), &[]),
        ("GET", "/indexes/{indexUid}/stats") => ("Statistics of an index", Body::None, Ok("IndexStats"), STATS),
        ("GET", "/indexes/{indexUid}/generations") => {
            ("List the kept states of an index", Body::None, Ok("GenerationPage"), PAGE)
        }
        ("GET", "/indexes/{indexUid}/changes") => {
            ("List the documents that changed since a state, as lines or as events", Body::None, Lines, &["since"])
        }
        ("POST", "/indexes/{indexUid}/clone") => {
            ("Clone an index without copying its files", Body::Json, Task(202), &[])
        }
        ("POST", "/indexes/{indexUid}/attach") => ("Attach an index built offline", Body::Json, Task(202), &[]),
        ("POST", "/indexes/{indexUid}/restore") => ("Restore a kept state", Body::Json, Task(202), &[]),
        ("POST", "/swap-indexes") => ("Swap or rename indexes", Body::Json, Task(202), &[]),
        ("GET", "/aliases") => ("List aliases", Body::None, Ok("AliasPage"), PAGE),
        ("PATCH", "/aliases") => ("Create, change or remove several aliases in one task", Body::Json, Task(202), &[]),
        ("GET", "/aliases/{alias}") => ("Get an alias", Body::None, Ok("Alias"), &[]),
        ("PUT", "/aliases/{alias}") => ("Create an alias, or change its index", Body::Json, Task(202), &[]),
        ("DELETE", "/aliases/{alias}") => ("Remove an alias, not its index", Body::None, Task(202), &[]),
        ("GET", "/indexes/{indexUid}/settings") => ("Get all settings", Body::None, Ok("Settings"), &[]),
        ("PATCH", "/indexes/{indexUid}/settings") => ("Change settings", Body::Json, Task(202), &[]),
        ("DELETE", "/indexes/{indexUid}/settings") => ("Reset all settings", Body::None, Task(202), &[]),
        ("GET", "/indexes/{indexUid}/settings/{setting}") => ("Get a setting", Body::None, Ok("Settings"), &[]),
        ("PUT" | "PATCH", "/indexes/{indexUid}/settings/{setting}") => ("Change a setting", Body::Json, Task(202), &[]),
        ("DELETE", "/indexes/{indexUid}/settings/{setting}") => ("Reset a setting", Body::None, Task(202), &[]),
        _ => return None,
    })
}

/// Routes of documents.
fn of_documents(method: &str, pattern: &str) -> Option<Row> {
    use Answer::{Ok, Task};
    Some(match (method, pattern) {
        ("GET", "/indexes/{indexUid}/documents") => (
            "List documents",
            Body::None,
            Ok("DocumentPage"),
            &["offset", "limit", "fields", "retrieveVectors", "ids", "filter", "sort", "at"],
        ),
        ("POST", "/indexes/{indexUid}/documents") => ("Add or replace documents", Body::Documents, Task(202), ADDITION),
        ("PUT", "/indexes/{indexUid}/documents") => ("Add or update documents", Body::Documents, Task(202), ADDITION),
        ("PATCH", "/indexes/{indexUid}/documents") => {
            ("Update numbers and booleans in single fields", Body::Json, Task(202), &[])
        }
        ("DELETE", "/indexes/{indexUid}/documents") => ("Delete all documents", Body::None, Task(202), MARKED),
        ("POST", "/indexes/{indexUid}/documents/fetch") => ("List documents", Body::Json, Ok("DocumentPage"), &[]),
        ("POST", "/indexes/{indexUid}/documents/delete") => {
            ("Delete documents that match a filter", Body::Json, Task(202), &[])
        }
        ("POST", "/indexes/{indexUid}/documents/delete-batch") => {
            ("Delete documents by their ids", Body::Json, Task(202), MARKED)
        }
        ("POST", "/indexes/{indexUid}/documents/edit") => {
            ("Edit documents with a function; feature `editDocumentsByFunction`", Body::Json, Task(202), &[])
        }
        ("GET", "/indexes/{indexUid}/documents/{documentId}") => {
            ("Get a document", Body::None, Ok("Document"), &["fields", "retrieveVectors", "useNetwork", "at"])
        }
        ("DELETE", "/indexes/{indexUid}/documents/{documentId}") => {
            ("Delete a document", Body::None, Task(202), MARKED)
        }
        _ => return None,
    })
}

/// Routes of searches.
fn of_searches(method: &str, pattern: &str) -> Option<Row> {
    use Answer::{Message, Ok};
    Some(match (method, pattern) {
        ("GET", "/indexes/{indexUid}/search") => ("Search", Body::None, Ok("SearchAnswer"), search::parameters()),
        ("POST", "/indexes/{indexUid}/search") => ("Search", Body::Json, Ok("SearchAnswer"), &[]),
        ("POST", "/indexes/{indexUid}/facet-search") => {
            ("Search the values of a facet", Body::Json, Ok("FacetSearchAnswer"), &[])
        }
        ("POST", "/indexes/{indexUid}/completions") => {
            ("Complete the last word of a text", Body::Json, Ok("CompletionAnswer"), &[])
        }
        ("GET", "/indexes/{indexUid}/similar") => {
            ("Find similar documents", Body::None, Ok("SimilarAnswer"), search::similar_fields())
        }
        ("POST", "/indexes/{indexUid}/similar") => ("Find similar documents", Body::Json, Ok("SimilarAnswer"), &[]),
        ("POST", "/mcp") => ("MCP: a message of the Model Context Protocol", Body::Json, Message, &["index"]),
        ("POST", "/multi-search") => {
            ("Run several searches, separately or merged", Body::Json, Ok("MultiSearchAnswer"), &[])
        }
        _ => return None,
    })
}

/// Routes of tasks and batches.
fn of_tasks(method: &str, pattern: &str) -> Option<Row> {
    use Answer::{Events, Lines, Ok, Task};
    Some(match (method, pattern) {
        ("GET", "/tasks") => ("List tasks", Body::None, Ok("TaskPage"), TASK_LIST),
        ("DELETE", "/tasks") => ("Delete finished tasks", Body::None, Task(200), TASK_FILTERS),
        ("POST", "/tasks/cancel") => ("Cancel tasks", Body::None, Task(200), TASK_FILTERS),
        ("GET", "/tasks/{taskUid}") => ("Get a task", Body::None, Ok("Task"), &[]),
        ("POST", "/tasks/compact") => (
            "Give the room of deleted tasks back; feature `taskQueueCompactionRoute`",
            Body::None,
            Ok("QueueCompaction"),
            &[],
        ),
        ("GET", "/tasks/{taskUid}/documents") => (
            "The documents of an addition that is not finished; feature `getTaskDocumentsRoute`",
            Body::None,
            Lines,
            &[],
        ),
        ("GET", "/tasks/stream") => ("Stream task events; feature `tasksStreamingRoute`", Body::None, Events, &[]),
        ("GET", "/batches/stream") => ("Stream batch events; feature `tasksStreamingRoute`", Body::None, Events, &[]),
        ("GET", "/batches") => ("List batches", Body::None, Ok("BatchPage"), TASK_LIST),
        ("GET", "/batches/{batchUid}") => ("Get a batch", Body::None, Ok("Batch"), &[]),
        _ => return None,
    })
}

/// Routes of the server itself: its state, keys, webhooks, network, copies and logs.
fn of_server(method: &str, pattern: &str) -> Option<Row> {
    use Answer::{Created, Html, Nothing, Ok, Page, Task, Text};
    Some(match (method, pattern) {
        ("GET", "/") => ("The search page, or a greeting", Body::None, Page, &[]),
        ("GET", "/health") => ("Check the health of the server", Body::None, Ok("Health"), &[]),
        ("GET", "/version") => ("The version", Body::None, Ok("Version"), &[]),
        ("GET", "/openapi.json") => ("This description", Body::None, Ok("Description"), &[]),
        ("GET", "/docs") => ("This description as a page", Body::None, Html, &[]),
        ("GET", "/docs/errors") => ("The error codes, as a page", Body::None, Html, &[]),
        ("GET", "/stats") => ("Statistics of all indexes", Body::None, Ok("Stats"), STATS),
        ("GET", "/experimental-features") => ("Get the experimental features", Body::None, Ok("Features"), &[]),
        ("PATCH", "/experimental-features") => {
            ("Turn experimental features on or off", Body::Json, Ok("Features"), &[])
        }
        ("POST", "/snapshots") => ("Make a snapshot of the database folder", Body::None, Task(202), &[]),
        ("POST", "/dumps") => ("Write a dump of everything", Body::None, Task(202), &["skipDamaged"]),
        ("POST", "/export") => ("Export indexes to another server", Body::Json, Task(200), &[]),
        ("GET", "/keys") => ("List API keys", Body::None, Ok("KeyPage"), PAGE),
        ("POST", "/keys") => ("Create an API key", Body::Json, Created("Key"), &[]),
        ("GET", "/keys/{key}") => ("Get an API key by its uid or value", Body::None, Ok("Key"), &[]),
        ("PATCH", "/keys/{key}") => ("Change name or description of an API key", Body::Json, Ok("Key"), &[]),
        ("DELETE", "/keys/{key}") => ("Delete an API key", Body::None, Nothing, &[]),
        ("POST", "/dynamic-search-rules") => {
            ("List dynamic search rules; feature `dynamicSearchRules`", Body::Json, Ok("SearchRulePage"), &[])
        }
        ("DELETE", "/dynamic-search-rules") => ("Remove all dynamic search rules", Body::None, Task(202), &[]),
        ("GET", "/dynamic-search-rules/{ruleUid}") => ("Get a dynamic search rule", Body::None, Ok("SearchRule"), &[]),
        ("PATCH", "/dynamic-search-rules/{ruleUid}") => {
            ("Create or change a dynamic search rule", Body::Json, Task(202), &[])
        }
        ("DELETE", "/dynamic-search-rules/{ruleUid}") => ("Remove a dynamic search rule", Body::None, Task(202), &[]),
        ("POST", "/render-template") => {
            ("Render a template or a fragment; feature `renderRoute`", Body::Json, Ok("RenderedTemplate"), &[])
        }
        ("GET", "/webhooks") => ("List webhooks", Body::None, Ok("WebhookPage"), PAGE),
        ("POST", "/webhooks") => ("Create a webhook", Body::Json, Created("Webhook"), &[]),
        ("GET", "/webhooks/{uuid}") => ("Get a webhook", Body::None, Ok("Webhook"), &[]),
        ("PATCH", "/webhooks/{uuid}") => ("Change a webhook", Body::Json, Ok("Webhook"), &[]),
        ("DELETE", "/webhooks/{uuid}") => ("Delete a webhook", Body::None, Nothing, &[]),
        ("GET", "/network") => ("Get the network of servers", Body::None, Ok("Network"), &[]),
        ("PATCH", "/network") => ("Change the network", Body::Json, Ok("Network"), &[]),
        ("GET", "/replicas") => ("List the replicas, and how far each is", Body::None, Ok("Replicas"), &[]),
        ("GET", "/metrics") => ("Metrics for Prometheus; feature `metrics`", Body::None, Text, &[]),
        ("POST", "/logs/stream") => ("Stream the logs; feature `logsRoute`", Body::Json, Text, &[]),
        ("DELETE", "/logs/stream") => ("Stop the stream of logs; feature `logsRoute`", Body::None, Nothing, &[]),
        ("POST", "/logs/stderr") => ("Set the log level of the console; feature `logsRoute`", Body::Json, Nothing, &[]),
        _ => return None,
    })
}

/// Routes of conversations; feature `chatCompletions`.
fn of_chats(method: &str, pattern: &str) -> Option<Row> {
    use Answer::{Events, Nothing, Ok};
    Some(match (method, pattern) {
        ("GET", "/chats") => ("List chat workspaces", Body::None, Ok("ChatPage"), PAGE),
        ("GET", "/chats/{chatUid}") => ("Get a workspace", Body::None, Ok("Chat"), &[]),
        ("DELETE", "/chats/{chatUid}") => ("Delete a workspace", Body::None, Nothing, &[]),
        ("GET", "/chats/{chatUid}/settings") => {
            ("Get the settings of a workspace", Body::None, Ok("ChatSettings"), &[])
        }
        ("PATCH", "/chats/{chatUid}/settings") => {
            ("Change the settings of a workspace, or create it", Body::Json, Ok("ChatSettings"), &[])
        }
        ("DELETE", "/chats/{chatUid}/settings") => {
            ("Reset the settings of a workspace", Body::None, Ok("ChatSettings"), &[])
        }
        ("POST", "/chats/{chatUid}/chat/completions") => {
            ("Answer a conversation with search results", Body::Json, Events, &[])
        }
        _ => return None,
    })
}
