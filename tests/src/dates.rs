//! Dates: one reader of them, for filters, expiry, boosts, ranges and histograms alike.

use serde_json::{Value, json};

use crate::server::Server;

/// A date, and the same time with other offsets: letters order it before and behind them.
const DATES: [(&str, &str, &str); 10] = [
    ("2020-06-01", "2020-05-31T13:00:00-11:00", "2020-06-01T11:00:00+11:00"),
    ("2020-06-01T10:20:30", "2020-05-31T23:20:30-11:00", "2020-06-01T21:20:30+11:00"),
    ("2020-06-01 10:20:30", "2020-05-31T23:20:30-11:00", "2020-06-01T21:20:30+11:00"),
    ("2020-06-01T10:20:30Z", "2020-05-31T23:20:30-11:00", "2020-06-01T21:20:30+11:00"),
    ("2020-06-01t10:20:30.25+02:00", "2020-05-31T21:20:30.25-11:00", "2020-06-01T19:20:30.250+11:00"),
    ("2020-05-31 23:00:00-10:00", "2020-05-31T22:00:00-11:00", "2020-06-01T20:00:00+11:00"),
    ("9999-12-31", "9999-12-30T13:00:00-11:00", "9999-12-31T11:00:00+11:00"),
    ("9999-12-31T23:59:59", "9999-12-31T12:59:59-11:00", "9999-12-31T23:59:59"),
    ("9999-12-31T23:59:59+14:00", "9999-12-30T22:59:59-11:00", "9999-12-31T20:59:59+11:00"),
    ("9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59-12:00"),
];
const OF_2020: usize = 6;

const NO_DATES: [&str; 8] = [
    "2020-06",
    "2020-06-31",
    "2020-06-01T",
    "2020-06-01T25:00:00",
    "2020-6-1",
    "soon",
    "20200601",
    "2020-06-01T10:20:30+1",
];

/// A document for each text, with its place as its id: dates first.
fn server() -> Server {
    let server = Server::start();
    server.set("times", json!({"filterableAttributes": ["at", "id"], "sortableAttributes": ["at", "id"]}));
    let texts = DATES.iter().map(|(text, ..)| *text).chain(NO_DATES);
    server.add("times", texts.enumerate().map(|(id, text)| json!({"id": id, "at": text})).collect());
    server
}

fn ids_of(places: std::ops::Range<usize>) -> Vec<u64> {
    places.map(|place| place as u64).collect()
}

fn all() -> usize {
    DATES.len() + NO_DATES.len()
}

/// The only entry of `facetDetails` for `asked`.
fn measured(server: &Server, asked: &Value) -> Value {
    server.search("times", json!({"limit": 0, "facets": [asked]}))["facetDetails"][0].clone()
}

#[test]
fn filters_compare_them_in_time() {
    let server = server();
    for (id, (text, before, behind)) in DATES.iter().enumerate() {
        let filter = format!("at >= '{before}' AND at <= '{behind}'");
        let found = server.ids("times", json!({"filter": filter, "limit": 99}));
        assert!(found.contains(&json!(id)), "{text}: {found:?}");
        let strict = format!("(at > '{before}' OR at < '{behind}') AND at = '{text}' AND id = {id}");
        assert_eq!(server.ids("times", json!({"filter": strict})), [0u64; 0], "{text}");
    }
}

#[test]
fn histograms_and_ranges_count_all_of_them_and_nothing_else() {
    let server = server();
    for interval in ["minute", "hour", "day", "week", "month", "quarter", "year"] {
        for zone in ["UTC", "Asia/Tokyo", "America/Los_Angeles"] {
            let asked = json!({"facet": "at", "histogram": {"interval": interval, "timeZone": zone}});
            let buckets = measured(&server, &asked)["histogram"].clone();
            let counts = buckets.as_array().unwrap().iter().map(|bucket| bucket["count"].as_u64().unwrap());
            assert_eq!(counts.sum::<u64>(), DATES.len() as u64, "{interval} {zone}: {buckets}");
        }
    }
    let years = measured(&server, &json!({"facet": "at", "histogram": {"interval": "year"}}))["histogram"].clone();
    let expected = json!([
        {"from": "2020-01-01T00:00:00Z", "to": "2021-01-01T00:00:00Z", "count": OF_2020},
        {"from": "9999-01-01T00:00:00Z", "to": "+010000-01-01T00:00:00Z", "count": 3},
        {"from": "+010000-01-01T00:00:00Z", "to": "+010001-01-01T00:00:00Z", "count": 1},
    ]);
    assert_eq!(years, expected);
    // What a bucket begins and ends with can be asked for.
    for bucket in expected.as_array().unwrap() {
        let filter = format!("at >= {} AND at < {} AND id < {}", bucket["from"], bucket["to"], DATES.len());
        let found = server.ids("times", json!({"filter": filter, "limit": 99}));
        assert_eq!(json!(found.len()), bucket["count"], "{filter}: {found:?}");
        let range = json!({"facet": "at", "ranges": [{"from": bucket["from"], "to": bucket["to"]}]});
        assert_eq!(measured(&server, &range)["ranges"][0]["count"], bucket["count"], "{range}");
    }
    let ranges = json!([{"from": "2020-05-31", "to": "2020-07-01 00:00:00"}, {"from": "9999-12-31"}]);
    let ranges = measured(&server, &json!({"facet": "at", "ranges": ranges}))["ranges"].clone();
    assert_eq!((&ranges[0]["count"], &ranges[1]["count"]), (&json!(OF_2020), &json!(4)));
}

#[test]
fn documents_expire_by_all_of_them_and_by_nothing_else() {
    let server = server();
    server.set("times", json!({"expiryAttribute": "at"}));
    let left = server.ids("times", json!({"sort": ["id:asc"], "limit": 99}));
    assert_eq!(left, ids_of(OF_2020..all()));
    assert_eq!(server.document_count("times"), (all() - OF_2020) as u64);
}

#[test]
fn boosts_know_how_far_all_of_them_are() {
    let server = server();
    let decay = json!({"decay": {"field": "at", "origin": "2020-06-01T10:00:00", "scale": "1d", "function": "linear"}});
    let query = json!({"boosts": [decay], "showRankingScoreDetails": true, "limit": 99, "sort": ["id:asc"]});
    let answer = server.search("times", query);
    for hit in answer["hits"].as_array().unwrap() {
        let factor = hit["_rankingScoreDetails"]["decay:at"]["factor"].as_f64().unwrap();
        let is_near = hit["id"].as_u64().unwrap() < OF_2020 as u64;
        assert_eq!(factor > 1.5, is_near, "{hit}");
    }
}

#[test]
fn parameters_take_the_same_texts() {
    let server = server();
    let asking = |text: &str| {
        let range = json!({"facets": [{"facet": "at", "ranges": [{"from": text}]}]});
        let boost = json!({"boosts": [{"decay": {"field": "at", "origin": text, "scale": "1d"}}]});
        [range, boost].map(|query| server.post("/indexes/times/search", query))
    };
    for (text, ..) in DATES {
        for answer in asking(text) {
            answer.ok();
        }
    }
    for text in NO_DATES {
        let [range, boost] = asking(text);
        range.refused(400, "invalid_search_facets");
        boost.refused(400, "invalid_search_boosts");
    }
}
