//! Which moves an object has anything for: their places are one tree, so that what they share is walked once.

use super::carry::{Carry, keys};
use crate::tree::Value;

/// The places that moves start from.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    root: Fork,
    /// Moves that start where an earlier one may have put something.
    later: Vec<usize>,
}

/// A place on the way.
#[derive(Debug, Default)]
struct Fork {
    /// Moves that start here, or below the items of a list here.
    moves: Vec<usize>,
    below: Vec<(String, Self)>,
}

impl Sources {
    /// The tree of some moves.
    pub(crate) fn of(moves: &[Carry]) -> Self {
        let mut root = Fork::default();
        for (place, Carry { from, .. }) in moves.iter().enumerate() {
            let end = keys(from).into_iter().fold(&mut root, Fork::at);
            end.moves.push(place);
        }
        let mut later: Vec<usize> = Vec::new();
        for (place, Carry { to, .. }) in moves.iter().enumerate() {
            root.met(keys(to).into_iter(), &mut |other| later.extend((other > place).then_some(other)));
        }
        Self { root, later }
    }

    /// The moves that may have something to move in an object, in their order.
    pub(crate) fn in_object(&self, object: &Value) -> Vec<usize> {
        let mut found = Vec::new();
        self.root.find(object, &mut found);
        if !found.is_empty() {
            found.extend(&self.later);
            found.sort_unstable();
            found.dedup();
        }
        found
    }
}

impl Fork {
    /// The place at a key, made where it is not there yet.
    fn at(&mut self, key: &str) -> &mut Self {
        let known = self.below.iter().position(|(name, _)| name == key);
        let place = known.unwrap_or_else(|| {
            self.below.push((key.to_owned(), Self::default()));
            self.below.len() - 1
        });
        &mut self.below[place].1
    }

    /// The moves that start on a way, or below its end.
    fn met<'w>(&self, mut way: impl Iterator<Item = &'w str>, note: &mut impl FnMut(usize)) {
        self.moves.iter().for_each(|one| note(*one));
        match way.next() {
            Some(key) => {
                if let Some((_, below)) = self.below.iter().find(|(name, _)| name == key) {
                    below.met(way, note);
                }
            }
            None => self.below.iter().for_each(|(_, below)| below.met(std::iter::empty(), note)),
        }
    }

    /// The moves that start where an object has something.
    fn find(&self, value: &Value, found: &mut Vec<usize>) {
        found.extend(&self.moves);
        if let Value::Object(map) = value {
            for (key, below) in &self.below {
                if let Some(value) = map.get(key) {
                    below.find(value, found);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::carry::steps;
    use crate::schema::moves::How;
    use crate::tree::json;

    fn moves(all: &[(&str, &str)]) -> Vec<Carry> {
        all.iter().map(|(from, to)| Carry { from: steps("", from), to: steps("", to), how: How::Same }).collect()
    }

    #[test]
    fn what_is_not_there_is_not_moved() {
        let sources =
            Sources::of(&moves(&[("spec.a", "spec.x"), ("spec.b.c", "spec.y"), ("spec.l[*].d", "spec.l[*].e")]));
        assert_eq!(sources.in_object(&json!({"spec": {"b": {"c": 1}}})), [1]);
        assert_eq!(sources.in_object(&json!({"spec": {"a": null, "l": []}})), [0, 2]);
        assert!(sources.in_object(&json!({"spec": {"b": {}}, "a": 1})).is_empty());
    }

    #[test]
    fn what_an_earlier_move_may_have_put_somewhere_is_looked_for() {
        let sources =
            Sources::of(&moves(&[("spec.a", "spec.x"), ("spec.x.c", "spec.y"), ("spec.z", "spec.a"), ("spec", "s")]));
        assert_eq!(sources.in_object(&json!({"spec": {"a": 1}})), [0, 1, 3]);
    }
}
