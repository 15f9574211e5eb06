//! The documents that match the first terms of a query, for each number of them.
//!
//! The strategy `last` leaves out terms from the end: what matches all but the last terms is known on the way to what
//! matches all, so each set is made once, from those of fewer terms.

use std::sync::OnceLock;

use lamina_segment::bits::DocSet;

use super::candidates::SegmentQuery;
use super::graph::QueryGraph;
use super::vertex::CLASSES;

/// Documents that match the leading terms, for one query and one segment. Each set is computed on first use.
pub(crate) struct LeadingTerms {
    /// By number of terms.
    docs: Vec<OnceLock<DocSet>>,
}

impl LeadingTerms {
    pub(crate) fn new(graph: &QueryGraph) -> LeadingTerms {
        LeadingTerms { docs: (0..=graph.terms.len()).map(|_| OnceLock::new()).collect() }
    }

    /// Documents of `universe` that match the first `count` terms through any of their nodes. `query` and `universe` are
    /// the same at each call.
    pub(crate) fn docs(&self, query: &SegmentQuery<'_>, universe: &DocSet, count: usize) -> &DocSet {
        self.docs[count].get_or_init(|| {
            if count == 0 {
                return universe.clone();
            }
            let everything = universe.len() == query.reader().doc_count();
            let mut all = DocSet::empty();
            for (index, node) in query.graph().nodes.iter().enumerate().filter(|(_, n)| n.first + n.len == count) {
                let docs = (0..CLASSES).map(|class| query.docs(index, class)).filter(|docs| !docs.is_empty());
                if node.first == 0 && everything {
                    docs.for_each(|docs| all.or_assign(docs));
                } else {
                    docs.for_each(|docs| all.or_assign(&self.docs(query, universe, node.first).and(docs)));
                }
            }
            all
        })
    }
}
