//! The dotted paths that a parser has met, found again without building their names.

use hashbrown::HashMap;

use super::PathId;

/// Top-level names with a meaning of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserved {
    No,
    Geo,
    GeoJson,
}

/// Path to which a key leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) path: PathId,
    pub(super) reserved: Reserved,
}

/// Interned paths. `{"a.b":…}` and `{"a":{"b":…}}` have the same one.
#[derive(Debug, Default)]
pub(super) struct Paths {
    paths: Vec<Path>,
    by_name: HashMap<Box<str>, PathId, foldhash::fast::RandomState>,
    top_level: Keys,
    /// Counts documents.
    now: u64,
}

#[derive(Debug)]
struct Path {
    name: Box<str>,
    keys: Keys,
    /// Last document that had text here.
    text_in: u64,
}

/// The keys met in objects at one path, in order of first appearance.
#[derive(Debug, Default)]
struct Keys {
    list: Vec<(Box<str>, Child)>,
    by_key: HashMap<Box<str>, usize, foldhash::fast::RandomState>,
}

impl Paths {
    pub(super) fn begin_document(&mut self) {
        self.now += 1;
    }

    pub(super) fn name(&self, path: PathId) -> &str {
        &self.paths[path.index()].name
    }

    /// Returns the path to which `key` leads in an object at `parent`, and whether that path is new. `hint` is the
    /// expected position of the next key. Documents tend to have the same keys in the same order, so one comparison
    /// finds most of them.
    pub(super) fn child(&mut self, parent: Option<PathId>, key: &str, hint: &mut usize) -> (Child, bool) {
        let keys = match parent {
            None => &self.top_level,
            Some(parent) => &self.paths[parent.index()].keys,
        };
        let expected = keys.list.get(*hint).filter(|(expected, _)| &**expected == key).map(|_| *hint);
        if let Some(at) = expected.or_else(|| keys.by_key.get(key).copied()) {
            *hint = at + 1;
            return (keys.list[at].1, false);
        }
        self.add(parent, key, hint)
    }

    #[cold]
    fn add(&mut self, parent: Option<PathId>, key: &str, hint: &mut usize) -> (Child, bool) {
        let name: Box<str> = match parent {
            None => key.into(),
            Some(parent) => format!("{}.{key}", self.name(parent)).into(),
        };
        let next = PathId(u32::try_from(self.paths.len()).expect("an index refuses new fields long before"));
        let path = *self.by_name.entry(name.clone()).or_insert(next);
        if path == next {
            self.paths.push(Path { name, keys: Keys::default(), text_in: 0 });
        }
        let reserved = match (parent, key) {
            (None, "_geo") => Reserved::Geo,
            (None, "_geojson") => Reserved::GeoJson,
            _ => Reserved::No,
        };
        let keys = match parent {
            None => &mut self.top_level,
            Some(parent) => &mut self.paths[parent.index()].keys,
        };
        let child = Child { path, reserved };
        keys.by_key.insert(key.into(), keys.list.len());
        keys.list.push((key.into(), child));
        *hint = keys.list.len();
        (child, path == next)
    }

    /// Notes that there is text at `path`, and answers whether this document had some there before.
    pub(super) fn repeated(&mut self, path: PathId) -> bool {
        std::mem::replace(&mut self.paths[path.index()].text_in, self.now) == self.now
    }
}
