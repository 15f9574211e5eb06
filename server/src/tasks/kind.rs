//! What a task is about and how far it is.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

macro_rules! named_enum {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $number:literal, $text:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $(#[doc = concat!("`", $text, "`")] $variant = $number,)* }

        impl $name {
            /// All of them, in the order in which messages list them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The public text.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// From the number that the task store keeps.
            pub fn from_number(number: u8) -> Option<$name> {
                match number { $($number => Some($name::$variant),)* _ => None }
            }

            /// From the public text, whatever its case.
            pub fn parse(text: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|one| one.as_str().eq_ignore_ascii_case(text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                $name::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("unknown name `{text}`")))
            }
        }
    };
}

named_enum! {
    /// The type of a task. The numbers are stored: they are never reused.
    Kind {
        DocumentAdditionOrUpdate = 0, "documentAdditionOrUpdate";
        DocumentEdition = 1, "documentEdition";
        DocumentDeletion = 2, "documentDeletion";
        SettingsUpdate = 3, "settingsUpdate";
        IndexCreation = 4, "indexCreation";
        IndexDeletion = 5, "indexDeletion";
        IndexUpdate = 6, "indexUpdate";
        IndexSwap = 7, "indexSwap";
        TaskCancelation = 8, "taskCancelation";
        TaskDeletion = 9, "taskDeletion";
        DumpCreation = 10, "dumpCreation";
        SnapshotCreation = 11, "snapshotCreation";
        Export = 12, "export";
        UpgradeDatabase = 13, "upgradeDatabase";
        IndexCompaction = 14, "indexCompaction";
        NetworkTopologyChange = 15, "networkTopologyChange";
        DsrUpdate = 16, "dsrUpdate";
        DsrClear = 17, "dsrClear";
    }
}

named_enum! {
    /// How far a task is. The numbers are stored; `processing` only lives in memory.
    Status {
        Enqueued = 0, "enqueued";
        Processing = 1, "processing";
        Succeeded = 2, "succeeded";
        Failed = 3, "failed";
        Canceled = 4, "canceled";
    }
}

impl Status {
    /// Whether the task will not change any more.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Succeeded | Status::Failed | Status::Canceled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_go_both_ways() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::from_number(kind as u8), Some(kind));
            assert_eq!(Kind::parse(&kind.as_str().to_uppercase()), Some(kind));
        }
        for &status in Status::ALL {
            assert_eq!(Status::from_number(status as u8), Some(status));
            assert_eq!(Status::parse(status.as_str()), Some(status));
        }
        assert_eq!(Kind::from_number(200), None);
        assert_eq!(Status::parse("done"), None);
    }
}
