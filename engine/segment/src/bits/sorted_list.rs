//! The algebra of sets that are strictly ascending lists of documents.

use lamina_text::id::DocId;

/// Beyond this ratio of lengths each document of the short list is searched in the long one.
const GALLOP_RATIO: usize = 16;

pub(super) fn intersect_lists(a: &[DocId], b: &[DocId]) -> Vec<DocId> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() / GALLOP_RATIO > short.len() {
        let (mut docs, mut rest) = (Vec::with_capacity(short.len()), long);
        for &doc in short {
            rest = &rest[gallop(rest, doc)..];
            if rest.first() == Some(&doc) {
                docs.push(doc);
            }
        }
        return docs;
    }
    // Without a branch for what is found: whether two are equal is hardly ever foreseen.
    let mut docs = vec![0; short.len()];
    let (mut i, mut j, mut found) = (0, 0, 0);
    while i < short.len() && j < long.len() {
        let (x, y) = (short[i], long[j]);
        docs[found] = x;
        found += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    docs.truncate(found);
    docs
}

pub(super) fn union_lists(a: &[DocId], b: &[DocId]) -> Vec<DocId> {
    let mut docs = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        docs.push(x.min(y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    docs.extend_from_slice(&a[i..]);
    docs.extend_from_slice(&b[j..]);
    docs
}

pub(super) fn subtract_lists(a: &[DocId], b: &[DocId]) -> Vec<DocId> {
    if b.len() / GALLOP_RATIO > a.len() {
        let mut rest = b;
        let is_kept = |doc: &DocId| {
            rest = &rest[gallop(rest, *doc)..];
            rest.first() != Some(doc)
        };
        return a.iter().copied().filter(is_kept).collect();
    }
    let mut docs = vec![0; a.len()];
    let (mut i, mut j, mut kept) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        docs[kept] = x;
        kept += usize::from(x < y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    let rest = &a[i..];
    docs[kept..kept + rest.len()].copy_from_slice(rest);
    docs.truncate(kept + rest.len());
    docs
}

/// Index of the first element of `list` that is not below `doc`, found in time logarithmic in the answer.
fn gallop(list: &[DocId], doc: DocId) -> usize {
    let mut step = 1;
    while step < list.len() && list[step] < doc {
        step *= 2;
    }
    let from = step / 2;
    let to = (step + 1).min(list.len());
    from + list[from..to].partition_point(|&d| d < doc)
}
