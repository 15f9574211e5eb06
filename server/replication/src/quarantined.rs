//! Indexes that are held back while the others are published, where the store has a journal.
//!
//! A root covers tasks: who takes over does not carry those out again. An index that is held back stays in the root as it was
//! published, so what has changed it since must not be covered. Those tasks stay in the journal, and a server that takes over
//! carries them out on that state, in their order.
//!
//! Which tasks changed an index is known by its name. A task that gave it the name, or took it, has changed other indexes as well,
//! or names: where there is one among those in question, nothing is published.

use std::collections::BTreeSet;

use lamina_data::tasks::{Content, NewTask};

/// Parts of the database that a task may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Concern {
    /// No index.
    Nothing,
    /// Content of this index.
    Within(String),
    /// Assignment of these names to indexes, or the content of one of these indexes through another name.
    Names(Vec<String>),
}

impl Concern {
    pub(super) fn of(task: &NewTask) -> Concern {
        let own = || task.index_uid.iter().cloned();
        match &task.content {
            Content::Upsert(_)
            | Content::DeleteIds { .. }
            | Content::DeleteByFilter { .. }
            | Content::DeleteExpired
            | Content::Clear { .. }
            | Content::Edit(_)
            | Content::Settings { .. }
            | Content::CreateIndex { .. }
            | Content::CompactIndex
            | Content::UpdateIndex { new_uid: None, .. } => {
                task.index_uid.clone().map_or(Concern::Nothing, Concern::Within)
            }
            Content::UpdateIndex { new_uid: Some(new_uid), .. } | Content::CloneIndex { new_uid } => {
                Concern::Names(own().chain([new_uid.clone()]).collect())
            }
            // States before the present one are on the server that has them.
            Content::DeleteIndex | Content::AttachIndex { .. } | Content::RestoreIndex { .. } => {
                Concern::Names(own().collect())
            }
            Content::SwapIndexes { swaps } => {
                Concern::Names(swaps.iter().flat_map(|swap| swap.indexes.iter().cloned()).collect())
            }
            Content::UpdateAliases { moves } => Concern::Names(moves.values().flatten().cloned().collect()),
            Content::CreateSnapshot
            | Content::UpgradeDatabase { .. }
            | Content::CreateDump { .. }
            | Content::Export(_)
            | Content::CancelTasks { .. }
            | Content::DeleteTasks { .. }
            | Content::UpdateRule { .. }
            | Content::ClearRules => Concern::Nothing,
        }
    }
}

/// The tasks that a root must not cover which holds the indexes `held` back; `None` where they cannot be distinguished. `ended`:
/// those that the last root does not cover, and that have ended since; `has_succeeded` says whether one has, if that is known.
pub(super) fn tasks_of<'a>(
    held: &BTreeSet<String>,
    ended: impl Iterator<Item = (u32, &'a Concern)>,
    mut has_succeeded: impl FnMut(u32) -> Option<bool>,
) -> Option<BTreeSet<u32>> {
    let mut tasks = BTreeSet::new();
    for (uid, concern) in ended {
        let is_held = match concern {
            Concern::Nothing => false,
            Concern::Within(name) => held.contains(name),
            Concern::Names(names) => names.iter().any(|name| held.contains(name)),
        };
        // A task that failed or was canceled has changed nothing, and is not to be tried again.
        if !is_held || !has_succeeded(uid)? {
            continue;
        }
        if matches!(concern, Concern::Names(_)) {
            return None;
        }
        tasks.insert(uid);
    }
    Some(tasks)
}

#[cfg(test)]
mod tests {
    use lamina_data::tasks::Swap;

    use super::*;

    fn held(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn concern(uid: &str, content: Content) -> Concern {
        Concern::of(&NewTask::for_index(uid, content))
    }

    #[test]
    fn what_succeeded_in_an_index_that_is_held_back_is_not_covered() {
        let of = |uid: &str| concern(uid, Content::Clear { mark: None });
        let ended = [(1, of("films")), (2, of("books")), (3, of("films")), (5, of("films"))];
        let tasks = |names: &[&str], known: &dyn Fn(u32) -> Option<bool>| {
            tasks_of(&held(names), ended.iter().map(|(uid, concern)| (*uid, concern)), known)
        };
        assert_eq!(tasks(&["films"], &|uid| Some(uid != 3)), Some([1, 5].into()));
        assert_eq!(tasks(&["books", "films"], &|_| Some(true)), Some([1, 2, 3, 5].into()));
        assert_eq!(tasks(&["plays"], &|_| None), Some([].into()));
        // The row of a task is gone: it may have been canceled.
        assert_eq!(tasks(&["films"], &|uid| (uid != 3).then_some(true)), None);
        assert_eq!(tasks(&["books"], &|uid| (uid != 3).then_some(true)), Some([2].into()));
    }

    #[test]
    fn names_that_have_changed_cannot_be_distinguished() {
        let swaps = vec![Swap { indexes: ["films".to_owned(), "books".to_owned()], rename: false }];
        let swap = Concern::of(&NewTask { index_uid: None, ..NewTask::for_index("", Content::SwapIndexes { swaps }) });
        for named in [
            swap,
            concern("films", Content::DeleteIndex),
            concern("films", Content::CloneIndex { new_uid: "books".to_owned() }),
            concern("books", Content::UpdateIndex { primary_key: None, new_uid: Some("films".to_owned()) }),
            concern("films", Content::RestoreIndex { at: 1.into() }),
        ] {
            let tasks = |name: &str, has_succeeded| {
                tasks_of(&held(&[name]), [(1, &named)].into_iter(), |_| Some(has_succeeded))
            };
            assert_eq!(tasks("films", true), None, "{named:?}");
            assert_eq!([tasks("films", false), tasks("plays", true)], [Some([].into()), Some([].into())], "{named:?}");
        }
        let primary_key = concern("films", Content::UpdateIndex { primary_key: Some("id".to_owned()), new_uid: None });
        assert_eq!(primary_key, Concern::Within("films".to_owned()));
    }
}
