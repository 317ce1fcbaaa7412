//! Go's decoding step without the values: merges, the alias budget, and what it refuses (`decode.go` of go-yaml v2, v2.4.4).
//!
//! Everything works on an explicit stack. The value of a node depends on the node alone, so merged and aliased parts are never copied.

use crate::yaml::arena::{NodeId, NodeShape};
use crate::yaml::error::{Error, Result};
use crate::yaml::resolve::is_merge;
use crate::yaml::tree::Tree;

enum Task {
    Visit(NodeId),
    /// Key and value pairs from one node up to another.
    Pairs(u32, u32),
    Items(u32, u32),
    Merge(NodeId),
    Leave(NodeId),
}

/// The counters of Go's decoder.
#[derive(Default)]
struct Budget {
    decodes: u64,
    aliased: u64,
    depth: usize,
}

impl Budget {
    /// Counts one decode; false when too large a share of them comes from aliases.
    #[expect(clippy::cast_precision_loss, reason = "Go compares the same floats")]
    fn spend(&mut self) -> bool {
        self.decodes += 1;
        self.aliased += u64::from(self.depth > 0);
        let allowed = match self.decodes {
            ..=400_000 => 0.99,
            4_000_000.. => 0.10,
            decodes => 0.99 - 0.89 * ((decodes - 400_000) as f64 / 3_600_000.0),
        };
        !(self.aliased > 100 && self.decodes > 1000 && self.aliased as f64 / self.decodes as f64 > allowed)
    }
}

impl Tree<'_> {
    fn fail(&self, node: NodeId, message: impl Into<String>) -> Error {
        self.error(self.span(node).start, message)
    }

    pub(crate) fn is_merge_key(&self, node: NodeId) -> bool {
        let raw = self.raw(node);
        matches!(raw.shape, NodeShape::Scalar { style, .. } if is_merge(style, raw.tag, self.scalar_text(node).unwrap_or_default()))
    }

    fn is_map(&self, node: NodeId) -> bool {
        matches!(self.raw(self.follow(node)).shape, NodeShape::Map { .. })
    }

    /// Walks the document as Go's decoder does and reports what it would refuse.
    pub(crate) fn check_decoding(&self) -> Result<()> {
        let Some(root) = self.root() else { return Ok(()) };
        // The document itself is the first decode.
        let mut budget = Budget { decodes: 1, ..Budget::default() };
        let mut tasks = vec![Task::Visit(root)];
        let mut active = vec![false; if self.arena.seen.shared { self.len() } else { 0 }];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Visit(node) => {
                    if !budget.spend() {
                        return Err(self.fail(node, "the document contains excessive aliasing"));
                    }
                    self.visit(node, &mut tasks, &mut active, &mut budget)?;
                }
                Task::Leave(alias) => {
                    active[alias.0 as usize] = false;
                    budget.depth -= 1;
                }
                Task::Pairs(next, end) if next < end => {
                    let key = NodeId(next);
                    let value = self.after(key);
                    tasks.push(Task::Pairs(self.after(value).0, end));
                    if self.is_merge_key(key) {
                        tasks.push(Task::Merge(value));
                        continue;
                    }
                    if !matches!(self.raw(self.follow(key)).shape, NodeShape::Scalar { .. }) {
                        return Err(self.fail(key, "a map or a sequence cannot be a key"));
                    }
                    tasks.push(Task::Visit(value));
                    tasks.push(Task::Visit(key));
                }
                Task::Items(next, end) if next < end => {
                    tasks.push(Task::Items(self.after(NodeId(next)).0, end));
                    tasks.push(Task::Visit(NodeId(next)));
                }
                Task::Pairs(..) | Task::Items(..) => {}
                Task::Merge(value) => tasks.extend(self.merged(value)?.into_iter().map(Task::Visit)),
            }
        }
        Ok(())
    }

    fn visit(&self, node: NodeId, tasks: &mut Vec<Task>, active: &mut [bool], budget: &mut Budget) -> Result<()> {
        let raw = self.raw(node);
        match raw.shape {
            NodeShape::Alias => {
                if std::mem::replace(&mut active[node.0 as usize], true) {
                    return Err(self.fail(node, "the value of this anchor contains itself"));
                }
                budget.depth += 1;
                tasks.push(Task::Leave(node));
                tasks.push(Task::Visit(NodeId(raw.a)));
            }
            NodeShape::Map { .. } => tasks.push(Task::Pairs(node.0 + 1, raw.a)),
            NodeShape::Seq { .. } => tasks.push(Task::Items(node.0 + 1, raw.a)),
            NodeShape::Scalar { .. } => {
                if let Some(Err(message)) = self.resolved(node) {
                    return Err(self.fail(node, message));
                }
            }
        }
        Ok(())
    }

    /// The maps that a merge value names, in the order in which a stack gives them back last to first, as Go applies them.
    fn merged(&self, value: NodeId) -> Result<Vec<NodeId>> {
        let maps = match self.raw(value).shape {
            NodeShape::Seq { .. } => self.items(value).collect(),
            _ => vec![value],
        };
        match maps.iter().find(|map| !self.is_map(**map)) {
            Some(other) => Err(self.fail(*other, "a merge needs a map or a sequence of maps")),
            None => Ok(maps),
        }
    }

    /// Calls `each` with every key and value of a map in the order in which Go sets them, so that later ones win. Merges are applied,
    /// values are followed to what aliases mean. Does nothing for other nodes. Needs a document that `check_decoding` has passed.
    pub(crate) fn each_entry(&self, node: NodeId, each: &mut dyn FnMut(NodeId, NodeId)) {
        let node = self.follow(node);
        let raw = self.raw(node);
        if !matches!(raw.shape, NodeShape::Map { .. }) {
            return;
        }
        let mut stack = vec![(node.0 + 1, raw.a)];
        while let Some((next, end)) = stack.pop() {
            if next >= end {
                continue;
            }
            let key = NodeId(next);
            let value = self.after(key);
            stack.push((self.after(value).0, end));
            if self.arena.seen.shared && self.is_merge_key(key) {
                for map in self.merged(value).unwrap_or_default() {
                    let map = self.follow(map);
                    stack.push((map.0 + 1, self.raw(map).a));
                }
            } else {
                each(self.follow(key), self.follow(value));
            }
        }
    }
}
