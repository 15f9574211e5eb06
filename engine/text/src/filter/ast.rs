//! The syntax tree, and its canonical text.

use std::fmt;

use super::{Coordinates, Located, Location};

/// A filter: which documents to keep. Nested at most [`MAX_DEPTH`](super::MAX_DEPTH) (plus two for the array form).
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// All of them hold; at least two.
    And(Vec<Filter>),
    /// One of them holds; at least two.
    Or(Vec<Filter>),
    /// Complement over all documents of the index. Never holds another `Not`: pairs cancel out while parsing.
    Not(Box<Filter>),
    /// A condition on the values of a field (dotted path).
    Condition { field: Located<String>, condition: Condition },
    /// Not farther than `radius_m` metres. `resolution` is the number of sides of the polygon that stands for the
    /// circle where shapes are compared (`_geojson`); points need none.
    GeoRadius { center: Coordinates, radius_m: f64, resolution: Option<f64>, at: Located<()> },
    /// Inside a box; when the west longitude is greater than the east one it crosses the antimeridian.
    GeoBoundingBox { top_right: Coordinates, bottom_left: Coordinates, at: Located<()> },
    /// Inside a closed polygon of at least three points.
    GeoPolygon { points: Vec<Coordinates>, at: Located<()> },
    /// Presence of vectors.
    Vectors(Located<Vectors>),
    /// One element of the array of objects at `field` passes `filter`, whose fields are those of the element. It holds conditions on
    /// fields only.
    Element { field: Located<String>, filter: Box<Filter> },
    /// Documents of the index that `field` refers to must pass `filter`.
    Foreign { field: Located<String>, filter: Box<Filter>, at: Located<()> },
}

/// Condition on the values of a field. Operands are texts; the evaluation decides whether they are also numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    Equal(String),
    NotEqual(String),
    Compare(Comparison, String),
    /// Both ends included.
    Between {
        from: String,
        to: String,
    },
    In(Vec<String>),
    Exists,
    Null,
    Empty,
    /// The place is the one of the operator, for servers that gate it.
    Contains(Located<String>),
    StartsWith(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// `_vectors[.embedder[.kind]] EXISTS`
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// Any embedder if absent.
    pub embedder: Option<Located<String>>,
    /// Any origin if absent.
    pub kind: Option<VectorsKind>,
}

/// Origin of a vector.
#[derive(Clone, Debug, PartialEq)]
pub enum VectorsKind {
    UserProvided,
    DocumentTemplate,
    Regenerate,
    Fragment(Located<String>),
}

impl Filter {
    /// Place of the first `CONTAINS` in reading order, for servers that gate the operator.
    pub fn first_contains(&self) -> Option<&Location> {
        self.find(&|filter| match filter {
            Filter::Condition { condition: Condition::Contains(word), .. } => Some(&word.at),
            _ => None,
        })
    }

    /// Place of the first `_foreign`, for servers that gate it.
    pub fn first_foreign(&self) -> Option<&Location> {
        self.find(&|filter| match filter {
            Filter::Foreign { at, .. } => Some(&at.at),
            _ => None,
        })
    }

    /// Calls `pick` on this filter and all inside, in reading order, until it answers.
    pub fn find<'f, T>(&'f self, pick: &dyn Fn(&'f Filter) -> Option<T>) -> Option<T> {
        pick(self).or_else(|| match self {
            Filter::And(filters) | Filter::Or(filters) => filters.iter().find_map(|filter| filter.find(pick)),
            Filter::Not(filter) | Filter::Foreign { filter, .. } | Filter::Element { filter, .. } => filter.find(pick),
            _ => None,
        })
    }

    /// Both hold. Used to add a tenant's filter to the request's.
    pub fn and(self, other: Filter) -> Filter {
        Filter::And(vec![self, other])
    }
}

impl std::ops::Not for Filter {
    type Output = Filter;

    fn not(self) -> Filter {
        match self {
            Filter::Not(inner) => *inner,
            filter => Filter::Not(Box::new(filter)),
        }
    }
}

/// Canonical text: parsing it gives the same filter.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::And(filters) => joined(f, filters, " AND "),
            Filter::Or(filters) => joined(f, filters, " OR "),
            Filter::Not(filter) => write!(f, "NOT {}", Operand(filter)),
            Filter::Condition { field, condition } => write!(f, "{} {condition}", Quoted(&field.value)),
            Filter::GeoRadius { center, radius_m, resolution, .. } => {
                write!(f, "_geoRadius({}, {}, {radius_m}", center.latitude(), center.longitude())?;
                resolution.map_or(Ok(()), |sides| write!(f, ", {sides}"))?;
                f.write_str(")")
            }
            Filter::GeoBoundingBox { top_right, bottom_left, .. } => {
                write!(f, "_geoBoundingBox({}, {})", Pair(*top_right), Pair(*bottom_left))
            }
            Filter::GeoPolygon { points, .. } => {
                f.write_str("_geoPolygon(")?;
                for (i, point) in points.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { ", " }, Pair(*point))?;
                }
                f.write_str(")")
            }
            Filter::Vectors(vectors) => write!(f, "{} EXISTS", vectors.value),
            Filter::Element { field, filter } => write!(f, "{}[{filter}]", Quoted(&field.value)),
            Filter::Foreign { field, filter, .. } => write!(f, "_foreign({}, {filter})", Quoted(&field.value)),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Equal(value) => write!(f, "= {}", Quoted(value)),
            Condition::NotEqual(value) => write!(f, "!= {}", Quoted(value)),
            Condition::Compare(comparison, value) => write!(f, "{comparison} {}", Quoted(value)),
            Condition::Between { from, to } => write!(f, "{} TO {}", Quoted(from), Quoted(to)),
            Condition::In(values) => {
                f.write_str("IN [")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { ", " }, Quoted(value))?;
                }
                f.write_str("]")
            }
            Condition::Exists => f.write_str("EXISTS"),
            Condition::Null => f.write_str("IS NULL"),
            Condition::Empty => f.write_str("IS EMPTY"),
            Condition::Contains(value) => write!(f, "CONTAINS {}", Quoted(&value.value)),
            Condition::StartsWith(value) => write!(f, "STARTS WITH {}", Quoted(value)),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
        })
    }
}

impl fmt::Display for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_vectors")?;
        if let Some(embedder) = &self.embedder {
            write!(f, ".{}", Quoted(&embedder.value))?;
        }
        match &self.kind {
            None => Ok(()),
            Some(VectorsKind::UserProvided) => f.write_str(".userProvided"),
            Some(VectorsKind::DocumentTemplate) => f.write_str(".documentTemplate"),
            Some(VectorsKind::Regenerate) => f.write_str(".regenerate"),
            Some(VectorsKind::Fragment(name)) => write!(f, ".fragments.{}", Quoted(&name.value)),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, filters: &[Filter], separator: &str) -> fmt::Result {
    for (i, filter) in filters.iter().enumerate() {
        write!(f, "{}{}", if i == 0 { "" } else { separator }, Operand(filter))?;
    }
    Ok(())
}

/// A filter inside another one: chains get parentheses, which is always right, if not always needed.
struct Operand<'f>(&'f Filter);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            chain @ (Filter::And(_) | Filter::Or(_)) => write!(f, "({chain})"),
            single => write!(f, "{single}"),
        }
    }
}

struct Pair(Coordinates);

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.0.latitude(), self.0.longitude())
    }
}

/// A name or a value in quotes.
pub(super) struct Quoted<'s>(pub(super) &'s str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for part in self.0.split_inclusive(['"', '\\']) {
            match part.strip_suffix(['"', '\\']) {
                Some(before) => write!(f, "{before}\\{}", &part[before.len()..])?,
                None => f.write_str(part)?,
            }
        }
        f.write_str("\"")
    }
}
