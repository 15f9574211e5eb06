//! Which rules act, compared with looking at each of them.

use std::time::{Duration, Instant};

use lamina_base::error::Code;
use lamina_engine::filter::Filter;
use lamina_protocol::wire::filter::parse_filter;
use lamina_protocol::wire::rules::patch;
use serde_json::{Value, json};

use super::*;

fn rules(list: &[(&str, Value)]) -> Rules {
    let rules = Rules::default();
    let mut draft = rules.draft();
    for (uid, body) in list {
        draft.patch(uid, &patch(body).unwrap(), Timestamp::from_nanos(1));
    }
    rules.follow(&draft.into_changes());
    rules
}

fn filter(text: &str) -> Filter {
    parse_filter(&json!(text), Code::InvalidSearchFilter, true).unwrap().unwrap()
}

struct Search<'a> {
    words: &'a [&'a str],
    filter: Option<Filter>,
    now: i64,
}

fn acting_with(rules: &Rules, search: &Search<'_>, fuel: &Fuel) -> Vec<String> {
    let words: Vec<String> = search.words.iter().map(|word| (*word).to_owned()).collect();
    let asked =
        SearchContext { words: &words, is_empty: words.is_empty(), filter: search.filter.as_ref(), now: search.now };
    rules.set().acting(&asked, fuel).iter().map(|rule| rule.uid.clone()).collect()
}

fn by_words(rules: &Rules, words: &[&str]) -> Vec<String> {
    acting_with(rules, &Search { words, filter: None, now: 0 }, &Fuel::default())
}

fn by_filter(rules: &Rules, text: &str) -> Vec<String> {
    acting_with(rules, &Search { words: &[], filter: Some(filter(text)), now: 0 }, &Fuel::default())
}

fn asks_words(words: &str) -> Value {
    json!({"conditions": {"query": {"words": words}}})
}

fn asks_values(values: Value) -> Value {
    json!({"conditions": {"filter": {"values": values}}})
}

#[test]
fn all_words_of_a_rule_must_be_there_and_nothing_else_matters() {
    let rules = rules(&[
        ("both", asks_words("Desk, LAMP!")),
        ("one", asks_words("lamp")),
        ("twice", asks_words("lamp lamp")),
        ("always", asks_words("")),
        ("bare", json!({})),
        ("empty", json!({"conditions": {"query": {"isEmpty": true}}})),
        ("some", json!({"conditions": {"query": {"isEmpty": false}}})),
        ("off", json!({"active": false})),
    ]);
    assert_eq!(by_words(&rules, &[]), ["always", "bare", "empty"]);
    assert_eq!(by_words(&rules, &["lamp"]), ["one", "twice", "always", "bare", "some"]);
    assert_eq!(by_words(&rules, &["big", "desk", "lamp"]), ["both", "one", "twice", "always", "bare", "some"]);
    assert_eq!(by_words(&rules, &["desk"]), ["always", "bare", "some"]);
}

#[test]
fn precedence_comes_before_the_order_of_making() {
    let with = |precedence: Value| json!({"precedence": precedence});
    let rules = rules(&[("z", json!({})), ("b", with(json!(7))), ("a", with(json!(0))), ("c", with(json!(7)))]);
    assert_eq!(by_words(&rules, &[]), ["a", "b", "c", "z"]);
    let mut draft = rules.draft();
    draft.patch("y", &patch(&json!({})).unwrap(), Timestamp::from_nanos(2));
    draft.patch("z", &patch(&json!({"description": "changed"})).unwrap(), Timestamp::from_nanos(3));
    rules.follow(&draft.into_changes());
    assert_eq!(by_words(&rules, &[]), ["a", "b", "c", "z", "y"], "a changed rule keeps its place");
    let fuel = Fuel { active_rules: 2, ..Fuel::default() };
    assert_eq!(acting_with(&rules, &Search { words: &[], filter: None, now: 0 }, &fuel), ["a", "b"]);
}

#[test]
fn values_must_hold_together_in_one_alternative() {
    let rules = rules(&[
        ("none", asks_values(json!({"color": null}))),
        ("red", asks_values(json!({"color": "Red"}))),
        ("two", asks_values(json!({"color": "red", "brand": ["Kelm"]}))),
        ("number", asks_values(json!({"price": 30}))),
        ("text", asks_values(json!({"price": "30"}))),
        ("deep", asks_values(json!({"spec": {"size": "XL"}}))),
        ("dotted", asks_values(json!({"spec.size": "XL"}))),
        ("never", asks_values(json!({"color": ["red", "blue"]}))),
        ("flag", asks_values(json!({"stock": true}))),
    ]);
    let found = |text: &str| by_filter(&rules, text)[1..].to_vec();
    assert_eq!(by_words(&rules, &[]), ["none"], "without a filter");
    assert_eq!(found("color = RED"), ["red"]);
    assert_eq!(found("color = red AND brand = Kelm AND price > 100"), ["red", "two"]);
    assert_eq!(found("color = red OR brand = Kelm"), ["red"]);
    assert_eq!(found("(color = red OR color = blue) AND brand IN [a, kelm]"), ["red", "two"]);
    assert_eq!(found("color = red AND color = blue"), [""; 0], "no value is both");
    for holds in
        ["color != blue", "NOT color = blue", "color NOT IN [blue, green]", "color EXISTS", "color IS NOT NULL"]
    {
        assert_eq!(found(holds), ["red"], "{holds}");
    }
    assert_eq!(found("NOT (color = blue OR brand = x)"), ["red", "two"]);
    for not in ["color IS NULL", "color IS EMPTY", "color NOT EXISTS", "color STARTS WITH r", "color CONTAINS e"] {
        assert_eq!(found(not), [""; 0], "{not}");
        assert_eq!(found(&format!("{not} AND stock = true")), ["flag"], "{not}");
    }
    for holds in ["price > 20", "price 20 TO 40", "price >= 30", "NOT price < 30", "price = 30.0", "price != 31"] {
        assert_eq!(found(holds), ["number", "text"], "{holds}");
    }
    assert_eq!(found("price > 30"), [""; 0]);
    assert_eq!(found("spec.size = xl"), ["deep", "dotted"]);
    assert_eq!(found("stock = true"), ["flag"]);
    assert_eq!(found("brand > a AND brand < z"), [""; 0], "the colour is not asked for");
    assert_eq!(found("_geoRadius(1, 2, 3) OR color = red"), ["red"]);
}

#[test]
fn what_a_filter_can_ask_is_bounded() {
    let rules = rules(&[("last", asks_values(json!({"a": "200"})))]);
    let many = |count: usize| (1..=count).map(|n| format!("a = {n}")).collect::<Vec<_>>();
    assert_eq!(
        by_filter(&rules, &format!("a IN [{}]", (1..=200).map(|n| n.to_string()).collect::<Vec<_>>().join(","))),
        ["last"]
    );
    assert_eq!(
        by_filter(&rules, &many(200).join(" OR ")),
        [""; 0],
        "only the first hundred alternatives are looked at"
    );
    let deep = format!("{}a = 200{}", "NOT (b = 1 OR ".repeat(30), ")".repeat(30));
    assert_eq!(by_filter(&rules, &deep), [""; 0]);
    let wide: Vec<String> = (0..30).map(|n| format!("(x{n} = 1 OR y{n} = 1)")).collect();
    assert_eq!(by_filter(&rules, &format!("{} AND a = 200", wide.join(" AND "))), ["last"], "2^30 alternatives");
}

/// Looks at each rule.
fn naive(list: &[(String, Value)], words: &[&str]) -> Vec<String> {
    let acts = |body: &Value| {
        let wanted = body["conditions"]["query"]["words"].as_str().unwrap_or("");
        wanted.split(' ').filter(|word| !word.is_empty()).all(|word| words.contains(&word))
    };
    list.iter().filter(|(_, body)| acts(body)).map(|(uid, _)| uid.clone()).collect()
}

#[test]
fn changes_one_by_one_are_the_same_as_all_at_once() {
    const WORDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    let text = |number: usize| {
        let chosen = WORDS.iter().enumerate().filter(|(place, _)| number >> place & 1 == 1);
        chosen.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
    };
    let rules = Rules::default();
    let mut list: Vec<(String, Value)> = Vec::new();
    for number in 0..700 {
        let mut draft = rules.draft();
        let uid = format!("r{number}");
        draft.patch(&uid, &patch(&asks_words(&text(number * 37))).unwrap(), Timestamp::from_nanos(1));
        list.push((uid, asks_words(&text(number * 37))));
        if number % 5 == 0 {
            let changed = number * 13 % list.len();
            draft.patch(&list[changed].0, &patch(&asks_words(&text(number))).unwrap(), Timestamp::from_nanos(2));
            list[changed].1 = asks_words(&text(number));
        }
        if number % 7 == 0 {
            draft.remove(&list.remove(number * 11 % list.len()).0);
        }
        rules.follow(&draft.into_changes());
    }
    for search in 0..64 {
        let words: Vec<&str> =
            WORDS.iter().enumerate().filter(|(n, _)| search >> n & 1 == 1).map(|(_, w)| *w).collect();
        assert_eq!(by_words(&rules, &words), naive(&list, &words), "{words:?}");
    }
    let mut draft = rules.draft();
    assert_eq!(draft.clear(), list.len() as u64);
    rules.follow(&draft.into_changes());
    assert!(by_words(&rules, &WORDS).is_empty());
    assert!(rules.is_empty());
}

#[test]
fn a_query_of_very_many_words_is_left_off_where_the_fuel_ends() {
    let rules = rules(&[("one", asks_words("w7")), ("two", asks_words("w1 w199"))]);
    let many: Vec<String> = (0..200).map(|n| format!("w{n}")).collect();
    let words: Vec<&str> = many.iter().map(String::as_str).collect();
    let search = Search { words: &words, filter: None, now: 0 };
    assert_eq!(acting_with(&rules, &search, &Fuel::default()), ["one", "two"]);
    assert_eq!(acting_with(&rules, &search, &Fuel { words: 2, ..Fuel::default() }), [""; 0]);
}

/// Measures the cost of rules for a search. Run by hand: `cargo test --release -p lamina-server -- --ignored
/// what_rules_cost --nocapture`.
#[test]
#[ignore = "measures"]
fn what_rules_cost() {
    const COUNT: usize = 75_000;
    let kinds: [(&str, &dyn Fn(usize) -> Value); 4] = [
        ("words of their own", &|n| asks_words(&format!("w{} v{} lamp", n % 9000, n % 77))),
        ("one word for all", &|_| asks_words("lamp")),
        ("values of their own", &|n| asks_values(json!({"price": n, "color": format!("c{}", n % 50)}))),
        ("times that end", &|n| {
            let end = Timestamp::from_nanos(n as i64 * 1_000_000_000).to_string();
            json!({"conditions": {"time": {"end": end}, "query": {"words": "lamp"}}})
        }),
    ];
    for (name, body) in kinds {
        let all: Vec<(String, Value)> = (0..COUNT).map(|n| (format!("r{n}"), body(n))).collect();
        let mut list: Vec<(&str, Value)> = all.iter().map(|(uid, body)| (uid.as_str(), body.clone())).collect();
        list.push(("last", json!({"precedence": 1, "conditions": {"query": {"words": "lamp"}}})));
        let start = Instant::now();
        let rules = rules(&list);
        let made = start.elapsed();
        let words: Vec<String> =
            ["lamp", "w5", "v5", "desk", "w6", "v6", "w7", "v7", "w8", "v8"].map(str::to_owned).into();
        let filter = filter("color = c5 AND price > 20000 AND price < 60000");
        let (set, fuel) = (rules.set(), Fuel::default());
        let (mut total, mut worst, mut all_seen, mut found) = (Duration::ZERO, Duration::ZERO, Duration::ZERO, 0);
        for n in 0..1000 {
            let now = 30_000_000_000_000 + n * 1_000_000_000;
            let asked = SearchContext { words: &words, is_empty: false, filter: Some(&filter), now };
            let start = Instant::now();
            // A search looks at rules until a hundred documents are pinned; where none is there, at all of them.
            let acting = set.acting(&asked, &fuel);
            let looked_at = acting.iter().take(fuel.pin_actions).map(|rule| rule.actions.len()).sum::<usize>();
            total += start.elapsed();
            worst = worst.max(start.elapsed());
            let start = Instant::now();
            found = std::hint::black_box(looked_at) + acting.iter().count();
            all_seen += start.elapsed();
        }
        println!("{name}: {found} act, {:?} a search, {worst:?} the slowest; made in {made:?}", total / 1000);
        println!("  all of them looked at: {:?}", all_seen / 1000);
        let mut draft = rules.draft();
        draft.patch("new", &patch(&json!({})).unwrap(), Timestamp::from_nanos(1));
        let changes = draft.into_changes();
        let start = Instant::now();
        rules.follow(&changes);
        println!("  one more: {:?}", start.elapsed());
    }
}
