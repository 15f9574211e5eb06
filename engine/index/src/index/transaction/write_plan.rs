//! What a run of upserts and deletions comes down to: for each id, what happens to the stored document and what takes
//! its place. Nothing is parsed or written here, so a document that is sent ten times is indexed once.

use hashbrown::HashTable;
use lamina_text::id::InternalId;

use super::super::operation::WriteMethod;
use super::super::snapshot::DocumentAddress;
use super::payload::PayloadBytes;
use super::scan::{ScannedPiece, key_hash};

/// A line of one of the plan's payloads.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRef {
    payload: u32,
    length: u32,
    offset: usize,
}

/// Planned changes of the document with one id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    key_hash: u64,
    key_start: usize,
    key_length: u16,
    /// The upsert that named the id last, for counting distinct ids.
    counted_by: u32,
    /// Deleted or replaced when the plan is carried out, unless the content is [`Content::Untouched`].
    pub(super) existing: Option<DocumentAddress>,
    /// [`OF_EXISTING`]: that of the existing document.
    internal_id: InternalId,
    pub(super) content: Content,
}

/// No document has this internal id.
const OF_EXISTING: InternalId = InternalId::MAX;

const _: () = assert!(size_of::<Entry>() <= 72, "a plan holds millions of entries");

/// The document under an id once the plan is carried out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// The existing one, or none.
    Untouched,
    /// No document.
    Deleted,
    Line(LineRef),
    /// The lines of [`WritePlan::chain`] with this number, each merged into the one before.
    Merged(u32),
}

/// Lines to merge, in order.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// True if the existing document comes first.
    pub(super) from_existing: bool,
    pub(super) lines: Vec<LineRef>,
}

/// Rules by which an upsert treats its documents.
#[derive(Clone, Copy, Debug)]
pub(super) struct UpsertRule {
    pub(super) method: WriteMethod,
    pub(super) skip_creation: bool,
    /// Segments from here on hold documents of the same upsert: their ids were counted already.
    pub(super) own_segments_start: u32,
}

#[derive(Debug, Default)]
pub(super) struct WritePlan {
    payloads: Vec<PayloadBytes>,
    entries: Vec<Entry>,
    by_key: HashTable<u32>,
    keys: String,
    chains: Vec<Chain>,
    upsert_count: u32,
}

impl WritePlan {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn key(&self, entry: &Entry) -> &str {
        &self.keys[entry.key_start..entry.key_start + usize::from(entry.key_length)]
    }

    pub(super) fn line(&self, line: LineRef) -> &[u8] {
        &self.payloads[line.payload as usize][line.offset..line.offset + line.length as usize]
    }

    pub(super) fn chain(&self, number: u32) -> &Chain {
        &self.chains[number as usize]
    }

    /// Reports whether the plan changes the document with this id.
    pub(super) fn holds(&self, key: &str) -> bool {
        let is_key = |&index: &u32| self.key(&self.entries[index as usize]) == key;
        self.by_key.find(key_hash(key), is_key).is_some()
    }

    /// Heap in use, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
            + self.by_key.capacity() * (size_of::<u32>() + 1)
            + self.keys.capacity()
            + self
                .chains
                .iter()
                .map(|chain| size_of::<Chain>() + chain.lines.capacity() * size_of::<LineRef>())
                .sum::<usize>()
    }

    /// Starts an upsert; its pieces follow through [`WritePlan::upsert`].
    pub(super) fn begin_upsert(&mut self, payload: PayloadBytes) {
        self.payloads.push(payload);
        self.upsert_count += 1;
    }

    /// Takes in lines of the current upsert. New documents get ids from `next_internal_id` on. Returns how many ids
    /// were not named by this upsert before.
    pub(super) fn upsert(&mut self, piece: &ScannedPiece, rule: UpsertRule, next_internal_id: &mut InternalId) -> u64 {
        let payload = u32::try_from(self.payloads.len() - 1).expect("far fewer operations");
        let mut distinct = 0;
        for line in &piece.lines {
            let index = self.entry(piece.key(line), line.key_hash, || line.existing);
            let entry = &mut self.entries[index];
            if entry.counted_by != self.upsert_count {
                entry.counted_by = self.upsert_count;
                if line.existing.is_none_or(|existing| existing.segment < rule.own_segments_start) {
                    distinct += 1;
                }
            }
            let present = entry.is_present();
            if !present && rule.skip_creation {
                continue;
            }
            if !present {
                entry.internal_id = *next_internal_id;
                *next_internal_id += 1;
            }
            let line = LineRef { payload, length: line.length, offset: line.offset };
            if rule.method == WriteMethod::Replace || !present {
                entry.content = Content::Line(line);
            } else {
                self.merge_into(index, line);
            }
        }
        distinct
    }

    /// Deletes the document with this id; `existing` finds the stored one. Returns whether there was one.
    pub(super) fn delete(&mut self, key: &str, existing: impl FnOnce() -> Option<DocumentAddress>) -> bool {
        let index = self.entry(key, key_hash(key), existing);
        let entry = &mut self.entries[index];
        let present = entry.is_present();
        entry.content = Content::Deleted;
        present
    }

    fn merge_into(&mut self, index: usize, line: LineRef) {
        let content = self.entries[index].content;
        let chain = match content {
            Content::Merged(chain) => {
                self.chains[chain as usize].lines.push(line);
                return;
            }
            Content::Untouched => Chain { from_existing: true, lines: vec![line] },
            Content::Line(first) => Chain { from_existing: false, lines: vec![first, line] },
            Content::Deleted => unreachable!("nothing to merge into"),
        };
        self.entries[index].content = Content::Merged(u32::try_from(self.chains.len()).expect("far fewer chains"));
        self.chains.push(chain);
    }

    fn entry(&mut self, key: &str, hash: u64, existing: impl FnOnce() -> Option<DocumentAddress>) -> usize {
        let (entries, keys) = (&self.entries, &self.keys);
        let same = |&index: &u32| {
            let entry = &entries[index as usize];
            entry.key_hash == hash && &keys[entry.key_start..entry.key_start + usize::from(entry.key_length)] == key
        };
        if let Some(&index) = self.by_key.find(hash, same) {
            return index as usize;
        }
        let index = u32::try_from(self.entries.len()).expect("a plan is carried out long before that");
        self.by_key.insert_unique(hash, index, |&index| entries[index as usize].key_hash);
        self.entries.push(Entry {
            key_hash: hash,
            key_start: self.keys.len(),
            // Ids to delete come from outside and may be of any length; a longer one names no document.
            key_length: u16::try_from(key.len()).unwrap_or(0),
            counted_by: 0,
            existing: existing(),
            internal_id: OF_EXISTING,
            content: Content::Untouched,
        });
        if u16::try_from(key.len()).is_ok() {
            self.keys.push_str(key);
        }
        index as usize
    }
}

impl Entry {
    /// Reports whether a document with this id exists at this point of the plan.
    fn is_present(&self) -> bool {
        match self.content {
            Content::Untouched => self.existing.is_some(),
            Content::Deleted => false,
            Content::Line(_) | Content::Merged(_) => true,
        }
    }

    /// The internal id of the document to write; `None`: that of the existing one.
    pub(super) fn new_internal_id(&self) -> Option<InternalId> {
        (self.internal_id != OF_EXISTING).then_some(self.internal_id)
    }

    /// The stored document that goes.
    pub(super) fn removed(&self) -> Option<DocumentAddress> {
        match self.content {
            Content::Untouched => None,
            _ => self.existing,
        }
    }

    /// Reports whether a document has to be written.
    pub(super) fn is_written(&self) -> bool {
        matches!(self.content, Content::Line(_) | Content::Merged(_))
    }
}
