//! Searches over several servers, with real ones, with some that fail, and with some that are not there.

use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::keys::{self, MASTER};
use crate::receiver::{Behaviour, Receiver};
use crate::server::{Server, UNREACHABLE};

const LOCAL: [&str; 2] = ["--experimental-allowed-ip-networks", "127.0.0.0/8"];

/// A server with a master key and the network switched on.
fn member() -> Server {
    let server = keys::start(&LOCAL).with_key(MASTER);
    server.patch("/experimental-features", json!({"network": true})).ok();
    server
}

fn settings() -> Value {
    json!({"filterableAttributes": ["genre", "year"], "sortableAttributes": ["year"]})
}

fn films(ids: impl Iterator<Item = u64>) -> Value {
    let words = ["alien", "aliens return", "the alien planet", "planet of the aliens", "a long walk to the alien sea"];
    let film = |id: u64| {
        let (title, genre) = (words[(id % 5) as usize], ["War", "Noir"][(id % 2) as usize]);
        json!({"id": id, "title": format!("{title} part{id}"), "year": 1950 + id * 7 % 60, "genre": genre})
    };
    ids.map(film).collect()
}

/// Two servers with a half of the films each, the first of which knows the second as `far`; and one with all of them,
/// the halves as indexes `near` and `far`.
fn halves() -> (Server, Server, Server) {
    let (near, far, whole) = (member(), member(), member());
    for (server, index, rest) in [(&near, "films", 0), (&far, "films", 1), (&whole, "near", 0), (&whole, "far", 1)] {
        server.set(index, settings());
        server.add(index, films((0..60).filter(|id| id / 5 % 2 == rest)));
    }
    let key = keys::value(&keys::make(&far, &["search"], &["films"]));
    let network = json!({"self": "near", "remotes": {"far": {"url": far.url, "searchApiKey": key}}});
    near.patch("/network", network).ok();
    (near, far, whole)
}

fn search(server: &Server, body: Value) -> Value {
    server.post("/multi-search", body).ok()
}

fn ids(answer: &Value) -> Vec<u64> {
    answer["hits"].as_array().expect("hits").iter().map(|hit| hit["id"].as_u64().expect("an id")).collect()
}

#[test]
fn the_network_is_kept() {
    let mut server = keys::start(&[]).with_key(MASTER);
    server.get("/network").refused(400, "feature_not_enabled");
    server.patch("/network", json!({})).refused(400, "feature_not_enabled");
    server.patch("/network", json!({"foo": 1})).refused(400, "bad_request");
    server.patch("/experimental-features", json!({"network": true})).ok();
    let empty = json!({
        "self": null, "remotes": {}, "leader": null, "shards": {}, "version": "00000000-0000-0000-0000-000000000000"
    });
    assert_eq!(server.get("/network").ok(), empty);
    let changed = server
        .patch("/network", json!({"self": "a", "remotes": {"b": {"url": "http://b.org", "searchApiKey": "k"}, "c": {"url": "http://c.org"}}}))
        .ok();
    assert_eq!(
        changed["remotes"]["b"],
        json!({"url": "http://b.org", "searchApiKey": "k", "writeApiKey": null, "status": "available"})
    );
    server.patch("/network", json!({"remotes": {"c": null}, "leader": null})).ok();
    server.kill();
    server.start_again();
    let kept = server.get("/network").ok();
    assert_eq!((&kept["self"], kept["remotes"].as_object().unwrap().len()), (&json!("a"), 1));
    for (body, code) in [
        (json!({"remotes": {"d": {}}}), "missing_network_url"),
        (json!({"remotes": {"b": {"url": null}}}), "invalid_network_url"),
        (json!({"remotes": {"b": {"url": "nope"}}}), "invalid_network_url"),
        (json!({"remotes": {"b": {"doggo": 1}}}), "invalid_network_remotes"),
        (json!({"self": 1}), "invalid_network_self"),
        (json!({"doggo": 1}), "bad_request"),
    ] {
        server.patch("/network", body).refused(400, code);
    }
    server.patch("/network", json!({"leader": "a"})).refused(451, "requires_enterprise_edition");
    assert_eq!(server.get("/network").ok(), kept);
}

#[test]
fn two_servers_answer_like_one() {
    let (near, far, whole) = halves();
    let facets = |indexes: &[&str]| -> Value {
        indexes
            .iter()
            .map(|index| ((*index).to_owned(), json!(["genre", "year"])))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    for (query, federation) in [
        (json!({"q": "alien planet"}), json!({"limit": 60})),
        (json!({"q": "alien", "sort": ["year:desc"], "filter": "year > 1960"}), json!({"offset": 5, "limit": 20})),
        (json!({"sort": ["year:asc"]}), json!({"page": 2, "hitsPerPage": 7})),
        (json!({"q": "the alien"}), json!({"limit": 3, "mergeFacets": {}})),
    ] {
        let body = |indexes: [&str; 2], remote: Value| {
            let mut queries = [query.clone(), query.clone()];
            let weights = [json!({}), json!({"remote": remote, "weight": 0.9})];
            for ((one, index), options) in queries.iter_mut().zip(indexes).zip(weights) {
                one["indexUid"] = index.into();
                one["federationOptions"] = options;
            }
            let mut federation = federation.clone();
            federation["facetsByIndex"] = facets(&indexes);
            json!({"federation": federation, "queries": queries})
        };
        let (spread, single) =
            (search(&near, body(["films", "films"], json!("far"))), search(&whole, body(["near", "far"], Value::Null)));
        assert_eq!(ids(&spread), ids(&single), "{query} {federation}");
        for (one, other) in spread["hits"].as_array().unwrap().iter().zip(single["hits"].as_array().unwrap()) {
            let (one, other) = (&one["_federation"], &other["_federation"]);
            assert_eq!(one["weightedRankingScore"], other["weightedRankingScore"]);
            assert_eq!(one["queriesPosition"], other["queriesPosition"]);
            assert_eq!(one["remote"], ["near", "far"][one["queriesPosition"].as_u64().unwrap() as usize]);
            assert!(one.get("weightedScoreValues").is_none(), "{one}");
        }
        for field in ["limit", "offset", "estimatedTotalHits", "page", "totalPages", "totalHits", "facetDistribution"] {
            assert_eq!(spread[field], single[field], "{field} of {query}");
        }
        assert_eq!(spread["remoteErrors"], json!({}));
    }
    drop(far);
}

/// Checks that the listed values of a merged facet, and their counts, do not depend on the lists that each server
/// would show on its own.
#[test]
fn facets_of_two_servers_are_exact() {
    let kind = |server: u64, id: u64| match (server, id) {
        // Of each server, one value leads its own counts; "Zebra" leads the sums, in another case on the second server.
        (0, 0..5) | (1, 60..65) => format!("own {server}"),
        (_, 5..9) => ["Zebra", "zebra"][server as usize].to_owned(),
        _ => format!("{} {id}", ["A", "b"][server as usize]),
    };
    let documents = |server: u64| -> Value {
        let document = |id: u64| json!({"id": id * 2 + server, "kind": kind(server, id), "size": id % 12});
        (server * 60..server * 60 + 60).chain(if server == 1 { 5..9 } else { 0..0 }).map(document).collect()
    };
    let servers = [member(), member()];
    let faceting = |order: &str| json!({"maxValuesPerFacet": 3, "sortFacetValuesBy": {"kind": order}});
    for (at, server) in (0..).zip(&servers) {
        server.set("things", json!({"filterableAttributes": ["kind", "size"], "faceting": faceting("count")}));
        server.add("things", documents(at));
    }
    let [near, far] = &servers;
    near.patch("/network", json!({"self": "near", "remotes": {"far": {"url": far.url, "searchApiKey": MASTER}}})).ok();
    let spread = |federation: Value| {
        let far = json!({"indexUid": "things", "federationOptions": {"remote": "far"}});
        near.post("/multi-search", json!({"federation": federation, "queries": [{"indexUid": "things"}, far]}))
    };
    let by_index = json!({"things": ["kind", "size"]});
    let by_count = json!({"Zebra": 8, "own 0": 5, "own 1": 5});
    // As text: the order counts.
    let shown = |facet: &Value| facet.to_string();
    for order in ["count", "alpha"] {
        for server in &servers {
            server.set("things", json!({"faceting": faceting(order)}));
        }
        let kinds = match order {
            "count" => by_count.clone(),
            _ => json!({"A 10": 1, "A 11": 1, "A 12": 1}),
        };
        let sizes = json!({"0": 10, "1": 10, "2": 10});
        let plain = near.search("things", json!({"useNetwork": true, "facets": ["kind", "size"]}));
        let shown_apart = spread(json!({"facetsByIndex": by_index}));
        for facets in [&plain["facetDistribution"], &shown_apart.body["facetsByIndex"]["things"]["distribution"]] {
            assert_eq!(shown(&facets["kind"]), shown(&kinds), "{order}");
            assert_eq!(shown(&facets["size"]), shown(&sizes), "numbers by value, {order}");
        }
        assert_eq!(plain["facetStats"]["size"], json!({"min": 0.0, "max": 11.0}));
        assert_eq!(shown_apart.limits.as_deref(), Some("maxValuesPerFacet:kind, maxValuesPerFacet:size"));
        let merged = |values: usize| {
            let merge = json!({"maxValuesPerFacet": values});
            spread(json!({"facetsByIndex": by_index, "mergeFacets": merge}))
        };
        assert_eq!(shown(&merged(3).body["facetDistribution"]["kind"]), shown(&kinds), "{order}");
        let all = merged(1000);
        assert_eq!(all.limits, None);
        let values = all.body["facetDistribution"]["kind"].as_object().unwrap();
        assert_eq!(values.len(), 3 + 51 + 55, "all of them, though each server would list three: {values:?}");
        assert_eq!(values["Zebra"], 8);
    }
}

#[test]
fn a_value_is_shown_once_though_no_one_shows_it() {
    let [near, far] = [member(), member()];
    for (server, first, kinds) in [(&near, 0, &["a", "b"][..]), (&far, 10, &["a", "b", "c"])] {
        let document = |(id, kind): (u64, &&str)| json!({"id": id, "kind": kind});
        server.set("things", json!({"filterableAttributes": ["kind"], "displayedAttributes": ["id"]}));
        server.add("things", (first..).zip(kinds.iter().cycle().take(6)).map(document).collect());
    }
    near.patch("/network", json!({"self": "near", "remotes": {"far": {"url": far.url, "searchApiKey": MASTER}}})).ok();
    let far_query = json!({"indexUid": "things", "federationOptions": {"remote": "far"}});
    let queries = json!([{"indexUid": "things"}, far_query]);
    let answer = near.post("/multi-search", json!({"federation": {"distinct": "kind"}, "queries": queries})).ok();
    assert_eq!(ids(&answer), [0, 1, 12], "{answer}");
    assert!(answer["hits"].as_array().unwrap().iter().all(|hit| hit["_federation"].get("distinctValues").is_none()));
}

#[test]
fn who_fails_is_named_and_the_others_answer() {
    let stalling = Receiver::start([Behaviour::Stall]);
    let odd = Receiver::start([Behaviour::Answer(200)]);
    // As a server answers that does not know who asks: without the values that sorts are merged by.
    let hit =
        json!({"id": 10, "_federation": {"indexUid": "films", "queriesPosition": 0, "weightedRankingScore": 1.0}});
    let plain = json!({"hits": [hit], "processingTimeMs": 0, "limit": 20, "offset": 0, "estimatedTotalHits": 1});
    let unaware = Receiver::start([Behaviour::Say(200, "content-type: application/json\r\n", plain.to_string())]);
    // Asked again, since that may pass.
    let failing = Receiver::start([500; 3].map(Behaviour::Answer));
    let far = member();
    far.add("films", films(10..12));
    let mut near = member();
    near.add("films", films(0..10));
    let servers = [
        ("wrong_key", far.url.as_str(), "remote_invalid_api_key"),
        ("odd", odd.url.as_str(), "remote_bad_response"),
        ("unaware", unaware.url.as_str(), "remote_bad_response"),
        ("failing", failing.url.as_str(), "remote_remote_error"),
        ("absent", UNREACHABLE, "remote_could_not_send_request"),
        ("private", "http://10.0.0.1", "remote_could_not_send_request"),
    ];
    let remotes: serde_json::Map<String, Value> = servers
        .iter()
        .map(|(name, url, _)| ((*name).to_owned(), json!({"url": url, "searchApiKey": "wrong"})))
        .collect();
    near.patch("/network", json!({"self": "near", "remotes": remotes})).ok();
    near.patch("/network", json!({"remotes": {"stalling": {"url": stalling.url}}})).ok();
    near.patch("/network", json!({"remotes": {"far": {"url": far.url, "searchApiKey": MASTER}}})).ok();
    let ask = |near: &Server, name: &str, index: &str| {
        let far = json!({"indexUid": index, "q": "alien", "federationOptions": {"remote": name}});
        search(near, json!({"federation": {}, "queries": [{"indexUid": "films", "q": "alien"}, far]}))
    };
    let check = |near: &Server, name: &str, code: &str| {
        let answer = ask(near, name, "films");
        assert_eq!(answer["hits"].as_array().unwrap().len(), 10, "{name}: {answer}");
        let error = &answer["remoteErrors"][name];
        assert_eq!(error["code"], code, "{name}: {answer}");
        assert!(["message", "type", "link"].iter().all(|key| error[key].is_string()), "{error}");
    };
    for (name, _, code) in servers {
        check(&near, name, code);
    }
    (0..3).for_each(|_| drop(failing.next()));
    failing.nothing_more();
    assert_eq!(ask(&near, "far", "nowhere")["remoteErrors"]["far"]["code"], "remote_bad_request");
    let answer = ask(&near, "far", "films");
    assert_eq!((answer["hits"].as_array().unwrap().len(), &answer["remoteErrors"]), (12, &json!({})));
    // With a patience that servers which do answer could not rely on.
    near.terminate();
    let hasty = ["--master-key", MASTER, "SVC_EXPERIMENTAL_REMOTE_SEARCH_TIMEOUT_SECONDS=1"];
    let near = near.with_other_options(&[&LOCAL[..], &hasty].concat());
    check(&near, "stalling", "remote_timeout");
}

#[test]
fn what_cannot_be_spread_is_refused() {
    let server = member();
    server.add("films", films(0..3));
    let remote = |name: &str| json!([{"indexUid": "films", "federationOptions": {"remote": name}}]);
    let unknown = json!({"federation": {}, "queries": remote("unknown")});
    server.post("/multi-search", unknown).refused(400, "invalid_multi_search_remote");
    let unmerged = server.post("/multi-search", json!({"queries": remote("unknown")}));
    unmerged.refused(400, "invalid_multi_search_federation_options");
    server.patch("/experimental-features", json!({"network": false})).ok();
    let switched_off = json!({"federation": {}, "queries": remote("unknown")});
    server.post("/multi-search", switched_off).refused(400, "feature_not_enabled");
}

/// The other server knows nothing of the tenant: its rules travel with the queries.
#[test]
fn tenants_see_no_more_of_other_servers() {
    let (near, _far, _) = halves();
    let key = keys::make(&near, &["search"], &["films"]);
    let claims = json!({"apiKeyUid": key["uid"], "searchRules": {"films": {"filter": "genre = War"}}});
    let token = encode(&Header::default(), &claims, &EncodingKey::from_secret(keys::value(&key).as_bytes())).unwrap();
    let far = |filter: &str| json!({"indexUid": "films", "filter": filter, "federationOptions": {"remote": "far"}});
    let body = json!({"federation": {"limit": 100}, "queries": [far("year > 1900"), far("genre = Noir OR year > 0")]});
    let answer = keys::ask(&near, &token, "POST", "/multi-search", &body).ok();
    let hits = answer["hits"].as_array().unwrap();
    assert!(!hits.is_empty(), "{answer}");
    assert!(hits.iter().all(|hit| hit["genre"] == "War"), "{answer}");
    // Why a document is none of theirs is no business of theirs.
    let explained = |explain: Value| {
        let mut query = far("year > 1900");
        query["explain"] = explain;
        let body = json!({"federation": {}, "queries": [query]});
        keys::ask(&near, &token, "POST", "/multi-search", &body)
    };
    explained(json!({"documentId": 1})).refused(400, "invalid_search_explain");
    let spread = json!({"useNetwork": true, "explain": {"documentId": 1}});
    keys::ask(&near, &token, "POST", "/indexes/films/search", &spread).refused(400, "invalid_search_explain");
    let answered = explained(json!(true)).ok();
    assert!(answered["explanations"][0]["explanation"]["rules"].is_array(), "{answered}");
    let other = json!({"federation": {}, "queries": [{"indexUid": "other", "federationOptions": {"remote": "far"}}]});
    keys::ask(&near, &token, "POST", "/multi-search", &other).refused(403, "invalid_api_key");
}

/// Checks the explanation of each server's list, and whether the document is a hit in all of them.
#[test]
fn searches_of_several_servers_are_explained() {
    let (near, far, _) = halves();
    let plain = near.search("films", json!({"q": "alien", "useNetwork": true, "limit": 4}));
    assert_eq!(plain.get("explanations"), None);
    let remote = |hit: &Value| hit["_federation"]["remote"].clone();
    let hits = plain["hits"].as_array().unwrap();
    let last = hits.last().unwrap();
    let (server, id) = (remote(last), last["id"].clone());
    let of_document = |answer: &Value| {
        let answered = answer["explanations"].as_array().unwrap().iter();
        let answered = answered.filter(|answered| answered["remote"] == server).collect::<Vec<_>>();
        assert_eq!(answered.len(), 1, "{answer}");
        answered[0]["explanation"]["document"].clone()
    };
    let ask = |limit: u64| json!({"q": "alien", "useNetwork": true, "limit": limit, "explain": {"documentId": id}, "attributesToRetrieve": ["title"]});
    let answer = near.search("films", ask(4));
    assert_eq!(answer["explanations"].as_array().unwrap().len(), 2);
    assert!(answer["hits"].as_array().unwrap().iter().all(|hit| hit["_explanation"].is_object()), "{answer}");
    assert!(answer["hits"].as_array().unwrap().iter().all(|hit| hit["_federation"].get("explained").is_none()));
    assert_eq!((&of_document(&answer)["reason"], &of_document(&answer)["isHit"]), (&json!("hit"), &json!(true)));
    // The best of its own server, maybe, but not of all.
    let narrow = of_document(&near.search("films", ask(3)));
    assert_eq!((&narrow["reason"], &narrow["isHit"]), (&json!("outsideOfPage"), &json!(false)), "{narrow}");
    let one = |remote: &str| json!({"indexUid": "films", "q": "alien", "federationOptions": {"remote": remote}, "explain": true});
    let body =
        json!({"federation": {"limit": 3}, "queries": [{"indexUid": "films", "q": "war"}, one("far"), one("near")]});
    let answer = search(&near, body);
    let answered = answer["explanations"].as_array().unwrap();
    let of: Vec<(&Value, &Value)> =
        answered.iter().map(|answered| (&answered["queriesPosition"], &answered["remote"])).collect();
    assert_eq!(of, [(&json!(1), &json!("far")), (&json!(2), &json!("near"))], "{answer}");
    drop(far);
}

#[test]
fn servers_measure_facets_as_one_would() {
    let (near, far, whole) = halves();
    let asked = json!([
        {"facet": "year", "ranges": [{"to": 1970, "label": "old"}, {"from": 1970}], "histogram": {"interval": 7},
         "statistics": {"percentiles": [0, 10, 50, 99]}},
        {"facet": "year", "statistics": true},
        {"facet": "year", "histogram": {"interval": "minute", "timeZone": "Europe/Paris"}},
    ]);
    let queries = |names: [&str; 2]| names.map(|uid| json!({"indexUid": uid, "q": "alien", "filter": "year > 1950"}));
    let both = json!({"near": asked, "far": asked});
    let federation = json!({"limit": 0, "facetsByIndex": both, "mergeFacets": {}});
    let expected = search(&whole, json!({"federation": federation, "queries": queries(["near", "far"])}));
    assert_eq!(expected["facetDetails"][0]["statistics"]["count"], expected["estimatedTotalHits"]);

    let plain = json!({"q": "alien", "filter": "year > 1950", "limit": 0, "useNetwork": true});
    let with_facets = |facets: &Value| {
        let mut asked = plain.clone();
        asked["facets"] = facets.clone();
        near.search("films", asked)
    };
    let spread = with_facets(&asked);
    assert_eq!((&spread["facetDetails"], &spread["remoteErrors"]), (&expected["facetDetails"], &json!({})));
    let mut query = plain.clone();
    query["indexUid"] = "films".into();
    query.as_object_mut().unwrap().remove("limit");
    let federated =
        |federation: Value| near.post("/multi-search", json!({"federation": federation, "queries": [query]}));
    let apart = federated(json!({"limit": 0, "facetsByIndex": {"films": asked}})).ok();
    assert_eq!(apart["facetsByIndex"]["films"]["details"], expected["facetDetails"]);
    let merged = federated(json!({"limit": 0, "facetsByIndex": {"films": asked}, "mergeFacets": {}})).ok();
    assert_eq!(merged["facetDetails"], expected["facetDetails"]);
    federated(json!({"facetsByIndex": {"films": [{"facet": "title", "statistics": true}]}}))
        .refused(400, "invalid_multi_search_facets_by_index");
    // What one server alone does not let through is named with it.
    far.set("films", json!({"filterableAttributes": []}));
    let without = with_facets(&json!([{"facet": "year", "statistics": true}]));
    assert_eq!(without["remoteErrors"]["far"]["code"], "remote_bad_request", "{without}");
}

#[test]
fn a_plain_search_asks_all_servers_when_asked_to() {
    let (near, far, whole) = halves();
    let query = json!({"q": "alien", "limit": 7, "facets": ["genre"], "useNetwork": true, "filter": "year > 1950"});
    let spread = near.search("films", query.clone());
    let merged = json!({"federation": {"limit": 7, "facetsByIndex": {"near": ["genre"], "far": ["genre"]}, "mergeFacets": {}},
        "queries": [{"indexUid": "near", "q": "alien", "filter": "year > 1950"},
                    {"indexUid": "far", "q": "alien", "filter": "year > 1950"}]});
    let together = search(&whole, merged);
    assert_eq!(ids(&spread), ids(&together));
    for field in ["estimatedTotalHits", "facetDistribution", "limit", "offset"] {
        assert_eq!(spread[field], together[field], "{field}");
    }
    assert_eq!((&spread["query"], &spread["remoteErrors"]), (&json!("alien"), &json!({})));
    let by_parameters = near.get("/indexes/films/search?q=alien&limit=7&useNetwork=true&filter=year%20%3E%201950").ok();
    assert_eq!(ids(&by_parameters), ids(&spread));
    let several = json!({"queries": [{"indexUid": "films", "q": "alien", "useNetwork": true, "limit": 3, "filter": "year > 1950"},
        {"indexUid": "films", "q": "alien"}]});
    let several = search(&near, several);
    assert_eq!(ids(&several["results"][0]), ids(&spread)[..3]);
    assert_eq!(
        (&several["results"][0]["indexUid"], &several["results"][1]["indexUid"]),
        (&json!("films"), &json!("films"))
    );
    let federated = json!({"federation": {"limit": 7}, "queries": [
        {"indexUid": "films", "q": "alien", "useNetwork": true, "filter": "year > 1950"}]});
    assert_eq!(ids(&search(&near, federated)), ids(&spread));
    // One that is away is named; the other answers.
    drop(far);
    let alone = near.search("films", query.clone());
    assert!(alone["remoteErrors"]["far"]["code"].is_string(), "{alone}");
    assert!(!ids(&alone).is_empty());
    near.patch("/experimental-features", json!({"network": false})).ok();
    near.post("/indexes/films/search", query).refused(400, "feature_not_enabled");
}

#[test]
fn documents_are_read_from_all_servers() {
    let (near, far, _whole) = halves();
    let of = |path: &str| near.get(&format!("/indexes/films/documents{path}"));
    // 5 to 9 are far.
    of("/7").refused(404, "document_not_found");
    of("/7?useNetwork=true").refused(403, "remote_invalid_api_key");
    let key = keys::value(&keys::make(&far, &["search", "documents.get"], &["films"]));
    near.patch("/network", json!({"remotes": {"far": {"searchApiKey": key}}})).ok();
    assert_eq!(of("/7?useNetwork=true&fields=id").ok(), json!({"id": 7}));
    assert_eq!(of("/1?useNetwork=true&fields=id").ok(), json!({"id": 1}));
    of("/7?useNetwork=false").refused(404, "document_not_found");
    of("/999?useNetwork=true").refused(404, "document_not_found");
    of("/7?useNetwork=maybe").refused(400, "invalid_document_use_network");
    of("?useNetwork=true&sort=year:asc").refused(400, "invalid_document_sort");
    of("/7?useNetwork=true&at=1").refused(400, "invalid_document_at");

    let fetch = |body: Value| near.post("/indexes/films/documents/fetch", body);
    let ids = |list: &Value| -> Vec<u64> {
        list["results"].as_array().unwrap().iter().map(|document| document["id"].as_u64().unwrap()).collect()
    };
    let list = |offset: u64, limit: u64| {
        let list = fetch(json!({"useNetwork": true, "offset": offset, "limit": limit, "fields": ["id"]})).ok();
        assert_eq!((&list["offset"], &list["limit"], &list["total"]), (&json!(offset), &json!(limit), &json!(60)));
        ids(&list)
    };
    let all = list(0, 100);
    let own: Vec<u64> = (0..60).filter(|id| id / 5 % 2 == 0).collect();
    let others: Vec<u64> = (0..60).filter(|id| id / 5 % 2 == 1).collect();
    assert_eq!(all, [own, others].concat());
    for (offset, limit) in [(0, 0), (0, 7), (25, 10), (30, 4), (55, 10), (70, 3)] {
        let expected: Vec<u64> = all.iter().copied().skip(offset).take(limit).collect();
        assert_eq!(list(offset as u64, limit as u64), expected, "{offset} {limit}");
    }
    let some = fetch(json!({"useNetwork": true, "filter": "year < 1960", "ids": [0, 5, 6, 26]})).ok();
    assert_eq!((ids(&some), &some["total"]), (vec![0, 26], &json!(2)), "{some}");
    assert_eq!(ids(&of("?useNetwork=true&ids=5,1&fields=id").ok()), [1, 5]);
    assert_eq!(fetch(json!({"useNetwork": false})).ok()["total"], 30);
    fetch(json!({"useNetwork": 1})).refused(400, "invalid_document_use_network");

    near.patch("/network", json!({"remotes": {"gone": {"url": UNREACHABLE}}})).ok();
    let refused = fetch(json!({"useNetwork": true}));
    assert_eq!(refused.body["code"], "remote_could_not_send_request", "{refused:?}");
    assert!(refused.body["message"].as_str().unwrap().starts_with("Remote `gone`: "), "{refused:?}");
    near.patch("/experimental-features", json!({"network": false})).ok();
    fetch(json!({"useNetwork": true})).refused(400, "feature_not_enabled");
    of("/1?useNetwork=true").refused(400, "feature_not_enabled");
}

/// Pages of a hybrid search over two servers repeat and miss nothing, though good keyword hits fill the first one.
#[test]
fn pages_of_a_hybrid_search_over_servers_share_no_hit() {
    let (near, far, _) = halves();
    for (server, ids) in [(&near, 1..4), (&far, 4..7)] {
        server.set("foxes", json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}}));
        let fox = |id: u64| {
            let (text, vector) = [("red fox", [0.0, 1.0]), ("red dog", [1.0, 0.0])][usize::from(id.is_multiple_of(3))];
            json!({"id": id, "text": text, "_vectors": {"e": vector}})
        };
        server.add("foxes", ids.map(fox).collect());
    }
    let key = keys::value(&keys::make(&far, &["search"], &["foxes"]));
    near.patch("/network", json!({"remotes": {"far": {"searchApiKey": key}}})).ok();
    let asked = json!({"q": "red fox", "vector": [1.0, 0.0], "hybrid": {"embedder": "e"}, "useNetwork": true});
    for size in 1..=3 {
        let page = |number: usize| {
            let mut query = asked.clone();
            (query["offset"], query["limit"]) = ((number * size).into(), size.into());
            ids(&near.search("foxes", query))
        };
        let shown: Vec<u64> = (0..6).flat_map(page).collect();
        let mut found = shown.clone();
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3, 4, 5, 6], "pages of {size}: {shown:?}");
    }
}
