//! The store alone.

use lamina_engine::index::settings::MatchingStrategy;
use lamina_protocol::wire::events;
use serde_json::{Value, json};

use super::*;

fn store(folder: &Path) -> Events {
    Events::new(folder, &IndexOptions { locks_folder: false, ..IndexOptions::default() })
}

fn place(folder: &Path, name: &str) -> Place {
    let index = Index::create(&folder.join(name), IndexOptions::default()).unwrap();
    Place::new(name, name, &index.snapshot())
}

fn click(user: &str, object: u32, uid: Option<Uuid>) -> Event {
    let body = json!({
        "eventType": "click", "eventName": "Hit", "indexUid": "films", "userId": user, "objectId": object,
        "queryUid": uid, "position": 3
    });
    events::events(&body, None).unwrap().remove(0)
}

fn documents(events: &Events) -> Vec<Value> {
    let Some(snapshot) = events.snapshot().unwrap() else { return Vec::new() };
    let mut all = Vec::new();
    for (place, segment) in snapshot.segments.iter().enumerate() {
        segment.live_set().for_each(|doc| {
            let address = lamina_engine::index::DocumentAddress { segment: place as u32, doc };
            all.push(serde_json::from_slice(&snapshot.document(address).unwrap()).unwrap());
        });
    }
    all
}

fn search<'a>(user: Option<&'a str>, text: &'a str) -> Search<'a> {
    let (uid, strategy) = (Uuid::now_v7(), MatchingStrategy::Last);
    Search {
        uid,
        user,
        text,
        filter: None,
        strategy,
        ratio: None,
        total: 2,
        millis: 5,
        hits: &[],
        offset: 0,
        part: None,
    }
}

#[test]
fn an_event_counts_once_and_its_user_is_a_hash() {
    let folder = tempfile::tempdir().unwrap();
    let (events, films) = (store(folder.path()), place(folder.path(), "films"));
    assert!(events.snapshot().unwrap().is_none());
    let uid = Uuid::now_v7();
    let votes = [
        click("a@example.org", 1, Some(uid)),
        click("a@example.org", 1, Some(uid)),
        click("a@example.org", 2, Some(uid)),
        click("b@example.org", 1, Some(uid)),
        click("a@example.org", 1, None),
    ];
    events.add(votes.iter().map(|event| (event, &films))).unwrap();
    events.flush().unwrap();
    // Replayed, after a restart too.
    drop(events);
    let events = store(folder.path());
    events.add(votes.iter().map(|event| (event, &films))).unwrap();
    events.flush().unwrap();
    let kept = documents(&events);
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert!(!Value::from(kept.clone()).to_string().contains("example.org"));
    assert!(kept.iter().all(|event| event["user"].as_str().unwrap().len() == 33), "{kept:?}");
    assert_eq!(events.delete_user("a@example.org").unwrap(), 3);
    assert_eq!(events.delete_user("a@example.org").unwrap(), 0);
    assert_eq!(documents(&events).len(), 1);
}

#[test]
fn what_a_user_types_is_one_search() {
    let folder = tempfile::tempdir().unwrap();
    let (events, films) = (store(folder.path()), place(folder.path(), "films"));
    for text in ["a", "al", "Ali", "al", "alien", "up"] {
        events.record(&films, &search(Some("a"), text));
        events.flush().unwrap();
    }
    for text in ["a", "al"] {
        events.record(&films, &search(None, text));
    }
    events.record(&films, &search(Some("b"), "ali"));
    events.flush().unwrap();
    let mut texts: Vec<(String, usize)> = documents(&events)
        .iter()
        .map(|search| (search["text"].as_str().unwrap().to_owned(), search["queries"].as_array().unwrap().len()))
        .collect();
    texts.sort_unstable();
    let expected = [("a", 1), ("al", 1), ("ali", 1), ("alien", 5), ("up", 1)].map(|(text, n)| (text.to_owned(), n));
    assert_eq!(texts, expected);
}

#[test]
fn a_full_buffer_takes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (events, films) = (store(folder.path()), place(folder.path(), "films"));
    let many: Vec<Event> = (0..1000).map(|object| click("a", object, None)).collect();
    let mut taken = 0;
    let refused = loop {
        match events.add(many.iter().map(|event| (event, &films))) {
            Ok(()) => taken += many.len(),
            Err(error) => break error,
        }
        assert!(taken <= 100_000);
    };
    assert_eq!((refused.code, refused.status()), (Code::TooManyWriteRequests, 503));
    events.record(&films, &search(None, "alien"));
    assert_eq!(events.counts().events.load(Ordering::Relaxed) as usize, taken);
    events.flush().unwrap();
    assert_eq!(documents(&events).len(), 1000, "they are the same events again");
}

#[test]
fn what_cannot_be_written_waits_and_nothing_more_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (events, films) = (store(folder.path()), place(folder.path(), "films"));
    let add = |object| events.add([(&click("a", object, None), &films)].into_iter());
    add(1).unwrap();
    let (index, away) = (folder.path().join("events/index"), folder.path().join("away"));
    fs::rename(&index, &away).unwrap();
    events.flush().unwrap_err();
    assert_eq!(add(2).unwrap_err().code, Code::TooManyWriteRequests);
    fs::rename(&away, &index).unwrap();
    events.flush().unwrap();
    add(3).unwrap();
    events.flush().unwrap();
    assert_eq!(documents(&events).len(), 2);
}

#[test]
fn a_secret_that_is_none_is_not_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    for key in ["", "abc", &"g".repeat(KEY_DIGITS), "../../../../../../../../../../../../../../../../../../../../../a"]
    {
        store(folder.path()).import(key, folder.path().join("none")).unwrap_err();
    }
    assert!(!folder.path().join("events").exists());
}

#[test]
fn documents_expire_with_the_retention_of_their_index() {
    let folder = tempfile::tempdir().unwrap();
    let (events, films) = (store(folder.path()), place(folder.path(), "films"));
    events.record(&films, &search(Some("a"), "alien"));
    events.flush().unwrap();
    let found = documents(&events).remove(0);
    assert_eq!(found["expires"].as_u64().unwrap() - found["at"].as_u64().unwrap(), 90 * 86_400);
    let opened = events.existing().unwrap().unwrap();
    let after = |days: u64| opened.index.view(SystemTime::now() + Duration::from_secs(days * 86_400)).readable_count();
    assert_eq!((after(89), after(91)), (1, 0));
}

#[test]
fn a_copy_of_the_store_knows_its_users() {
    let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (events, films) = (store(folder.path()), place(folder.path(), "films"));
    events.add([(&click("a", 1, None), &films)].into_iter()).unwrap();
    events.link_to(copy.path()).unwrap();
    let copied = store(copy.path());
    assert_eq!(documents(&copied).len(), 1, "what waited is in it");
    assert_eq!(copied.delete_user("a").unwrap(), 1);
}
