//! The language of `helm --set`, in which helm-controller puts one value at the `targetPath` of a reference, with everything that
//! it takes for an end of text and not for a fault.

use std::cell::RefCell;
use std::rc::Rc;

use super::tree::{self, Shared, ValueNode};
use crate::tree::Value;

/// Greatest index of a list (helm `pkg/strvals/parser.go`, `MaxIndex`).
const MOST: i64 = 65536;
/// Deepest path (`MaxNestedNameLevel`).
const DEEPEST: usize = 30;

/// Why nothing was set. A text never stands in it, as it may be secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The text is over. At the end of a whole line that is no fault.
    #[error("its end is reached too early")]
    End,
    /// It is not what Helm reads.
    #[error("{0}")]
    Wrong(&'static str),
}

/// What a text is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// What it looks like.
    Typed,
    /// What it looks like; an integer as a number that was read, so that nothing has to be set beside the values file.
    Read,
    /// A text.
    Text,
}

/// Reads `path=value` into a map (helm `pkg/strvals/parser.go`, `ParseInto`; for texts `ParseIntoString`).
///
/// # Errors
/// Where Helm refuses it.
pub(crate) fn parse_into(line: &str, into: &Shared, taken: Taken) -> Result<(), Refusal> {
    let mut parser = Parser { rest: line, taken };
    loop {
        match parser.key(into, 0) {
            Ok(()) => {}
            Err(Refusal::End) => return Ok(()),
            Err(wrong) => return Err(wrong),
        }
    }
}

struct Parser<'t> {
    rest: &'t str,
    taken: Taken,
}

type Parsed<T> = Result<T, Refusal>;

const END_OF_INDEX: Refusal = Refusal::Wrong("there is something behind the index of a list");

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    /// The text up to one of some characters, and which of them it was; `None` at the end of all.
    fn until(&mut self, stop: &[char]) -> (String, Option<char>) {
        let mut text = String::new();
        while let Some(c) = self.next() {
            if stop.contains(&c) {
                return (text, Some(c));
            }
            match c {
                '\\' => match self.next() {
                    Some(escaped) => text.push(escaped),
                    None => break,
                },
                plain => text.push(plain),
            }
        }
        (text, None)
    }

    fn key(&mut self, data: &Shared, depth: usize) -> Parsed<()> {
        let (name, stop) = self.until(&['=', '[', ',', '.']);
        match stop {
            None if name.is_empty() => Err(Refusal::End),
            None => Err(Refusal::Wrong("a key has no value")),
            Some('[') => {
                let index = self.index()?;
                let list = match data.borrow().get(&name) {
                    None => Rc::default(),
                    Some(ValueNode::List(list)) => Rc::clone(list),
                    Some(_) => return Err(Refusal::Wrong("what is no list has no index")),
                };
                let (list, outcome) = self.item(list, index, depth);
                set(data, &name, ValueNode::List(list));
                outcome
            }
            Some('=') => {
                let (value, outcome) = self.value();
                if let Some(value) = value {
                    set(data, &name, value);
                }
                outcome
            }
            Some('.') => self.below(data, &name, depth + 1),
            Some(_) => Err(Refusal::Wrong("a key has no value (cannot end with ,)")),
        }
    }

    fn below(&mut self, data: &Shared, name: &str, depth: usize) -> Parsed<()> {
        if depth > DEEPEST {
            return Err(Refusal::Wrong("the path is too deep"));
        }
        let inner = match data.borrow().get(name) {
            None => tree::map(),
            Some(ValueNode::Map(map)) => Rc::clone(map),
            Some(_) => return Err(Refusal::Wrong("what is no map has no keys")),
        };
        let outcome = self.key(&inner, depth);
        let is_empty = inner.borrow().is_empty();
        if outcome.is_ok() && is_empty {
            return Err(Refusal::Wrong("a map has no value"));
        }
        if !is_empty {
            set(data, name, ValueNode::Map(inner));
        }
        outcome
    }

    /// What stands behind `=`; what of it is set even where it ends all.
    fn value(&mut self) -> (Option<ValueNode>, Parsed<()>) {
        match self.listed() {
            Ok(Some(list)) => (Some(list), Ok(())),
            Ok(None) => {
                let (text, _) = self.until(&[',']);
                (Some(self.typed(text)), Ok(()))
            }
            Err(Refusal::End) => (Some(ValueNode::text("")), Err(Refusal::End)),
            Err(wrong) => (None, Err(wrong)),
        }
    }

    /// A list in braces; `None` where there is none.
    fn listed(&mut self) -> Parsed<Option<ValueNode>> {
        match self.rest.chars().next() {
            None => return Err(Refusal::End),
            Some('{') => {}
            Some(_) => return Ok(None),
        }
        self.rest = self.rest.get(1..).unwrap_or_default();
        let mut items = Vec::new();
        loop {
            let (text, stop) = self.until(&[',', '}']);
            let is_last = match stop {
                None => return Err(Refusal::Wrong("a list must end with }")),
                Some(stop) => stop == '}',
            };
            items.push(self.typed(text));
            if is_last {
                self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
                return Ok(Some(ValueNode::List(Rc::new(RefCell::new(items)))));
            }
        }
    }

    fn index(&mut self) -> Parsed<i64> {
        let (text, stop) = self.until(&[']']);
        match stop {
            None => Err(Refusal::End),
            Some(_) => text.parse().map_err(|_| Refusal::Wrong("the index of a list is no number")),
        }
    }

    /// One item of a list: the list that it then is, which may be another one, and what came of it.
    fn item(&mut self, list: List, index: i64, depth: usize) -> (List, Parsed<()>) {
        if index < 0 {
            return (list, Err(Refusal::Wrong("a negative index is not allowed")));
        }
        let (text, stop) = self.until(&['[', '.', '=']);
        if !text.is_empty() {
            return (list, Err(END_OF_INDEX));
        }
        match stop {
            None => (list, Err(Refusal::End)),
            Some('=') => match self.value() {
                // The end of all is no fault here: the empty text is set.
                (Some(value), _) => put(list, index, value),
                (None, outcome) => (list, outcome),
            },
            Some('[') => self.nested(list, index, depth),
            Some(_) => self.inside(list, index, depth),
        }
    }

    /// A list in a list.
    fn nested(&mut self, list: List, index: i64, depth: usize) -> (List, Parsed<()>) {
        let next = match self.index() {
            Ok(next) => next,
            Err(wrong) => return (list, Err(wrong)),
        };
        let inner = match at(&list, index) {
            None => Rc::default(),
            Some(ValueNode::Plain(Value::Null)) => Rc::default(),
            Some(ValueNode::List(inner)) => inner,
            Some(_) => return (list, Err(Refusal::Wrong("what is no list has no index"))),
        };
        match self.item(inner, next, depth) {
            (inner, Ok(())) => put(list, index, ValueNode::List(inner)),
            (_, wrong) => (list, wrong),
        }
    }

    /// A map in a list.
    fn inside(&mut self, list: List, index: i64, depth: usize) -> (List, Parsed<()>) {
        let inner = match at(&list, index) {
            Some(ValueNode::Map(map)) => map,
            Some(_) => {
                let map = tree::map();
                let place = usize::try_from(index).unwrap_or(usize::MAX);
                if let Some(slot) = list.borrow_mut().get_mut(place) {
                    *slot = ValueNode::Map(Rc::clone(&map));
                }
                map
            }
            None => tree::map(),
        };
        match self.key(&inner, depth) {
            Ok(()) => put(list, index, ValueNode::Map(inner)),
            wrong => (list, wrong),
        }
    }

    /// A value with the type that Helm gives its text (`typedVal`).
    fn typed(&self, text: String) -> ValueNode {
        if self.taken == Taken::Text {
            return ValueNode::text(text);
        }
        // Go folds case by Unicode, where the long s is an s.
        let folded: String = text.chars().map(|c| if c == 'ſ' { 's' } else { c.to_ascii_lowercase() }).collect();
        match folded.as_str() {
            "true" => ValueNode::Plain(Value::Bool(true)),
            "false" => ValueNode::Plain(Value::Bool(false)),
            "null" => ValueNode::null(),
            "0" => self.integer(0),
            _ => match text.parse() {
                Ok(number) if !text.starts_with('0') => self.integer(number),
                _ => ValueNode::text(text),
            },
        }
    }

    fn integer(&self, number: i64) -> ValueNode {
        if self.taken == Taken::Read { ValueNode::Plain(Value::from(number)) } else { ValueNode::Integer(number) }
    }
}

type List = Rc<RefCell<Vec<ValueNode>>>;

fn at(list: &List, index: i64) -> Option<ValueNode> {
    list.borrow().get(usize::try_from(index).ok()?).cloned()
}

/// A key without a name is not set.
fn set(data: &Shared, name: &str, value: ValueNode) {
    if !name.is_empty() {
        data.borrow_mut().insert(name.to_owned(), value);
    }
}

/// Sets an item: in place where the list has it, in a longer copy where not (`setIndex`).
fn put(list: List, index: i64, value: ValueNode) -> (List, Parsed<()>) {
    let (true, Ok(place)) = (index <= MOST, usize::try_from(index)) else {
        return (list, Err(Refusal::Wrong("the index of a list is too great")));
    };
    let list = if list.borrow().len() <= place {
        let mut longer = list.borrow().clone();
        longer.resize(place + 1, ValueNode::null());
        Rc::new(RefCell::new(longer))
    } else {
        list
    };
    if let Some(slot) = list.borrow_mut().get_mut(place) {
        *slot = value;
    }
    (list, Ok(()))
}
