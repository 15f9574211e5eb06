//! The vertices a path runs through: a node of the query graph at one typo cost.

use super::graph::QueryGraph;

/// Typo costs a node can have above its base: 0, 1, 2.
pub(crate) const CLASSES: usize = 3;

/// Index of a (node, typo class) pair: `node * CLASSES + class`.
pub(crate) type VertexIndex = usize;

/// The vertex of `node` at `class` typos.
pub(crate) fn vertex(node: usize, class: usize) -> VertexIndex {
    node * CLASSES + class
}

/// Node of a vertex.
pub(crate) fn node_of(vertex: VertexIndex) -> usize {
    vertex / CLASSES
}

/// Typos of a vertex above its node's base.
pub(crate) fn class_of(vertex: VertexIndex) -> usize {
    vertex % CLASSES
}

/// Number of vertices of a graph.
pub(crate) fn vertex_count(graph: &QueryGraph) -> usize {
    graph.nodes.len() * CLASSES
}
