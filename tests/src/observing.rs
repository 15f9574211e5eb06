//! What an operator sees of a running server: metrics and logs.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use crate::replication::{Group, after};
use crate::server::{Server, repository, until};

/// Every family that dashboards of the protocol's servers know, and those of the segments, without the first part of the name.
const FAMILIES: &str = "http_requests_total http_response_time_seconds degraded_search_requests \
    personalized_search_requests db_size_bytes used_db_size_bytes index_count index_docs_count index_segments_count \
    index_merging_segments index_merges_total index_merge_failed index_merge_out_of_space nb_tasks last_update \
    is_indexing search_queue_size searches_running searches_waiting_to_be_processed task_queue_latency_seconds \
    task_queue_max_size task_queue_used_size searches_without_hits_total slow_searches_total events_total recorded_searches_total unrecorded_searches_total heap_bytes uptime_seconds build_info task_queue_size_until_stop_registering batch_running_progress_trace \
    last_finished_batches_progress_trace_ms last_indexed_documents_count last_indexed_documents_duration_ms \
    scrubbed_bytes_total scrub_due_bytes index_damaged_sections chat_searches_total chat_prompt_tokens_total chat_completion_tokens_total chat_tokens_total";

/// Metrics of a server that publishes or follows, as `replication.rs` finds them.
const OF_REPLICATION: &str =
    "replication_lag_seconds replication_generation replication_failing replication_failures_total";

#[test]
fn metrics_are_behind_their_feature_and_report_what_happened() {
    let server = Server::start();
    server.get("/metrics").refused(400, "feature_not_enabled");
    server.patch("/experimental-features", json!({"metrics": true})).ok();
    server.add("films", json!([{"id": 1}, {"id": 2}]));
    server.search("films", json!({"q": ""}));
    server.get("/indexes/absent/stats").refused(404, "index_not_found");
    let answer = server.get("/metrics");
    assert_eq!(answer.status, 200);
    let has = |line: &str| assert!(answer.text.lines().any(|found| found == line), "{line}\n{}", answer.text);
    has("lamina_http_requests_total{method=\"POST\",path=\"/indexes/{indexUid}/search\",status=\"200\"} 1");
    has("lamina_http_requests_total{method=\"GET\",path=\"/indexes/{indexUid}/stats\",status=\"404\"} 1");
    has("lamina_index_docs_count{index=\"films\"} 2");
    has("lamina_index_segments_count{index=\"films\"} 1");
    has("lamina_index_merge_failed{index=\"films\"} 0");
    has("lamina_index_count 1");
    has("lamina_is_indexing 0");
    has("lamina_nb_tasks{kind=\"statuses\",value=\"succeeded\"} 1");
    has("lamina_nb_tasks{kind=\"types\",value=\"documentAdditionOrUpdate\"} 1");
    has("lamina_nb_tasks{kind=\"indexes\",value=\"films\"} 1");
    has("lamina_search_queue_size 1000");
    has("# TYPE lamina_http_response_time_seconds histogram");
    has("lamina_last_indexed_documents_count{batch_uid=\"0\",index=\"films\"} 2");
    for family in FAMILIES.split_whitespace() {
        assert!(answer.text.contains(&format!("# TYPE lamina_{family} ")), "{family}");
    }
    #[cfg(target_os = "linux")]
    {
        let gauge = |name: &str| -> u64 {
            let line = answer.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("no `{name}`")).parse().unwrap()
        };
        let (resident, heap) = (gauge("process_resident_memory_bytes"), gauge("lamina_heap_bytes"));
        assert!(heap > 1 << 20, "{resident} {heap}");
        assert!(resident > heap, "{resident} {heap}");
    }
    let batch = server.get("/batches/0").ok();
    assert!(batch["stats"]["progressTrace"]["processing tasks > committing"].is_string(), "{batch}");
    // Every sample belongs to the family above it, and every family is shown once.
    let mut families = Vec::new();
    for line in answer.text.lines() {
        match line.strip_prefix("# TYPE ") {
            Some(rest) => families.push(rest.split(' ').next().unwrap().to_owned()),
            None if line.starts_with('#') => {}
            None => assert!(line.starts_with(families.last().unwrap().as_str()), "{line}"),
        }
    }
    let count = families.len();
    families.sort();
    families.dedup();
    assert_eq!(families.len(), count);
}

/// A dashboard of series that nothing reports stays empty, and an alert about them silent.
#[test]
fn dashboards_and_alerts_read_metrics_that_there_are() {
    let folder = repository().join("packaging/grafana");
    let known: Vec<&str> = FAMILIES.split_whitespace().chain(OF_REPLICATION.split_whitespace()).collect();
    for file in ["dashboard.json", "alerts.yaml"] {
        let text = std::fs::read_to_string(folder.join(file)).expect("a file of packaging");
        let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let names: Vec<&str> = names.filter_map(|name| name.strip_prefix("lamina_")).collect();
        assert!(names.len() > 5, "{file}");
        for name in names {
            let family = name.strip_suffix("_bucket").unwrap_or(name);
            assert!(known.contains(&family), "{file}: nothing reports lamina_{name}");
        }
    }
    let dashboard = std::fs::read_to_string(folder.join("dashboard.json")).expect("a file of packaging");
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).expect("JSON");
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() > 10));
}

/// The names in the headings of the page, and those that servers report: of one alone, a writer and a replica.
#[test]
fn the_page_of_metrics_has_what_servers_report() {
    let page = std::fs::read_to_string(repository().join("docs/reference/metrics.md")).expect("the page");
    let described: BTreeSet<String> =
        page.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned).collect();
    let group = Group::new();
    let writer = group.writer();
    writer.patch("/experimental-features", json!({"metrics": true})).ok();
    let task = writer.add("films", json!([{"id": 1}]));
    let replica = group.replica();
    after(&replica, &task, "/indexes");
    let alone = Server::with_options(&["--metrics"]);
    let mut reported = BTreeSet::new();
    for server in [&writer, &replica, &alone] {
        let text = server.get("/metrics").text;
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        reported.extend(types.filter_map(|line| line.split(' ').next()).map(str::to_owned));
    }
    let of_writes: Vec<&String> = reported.difference(&described).collect();
    assert!(of_writes.is_empty(), "reported, and not on the page: {of_writes:?}");
    // Known only once a scrape comes while it happens.
    let unreported: Vec<&String> = described.difference(&reported).collect();
    assert!(unreported.is_empty(), "on the page, and not reported: {unreported:?}");
}

#[test]
fn what_happened_before_the_feature_was_on_is_counted() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "Alien"}]));
    server.search("films", json!({"q": "alien"}));
    for q in ["zzz", "zzz", "yyy"] {
        server.search("films", json!({"q": q}));
    }
    let queries = json!([{"indexUid": "films", "q": "zzz"}, {"indexUid": "films", "q": "alien"}]);
    server.post("/multi-search", json!({"queries": queries})).ok();
    server.post("/multi-search", json!({"federation": {}, "queries": queries})).ok();
    server.get("/metrics").refused(400, "feature_not_enabled");
    server.patch("/experimental-features", json!({"metrics": true})).ok();
    let text = server.get("/metrics").text;
    let has = |line: &str| assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    has("lamina_http_requests_total{method=\"POST\",path=\"/indexes/{indexUid}/search\",status=\"200\"} 4");
    has("lamina_searches_without_hits_total 5");
    let build = format!("lamina_build_info{{version=\"{}\",commit=\"", env!("CARGO_PKG_VERSION"));
    assert!(text.lines().any(|line| line.starts_with(&build) && line.ends_with("\"} 1")), "{text}");
    assert!(text.contains("path=\"/indexes/{indexUid}/search\",le=\"0.00025\"}"), "{text}");
    let number = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no `{name}`")).parse().expect("a number")
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs_f64();
    let (started, uptime) = (number("process_start_time_seconds"), number("lamina_uptime_seconds"));
    assert!((now - started - uptime).abs() < 60.0, "{now} {started} {uptime}");
    #[cfg(target_os = "linux")]
    {
        assert!(number("process_cpu_seconds_total") > 0.0);
        assert!(number("process_open_fds") > 3.0);
        assert!(number("process_max_fds") >= number("process_open_fds"));
    }
}

#[test]
fn the_last_hours_are_there_for_charts() {
    let server = Server::start();
    let history = |query: &str| server.get(&format!("/stats/history{query}")).ok();
    server.add("films", json!([{"id": 1, "title": "Alien"}]));
    for _ in 0..20 {
        server.search("films", json!({"q": "alien"}));
    }
    let last = |name: &str| history("")[name].as_array().and_then(|list| list.last().cloned()).expect("a list");
    assert!(last("searchesPerSecond").as_f64() > Some(0.0));
    assert!(last("requestsPerSecond").as_f64() > last("searchesPerSecond").as_f64());
    assert!(last("searchP99Ms").as_f64() >= last("searchP50Ms").as_f64());
    assert!(last("memoryBytes").as_u64() > Some(1 << 20));
    assert!(last("diskBytes").as_u64() > Some(1000));
    assert_eq!(last("waitingTasks"), 0);
    let held = server.hold_queue();
    server.post("/indexes/films/documents", json!([{"id": 2}]));
    assert_ne!(last("waitingTasks"), 0);
    server.release_queue(held);
    for (query, window, seconds) in [
        ("", "1h", 15),
        ("?window=15m", "15m", 15),
        ("?window=1h", "1h", 15),
        ("?window=6h", "6h", 60),
        ("?window=24h", "24h", 60),
    ] {
        let found = history(query);
        assert_eq!(found["window"], window);
        assert_eq!(found["stepSeconds"], seconds);
        let lists = found.as_object().expect("an object").values().filter_map(|value| value.as_array());
        let lengths: BTreeSet<usize> = lists.map(Vec::len).collect();
        assert_eq!(lengths.len(), 1, "{found}");
    }
    for (query, code) in [
        ("?window=2h", "invalid_stats_window"),
        ("?window=", "invalid_stats_window"),
        ("?window=-1h", "invalid_stats_window"),
        ("?windows=1h", "bad_request"),
    ] {
        server.get(&format!("/stats/history{query}")).refused(400, code);
    }
    assert!(server.get("/stats/history?window=2h").body["message"].as_str().unwrap().contains("`15m`"));
}

#[test]
fn the_last_hours_need_a_key_for_all_indexes() {
    let server = Server::with_options(&["--master-key", "0123456789abcdef"]).with_key("0123456789abcdef");
    let key = |actions: &[&str], indexes: &[&str]| {
        let body = json!({"actions": actions, "indexes": indexes, "expiresAt": null});
        server.post("/keys", body).ok()["key"].as_str().expect("a key").to_owned()
    };
    let ask = |key: &str| {
        server.send(reqwest::blocking::Client::new().get(format!("{}/stats/history", server.url)).bearer_auth(key))
    };
    ask(&key(&["metrics.get"], &["*"])).ok();
    ask(&key(&["*"], &["films"])).refused(403, "invalid_api_key");
    ask(&key(&["stats.get", "search"], &["*"])).refused(403, "invalid_api_key");
}

#[test]
fn slow_searches_and_failed_documents_are_logged() {
    let server = Server::with_options(&["--slow-search-ms", "1"]);
    server.add("films", (0..3000).map(|id| json!({"id": id, "title": format!("alien {id} {}", id * 7)})).collect());
    let slow = |text: &str| server.log().lines().any(|line| line.contains("slow search") && line.contains(text));
    let bodies = [
        json!({"q": "alein 1\n2", "showRankingScoreDetails": true, "limit": 1000}),
        json!({"q": "alein 12345", "showRankingScoreDetails": true, "limit": 1000, "matchingStrategy": "any"}),
    ];
    let mut bodies = bodies.iter().cycle();
    until(|| {
        server.search("films", bodies.next().expect("one of two").clone());
        slow("index=\"films\"") && slow("alein")
    });
    let line = server.log().lines().find(|line| line.contains("slow search")).expect("a line").to_owned();
    assert!(line.contains("WARN"), "{line}");

    for (documents, code) in
        [(json!([{"id": "a b"}]), "invalid_document_id"), (json!([{"no": 1}]), "missing_document_id")]
    {
        server.fails(&server.post("/indexes/films/documents", documents), code);
    }
    server.wait_for_log_lines("tasks failed; `reason` is that of the first one", 2);
    let log = server.log();
    let line = log.lines().find(|line| line.contains("tasks failed")).expect("a line");
    for part in ["WARN", "invalid_document_id", "a b", "failed=1"] {
        assert!(line.contains(part), "{part}: {line}");
    }

    let quiet = Server::with_options(&["--slow-search-ms", "0"]);
    quiet.add("films", json!([{"id": 1}]));
    quiet.search("films", json!({"q": "alein"}));
    assert!(!quiet.log().contains("slow search"));
    for wrong in ["-1", "x", "1s"] {
        let output = crate::server::command(quiet.folder(), &[]).args(["--slow-search-ms", wrong]).output();
        let said = String::from_utf8_lossy(&output.expect("the binary starts").stderr).into_owned();
        assert!(said.contains("--slow-search-ms"), "{said}");
    }
}

#[test]
fn one_client_at_a_time_reads_the_logs() {
    let server = Server::start();
    for path in ["/logs/stream", "/logs/stderr"] {
        server.post(path, json!({})).refused(400, "feature_not_enabled");
        server.post(path, json!({"foo": 1})).refused(400, "bad_request");
        let empty = server.request(Method::POST, path).header("content-type", "application/json").send();
        assert!(empty.expect("an answer").text().expect("text").contains("missing_payload"));
    }
    server.patch("/experimental-features", json!({"logsRoute": true})).ok();
    let listen = || {
        let body = json!({"mode": "json", "target": "lamina_server=debug"});
        server.request(Method::POST, "/logs/stream").json(&body).send().expect("an answer")
    };
    let stream = listen();
    assert_eq!((stream.status().as_u16(), &stream.headers()["x-accel-buffering"]), (200, &"no".parse().unwrap()));
    server.post("/logs/stream", json!({})).refused(400, "bad_request");
    server.add("films", json!([{"id": 1}]));
    let mut lines = BufReader::new(stream).lines();
    let batch = lines.by_ref().map(|line| line.expect("a line")).find(|line| line.contains("batch finished")).unwrap();
    let line: serde_json::Value = serde_json::from_str(&batch).expect("an object a line");
    assert_eq!((&line["target"], &line["index"]), (&json!("lamina_server::work::worker::scheduler"), &json!("films")));
    assert_eq!(server.delete("/logs/stream").status, 204);
    assert!(lines.all(|line| line.is_ok()), "the stream ends");

    // A listener that goes away makes room for the next one.
    drop(listen());
    let start = Instant::now();
    while listen().status() != 200 {
        server.get("/tasks");
        assert!(start.elapsed() < Duration::from_secs(300));
    }
}

#[test]
fn the_console_shows_what_is_asked_for() {
    let server = Server::start();
    server.patch("/experimental-features", json!({"logsRoute": true})).ok();
    server.get("/version").ok();
    assert!(!server.log().contains("path=\"/version\""), "requests are logged at DEBUG only");
    assert_eq!(server.post("/logs/stderr", json!({"target": "lamina_server=debug"})).status, 204);
    server.get("/version").ok();
    assert!(server.log().contains("path=\"/version\""), "{}", server.log());
    for (body, part) in [
        (json!({"target": ""}), "Empty string is not a valid target. If you want to get no logs use `OFF`. Usage:"),
        (json!({"target": "a=b=c"}), "Invalid value at `.target`"),
        (json!({"target": 3}), "Invalid value type at `.target`"),
        (json!({"colour": 3}), "Unknown field `colour`"),
    ] {
        let answer = server.post("/logs/stderr", body);
        answer.refused(400, "bad_request");
        assert!(answer.body["message"].as_str().unwrap().contains(part), "{}", answer.text);
    }
    let answer = server.post("/logs/stream", json!({"mode": "tamo"}));
    answer.refused(400, "bad_request");
    assert!(answer.body["message"].as_str().unwrap().starts_with("Unknown value `tamo` at `.mode`: expected one of"));
}

/// Everything that the description promises is there: no route answers as if it did not exist.
#[test]
fn the_description_lists_nothing_that_is_not_there() {
    let server = Server::start();
    server.patch("/experimental-features", json!({"metrics": true, "logsRoute": true})).ok();
    server.add("films", json!([{"id": 1}]));
    let document = server.get("/openapi.json").ok();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() > 25);
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().expect("operations") {
            if path == "/logs/stream" {
                continue; // Never ends.
            }
            let filled = path
                .replace("{indexUid}", "films")
                .replace("{documentId}", "1")
                .replace("{taskUid}", "0")
                .replace("{batchUid}", "0")
                .replace("{key}", "some-key")
                .replace("{uuid}", "some-uuid")
                .replace("{alias}", "some-alias")
                .replace("{ruleUid}", "some-rule")
                .replace("{list}", "queries");
            let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).unwrap();
            let answer = server.send(server.request(method.clone(), &filled));
            assert_ne!(answer.status, 405, "{method} {path}");
            assert!(answer.status < 500, "{method} {path}: {}", answer.text);
            // An unknown route has an empty answer.
            assert!(answer.status != 404 || !answer.text.is_empty(), "{method} {path}");
            if answer.status >= 400 {
                assert!(answer.body["code"].is_string(), "{method} {path}: {}", answer.text);
            } else {
                let promised = &operation["responses"][answer.status.to_string()];
                assert!(promised.is_object(), "{method} {path}: {}", answer.status);
            }
        }
    }
}
