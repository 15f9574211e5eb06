//! What the index keeps with its documents: which table they are of, and up to which place of its log.

use serde::{Deserialize, Serialize};

use crate::postgres::Lsn;

/// Version of the form of marks, and of documents. Those of another version are loaded again.
const VERSION: u32 = 1;

/// The mark of an index that follows a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Mark {
    /// [`VERSION`]
    pub(super) sync: u32,
    pub(super) origin: Origin,
    pub(super) table: Table,
    /// Every change before is in the index, and none after; absent while the table is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) position: Option<Lsn>,
    /// The last transaction that changed the table: its end, and its time.
    pub(super) commit: Lsn,
    pub(super) at: u64,
    /// Different in each write, so that none is carried out twice.
    pub(super) step: String,
}

/// Origin of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Origin {
    /// The number of the cluster.
    pub(super) system: String,
    pub(super) database: String,
    /// Name of the slot and of the publication.
    pub(super) slot: String,
}

/// State of the table when its rows were loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Table {
    /// Object id of the table.
    pub(super) oid: u32,
    /// A checksum of everything that decides what documents are.
    pub(super) definition: String,
    /// A checksum of the files of the rows: other ones when rows were written anew or removed together.
    pub(super) files: String,
    /// A checksum of when columns were last defined.
    pub(super) columns: String,
    /// True if other files alone are a reason to load again.
    pub(super) has_partitions: bool,
}

impl Mark {
    pub(super) fn new(origin: Origin, table: Table, position: Option<Lsn>) -> Mark {
        let commit = position.unwrap_or_default();
        Mark { sync: VERSION, origin, table, position, commit, at: 0, step: String::new() }
    }

    /// `None` for marks of others, and of other versions.
    pub(super) fn read(text: &str) -> Option<Mark> {
        serde_json::from_str(text).ok().filter(|mark: &Mark| mark.sync == VERSION)
    }

    /// Returns the mark as the index stores it.
    pub(super) fn text(&self, step: &str) -> String {
        let step = step.to_owned();
        serde_json::to_string(&Mark { step, ..self.clone() }).expect("plain data")
    }
}

impl Table {
    /// Returns the reason why documents of this table may no longer match its rows, although every change was followed.
    pub(super) fn difference(&self, now: &Table) -> Option<&'static str> {
        let other_files = self.files != now.files;
        if self.oid != now.oid {
            Some("the table was made anew")
        } else if self.definition != now.definition {
            Some("the definition of the table or of its publication changed")
        } else if other_files && self.has_partitions {
            Some("a partition was truncated or written anew")
        } else if other_files && self.columns != now.columns {
            Some("a column changed its type")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(has_partitions: bool) -> Table {
        let text = |text: &str| text.to_owned();
        Table { oid: 7, definition: text("d"), files: text("f"), columns: text("c"), has_partitions }
    }

    #[test]
    fn marks_are_read_and_written() {
        let text = |text: &str| text.to_owned();
        let origin = Origin { system: text("7"), database: text("shop"), slot: text("lamina_films") };
        let mark = Mark::new(origin, table(false), Some(Lsn(0x16_B374_D848)));
        let written = mark.text("a-1");
        assert!(written.contains(r#""position":"16/B374D848""#), "{written}");
        assert_eq!(Mark::read(&written).unwrap().text(""), mark.text(""));
        assert_ne!(mark.text("a-1"), mark.text("a-2"));
        let loading = Mark { position: None, ..mark.clone() };
        assert_eq!(Mark::read(&loading.text("a-1")).unwrap().position, None);
        for other in ["", "{}", "here", &written.replace("\"sync\":1", "\"sync\":2")] {
            assert_eq!(Mark::read(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_not_followed_is_noticed() {
        let (plain, parted) = (table(false), table(true));
        let text = |text: &str| text.to_owned();
        assert_eq!(plain.difference(&plain), None);
        assert_eq!(
            plain.difference(&Table { files: text("g"), ..plain.clone() }),
            None,
            "truncated, which is followed"
        );
        assert_eq!(plain.difference(&Table { columns: text("e"), ..plain.clone() }), None, "another default");
        let rewritten = Table { files: text("g"), columns: text("e"), ..plain.clone() };
        assert_eq!(plain.difference(&rewritten), Some("a column changed its type"));
        assert!(plain.difference(&Table { oid: 8, ..plain.clone() }).unwrap().contains("made anew"));
        assert!(plain.difference(&Table { definition: text("e"), ..plain.clone() }).is_some());
        assert!(parted.difference(&Table { files: text("g"), ..parted.clone() }).unwrap().contains("partition"));
    }
}
