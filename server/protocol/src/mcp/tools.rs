//! What programs may call: each tool is one request to the server.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::fields::{Fields, listed};
use super::{Backend, Call, arguments, excerpt};

/// Hits that are given unless more are asked for, and the most: what a model reads costs.
const HITS: u64 = 10;
const HITS_MAX: u64 = 50;
/// Documents that one call fetches at most.
const IDS_MAX: u64 = 100;
/// Indexes that one call lists at most.
const INDEXES_MAX: usize = 50;
/// Indexes that the description of an argument lists.
const DESCRIBED_MAX: usize = 20;
/// Time to read what descriptions say of the indexes.
const DESCRIBED_WITHIN: Duration = Duration::from_secs(5);
/// Words from which on a text is a sentence: hardly a document has all words of one.
const SENTENCE_WORDS: usize = 5;

/// Values of this length stay beside passages in any case: ids, titles.
const SHORT_BYTES: usize = 200;

/// Name, what it does, its parameters beside the index (name, schema, whether it is needed).
struct Tool {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    parameters: fn() -> Vec<(&'static str, Value, bool)>,
    /// True if the tool is about one index.
    has_index: bool,
}

const TOOLS: [Tool; 6] = [
    Tool {
        name: "list_indexes",
        title: "List indexes",
        description: "Names of indexes, with their primary keys, when they were changed, and the fields that filters, \
                      facets and sorts may use.",
        parameters: || {
            vec![("offset", described(integer(0, None), "Indexes that are left out at the beginning"), false)]
        },
        has_index: false,
    },
    Tool {
        name: "search",
        title: "Search documents",
        description: "Finds documents, the best first. Forgives typos.",
        parameters: search_parameters,
        has_index: true,
    },
    Tool {
        name: "fetch",
        title: "Fetch documents",
        description: "Whole documents by their ids.",
        parameters: || {
            let ids = json!({"type": "array", "items": text(), "minItems": 1, "maxItems": IDS_MAX});
            vec![
                ("ids", described(ids, &format!("Ids of documents, at most {IDS_MAX}")), true),
                ("fields", described(strings(), FIELDS), false),
            ]
        },
        has_index: true,
    },
    Tool {
        name: "facets",
        title: "Count values",
        description: "How many documents have each value of some fields, and the extremes of numbers.",
        parameters: || {
            vec![
                ("facets", described(strings(), "Fields, of those in filterableAttributes"), true),
                ("q", described(text(), "Count only what this query finds"), false),
                ("filter", described(text(), FILTER), false),
            ]
        },
        has_index: true,
    },
    Tool {
        name: "get_settings",
        title: "Read settings",
        description: "Settings of an index: searchable, filterable and sortable fields, ranking rules, synonyms and the rest.",
        parameters: Vec::new,
        has_index: true,
    },
    Tool {
        name: "explain",
        title: "Explain a hit",
        description: "Why a document is a hit of a query, or why it is none.",
        parameters: || {
            vec![
                ("q", described(text(), "The query"), true),
                ("document_id", described(text(), "Id of the document"), true),
                ("filter", described(text(), FILTER), false),
            ]
        },
        has_index: true,
    },
];

const FILTER: &str = "A condition, e.g. `genre = Horror AND year > 1980`, on fields in filterableAttributes";
const FIELDS: &str = "Fields that are shown; all if absent";

fn text() -> Value {
    json!({"type": "string"})
}

fn strings() -> Value {
    json!({"type": "array", "items": text()})
}

fn integer(minimum: u64, maximum: Option<u64>) -> Value {
    let mut schema = json!({"type": "integer", "minimum": minimum});
    if let Some(maximum) = maximum {
        schema["maximum"] = maximum.into();
    }
    schema
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

/// An object that has these members and no others.
fn members(parameters: Vec<(&'static str, Value, bool)>) -> Value {
    let required: Vec<&str> =
        parameters.iter().filter(|(.., is_required)| *is_required).map(|(name, ..)| *name).collect();
    let properties: Map<String, Value> =
        parameters.into_iter().map(|(name, schema, _)| (name.into(), schema)).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn search_parameters() -> Vec<(&'static str, Value, bool)> {
    let strategies = json!({"type": "string", "enum": ["last", "all", "frequency", "any"]});
    let mut limit = integer(1, Some(HITS_MAX));
    limit["default"] = HITS.into();
    let ratio = json!({"type": "number", "minimum": 0, "maximum": 1, "default": 0.5});
    let hybrid = members(vec![
        ("embedder", described(text(), "Name of an embedder of the index"), true),
        ("semantic_ratio", described(ratio, "From 0 (words only) to 1 (meaning only)"), false),
    ]);
    vec![
        (
            "q",
            described(text(), "Words, a phrase in quotes, -words that hits must not have, or a whole question"),
            true,
        ),
        ("filter", described(text(), FILTER), false),
        ("sort", described(strings(), "Orders, e.g. `year:desc`, of fields in sortableAttributes"), false),
        ("fields", described(strings(), FIELDS), false),
        (
            "crop",
            described(strings(), "Long fields that hits show only around the words of the query, `text` or `text:30`"),
            false,
        ),
        ("crop_length", described(integer(1, Some(1000)), "Words that a cropped field shows"), false),
        ("hybrid", described(hybrid, "Searches by meaning too, with an embedder of the index"), false),
        ("limit", described(limit, &format!("Hits at most, up to {HITS_MAX}")), false),
        ("offset", described(integer(0, None), "Hits that are left out at the beginning"), false),
        (
            "matching_strategy",
            described(
                strategies,
                "Which words a hit may lack: `any` all but one, for questions (the default from five words on); `all` none",
            ),
            false,
        ),
    ]
}

impl Tool {
    /// Returns the schema of the arguments; `names_index`: the index is one of them.
    fn schema(&self, names_index: bool) -> Value {
        let index = (self.has_index && names_index).then(|| ("index", described(text(), "Name of the index"), true));
        members(index.into_iter().chain((self.parameters)()).collect())
    }

    fn shown(&self, schema: Value) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema,
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        })
    }
}

pub struct Tools<B> {
    backend: B,
    /// The only index, if they are bound to one.
    index: Option<String>,
}

impl<B: Backend> Tools<B> {
    pub fn new(backend: B, index: Option<String>) -> Tools<B> {
        Tools { backend, index }
    }

    /// The tools, with what the caller may know of the indexes.
    pub(super) async fn list(&self) -> Vec<Value> {
        let offered = TOOLS.iter().filter(|tool| tool.has_index || self.index.is_none());
        let mut tools: Vec<Value> = offered.map(|tool| tool.shown(tool.schema(self.index.is_none()))).collect();
        // A server that is slow to answer delays no client.
        let _ = tokio::time::timeout(DESCRIBED_WITHIN, self.describe(&mut tools)).await;
        tools
    }

    async fn describe(&self, tools: &mut [Value]) {
        match &self.index {
            Some(index) => {
                if let Some(fields) = Fields::of(&self.backend, index).await {
                    tools.iter_mut().for_each(|tool| describe_fields(tool, &fields));
                }
            }
            None => {
                let known = self.known_indexes().await;
                tools.iter_mut().for_each(|tool| describe_indexes(tool, &known));
            }
        }
    }

    /// In words, the first indexes that the caller may see, with their fields.
    async fn known_indexes(&self) -> String {
        let listed = self.backend.call(Call::ListIndexes { offset: 0, limit: DESCRIBED_MAX }).await.unwrap_or_default();
        let uids = uids_in(&listed);
        let fields = Fields::of_each(&self.backend, &uids).await;
        let parts = uids.iter().zip(fields).map(|(uid, fields)| match fields {
            Some(fields) => format!(" `{uid}`: {}.", fields.in_words()),
            None => format!(" `{uid}`."),
        });
        let mut known: String = parts.collect();
        if listed["total"].as_u64().unwrap_or_default() > uids.len() as u64 {
            known.push_str(" `list_indexes` lists all.");
        }
        known
    }

    /// Calls a tool. A refusal of the server, and what is wrong with the arguments, is a result that says so, for the model
    /// to read.
    ///
    /// # Errors
    /// When there is no such tool, or its arguments are no object.
    pub(super) async fn call(&self, name: &str, arguments: &Value) -> Result<Value, String> {
        let tool = TOOLS.iter().find(|tool| tool.name == name && (tool.has_index || self.index.is_none()));
        let tool = tool.ok_or_else(|| format!("there is no tool `{}`", excerpt(name)))?;
        let arguments = match arguments {
            Value::Null => Map::new(),
            given => arguments::object(given).ok_or("`params.arguments` must be an object")?,
        };
        let schema = tool.schema(self.index.is_none());
        let answered = match arguments::fitted(tool.name, &schema, &arguments) {
            Ok(arguments) => self.backend.call(self.request(name, &arguments)).await,
            Err(error) => Err(error),
        };
        Ok(match answered {
            Ok(answer) => {
                let names_fields = arguments.contains_key("fields");
                shown_once(name, self.completed(name, shortened(name, answer, names_fields)).await)
            }
            Err(error) => json!({"content": [{"type": "text", "text": error}], "isError": true}),
        })
    }

    /// The request that a tool stands for.
    fn request(&self, name: &str, arguments: &Map<String, Value>) -> Call {
        let index = self.index.as_deref().or(arguments.get("index").and_then(Value::as_str)).unwrap_or_default();
        let index = index.to_owned();
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
        let limit = match name {
            "list_indexes" => {
                return Call::ListIndexes { offset: number("offset").unwrap_or_default(), limit: INDEXES_MAX };
            }
            "get_settings" => return Call::Settings { index },
            "fetch" => {
                let ids = &arguments["ids"];
                // Without a limit, some would be left out.
                let mut body = json!({"ids": ids, "limit": ids.as_array().map(Vec::len)});
                if let Some(fields) = arguments.get("fields") {
                    body["fields"] = fields.clone();
                }
                return Call::Fetch { index, body };
            }
            "search" => number("limit").unwrap_or(HITS),
            _ => 0,
        };
        let mut body = search_body(arguments);
        if name == "search" && !body.contains_key("matchingStrategy") && is_sentence(&body) {
            body.insert("matchingStrategy".into(), "any".into());
        }
        body.insert("limit".into(), json!(limit));
        Call::Search { index, body: Value::Object(body) }
    }

    /// An answer with what other routes say.
    async fn completed(&self, name: &str, mut answer: Value) -> Value {
        if name != "list_indexes" {
            return answer;
        }
        let fields = Fields::of_each(&self.backend, &uids_in(&answer)).await;
        let indexes = answer["results"].as_array_mut().into_iter().flatten();
        for (index, fields) in indexes.zip(fields) {
            if let (Value::Object(entry), Some(fields)) = (index, fields) {
                fields.write_into(entry);
            }
        }
        answer
    }
}

/// The names in a list of indexes.
fn uids_in(listed: &Value) -> Vec<String> {
    let indexes = listed["results"].as_array().into_iter().flatten();
    indexes.map(|index| index["uid"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The body of a search with these arguments.
fn search_body(arguments: &Map<String, Value>) -> Map<String, Value> {
    const NAMES: [(&str, &str); 9] = [
        ("q", "q"),
        ("filter", "filter"),
        ("sort", "sort"),
        ("offset", "offset"),
        ("facets", "facets"),
        ("fields", "attributesToRetrieve"),
        ("crop", "attributesToCrop"),
        ("crop_length", "cropLength"),
        ("matching_strategy", "matchingStrategy"),
    ];
    let mut body = Map::new();
    for (from, to) in NAMES {
        body.extend(arguments.get(from).map(|value| (to.to_owned(), value.clone())));
    }
    if let Some(hybrid) = arguments.get("hybrid") {
        let mut sent = json!({"embedder": hybrid["embedder"]});
        if let Some(ratio) = hybrid.get("semantic_ratio") {
            sent["semanticRatio"] = ratio.clone();
        }
        body.insert("hybrid".into(), sent);
    }
    if let Some(document) = arguments.get("document_id") {
        body.insert("explain".into(), json!({ "documentId": document }));
    }
    body
}

/// Returns whether the text of a search is a sentence, of which a document has only some words. In a given order, documents with
/// few of them could be first.
fn is_sentence(body: &Map<String, Value>) -> bool {
    let text = body.get("q").and_then(Value::as_str).unwrap_or_default();
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    words >= SENTENCE_WORDS && !text.contains('"') && !body.contains_key("sort")
}

/// Adds the fields of the only index to what a tool says of its arguments.
fn describe_fields(tool: &mut Value, fields: &Fields) {
    let properties = &mut tool["inputSchema"]["properties"];
    for (argument, kind, names) in [
        ("filter", "Fields", &fields.filters),
        ("facets", "Fields", &fields.filters),
        ("sort", "Fields", &fields.sorts),
        ("hybrid", "Embedders", &fields.embedders),
    ] {
        if let Some(Value::String(description)) = properties.get_mut(argument).map(|schema| &mut schema["description"])
        {
            description.push_str(&format!(". {kind}: {}", listed(names)));
        }
    }
}

/// Adds what is known of the indexes to what a tool says of its index.
fn describe_indexes(tool: &mut Value, known: &str) {
    let index = tool["inputSchema"]["properties"].get_mut("index");
    if let Some(Value::String(description)) = index.map(|schema| &mut schema["description"])
        && !known.is_empty()
    {
        description.push_str(&format!(". There are:{known}"));
    }
}

/// The result of a call, which a model reads once, as text. Counts are few, and programs calculate with them: they are given
/// as values too.
fn shown_once(name: &str, answer: Value) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": answer.to_string()}], "isError": false});
    if name == "facets" {
        result["structuredContent"] = answer;
    }
    result
}

/// Without what only programs that show pages need. Passages take the place of what is longer, unless the caller names fields.
fn shortened(name: &str, mut answer: Value, names_fields: bool) -> Value {
    let kept: &[&str] = match name {
        "search" => &["hits", "estimatedTotalHits", "degraded", "degradedReasons"],
        "facets" => &["facetDistribution", "facetStats", "estimatedTotalHits"],
        "explain" => &["explanation"],
        "fetch" | "list_indexes" => &["results", "total"],
        _ => return answer,
    };
    if let Value::Object(fields) = &mut answer {
        fields.retain(|field, _| kept.contains(&field.as_str()));
    }
    for hit in answer["hits"].as_array_mut().into_iter().flatten() {
        if let Some(displayed) = hit.as_object_mut().and_then(|hit| hit.remove("_formatted")) {
            display(hit, displayed);
        }
        let longest = hit["_passages"].as_array().into_iter().flatten().filter_map(|passage| passage["text"].as_str());
        if let (Some(longest), false, Value::Object(hit)) = (longest.map(str::len).max(), names_fields, &mut *hit) {
            let most = longest.max(SHORT_BYTES);
            hit.retain(|name, value| name == "_passages" || value.to_string().len() <= most);
        }
    }
    answer
}

/// Puts cropped texts in the place of whole ones.
fn display(whole: &mut Value, displayed: Value) {
    match (whole, displayed) {
        (Value::Object(whole), Value::Object(displayed)) => {
            for (name, value) in displayed {
                match whole.get_mut(&name) {
                    Some(whole) => display(whole, value),
                    None => drop(whole.insert(name, value)),
                }
            }
        }
        (Value::Array(whole), Value::Array(displayed)) => {
            whole.iter_mut().zip(displayed).for_each(|(whole, displayed)| display(whole, displayed));
        }
        (Value::String(whole), Value::String(displayed)) => *whole = displayed,
        // Displayed numbers are texts.
        _ => {}
    }
}
