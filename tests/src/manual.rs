//! The manual at `/docs`, and its search.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;

use crate::server::{Server, repository};

/// The paths of what a query finds.
fn found(server: &Server, query: &str) -> Vec<String> {
    let request = server.request(Method::GET, &format!("/docs/search?q={}", query.replace(' ', "+")));
    let answer = server.send(request).ok();
    let path = |hit: &Value| hit["path"].as_str().expect("a path").to_owned();
    answer["hits"].as_array().expect("a list").iter().map(path).collect()
}

/// The same list that the site's own search has to pass, without an exception.
#[test]
fn each_query_finds_its_page_first() {
    let server = Server::start();
    let path = repository().join("tests/page/site-queries.txt");
    let queries = std::fs::read_to_string(path).expect("a list of queries");
    let (mut count, mut wrong) = (0, Vec::new());
    for line in queries.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (query, pages) = line.split_once('|').expect("a query and its pages");
        let found = found(&server, query.trim());
        let first = found.first().and_then(|path| path.split('#').next()).unwrap_or_default();
        if !pages.split('|').any(|page| page.trim() == first) {
            wrong.push(format!("{}: expected{pages}, found {:?}", query.trim(), &found[..found.len().min(4)]));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 60, "{count} queries");
}

#[test]
fn hits_lead_to_their_place() {
    let server = Server::start();
    let hits = found(&server, "restore from a bucket");
    assert!(hits.len() > 3, "{hits:?}");
    let pages: BTreeSet<&str> = hits.iter().filter_map(|hit| hit.split('#').next()).collect();
    assert!(pages.len() * 2 >= hits.len(), "at most two of a page: {hits:?}");
    for hit in &hits {
        let (path, anchor) = hit.split_once('#').unwrap_or((hit, ""));
        let page = server.request(Method::GET, &format!("/docs/{path}")).send().expect("an answer");
        assert_eq!(page.status(), 200, "{hit}");
        let text = page.text().expect("text");
        assert!(anchor.is_empty() || text.contains(&format!(" id=\"{anchor}\"")), "{hit}");
    }
}

#[test]
fn bad_queries_are_refused_and_odd_ones_answered() {
    let server = Server::start();
    let ask = |query: &str| server.send(server.request(Method::GET, &format!("/docs/search{query}")));
    for empty in ["", "?q=", "?q=%20%20", "?q=%22%22", "?q=-", "?q=%F0%9F%98%80", "?q=xqzvwkjh"] {
        assert_eq!(ask(empty).ok()["hits"], serde_json::json!([]), "{empty}");
    }
    for odd in ["%00", "%FF%FE", "%3Cscript%3E", "%22typo%20tolerance", "-synonyms", "a%0Ab"] {
        assert!(ask(&format!("?q={odd}")).ok()["hits"].is_array(), "{odd}");
    }
    assert!(ask(&format!("?q={}", "é".repeat(200))).ok()["hits"].is_array());
    ask(&format!("?q={}", "e".repeat(201))).refused(400, "invalid_search_q");
    ask("?q=a&q=b").refused(400, "invalid_search_q");
    ask("?limit=3").refused(400, "bad_request");
}

#[test]
fn pages_that_are_not_there_are_named() {
    let server = Server::start();
    for path in ["how-to/nothing", "start/synonyms", "how-to/..%2F..%2FCargo", "%FF/a", "decisions/README"] {
        server.get(&format!("/docs/{path}")).refused(404, "manual_page_not_found");
    }
    let answer = server.request(Method::GET, "/docs/how-to/synonyms/more").send().expect("an answer");
    assert_eq!(answer.status(), 404);
}

/// The index is none of the user: nothing lists it, and nothing copies it.
#[test]
fn the_index_of_the_manual_is_not_among_those_of_the_user() {
    let server = Server::start();
    let before = server.get("/stats").ok();
    assert_eq!(found(&server, "typo tolerence")[0], "how-to/typo-tolerance");
    assert_eq!(server.get("/indexes").ok()["total"], 0);
    let after = server.get("/stats").ok();
    assert_eq!(after["indexes"], before["indexes"]);
    assert_eq!(after["databaseSize"], before["databaseSize"], "it takes no disk");
    assert_eq!(server.get("/tasks").ok()["total"], 0);
}
