use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_engine::document::{PayloadFormat, normalize_payload};
use lamina_engine::index::{CommitNote, Index, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};
use lamina_engine::storage::MemoryDirectory;
use lamina_server::error::{ApiError, ErrorDocs};
use lamina_server::search::*;
use lamina_server::wire::multi_search::MultiSearch;
use lamina_server::wire::query_string::QueryString;
use lamina_server::wire::search::SearchQuery;
use lamina_server::wire::settings;
use lamina_server::wire::similar::SimilarQuery;
use serde_json::{Value, json};

fn apply(index: &Index, op: Operation, n: u64) {
    let r = index.apply(&[op], CommitNote::new(n, |_| Vec::new()), &Progress::new(), &AtomicBool::new(false));
    for o in r.expect("apply") {
        if let Err(e) = o {
            eprintln!("OP ERROR {e}");
        }
    }
}

fn main() {
    let mut indexes: HashMap<String, Arc<Index>> = HashMap::new();
    let mut n = 0;
    let docs = ErrorDocs::default();
    for line in std::io::stdin().lock().lines() {
        let cmd: Value = serde_json::from_str(&line.unwrap()).unwrap();
        n += 1;
        let out: Value = match cmd["do"].as_str().unwrap() {
            "load" => {
                let uid = cmd["uid"].as_str().unwrap().to_owned();
                let index = Index::create_in(Arc::new(MemoryDirectory::new()), IndexOptions::default()).unwrap();
                apply(&index, Operation::SetPrimaryKey(Some(cmd["primaryKey"].as_str().unwrap().into())), n);
                apply(&index, Operation::Settings(Box::new(settings::read(&cmd["settings"]).unwrap())), n + 1);
                let raw = std::fs::read(cmd["file"].as_str().unwrap()).unwrap();
                let mut norm = Vec::new();
                normalize_payload(PayloadFormat::NdJson, &raw[..], &mut norm).unwrap();
                let t = std::time::Instant::now();
                apply(
                    &index,
                    Operation::Upsert(Upsert {
                        payload: Payload::Bytes(norm.into()),
                        method: WriteMethod::Replace,
                        primary_key: None,
                        skip_creation: false,
                    }),
                    n + 2,
                );
                eprintln!("loaded {uid} {} docs in {:?}", index.snapshot().document_count(), t.elapsed());
                n += 3;
                indexes.insert(uid, Arc::new(index));
                json!({})
            }
            "settings" => {
                let index = &indexes[cmd["uid"].as_str().unwrap()];
                apply(index, Operation::Settings(Box::new(settings::read(&cmd["body"]).unwrap())), n);
                json!({})
            }
            "call" => {
                let answer = call(&indexes, &cmd);
                match answer {
                    Ok(body) => json!({"status": 200, "body": body}),
                    Err(e) => json!({"status": e.status(), "body": e.body(&docs)}),
                }
            }
            _ => panic!(),
        };
        println!("{out}");
        std::io::stdout().flush().unwrap();
    }
}

fn call(indexes: &HashMap<String, Arc<Index>>, cmd: &Value) -> Result<Value, ApiError> {
    let path = cmd["path"].as_str().unwrap();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let seg: Vec<&str> = path.trim_matches('/').split('/').collect();
    let context = Context::now();
    let parse = |b: Vec<u8>| serde_json::from_slice(&b).unwrap();
    if seg[0] == "multi-search" {
        let asked = MultiSearch::from_body(&cmd["body"])?;
        let snapshots: Snapshots = indexes.iter().map(|(k, v)| (k.clone(), v.snapshot())).collect();
        return match &asked.federation {
            Some(f) => run_federated(&snapshots, &asked.queries, f, &context, false),
            None => run_multi(&snapshots, &asked.queries, &context, false),
        }
        .map(parse);
    }
    let uid = lamina_server::wire::identifier::index_uid_in_path(seg[1])?;
    match (cmd["method"].as_str().unwrap(), seg[2]) {
        (m, "search") => {
            let q = if m == "POST" {
                SearchQuery::from_body(&cmd["body"])?
            } else {
                SearchQuery::from_parameters(&QueryString::parse(query))?
            };
            let snapshot = indexes.get(&uid).ok_or_else(|| ApiError::index_not_found(&uid))?.snapshot();
            let target = Target { uid: &uid, snapshot: &snapshot };
            let found = run(target, &q, &context)?;
            Answer { target, query: &q, context: &context, found, names_index: false, metadata: None }
                .write()
                .map(parse)
        }
        (_, "facet-search") => {
            let q = FacetSearch::from_body(&cmd["body"])?;
            let snapshot = indexes.get(&uid).ok_or_else(|| ApiError::index_not_found(&uid))?.snapshot();
            run_facet_search(Target { uid: &uid, snapshot: &snapshot }, &q, &context).map(parse)
        }
        (_, "similar") => {
            let q = SimilarQuery::from_body(&cmd["body"])?;
            let snapshot = indexes.get(&uid).ok_or_else(|| ApiError::index_not_found(&uid))?.snapshot();
            run_similar(Target { uid: &uid, snapshot: &snapshot }, &q, &context).map(parse)
        }
        ("GET", "settings") => {
            let snapshot = indexes.get(&uid).ok_or_else(|| ApiError::index_not_found(&uid))?.snapshot();
            Ok(settings::show(&snapshot.settings))
        }
        ("PATCH", "settings") if seg.len() == 3 => settings::read(&cmd["body"]).map(|_| json!({})),
        ("PUT", "settings") => settings::SettingKind::by_route(seg[3]).unwrap().read(&cmd["body"]).map(|_| json!({})),
        other => panic!("{other:?}"),
    }
}
