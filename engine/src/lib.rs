//! The search engine of Lamina, for programs that search their own documents without a server. It knows nothing of HTTP, tasks or
//! keys.
//!
//! An [`Index`] is a folder. [`Index::write`] applies operations (documents, deletions, settings) and commits them; [`Index::snapshot`]
//! returns an immutable state that [`search`](fn@search) and [`facet`] read without a lock.
//!
//! ```
//! use lamina_engine::facet::{Listing, distributions, select_facets};
//! use lamina_engine::{Explain, Filter, Index, IndexOptions, Operation, Payload, SearchRequest, Upsert, search};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! // Open a folder.
//! let index = Index::create(folder.path(), IndexOptions::default())?;
//!
//! // Set settings, add documents: one line of JSON each.
//! let settings = serde_json::from_str(r#"{"filterableAttributes": ["genre"]}"#)?;
//! let films = r#"
//!     {"id": 1, "title": "Alien", "genre": "Horror"}
//!     {"id": 2, "title": "Brazil", "genre": "Comedy"}
//!     {"id": 3, "title": "Aliens", "genre": "Action"}
//! "#;
//! let upsert = Upsert::replacing(Payload::Bytes(films.as_bytes().into()));
//! for outcome in index.write(&[Operation::Settings(Box::new(settings)), Operation::Upsert(upsert)])? {
//!     outcome?;
//! }
//!
//! // Search: a typo is forgiven.
//! let snapshot = index.snapshot();
//! let request = SearchRequest {
//!     query: Some("alein".into()),
//!     filter: Filter::parse("genre != Comedy")?,
//!     explain: Some(Explain::default()),
//!     ..SearchRequest::default()
//! };
//! let found = search(&snapshot, &request)?;
//! assert_eq!(found.total, 2);
//! let best = snapshot.document(found.hits[0].address)?;
//! assert!(String::from_utf8(best)?.contains(r#""Alien""#));
//!
//! // Facets of what was found.
//! let fields = select_facets(&["genre".into()], &snapshot.settings, &snapshot.fields)?;
//! let facets = distributions(&snapshot, &found.candidates, &fields, Listing::up_to(100));
//! assert_eq!(facets[0].values.len(), 2);
//!
//! // Explain: which words were looked for, and where each hit has them.
//! let explanation = found.explanation.expect("it was requested");
//! assert_eq!(explanation.words, ["alein"]);
//! assert_eq!(explanation.matches[&found.hits[0].address].len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! Each module uses only those above it in this list:
//!
//! * [`geo`]: distances, regions, the documents inside or nearest
//! * [`vector`]: similarity of vectors, exactly or by their codes
//! * [`condition`]: a filter checked against the settings, then as ranges of ordinals
//! * [`facet`]: counts, extremes, ranges and histograms of values
//! * [`sort`]: sort expressions, sort keys of documents, the first documents of an order
//! * [`highlight`]: the displayed form of a hit: selected attributes, matches in tags, cropped texts
//! * [`boost`]: a factor for each document, from columns, filters and places
//! * [`query`]: the text of a query to a graph, to sets of terms, to candidates
//! * [`rank`]: ranking rules as one lexicographic key, top k, scores
//! * [`search`](mod@search): the entry point, from a request to a result
//!
//! Below this crate are `lamina-text` (words, languages, the syntax of filters), `lamina-segment` (one file of an index) and `lamina-index`
//! (commits, merges, settings). Their modules are here too, for the server: [`index`], [`segment`], [`text`] and the others.
#![deny(unsafe_code)]

pub mod boost;
pub mod condition;
pub mod facet;
pub mod geo;
pub mod highlight;
#[cfg(test)]
mod oracle;
pub mod query;
pub mod rank;
pub mod search;
pub mod sort;
pub mod vector;

pub use filter::Filter;
pub use index::{Index, IndexOptions, Operation, Payload, Settings, SettingsPatch, Snapshot, Upsert};
pub use lamina_index::{caches, index, runtime};
pub use lamina_segment::{bits, document, segment, storage};
pub use lamina_text::{filter, id, text};
pub use search::{Explain, Hit, SearchRequest, SearchResult, search};
