//! Random searches: the writer, a replica, and a naive evaluation of the definition answer alike.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::replication::{Group, after};
use crate::server::Server;

/// Words of four letters: no typos are allowed in them, and none is made of others.
const WORDS: [&str; 12] =
    ["alpo", "brav", "chad", "delt", "echu", "foxt", "golf", "hute", "indi", "juli", "kilo", "lima"];
const COLORS: [&str; 4] = ["red", "green", "blue", "white"];
const DOCUMENTS: u64 = 400;
const SEARCHES: usize = 150;

/// A sequence of numbers that is the same in every run (the multiplier of Knuth's MMIX).
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect();
        words.join(" ")
    }

    fn document(&mut self, id: u64) -> Value {
        let (words, color) = (1 + self.below(6), COLORS[self.below(COLORS.len())]);
        json!({"id": id, "text": self.words(words), "color": color, "price": self.below(50), "brand": self.below(30)})
    }
}

/// A search as it is sent, and the parts from which the naive evaluation answers it.
struct Search {
    words: Vec<String>,
    color: Option<&'static str>,
    price_min: Option<usize>,
    descends: bool,
    page: usize,
    hits_per_page: usize,
}

impl Search {
    fn draw(draws: &mut Draws) -> Search {
        let count = draws.below(4);
        let mut words: Vec<String> = draws.words(count).split_whitespace().map(str::to_owned).collect();
        // The last word may be a prefix.
        if let Some(last) = words.last_mut() {
            last.truncate(1 + draws.below(4));
        }
        Search {
            words,
            color: (draws.below(2) == 0).then(|| COLORS[draws.below(COLORS.len())]),
            price_min: (draws.below(2) == 0).then(|| draws.below(50)),
            descends: draws.below(2) == 0,
            page: 1 + draws.below(3),
            hits_per_page: 1 + draws.below(40),
        }
    }

    fn body(&self) -> Value {
        let color = self.color.map(|color| format!("color = {color}"));
        let price = self.price_min.map(|price| format!("price >= {price}"));
        let filter: Vec<String> = color.into_iter().chain(price).collect();
        json!({
            "q": self.words.join(" "), "filter": filter, "matchingStrategy": "all", "facets": ["color"],
            "sort": [format!("price:{}", if self.descends { "desc" } else { "asc" })],
            "page": self.page, "hitsPerPage": self.hits_per_page,
            "attributesToHighlight": ["text"], "showRankingScore": true, "showMatchesPosition": true,
        })
    }

    fn matches(&self, document: &Value) -> bool {
        let text = document["text"].as_str().expect("a text");
        let (last, others) = match self.words.split_last() {
            Some((last, others)) => (last.as_str(), others),
            None => ("", [].as_slice()),
        };
        others.iter().all(|word| text.split(' ').any(|other| other == word))
            && text.split(' ').any(|other| other.starts_with(last))
            && self.color.is_none_or(|color| document["color"] == color)
            && self.price_min.is_none_or(|price| document["price"].as_u64().expect("a number") >= price as u64)
    }

    /// Evaluates the search from its definition. `documents` are in the order of their first insertion, which breaks ties.
    fn check(&self, documents: &[Value], answer: &Value) {
        let mut found: Vec<&Value> = documents.iter().filter(|document| self.matches(document)).collect();
        assert_eq!(answer["totalHits"], found.len(), "{}", self.body());
        let mut colors = BTreeMap::<&str, u64>::new();
        for document in &found {
            *colors.entry(document["color"].as_str().expect("a color")).or_default() += 1;
        }
        assert_eq!(answer["facetDistribution"]["color"], json!(colors), "{}", self.body());
        let price = |document: &Value| document["price"].as_u64().expect("a number");
        found.sort_by_key(|document| if self.descends { 50 - price(document) } else { price(document) });
        let page = found.iter().skip((self.page - 1) * self.hits_per_page).take(self.hits_per_page);
        let expected: Vec<&Value> = page.map(|document| &document["id"]).collect();
        let hits = answer["hits"].as_array().expect("hits").iter();
        assert_eq!(hits.map(|hit| &hit["id"]).collect::<Vec<_>>(), expected, "{}", self.body());
    }
}

/// Returns the answer as text, without what differs between two requests.
fn answer_text(server: &Server, body: &Value) -> String {
    let answer = server.post("/indexes/things/search", body.clone());
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut answer = answer.body;
    for name in ["processingTimeMs", "requestUid", "queryUid"] {
        answer.as_object_mut().expect("an object").remove(name);
    }
    answer.to_string()
}

#[test]
fn a_writer_a_replica_and_the_definition_answer_alike() {
    let group = Group::new();
    let (writer, replica) = (group.writer(), group.replica());
    writer.set(
        "things",
        json!({
            "searchableAttributes": ["text"], "filterableAttributes": ["color", "price"], "sortableAttributes": ["price"],
            "rankingRules": ["sort", "words"],
        }),
    );
    let mut draws = Draws(2026);
    let mut documents: Vec<Value> = (0..DOCUMENTS).map(|id| draws.document(id)).collect();
    // Several segments, with documents that were replaced and deleted.
    for batch in documents.chunks(90) {
        writer.add("things", Value::Array(batch.to_vec()));
    }
    for _ in 0..60 {
        let at = draws.below(documents.len());
        let replaced = draws.document(documents[at]["id"].as_u64().expect("a number"));
        documents[at] = replaced;
    }
    let replaced: Vec<Value> = documents.iter().step_by(3).cloned().collect();
    writer.add("things", Value::Array(replaced));
    for offset in [1, 2] {
        writer.add("things", documents.iter().skip(offset).step_by(3).cloned().collect());
    }
    let deleted: Vec<Value> = documents.iter().step_by(7).map(|document| document["id"].clone()).collect();
    documents.retain(|document| !deleted.contains(&document["id"]));
    let task = writer.done(&writer.post("/indexes/things/documents/delete-batch", Value::Array(deleted)));
    after(&replica, &task, "/indexes/things/search");

    for _ in 0..SEARCHES {
        let search = Search::draw(&mut draws);
        let body = search.body();
        let answered = answer_text(&writer, &body);
        assert_eq!(answered, answer_text(&replica, &body), "{body}");
        search.check(&documents, &serde_json::from_str(&answered).expect("JSON"));
    }
}
