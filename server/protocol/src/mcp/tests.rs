//! Tools: what their schemas promise is what they take, and every request is what the arguments ask for.

use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Answers with one document, and remembers what it was asked.
#[derive(Default)]
struct Recorder(Mutex<Vec<Call>>);

impl Backend for &Recorder {
    async fn call(&self, call: Call) -> Result<Value, String> {
        let answer = match &call {
            Call::ListIndexes { .. } => json!({"results": [{"uid": "films"}], "total": 30}),
            Call::Setting { route: "embedders", .. } => json!({"own": {"source": "userProvided"}}),
            Call::Setting { route: "sortable-attributes", .. } => json!(["year"]),
            Call::Setting { .. } => json!(["genre", {"attributePatterns": ["o.*"], "features": {}}]),
            _ => json!({
                "hits": [{"id": 7, "t": "unique and long", "_formatted": {"id": "7", "t": "unique…"}}],
                "estimatedTotalHits": 1, "processingTimeMs": 3, "facetDistribution": {"genre": {"Horror": 1}},
            }),
        };
        self.0.lock().push(call);
        Ok(answer)
    }
}

/// The result of a call, and the body of the request that it made last.
async fn called(name: &str, arguments: Value) -> (Value, Option<Value>) {
    let recorder = Recorder::default();
    let result = Tools::new(&recorder, None).call(name, &arguments).await.expect("a tool");
    let last = recorder.0.lock().pop();
    let body = match last {
        Some(Call::Fetch { body, .. } | Call::Search { body, .. }) => Some(body),
        _ => None,
    };
    (result, body)
}

async fn body(name: &str, arguments: Value) -> Value {
    let (result, body) = called(name, arguments).await;
    body.unwrap_or_else(|| panic!("{result}"))
}

async fn refusal(name: &str, arguments: Value) -> String {
    let (result, _) = called(name, arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().expect("text").to_owned()
}

#[tokio::test]
async fn values_may_be_written_as_models_write_them() {
    for id in [json!("3"), json!(3), json!(3.0)] {
        assert_eq!(body("fetch", json!({"index": "f", "ids": [id]})).await["ids"], json!(["3"]), "{id}");
        assert_eq!(body("fetch", json!({"index": "f", "ids": id})).await["ids"], json!(["3"]), "{id}");
        let explained = body("explain", json!({"index": "f", "q": "x", "document_id": id})).await;
        assert_eq!(explained["explain"]["documentId"], "3", "{id}");
    }
    assert_eq!(body("fetch", json!({"index": "f", "ids": "[1, \"b\"]"})).await["ids"], json!(["1", "b"]));
    for five in [json!(5), json!(5.0), json!("5"), json!(" 5.0 ")] {
        let sent = body("search", json!({"index": "f", "q": 1984, "limit": five, "offset": five})).await;
        assert_eq!((&sent["limit"], &sent["offset"], &sent["q"]), (&json!(5), &json!(5), &json!("1984")), "{five}");
    }
    let sent =
        body("search", json!({"index": "f", "q": "x", "sort": "year:desc", "filter": null, "matchingStrategy": "ALL"}));
    let sent = sent.await;
    assert_eq!((&sent["sort"], &sent["filter"]), (&json!(["year:desc"]), &Value::Null));
    assert_eq!(sent["matchingStrategy"], "all");
    let hybrid = json!("{\"embedder\": \"own\", \"semanticRatio\": \"0.25\"}");
    let sent = body("search", json!({"index": "f", "q": "x", "hybrid": hybrid})).await;
    assert_eq!(sent["hybrid"], json!({"embedder": "own", "semanticRatio": 0.25}));
    // All arguments as the text of an object.
    assert_eq!(body("search", json!("{\"index\": \"f\", \"q\": \"x\"}")).await["q"], "x");
}

#[tokio::test]
async fn what_is_wrong_names_the_argument_and_its_limits() {
    for (name, arguments, expected) in [
        ("search", json!({"index": "f"}), "`search` needs the argument `q`"),
        ("search", json!({"index": "f", "q": null}), "`search` needs the argument `q`"),
        ("search", json!({"index": "f", "q": "x", "p": 1}), "`search` has no argument `p`"),
        ("search", json!({"index": "f", "q": ["x"]}), "the argument `q` of `search` must be a string"),
        ("search", json!({"index": "f", "q": "x", "limit": 51}), "must be an integer from 1 to 50"),
        ("search", json!({"index": "f", "q": "x", "limit": 0}), "must be an integer from 1 to 50"),
        ("search", json!({"index": "f", "q": "x", "limit": 1.5}), "must be an integer from 1 to 50"),
        ("search", json!({"index": "f", "q": "x", "offset": -1}), "must be an integer of at least 0"),
        ("search", json!({"index": "f", "q": "x", "offset": 1e300}), "must be an integer of at least 0"),
        (
            "search",
            json!({"index": "f", "q": "x", "matching_strategy": "some"}),
            "one of `last`, `all`, `frequency`, `any`",
        ),
        ("search", json!({"index": "f", "q": "x", "hybrid": {}}), "`search` needs the argument `hybrid.embedder`"),
        ("search", json!({"index": "f", "q": "x", "hybrid": {"embedder": "e", "k": 1}}), "no argument `hybrid.k`"),
        (
            "search",
            json!({"index": "f", "q": "x", "hybrid": {"embedder": "e", "semantic_ratio": 2}}),
            "a number from 0 to 1",
        ),
        ("fetch", json!({"index": "f", "ids": []}), "must be an array of 1 to 100 strings"),
        ("fetch", json!({"index": "f", "ids": vec![1; 101]}), "must be an array of 1 to 100 strings"),
        ("fetch", json!({"index": "f", "ids": [[1]]}), "must be an array of 1 to 100 strings"),
    ] {
        let said = refusal(name, arguments).await;
        assert!(said.contains(expected), "{said}");
    }
    assert!(Tools::new(&Recorder::default(), None).call("search", &json!([1])).await.is_err());
}

#[tokio::test]
async fn every_id_is_fetched_and_fields_are_those_asked_for() {
    let ids: Vec<u32> = (0..100).collect();
    let sent = body("fetch", json!({"index": "f", "ids": ids, "fields": ["t"]})).await;
    assert_eq!((sent["ids"].as_array().map(Vec::len), &sent["limit"]), (Some(100), &json!(100)));
    assert_eq!(sent["fields"], json!(["t"]));
    let sent = body("search", json!({"index": "f", "q": "x", "fields": ["id"], "crop": ["t"], "crop_length": 3})).await;
    assert_eq!(sent["attributesToRetrieve"], json!(["id"]));
    assert_eq!((&sent["attributesToCrop"], &sent["cropLength"]), (&json!(["t"]), &json!(3)));
}

#[tokio::test]
async fn sentences_need_only_some_of_their_words() {
    let strategy = async |arguments: Value| body("search", arguments).await["matchingStrategy"].clone();
    let question = "which film is about a ship?";
    assert_eq!(strategy(json!({"index": "f", "q": question})).await, "any");
    assert_eq!(strategy(json!({"index": "f", "q": question, "matching_strategy": "all"})).await, "all");
    for other in [json!({"q": "a ship in space -"}), json!({"q": "\"which film is about a ship\""})] {
        let mut arguments = other;
        arguments["index"] = json!("f");
        assert_eq!(strategy(arguments).await, Value::Null);
    }
    assert_eq!(strategy(json!({"index": "f", "q": question, "sort": ["year:asc"]})).await, Value::Null);
}

#[tokio::test]
async fn each_result_is_given_once() {
    let (result, _) = called("search", json!({"index": "f", "q": "x", "crop": ["t"]})).await;
    assert_eq!(result.to_string().matches("unique").count(), 1, "{result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!(text, json!({"hits": [{"id": 7, "t": "unique…"}], "estimatedTotalHits": 1}));
    let (counts, _) = called("facets", json!({"index": "f", "facets": ["genre"]})).await;
    assert_eq!(counts["structuredContent"]["facetDistribution"]["genre"]["Horror"], 1);
}

#[tokio::test]
async fn descriptions_name_the_fields() {
    let listed = async |index: Option<&str>| Tools::new(&Recorder::default(), index.map(str::to_owned)).list().await;
    let bound = listed(Some("films")).await;
    let property = |tool: &Value, name: &str| tool["inputSchema"]["properties"][name]["description"].to_string();
    let search = bound.iter().find(|tool| tool["name"] == "search").expect("it is there");
    assert!(property(search, "filter").contains("Fields: `genre`, `o.*`"), "{search}");
    assert!(property(search, "sort").contains("Fields: `year`"), "{search}");
    assert!(property(search, "hybrid").contains("Embedders: `own`"), "{search}");
    let all = listed(None).await;
    let search = all.iter().find(|tool| tool["name"] == "search").expect("it is there");
    let index = property(search, "index");
    assert!(
        index.contains("`films`: filters and facets by `genre`, `o.*`; sorts by `year`; embedders `own`."),
        "{index}"
    );
    assert!(index.contains("`list_indexes` lists all"), "{index}");
    let recorder = Recorder::default();
    let (tools, none) = (Tools::new(&recorder, None), json!({}));
    let answer = tools.call("list_indexes", &none).await.expect("a tool");
    let text: Value = serde_json::from_str(answer["content"][0]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!(text["results"][0]["filterableAttributes"], json!(["genre", "o.*"]));
}

/// Values of a schema, as a program makes them from it.
fn values_of(schema: &Value) -> BoxedStrategy<Value> {
    match schema["type"].as_str().expect("a type") {
        "string" => match schema["enum"].as_array() {
            Some(values) => prop::sample::select(values.clone()).boxed(),
            None => ".{0,12}".prop_map(Value::from).boxed(),
        },
        "integer" => {
            let least = schema["minimum"].as_i64().unwrap_or(-1_000_000);
            (least..=schema["maximum"].as_i64().unwrap_or(1_000_000)).prop_map(Value::from).boxed()
        }
        "number" => {
            let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
            (least.unwrap_or(-1e9)..=most.unwrap_or(1e9)).prop_map(Value::from).boxed()
        }
        "array" => {
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            let most = schema["maxItems"].as_u64().unwrap_or(8) as usize;
            prop::collection::vec(values_of(&schema["items"]), least..=most).prop_map(Value::from).boxed()
        }
        "object" => objects_of(schema),
        other => panic!("no values of {other}"),
    }
}

fn objects_of(schema: &Value) -> BoxedStrategy<Value> {
    let required = schema["required"].as_array().expect("a list");
    let members: Vec<_> = schema["properties"]
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, schema)| {
            let (name, value) = (name.clone(), values_of(schema));
            let is_there = if required.contains(&json!(name)) { Just(true).boxed() } else { any::<bool>().boxed() };
            (Just(name), is_there, value)
        })
        .collect();
    let kept = |members: Vec<(String, bool, Value)>| -> Map<String, Value> {
        members.into_iter().filter(|(_, is_there, _)| *is_there).map(|(name, _, value)| (name, value)).collect()
    };
    members.prop_map(move |members| Value::Object(kept(members))).boxed()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(work)
}

#[test]
fn tools_take_what_their_schemas_allow() {
    let shown = block_on(Tools::new(&Recorder::default(), None).list());
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for tool in shown {
        let name = tool["name"].as_str().expect("a name").to_owned();
        let generated = values_of(&tool["inputSchema"]);
        let taken = runner.run(&generated, |arguments| {
            let (result, body) = block_on(called(&name, arguments.clone()));
            prop_assert_eq!(&result["isError"], &json!(false), "{} {}", arguments, result);
            if let Some(body) = body.filter(|body| body.get("q").is_some()) {
                prop_assert_eq!(&body["q"], &arguments["q"]);
            }
            Ok(())
        });
        taken.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
