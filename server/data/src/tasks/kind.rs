//! The numbers by which the task store knows kinds and states of tasks: they are on disk, and never reused. Their public
//! names may change without them.

pub use lamina_protocol::wire::task_names::{Kind, Status};

/// Value that the task store keeps as a number.
pub(crate) trait Numbered: Sized {
    /// Returns the number that the task store keeps.
    fn number(self) -> u8;

    /// Returns what a number of the task store stands for.
    fn from_number(number: u8) -> Option<Self>;
}

macro_rules! numbered {
    ($name:ident { $($variant:ident = $number:literal;)* }) => {
        impl Numbered for $name {
            fn number(self) -> u8 {
                match self { $($name::$variant => $number,)* }
            }

            fn from_number(number: u8) -> Option<$name> {
                match number { $($number => Some($name::$variant),)* _ => None }
            }
        }
    };
}

numbered! {
    Kind {
        DocumentAdditionOrUpdate = 0;
        DocumentEdition = 1;
        DocumentDeletion = 2;
        SettingsUpdate = 3;
        IndexCreation = 4;
        IndexDeletion = 5;
        IndexUpdate = 6;
        IndexSwap = 7;
        TaskCancelation = 8;
        TaskDeletion = 9;
        DumpCreation = 10;
        SnapshotCreation = 11;
        Export = 12;
        UpgradeDatabase = 13;
        IndexCompaction = 14;
        NetworkTopologyChange = 15;
        DsrUpdate = 16;
        DsrClear = 17;
        AliasUpdate = 18;
        IndexRestoration = 19;
        IndexClone = 20;
        IndexAttachment = 21;
    }
}

// `processing` only lives in memory.
numbered! {
    Status {
        Enqueued = 0;
        Processing = 1;
        Succeeded = 2;
        Failed = 3;
        Canceled = 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_both_ways() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::from_number(kind.number()), Some(kind));
        }
        for &status in Status::ALL {
            assert_eq!(Status::from_number(status.number()), Some(status));
        }
        assert_eq!(Kind::from_number(200), None);
        assert_eq!((Kind::DsrClear.number(), Status::Canceled.number()), (17, 4), "they are stored");
    }
}
