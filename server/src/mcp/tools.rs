//! What programs may call: each tool is one request to the server.

use serde_json::{Map, Value, json};

use super::{Backend, Call, excerpt};

/// Hits that are given unless more are asked for, and the most: what a model reads costs.
const HITS: u64 = 10;
const HITS_MAX: u64 = 50;

/// Name, what it does, its parameters beside the index (name, schema, whether it is needed).
struct Tool {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    parameters: fn() -> Vec<(&'static str, Value, bool)>,
    /// Whether it is about one index.
    has_index: bool,
}

const TOOLS: [Tool; 6] = [
    Tool {
        name: "list_indexes",
        title: "List indexes",
        description: "Names of all indexes, with their primary keys and when they were changed.",
        parameters: Vec::new,
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
        parameters: || vec![("ids", described(json!({"type": "array", "items": text()}), "Ids of documents"), true)],
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

const FILTER: &str = "A condition, e.g. `genre = Horror AND year > 1980`";

fn text() -> Value {
    json!({"type": "string"})
}

fn strings() -> Value {
    json!({"type": "array", "items": text()})
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

fn search_parameters() -> Vec<(&'static str, Value, bool)> {
    let strategies = json!({"type": "string", "enum": ["last", "all", "frequency", "any"]});
    let limit = json!({"type": "integer", "minimum": 1, "maximum": HITS_MAX, "default": HITS});
    vec![
        ("q", described(text(), "Words, a phrase in quotes, -words that hits must not have"), true),
        ("filter", described(text(), FILTER), false),
        ("sort", described(strings(), "Orders, e.g. `year:desc`, of fields in sortableAttributes"), false),
        ("fields", described(strings(), "Fields that hits show; all if absent"), false),
        ("limit", described(limit, "Hits at most"), false),
        (
            "offset",
            described(json!({"type": "integer", "minimum": 0}), "Hits that are left out at the beginning"),
            false,
        ),
        (
            "matching_strategy",
            described(strategies, "Which words a hit may lack: `any` for questions, `all` for none"),
            false,
        ),
    ]
}

impl Tool {
    fn shown(&self, names_index: bool) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        if self.has_index && names_index {
            properties.insert("index".into(), described(text(), "Name of the index"));
            required.push("index");
        }
        for (name, schema, is_required) in (self.parameters)() {
            properties.insert(name.into(), schema);
            required.extend(is_required.then_some(name));
        }
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        })
    }

    /// What is wrong with the arguments, in a sentence.
    fn check(&self, arguments: &Map<String, Value>, names_index: bool) -> Result<(), String> {
        let shown = self.shown(names_index);
        let (schema, name) = (&shown["inputSchema"], self.name);
        for (key, value) in arguments {
            let Some(kind) = schema["properties"][key]["type"].as_str() else {
                return Err(format!("`{name}` has no argument `{}`", excerpt(key)));
            };
            let is_right = match kind {
                "string" => value.is_string(),
                "integer" => value.is_u64(),
                _ => value.as_array().is_some_and(|values| values.iter().all(Value::is_string)),
            };
            if !is_right {
                let kind = if kind == "array" { "array of strings" } else { kind };
                return Err(format!("the argument `{key}` of `{name}` must be: {kind}"));
            }
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        match required.into_iter().find(|key| !arguments.contains_key(*key)) {
            Some(key) => Err(format!("`{name}` needs the argument `{key}`")),
            None => Ok(()),
        }
    }
}

pub(crate) struct Tools<B> {
    backend: B,
    /// The only index, if they are bound to one.
    index: Option<String>,
}

impl<B: Backend> Tools<B> {
    pub(crate) fn new(backend: B, index: Option<String>) -> Tools<B> {
        Tools { backend, index }
    }

    pub(super) fn list(&self) -> Vec<Value> {
        let is_offered = |tool: &&Tool| tool.has_index || self.index.is_none();
        TOOLS.iter().filter(is_offered).map(|tool| tool.shown(self.index.is_none())).collect()
    }

    /// Calls a tool. A refusal of the server is a result that says so, for the model to read.
    ///
    /// # Errors
    /// When there is no such tool, or its arguments are wrong.
    pub(super) async fn call(&self, name: &str, arguments: &Value) -> Result<Value, String> {
        let tool = TOOLS.iter().find(|tool| tool.name == name && (tool.has_index || self.index.is_none()));
        let tool = tool.ok_or_else(|| format!("there is no tool `{}`", excerpt(name)))?;
        let none = Map::new();
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => &none,
            _ => return Err("`params.arguments` must be an object".to_owned()),
        };
        tool.check(arguments, self.index.is_none())?;
        Ok(match self.backend.call(self.request(name, arguments)).await.map(|answer| shortened(name, answer)) {
            Ok(answer) => json!({
                "content": [{"type": "text", "text": answer.to_string()}], "structuredContent": answer, "isError": false,
            }),
            Err(error) => json!({"content": [{"type": "text", "text": error}], "isError": true}),
        })
    }

    /// The request that a tool stands for.
    fn request(&self, name: &str, arguments: &Map<String, Value>) -> Call {
        let index = self.index.as_deref().or(arguments.get("index").and_then(Value::as_str)).unwrap_or_default();
        let index = index.to_owned();
        let mut body = Map::new();
        let names = [
            ("q", "q"),
            ("filter", "filter"),
            ("sort", "sort"),
            ("offset", "offset"),
            ("facets", "facets"),
            ("fields", "attributesToRetrieve"),
            ("matching_strategy", "matchingStrategy"),
        ];
        for (from, to) in names {
            body.extend(arguments.get(from).map(|value| (to.to_owned(), value.clone())));
        }
        let limit = match name {
            "list_indexes" => return Call::ListIndexes,
            "get_settings" => return Call::Settings { index },
            "fetch" => return Call::Fetch { index, body: json!({ "ids": arguments["ids"] }) },
            "facets" => 0,
            "explain" => {
                body.insert("explain".into(), json!({"documentId": arguments["document_id"]}));
                0
            }
            _ => arguments.get("limit").and_then(Value::as_u64).unwrap_or(HITS).min(HITS_MAX),
        };
        body.insert("limit".into(), json!(limit));
        Call::Search { index, body: Value::Object(body) }
    }
}

/// Without what only programs that show pages need.
fn shortened(name: &str, mut answer: Value) -> Value {
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
    answer
}
