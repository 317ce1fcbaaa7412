//! Runs a Go template (`text/template/exec.go`).

use crate::gotemplate::Trouble;
use crate::gotemplate::functions;
use crate::gotemplate::parser::{Base, Operand, Pipe, TemplateNode};
use crate::gotemplate::value::Val;

/// The text that a template comes out as for some data.
pub(crate) fn run(nodes: &[TemplateNode], data: &Val) -> Result<String, Trouble> {
    run_as(nodes, data, false)
}

/// The text that a template comes out as, where an entry that is not there is a fault (`missingkey=error`).
pub(crate) fn run_strict(nodes: &[TemplateNode], data: &Val) -> Result<String, Trouble> {
    run_as(nodes, data, true)
}

fn run_as(nodes: &[TemplateNode], data: &Val, is_strict: bool) -> Result<String, Trouble> {
    let variables = vec![(String::new(), data.clone())];
    let mut run = Execution { out: String::new(), variables, left: STEPS, weight: 0, is_strict };
    run.block(nodes, data)?;
    Ok(run.out)
}

/// How many nodes are run at most; a class is written by people, and nothing of theirs comes near it.
const STEPS: usize = 100_000;

/// How much all values of one run may hold together, and how deep one may be: variables that are put into each other grow without
/// end in a few steps.
const HEAVIEST: usize = 16 * 1024 * 1024;
const DEEPEST: usize = 600;

/// A template that runs.
struct Execution {
    out: String,
    /// The variables in force, the youngest last; the first one is the data, under no name.
    variables: Vec<(String, Val)>,
    left: usize,
    /// What the values so far held.
    weight: usize,
    /// Whether an entry that is not there is a fault.
    is_strict: bool,
}

impl Execution {
    /// Runs nodes; variables that they declare end with them.
    fn block(&mut self, nodes: &[TemplateNode], dot: &Val) -> Result<(), Trouble> {
        let known = self.variables.len();
        for node in nodes {
            self.left = self.left.checked_sub(1).ok_or_else(|| Trouble::not_computed("a loop of very many turns"))?;
            self.node(node, dot)?;
        }
        self.variables.truncate(known);
        Ok(())
    }

    fn node(&mut self, node: &TemplateNode, dot: &Val) -> Result<(), Trouble> {
        match node {
            TemplateNode::Text(text) => {
                self.spend(text.len())?;
                self.out.push_str(text);
            }
            TemplateNode::Value(pipe) => {
                let value = self.pipe(pipe, dot)?;
                if pipe.into.is_empty() {
                    let value = self.weigh(value)?;
                    self.out.push_str(&value.shown());
                }
            }
            TemplateNode::If(branches) => {
                let known = self.variables.len();
                for (condition, body) in branches {
                    let holds = match condition {
                        Some(condition) => self.pipe(condition, dot)?.is_true(),
                        None => true,
                    };
                    if holds {
                        self.block(body, dot)?;
                        break;
                    }
                }
                self.variables.truncate(known);
            }
            TemplateNode::With(pipe, body, other) => {
                let known = self.variables.len();
                let value = self.pipe(pipe, dot)?;
                if value.is_true() {
                    self.block(body, &value)?;
                } else {
                    self.block(other, dot)?;
                }
                self.variables.truncate(known);
            }
            TemplateNode::Range(pipe, body, other) => self.range(pipe, body, other, dot)?,
        }
        Ok(())
    }

    /// A loop over a list, or over a map in the order of its keys.
    fn range(&mut self, pipe: &Pipe, body: &[TemplateNode], other: &[TemplateNode], dot: &Val) -> Result<(), Trouble> {
        if !pipe.into.is_empty() && !pipe.declares {
            return Err(Trouble::not_computed("a loop that sets older variables"));
        }
        let bare = Pipe { into: Vec::new(), ..pipe.clone() };
        let entries: Vec<(Val, Val)> = match self.pipe(&bare, dot)? {
            Val::Missing => Vec::new(),
            Val::List(items) => (0_i64..).map(Val::Int).zip(items).collect(),
            Val::Map(map) => map.into_iter().map(|(key, value)| (Val::Text(key), value)).collect(),
            Val::Int(_) => return Err(Trouble::not_computed("a loop over a number")),
            other => return Err(Trouble::fails(format!("range cannot go over {}", other.word()))),
        };
        if entries.is_empty() {
            return self.block(other, dot);
        }
        for (key, value) in entries {
            let known = self.variables.len();
            match pipe.into.as_slice() {
                [] => {}
                [one] => self.variables.push((one.clone(), value.clone())),
                [first, second] => {
                    self.variables.push((first.clone(), key));
                    self.variables.push((second.clone(), value.clone()));
                }
                _ => return Err(Trouble::fails("a loop has more than two variables")),
            }
            self.block(body, &value)?;
            self.variables.truncate(known);
        }
        Ok(())
    }

    /// The value of a pipeline, which is put into its variables.
    fn pipe(&mut self, pipe: &Pipe, dot: &Val) -> Result<Val, Trouble> {
        let mut value = None;
        for command in &pipe.commands {
            value = Some(self.command(command, value, dot)?);
        }
        let value = value.unwrap_or(Val::Missing);
        match pipe.into.as_slice() {
            [] => {}
            [name] if pipe.declares => self.variables.push((name.clone(), value.clone())),
            [name] => {
                let known = self.variables.iter_mut().rev().find(|(known, _)| known == name);
                known.ok_or_else(|| Trouble::fails(format!("there is no variable ${name}")))?.1 = value.clone();
            }
            _ => return Err(Trouble::fails("a value is put into several variables")),
        }
        Ok(value)
    }

    /// The value of a command; what comes out of the one before is its last argument.
    fn command(&mut self, operands: &[Operand], last: Option<Val>, dot: &Val) -> Result<Val, Trouble> {
        let [first, rest @ ..] = operands else { return Err(Trouble::fails("a command says nothing")) };
        if let Base::Function(name) = &first.base {
            return self.call(name, rest, last, dot);
        }
        if !rest.is_empty() || last.is_some() {
            return Err(Trouble::fails("an argument is given to something that is no function"));
        }
        self.operand(first, dot)
    }

    /// The value of an operand.
    fn operand(&mut self, operand: &Operand, dot: &Val) -> Result<Val, Trouble> {
        let mut value = match &operand.base {
            Base::Dot => dot.clone(),
            Base::Variable(name) => {
                let known = self.variables.iter().rev().find(|(known, _)| known == name);
                known.ok_or_else(|| Trouble::fails(format!("there is no variable ${name}")))?.1.clone()
            }
            Base::Text(text) => Val::Text(text.clone()),
            Base::Int(number) => Val::Int(*number),
            Base::Float(number) => Val::Float(*number),
            Base::Bool(yes) => Val::Bool(*yes),
            Base::Nil => return Err(Trouble::not_computed("nil")),
            Base::Pipe(pipe) => self.pipe(pipe, dot)?,
            Base::Function(name) => self.call(name, &[], None, dot)?,
        };
        for field in &operand.fields {
            value = value.field(field)?;
            if self.is_strict && value == Val::Missing {
                return Err(Trouble::fails(format!("there is no entry {field}")));
            }
        }
        self.weigh(value)
    }

    /// Calls a function. `and` and `or` stop at the argument that decides.
    fn call(&mut self, name: &str, operands: &[Operand], last: Option<Val>, dot: &Val) -> Result<Val, Trouble> {
        let mut given = Vec::with_capacity(operands.len() + 1);
        for operand in operands {
            let value = self.operand(operand, dot)?;
            if (name == "and" && !value.is_true()) || (name == "or" && value.is_true()) {
                return Ok(value);
            }
            given.push(value);
        }
        given.extend(last);
        let value = functions::call(name, given)?;
        self.weigh(value)
    }

    /// Counts a value that was made or copied.
    fn weigh(&mut self, value: Val) -> Result<Val, Trouble> {
        let weight = value.weight(DEEPEST).unwrap_or(HEAVIEST);
        self.spend(weight).map(|()| value)
    }

    fn spend(&mut self, weight: usize) -> Result<(), Trouble> {
        self.weight = self.weight.saturating_add(weight);
        if self.weight < HEAVIEST { Ok(()) } else { Err(Trouble::not_computed("a template that makes very much")) }
    }
}
