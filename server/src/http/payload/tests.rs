//! Bodies of all shapes through the whole way in.

use lamina_base::budget::Budgets;
use lamina_base::options::Options;
use lamina_engine::document::PayloadFormat;
use std::io::Write;

use clap::{Args, FromArgMatches};
use futures_util::stream;
use lamina_engine::document::PayloadMemory;
use warp::http::header;

use super::*;
use crate::http::BodyBroken;

const NDJSON: Format = Format { format: PayloadFormat::NdJson, name: "ndjson" };

/// Returns the budgets of a server with little memory.
fn budgets() -> Budgets {
    let command = Options::augment_args(clap::Command::new("lamina"));
    let matches = command.get_matches_from(["lamina", "--max-indexing-memory", "128MiB"]);
    Budgets::new(&Options::from_arg_matches(&matches).unwrap())
}

fn receive_pieces(
    pieces: Vec<Result<Bytes, ()>>,
    encoding: Option<&str>,
    limit: u64,
    folder: &Path,
) -> ApiResult<Received> {
    let mut headers = HeaderMap::new();
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, encoding.parse().unwrap());
    }
    let body: BodyStream = Box::pin(stream::iter(pieces).map(|piece| piece.map_err(|()| BodyBroken)));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(receive(&headers, body, NDJSON, limit, folder, budgets().receiving()))
}

fn lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(|id| format!("{{\"id\":{id}}}\n").into_bytes()).collect()
}

fn pieces(bytes: &[u8], size: usize) -> Vec<Result<Bytes, ()>> {
    bytes.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn file_count(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn few_documents_stay_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let received = receive_pieces(pieces(&lines(3), 5), None, 1000, folder.path()).unwrap();
    assert_eq!((received.count, received.place), (3, PayloadPlace::Inline));
    assert_eq!(received.inline.unwrap(), lines(3));
    assert_eq!(file_count(folder.path()), 0);
}

#[test]
fn many_documents_become_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let sent = lines(20_000);
    for (body, encoding) in [(sent.clone(), None), (gzip(&sent), Some("gzip"))] {
        let received = receive_pieces(pieces(&body, 10_000), encoding, 1_000_000, folder.path()).unwrap();
        assert_eq!((received.count, received.bytes), (20_000, sent.len() as u64));
        let PayloadPlace::File(name) = received.place else { panic!("a file was expected") };
        assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), sent);
    }
}

#[test]
fn the_limit_counts_decoded_bytes_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let sent = lines(20_000);
    for (body, encoding) in [(sent.clone(), None), (gzip(&sent), Some("gzip"))] {
        let error = receive_pieces(pieces(&body, 10_000), encoding, 100_000, folder.path()).unwrap_err();
        assert_eq!((error.code, error.status()), (Code::PayloadTooLarge, 413));
        assert!(error.message.ends_with("The maximum accepted payload size is 100 KB."), "{}", error.message);
    }
    assert_eq!(file_count(folder.path()), 0);
}

#[test]
fn broken_connections_and_encodings_are_distinguished_from_broken_json() {
    let folder = tempfile::tempdir().unwrap();
    let sent = lines(20_000);
    let mut cut = pieces(&sent, 10_000);
    cut.truncate(cut.len() - 1);
    cut.push(Err(()));
    let zipped = gzip(&sent);
    let broken = [(cut, None), (pieces(&zipped[..zipped.len() - 20], 10_000), Some("gzip"))];
    for (body, encoding) in broken {
        let error = receive_pieces(body, encoding, 1_000_000, folder.path()).unwrap_err();
        assert_eq!(error.code, Code::BadRequest);
        assert_eq!(error.message, "The provided payload is incomplete and cannot be parsed");
    }
    let malformed = [&sent[..], b"{\"id\":"].concat();
    let error = receive_pieces(pieces(&malformed, 10_000), None, 1_000_000, folder.path()).unwrap_err();
    assert_eq!(error.code, Code::MalformedPayload);
    assert!(error.message.starts_with("The `ndjson` payload provided is malformed. `Couldn't serialize"));
    assert_eq!(file_count(folder.path()), 0);
}

#[test]
fn an_empty_body_is_no_payload_but_white_space_is_one_without_documents() {
    let folder = tempfile::tempdir().unwrap();
    for (body, encoding) in [(Vec::new(), None), (gzip(b""), Some("gzip"))] {
        let error = receive_pieces(pieces(&body, 10), encoding, 1000, folder.path()).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (Code::MissingPayload, "A ndjson payload is missing."));
    }
    assert_eq!(receive_pieces(pieces(b" \n", 10), None, 1000, folder.path()).unwrap().count, 0);
}

#[test]
fn a_document_that_indexing_has_no_memory_for_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let document = |bytes: usize| format!("{{\"id\":1,\"text\":\"{}\"}}\n", "a".repeat(bytes)).into_bytes();
    let sent = |bytes: usize| receive_pieces(pieces(&document(bytes), 100_000), None, 100 << 20, folder.path());
    assert_eq!(sent(7 << 20).unwrap().count, 1);
    let error = sent(9 << 20).unwrap_err();
    assert_eq!((error.code, error.status()), (Code::PayloadTooLarge, 413));
    assert!(error.message.starts_with("A document is longer than the 8.0 MiB that one may have."), "{}", error.message);
    assert!(error.message.contains("`--max-indexing-memory`"), "{}", error.message);
    assert_eq!(file_count(folder.path()), 1);
}

#[tokio::test]
async fn many_payloads_at_once_share_the_memory() {
    let budgets = budgets();
    let mut all = Vec::new();
    loop {
        let mut one = budgets.receiving();
        if !one.grow(0) {
            break;
        }
        all.push(one);
    }
    assert!((15..40).contains(&all.len()), "{} payloads of 1 MiB", all.len());
    let mut late = budgets.receiving();
    assert!(!late.grow(0));
    all.pop();
    assert!(late.take_buffers().await);
}
