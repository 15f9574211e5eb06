//! Documents on lines: usually one a line.

use std::io::{self, BufRead, Read};

use serde::de::IgnoredAny;

use super::{Batcher, Stop};

/// A document is as many lines as it needs.
pub(super) fn lines(reader: &mut dyn BufRead, batcher: &mut Batcher) -> Result<(), Stop> {
    let (mut document, mut line) = (Vec::new(), Vec::new());
    // The last byte of the document that is not blank.
    let mut last = 0;
    loop {
        read_line(reader, &mut line, batcher.limits.document_bytes)?;
        if line.is_empty() {
            break;
        }
        let text = line.trim_ascii();
        if !document.is_empty() && !goes_on(&document, last, text) {
            push(&document, batcher)?;
            document.clear();
        }
        batcher.check_length(document.len() + line.len())?;
        match text.last() {
            Some(&byte) => last = byte,
            None if document.is_empty() => {
                batcher.gap(&line)?;
                continue;
            }
            None => {}
        }
        if document.is_empty() {
            std::mem::swap(&mut document, &mut line);
        } else {
            document.extend_from_slice(&line);
        }
    }
    if document.is_empty() {
        return Ok(());
    }
    if !document.ends_with(b"\n") {
        document.push(b'\n');
    }
    push(&document, batcher)
}

/// Adds a document. Where a line is broken so that it seems to go on, those behind it that are documents are its own no
/// longer: a broken line costs no other.
fn push(document: &[u8], batcher: &mut Batcher) -> Result<(), Stop> {
    if let Some(ends) = several(document) {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let mut pieces = starts.zip(&ends);
        return pieces.try_for_each(|(start, &end)| batcher.push(&document[start..end]));
    }
    let first = document.split(|&byte| byte == b'\n').next().unwrap_or_default();
    // Who writes a document over several lines mostly gives the brace a line of its own.
    let is_suspect = first.len() + 1 < document.len() && first.starts_with(b"{") && first.trim_ascii() != b"{";
    if !is_suspect || is_object(document) {
        return batcher.push(document);
    }
    let mut rest = document;
    let mut end = 0;
    for line in document.split_inclusive(|&byte| byte == b'\n') {
        let is_document = line.starts_with(b"{") && is_object(line);
        if is_document && end > 0 {
            let (before, behind) = rest.split_at(end);
            batcher.push(before)?;
            (rest, end) = (behind, 0);
        }
        end += line.len();
        if is_document {
            let (whole, behind) = rest.split_at(end);
            batcher.push(whole)?;
            (rest, end) = (behind, 0);
        }
    }
    match rest.trim_ascii().is_empty() {
        true => batcher.gap(rest),
        false => batcher.push(rest),
    }
}

/// Returns where documents end that stand on one line, if it has more than one.
fn several(line: &[u8]) -> Option<Vec<usize>> {
    // Only between documents, and in texts, a `{` stands behind a `}`.
    let mut braces = memchr::memchr_iter(b'{', line);
    if !braces.any(|at| line[..at].trim_ascii_end().ends_with(b"}")) {
        return None;
    }
    let mut ends = Vec::new();
    let mut documents = serde_json::Deserializer::from_slice(line).into_iter::<IgnoredAny>();
    while let Some(document) = documents.next() {
        document.ok()?;
        let start = ends.last().copied().unwrap_or(0);
        line[start..].trim_ascii_start().starts_with(b"{").then_some(())?;
        ends.push(documents.byte_offset());
    }
    let count = ends.len();
    *ends.last_mut()? = line.len();
    (count > 1).then_some(ends)
}

fn is_object(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// Reads the next line, or one byte more than `bytes_max` of it.
fn read_line(reader: &mut dyn BufRead, line: &mut Vec<u8>, bytes_max: usize) -> io::Result<()> {
    line.clear();
    Read::take(reader, bytes_max as u64 + 1).read_until(b'\n', line)?;
    Ok(())
}

/// Reports whether the line that holds `text` still belongs to the document, whose last byte is `last`. A line
/// break between two documents has a `}` before it and a `{` after it; one inside a document never has both. Input
/// that is not an object is taken line by line.
fn goes_on(document: &[u8], last: u8, text: &[u8]) -> bool {
    let is_object = document.trim_ascii_start().starts_with(b"{");
    is_object
        && match text.first() {
            None => true,
            // A value that is an object.
            Some(b'{') => matches!(last, b':' | b',' | b'['),
            Some(first) => last != b'}' || matches!(first, b',' | b'}' | b']'),
        }
}
