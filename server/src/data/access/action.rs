//! What each action grants.

pub(crate) use crate::protocol::wire::actions::Action;

/// What `*.get` grants: everything that reads, but keys and chats.
const READING: [Action; 16] = [
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
];

impl Action {
    /// Whether a key that may do this may also do `needed`.
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
}
