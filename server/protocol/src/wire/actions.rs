//! The words of the protocol for what a key can be allowed to do. What they grant is the matter of `access`.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! actions {
    ($($variant:ident = $name:literal, $reach:ident;)*) => {
        /// An action. The order is the one in which messages list them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action { $(#[doc = concat!("`", $name, "`")] $variant,)* }

        impl Action {
            /// All of them.
            pub const ALL: &'static [Action] = &[$(Action::$variant,)*];

            /// The public name.
            pub fn name(self) -> &'static str { match self { $(Action::$variant => $name,)* } }

            /// Reports whether the action concerns the whole server. Only a key for all indexes may then hold it.
            pub fn is_global(self) -> bool {
                matches!(match self { $(Action::$variant => Reach::$reach,)* }, Reach::Global)
            }
        }
    };
}

enum Reach {
    Index,
    Global,
}

actions! {
    All = "*", Index;
    Search = "search", Index;
    DocumentsAll = "documents.*", Index;
    DocumentsAdd = "documents.add", Index;
    DocumentsGet = "documents.get", Index;
    DocumentsDelete = "documents.delete", Index;
    IndexesAll = "indexes.*", Index;
    IndexesCreate = "indexes.create", Index;
    IndexesGet = "indexes.get", Index;
    IndexesUpdate = "indexes.update", Index;
    IndexesDelete = "indexes.delete", Index;
    IndexesSwap = "indexes.swap", Index;
    TasksAll = "tasks.*", Index;
    TasksCancel = "tasks.cancel", Index;
    TasksDelete = "tasks.delete", Index;
    TasksGet = "tasks.get", Index;
    SettingsAll = "settings.*", Index;
    SettingsGet = "settings.get", Index;
    SettingsUpdate = "settings.update", Index;
    StatsAll = "stats.*", Index;
    StatsGet = "stats.get", Index;
    MetricsAll = "metrics.*", Global;
    MetricsGet = "metrics.get", Global;
    DumpsAll = "dumps.*", Global;
    DumpsCreate = "dumps.create", Global;
    SnapshotsAll = "snapshots.*", Global;
    SnapshotsCreate = "snapshots.create", Global;
    Version = "version", Global;
    KeysCreate = "keys.create", Global;
    KeysGet = "keys.get", Global;
    KeysUpdate = "keys.update", Global;
    KeysDelete = "keys.delete", Global;
    ExperimentalGet = "experimental.get", Global;
    ExperimentalUpdate = "experimental.update", Global;
    Export = "export", Global;
    NetworkGet = "network.get", Global;
    NetworkUpdate = "network.update", Global;
    ChatCompletions = "chatCompletions", Index;
    ChatsAll = "chats.*", Global;
    ChatsGet = "chats.get", Global;
    ChatsDelete = "chats.delete", Global;
    ChatsSettingsAll = "chatsSettings.*", Global;
    ChatsSettingsGet = "chatsSettings.get", Global;
    ChatsSettingsUpdate = "chatsSettings.update", Global;
    AllGet = "*.get", Index;
    WebhooksGet = "webhooks.get", Global;
    WebhooksUpdate = "webhooks.update", Global;
    WebhooksDelete = "webhooks.delete", Global;
    WebhooksCreate = "webhooks.create", Global;
    WebhooksAll = "webhooks.*", Global;
    IndexesCompact = "indexes.compact", Index;
    FieldsPost = "fields.post", Index;
    TasksCompact = "tasks.compact", Global;
    DynamicSearchRulesGet = "dynamicSearchRules.get", Global;
    DynamicSearchRulesCreate = "dynamicSearchRules.create", Global;
    DynamicSearchRulesUpdate = "dynamicSearchRules.update", Global;
    DynamicSearchRulesDelete = "dynamicSearchRules.delete", Global;
    DynamicSearchRulesAll = "dynamicSearchRules.*", Global;
    EventsAdd = "events.add", Index;
    EventsDelete = "events.delete", Global;
    EventsAll = "events.*", Global;
    AnalyticsGet = "analytics.get", Index;
    ExperimentsGet = "experiments.get", Global;
    ExperimentsUpdate = "experiments.update", Global;
    ExperimentsDelete = "experiments.delete", Global;
    ExperimentsAll = "experiments.*", Global;
}

impl Action {
    /// The action of this name.
    pub fn parse(name: &str) -> Option<Action> {
        Action::ALL.iter().copied().find(|action| action.name() == name)
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Actions that `*.get` grants: all that read, except those on keys and chats.
const READING: [Action; 18] = [
    Action::Search,
    Action::DocumentsGet,
    Action::Export,
    Action::IndexesGet,
    Action::TasksGet,
    Action::SettingsGet,
    Action::StatsGet,
    Action::MetricsGet,
    Action::Version,
    Action::ExperimentalGet,
    Action::NetworkGet,
    Action::ChatsGet,
    Action::ChatsSettingsGet,
    Action::WebhooksGet,
    Action::FieldsPost,
    Action::DynamicSearchRulesGet,
    Action::AnalyticsGet,
    Action::ExperimentsGet,
];

impl Action {
    /// Returns whether a key that may do this may also do `needed`.
    pub fn grants(self, needed: Action) -> bool {
        match self {
            _ if self == needed => true,
            Action::All => true,
            Action::AllGet => READING.contains(&needed),
            // `documents.*` grants what starts with `documents.`.
            _ => self.name().strip_suffix('*').is_some_and(|group| needed.name().starts_with(group)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(action: Action) -> Vec<Action> {
        Action::ALL.iter().copied().filter(|&needed| action.grants(needed)).collect()
    }

    #[test]
    fn wildcards_grant_their_group() {
        use Action::*;
        assert_eq!(granted(All), Action::ALL);
        assert_eq!(granted(Search), [Search]);
        assert_eq!(granted(DocumentsAll), [DocumentsAll, DocumentsAdd, DocumentsGet, DocumentsDelete]);
        assert_eq!(
            granted(IndexesAll),
            [IndexesAll, IndexesCreate, IndexesGet, IndexesUpdate, IndexesDelete, IndexesSwap, IndexesCompact]
        );
        assert_eq!(granted(ChatsAll), [ChatsAll, ChatsGet, ChatsDelete]);
    }

    #[test]
    fn reading_everything_is_neither_keys_nor_chats_nor_writing() {
        let granted = granted(Action::AllGet);
        assert_eq!(granted.len(), READING.len() + 1);
        for not in [Action::KeysGet, Action::ChatCompletions, Action::DocumentsAdd, Action::DocumentsAll] {
            assert!(!granted.contains(&not), "{not}");
        }
    }

    #[test]
    fn names_go_both_ways() {
        for &action in Action::ALL {
            assert_eq!(Action::parse(action.name()), Some(action));
        }
        assert_eq!(Action::ALL.len(), 66);
        assert_eq!(Action::parse("keys.*"), None);
    }
}
