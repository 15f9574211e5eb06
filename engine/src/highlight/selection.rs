//! Lists of attributes as requests and settings write them: names, dotted paths, `*`.

/// Attributes selected by name. A name selects its nested children; a name that reads like a dotted path also selects
/// a key that is literally written so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// `*`
    All,
    /// Attributes with these names.
    These(Vec<String>),
    /// No attribute, as when the list is absent.
    #[default]
    Nothing,
}

/// Result of matching a selection against a path of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selected {
    /// With everything below.
    Whole,
    /// Something below may be selected.
    Below,
    No,
}

impl Selection {
    /// From a list of names; a `*` among them selects everything.
    pub fn new<S: AsRef<str>>(names: &[S]) -> Selection {
        if names.is_empty() {
            Selection::Nothing
        } else if names.iter().any(|name| name.as_ref() == "*") {
            Selection::All
        } else {
            Selection::These(names.iter().map(|name| name.as_ref().to_owned()).collect())
        }
    }

    pub(super) fn at(&self, path: &str) -> Selected {
        match self {
            Selection::All => Selected::Whole,
            Selection::Nothing => Selected::No,
            Selection::These(names) => {
                if names.iter().any(|name| is_inside(path, name)) {
                    Selected::Whole
                } else if names.iter().any(|name| is_inside(name, path)) {
                    Selected::Below
                } else {
                    Selected::No
                }
            }
        }
    }

    /// Works like [`Self::at`], for a path of which no ancestor is selected whole.
    pub(super) fn member(&self, path: &str) -> Selected {
        match self {
            Selection::These(names) if names.iter().all(|name| name != path) => {
                if names.iter().any(|name| is_inside(name, path)) { Selected::Below } else { Selected::No }
            }
            _ => self.at(path),
        }
    }
}

impl Selected {
    pub(super) fn and(self, other: Selected) -> Selected {
        match (self, other) {
            (Selected::No, _) | (_, Selected::No) => Selected::No,
            (Selected::Whole, other) => other,
            (Selected::Below, _) => Selected::Below,
        }
    }

    pub(super) fn or(self, other: Selected) -> Selected {
        match (self, other) {
            (Selected::Whole, _) | (_, Selected::Whole) => Selected::Whole,
            (Selected::No, other) => other,
            (Selected::Below, _) => Selected::Below,
        }
    }
}

/// Reports whether `path` is `parent` or something nested in it.
fn is_inside(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// `attributesToCrop`: names and the number of words that each may show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CropSelection {
    /// For every attribute that is not named.
    others: Option<usize>,
    named: Vec<(String, usize)>,
}

impl CropSelection {
    /// From entries `name`, `name:length` or `*`. A later entry of the same name wins, and `*` over all names before it;
    /// entries without a usable length take `default_length`.
    pub fn new<S: AsRef<str>>(entries: &[S], default_length: usize) -> CropSelection {
        let mut selection = CropSelection::default();
        for entry in entries {
            let entry = entry.as_ref();
            let (name, length) = match entry.rsplit_once(':') {
                Some((name, length)) => (name, length.parse().unwrap_or(default_length)),
                None => (entry, default_length),
            };
            if name == "*" {
                selection.others = Some(length);
                selection.named.clear();
            } else {
                selection.named.push((name.to_owned(), length));
            }
        }
        selection
    }

    pub fn is_empty(&self) -> bool {
        self.others.is_none() && self.named.is_empty()
    }

    pub(super) fn at(&self, path: &str) -> Selected {
        if self.others.is_some() {
            return Selected::Whole;
        }
        let each = self.named.iter().map(|(name, _)| match () {
            () if is_inside(path, name) => Selected::Whole,
            () if is_inside(name, path) => Selected::Below,
            () => Selected::No,
        });
        each.fold(Selected::No, Selected::or)
    }

    /// Words to keep of the text at `path`: those of the longest name that selects it. `None`: no crop.
    pub(super) fn length(&self, path: &str) -> Option<usize> {
        let selecting = self.named.iter().filter(|(name, _)| is_inside(path, name));
        let length = selecting.max_by_key(|(name, _)| name.len()).map(|(_, length)| *length).or(self.others);
        length.filter(|&length| length > 0)
    }
}
