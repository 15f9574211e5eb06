//! The words of the protocol for what a task is about and how far it is.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

macro_rules! named_enum {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $(#[doc = concat!("`", $text, "`")] $variant,)* }

        impl $name {
            /// All of them, in the order in which messages list them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The public text.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
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
    /// The type of a task.
    Kind {
        DocumentAdditionOrUpdate = "documentAdditionOrUpdate";
        DocumentEdition = "documentEdition";
        DocumentDeletion = "documentDeletion";
        SettingsUpdate = "settingsUpdate";
        IndexCreation = "indexCreation";
        IndexDeletion = "indexDeletion";
        IndexUpdate = "indexUpdate";
        IndexSwap = "indexSwap";
        TaskCancelation = "taskCancelation";
        TaskDeletion = "taskDeletion";
        DumpCreation = "dumpCreation";
        SnapshotCreation = "snapshotCreation";
        Export = "export";
        UpgradeDatabase = "upgradeDatabase";
        IndexCompaction = "indexCompaction";
        NetworkTopologyChange = "networkTopologyChange";
        DsrUpdate = "dsrUpdate";
        DsrClear = "dsrClear";
        AliasUpdate = "aliasUpdate";
        IndexRestoration = "indexRestoration";
        IndexClone = "indexClone";
        IndexAttachment = "indexAttachment";
    }
}

named_enum! {
    /// Status of a task.
    Status {
        Enqueued = "enqueued";
        Processing = "processing";
        Succeeded = "succeeded";
        Failed = "failed";
        Canceled = "canceled";
    }
}

impl Status {
    /// Reports whether the task is final: it does not change any more.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Succeeded | Status::Failed | Status::Canceled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::parse(&kind.as_str().to_uppercase()), Some(kind));
        }
        for &status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
        }
        assert_eq!(Status::parse("done"), None);
    }
}
