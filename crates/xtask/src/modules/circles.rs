// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Circles in a graph of imports, as few and as short as say it all.

use std::collections::BTreeMap;
use std::path::Path;

use petgraph::algo::{astar, tarjan_scc};
use petgraph::graph::{DiGraph, EdgeIndex, NodeIndex};
use petgraph::visit::EdgeRef;

use super::imports::Imports;
use super::tree::{Name, Tree};

/// One import of a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The importing module.
    pub from: Name,
    /// The line of its file that says so.
    pub line: usize,
}

/// The modules of a circle in order, from the one whose name comes first; the last imports that.
pub type Circle = Vec<Step>;

type Graph = DiGraph<Name, usize>;

/// Circles without which there would be none: the shortest one, then the shortest of what is left
/// once its imports are taken away, and so on.
pub fn find(imports: &Imports) -> Vec<Circle> {
    let mut graph = graph(imports);
    let mut circles = Vec::new();
    while let Some(edges) = shortest(&graph) {
        let step = |edge: &EdgeIndex| {
            let (from, _) = graph.edge_endpoints(*edge).expect("an edge of the graph");
            Step {
                from: graph[from].clone(),
                line: graph[*edge],
            }
        };
        let mut circle: Circle = edges.iter().map(step).collect();
        let first = (0..circle.len()).min_by_key(|i| &circle[*i].from);
        circle.rotate_left(first.unwrap_or(0));
        circles.push(circle);
        graph.retain_edges(|_, edge| !edges.contains(&edge));
    }
    circles
}

fn graph(imports: &Imports) -> Graph {
    let mut graph = Graph::new();
    let mut nodes: BTreeMap<&Name, NodeIndex> = BTreeMap::new();
    for ((from, to), line) in imports {
        let [from, to] = [from, to].map(|name| {
            let node = nodes.entry(name);
            *node.or_insert_with(|| graph.add_node(name.clone()))
        });
        graph.add_edge(from, to, *line);
    }
    graph
}

/// The edges of the shortest circle.
fn shortest(graph: &Graph) -> Option<Vec<EdgeIndex>> {
    let among = tarjan_scc(graph).into_iter().filter(|part| part.len() > 1);
    let mut best: Option<Vec<NodeIndex>> = None;
    for from in among.flatten() {
        for edge in graph.edges(from) {
            let back = astar(graph, edge.target(), |at| at == from, |_| 1, |_| 0);
            let Some((_, nodes)) = back else { continue };
            if best.as_ref().is_none_or(|best| nodes.len() < best.len()) {
                best = Some(nodes);
            }
        }
    }
    let nodes = best?;
    let next = nodes.iter().cycle().skip(1);
    let edges = nodes.iter().zip(next);
    Some(
        edges
            .map(|(from, to)| graph.find_edge(*from, *to).expect("a step of a path"))
            .collect(),
    )
}

/// `a (src/a.rs:1) -> b (src/b.rs:2) -> a`: each with the line by which it imports the next. Paths
/// are those below `root`.
pub fn line(circle: &Circle, tree: &Tree, root: &Path) -> String {
    let name = |name: &Name| match name.as_slice() {
        [] => "crate".to_owned(),
        words => words.join("::"),
    };
    let mut text = String::new();
    for step in circle {
        let file = &tree[&step.from].file;
        let file = file.strip_prefix(root).unwrap_or(file).display();
        text += &format!("{} ({file}:{}) -> ", name(&step.from), step.line);
    }
    text + &name(&circle[0].from)
}
