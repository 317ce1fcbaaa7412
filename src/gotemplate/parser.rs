//! Reads the parts of a Go template as a tree (`text/template/parse/parse.go`).

use crate::gotemplate::Trouble;
use crate::gotemplate::lexer::{Part, Word, parts};

/// A node of a template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TemplateNode {
    /// Text that comes out as it stands.
    Text(String),
    /// A value that is printed, or put into variables.
    Value(Pipe),
    /// One of several branches; the last one may have no condition.
    If(Vec<(Option<Pipe>, Vec<Self>)>),
    /// A loop, and what comes out where there is nothing to go over.
    Range(Pipe, Vec<Self>, Vec<Self>),
    /// A block with another dot, and what comes out where the value is empty.
    With(Pipe, Vec<Self>, Vec<Self>),
}

/// Commands whose results are handed on, and the variables that take the last one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pipe {
    /// Variables before the sign.
    pub(crate) into: Vec<String>,
    /// Whether they are new.
    pub(crate) declares: bool,
    /// The commands.
    pub(crate) commands: Vec<Vec<Operand>>,
}

/// A word with a value, and the fields that are taken of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operand {
    /// What stands there.
    pub(crate) base: Base,
    /// Fields behind it.
    pub(crate) fields: Vec<String>,
}

/// What an operand starts with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Base {
    /// The dot.
    Dot,
    /// A variable.
    Variable(String),
    /// A text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// Nothing.
    Nil,
    /// A pipeline in parentheses.
    Pipe(Box<Pipe>),
    /// A function.
    Function(String),
}

/// Reads a template.
pub(crate) fn parse(template: &str) -> Result<Vec<TemplateNode>, Trouble> {
    let parts = parts(template)?;
    if depth(&parts) > DEEPEST {
        return Err(Trouble::not_computed("a template that is nested very deep"));
    }
    let mut reader = Reader { parts: &parts, place: 0 };
    let (nodes, end) = reader.block()?;
    match end {
        End::Whole => Ok(nodes),
        End::Closed | End::Else(_) => Err(Trouble::fails("an end or else has no beginning")),
    }
}

/// The functions that a template names, in whatever branch.
pub(crate) fn functions(nodes: &[TemplateNode]) -> Vec<&str> {
    let mut out = Vec::new();
    for node in nodes {
        match node {
            TemplateNode::Text(_) => {}
            TemplateNode::Value(pipe) => of_pipe(pipe, &mut out),
            TemplateNode::If(branches) => {
                for (condition, body) in branches {
                    condition.iter().for_each(|pipe| of_pipe(pipe, &mut out));
                    out.extend(functions(body));
                }
            }
            TemplateNode::Range(pipe, body, other) | TemplateNode::With(pipe, body, other) => {
                of_pipe(pipe, &mut out);
                out.extend(functions(body));
                out.extend(functions(other));
            }
        }
    }
    out
}

/// The functions of one pipeline.
fn of_pipe<'n>(pipe: &'n Pipe, out: &mut Vec<&'n str>) {
    for operand in pipe.commands.iter().flatten() {
        match &operand.base {
            Base::Function(name) => out.push(name),
            Base::Pipe(inner) => of_pipe(inner, out),
            _ => {}
        }
    }
}

/// How deep parentheses and blocks may stand in each other; each level is a call of the reader.
const DEEPEST: usize = 100;

/// How deep parentheses and blocks stand in each other at most.
fn depth(parts: &[Part]) -> usize {
    let (mut blocks, mut deepest) = (0_usize, 0);
    for part in parts {
        let Part::Action(words) = part else { continue };
        match trimmed(words).first() {
            Some(Word::Name(name)) if matches!(name.as_str(), "if" | "range" | "with") => blocks += 1,
            Some(Word::Name(name)) if name == "end" => blocks = blocks.saturating_sub(1),
            _ => {}
        }
        let mut open = 0_usize;
        for word in words {
            match word {
                Word::Mark("(") => open += 1,
                Word::Mark(")") => open = open.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(blocks + open);
        }
        deepest = deepest.max(blocks);
    }
    deepest
}

/// How a block ends.
enum End {
    Whole,
    Closed,
    /// With the words behind `else`.
    Else(Vec<Word>),
}

/// Reads blocks.
struct Reader<'p> {
    parts: &'p [Part],
    place: usize,
}

impl Reader<'_> {
    /// Everything up to the end of a block.
    fn block(&mut self) -> Result<(Vec<TemplateNode>, End), Trouble> {
        let mut out = Vec::new();
        while let Some(part) = self.parts.get(self.place) {
            self.place += 1;
            let words = match part {
                Part::Text(text) => {
                    out.push(TemplateNode::Text(text.clone()));
                    continue;
                }
                Part::Action(words) => trimmed(words),
            };
            let rest = words.get(1..).unwrap_or_default();
            match words.first() {
                Some(Word::Name(name)) if name == "end" && rest.is_empty() => return Ok((out, End::Closed)),
                Some(Word::Name(name)) if name == "else" => return Ok((out, End::Else(trimmed(rest).to_vec()))),
                Some(Word::Name(name)) if name == "if" => out.push(self.condition(rest)?),
                Some(Word::Name(name)) if name == "range" || name == "with" => out.push(self.loops(name, rest)?),
                Some(Word::Name(name)) if OTHERS.contains(&name.as_str()) => {
                    return Err(Trouble::not_computed(format!("the action {name}")));
                }
                Some(_) => out.push(TemplateNode::Value(pipe(words)?)),
                None => return Err(Trouble::fails("an action says nothing")),
            }
        }
        Ok((out, End::Whole))
    }

    /// An `if` with its branches.
    fn condition(&mut self, words: &[Word]) -> Result<TemplateNode, Trouble> {
        let mut branches = Vec::new();
        let mut condition = Some(pipe(words)?);
        loop {
            let (body, end) = self.block()?;
            let is_last = condition.is_none();
            branches.push((condition.take(), body));
            match end {
                End::Closed => return Ok(TemplateNode::If(branches)),
                End::Else(words) if !is_last => {
                    condition = match words.split_first() {
                        None => None,
                        Some((Word::Name(name), rest)) if name == "if" => Some(pipe(rest)?),
                        Some(_) => return Err(Trouble::not_computed("an else with a condition of another kind")),
                    };
                }
                End::Else(_) | End::Whole => return Err(Trouble::fails("an if does not end")),
            }
        }
    }

    /// A `range` or a `with`.
    fn loops(&mut self, name: &str, words: &[Word]) -> Result<TemplateNode, Trouble> {
        let pipe = pipe(words)?;
        let (body, end) = self.block()?;
        let other = match end {
            End::Closed => Vec::new(),
            End::Else(words) if words.is_empty() => match self.block()? {
                (other, End::Closed) => other,
                _ => return Err(Trouble::fails("a block does not end")),
            },
            End::Else(_) => return Err(Trouble::not_computed("an else with a condition")),
            End::Whole => return Err(Trouble::fails("a block does not end")),
        };
        Ok(if name == "with" { TemplateNode::With(pipe, body, other) } else { TemplateNode::Range(pipe, body, other) })
    }
}

/// Actions that are not followed.
const OTHERS: [&str; 5] = ["template", "define", "block", "break", "continue"];

/// Words without white space around them.
fn trimmed(words: &[Word]) -> &[Word] {
    let start = words.iter().take_while(|word| **word == Word::Space).count();
    let end = words.iter().rev().take_while(|word| **word == Word::Space).count();
    words.get(start..words.len() - end).unwrap_or_default()
}

/// Reads a pipeline, with the variables that it is put into.
fn pipe(words: &[Word]) -> Result<Pipe, Trouble> {
    let words = trimmed(words);
    let sign = words.iter().position(|word| matches!(word, Word::Mark("=" | ":=")));
    let (mut into, mut declares, mut body) = (Vec::new(), false, words);
    if let Some(place) = sign {
        declares = words[place] == Word::Mark(":=");
        for word in &words[..place] {
            match word {
                Word::Variable(name) => into.push(name.clone()),
                Word::Space | Word::Mark(",") => {}
                _ => return Err(Trouble::not_computed("a variable with fields that is set")),
            }
        }
        body = &words[place + 1..];
    }
    let mut commands = Vec::new();
    for command in split(body)? {
        commands.push(operands(command)?);
    }
    Ok(Pipe { into, declares, commands })
}

/// Cuts a pipeline at its signs, parentheses kept together.
fn split(words: &[Word]) -> Result<Vec<&[Word]>, Trouble> {
    let (mut out, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (place, word) in words.iter().enumerate() {
        match word {
            Word::Mark("(") => depth += 1,
            Word::Mark(")") => depth = depth.checked_sub(1).ok_or_else(|| Trouble::fails("a parenthesis too many"))?,
            Word::Mark("|") if depth == 0 => {
                out.push(&words[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(Trouble::fails("a parenthesis does not end"));
    }
    out.push(&words[start..]);
    Ok(out)
}

/// Reads the operands of one command.
fn operands(words: &[Word]) -> Result<Vec<Operand>, Trouble> {
    let mut out: Vec<Operand> = Vec::new();
    let (mut place, mut joins) = (0, false);
    while let Some(word) = words.get(place) {
        place += 1;
        let base = match word {
            Word::Space => {
                joins = false;
                continue;
            }
            Word::Field(name) => {
                match out.last_mut().filter(|_| joins) {
                    Some(last) if matches!(last.base, Base::Dot | Base::Variable(_) | Base::Pipe(_)) => {
                        last.fields.push(name.clone());
                    }
                    Some(_) => return Err(Trouble::fails("a field of something that has none")),
                    None => out.push(Operand { base: Base::Dot, fields: vec![name.clone()] }),
                }
                joins = true;
                continue;
            }
            Word::Mark("(") => {
                let mut depth = 1_usize;
                let inner = place;
                while depth > 0 {
                    match words.get(place) {
                        Some(Word::Mark("(")) => depth += 1,
                        Some(Word::Mark(")")) => depth -= 1,
                        Some(_) => {}
                        None => return Err(Trouble::fails("a parenthesis does not end")),
                    }
                    place += 1;
                }
                Base::Pipe(Box::new(pipe(&words[inner..place - 1])?))
            }
            Word::Dot => Base::Dot,
            Word::Variable(name) => Base::Variable(name.clone()),
            Word::Text(text) => Base::Text(text.clone()),
            Word::Number(text) => number(text)?,
            Word::Name(name) => match name.as_str() {
                "true" => Base::Bool(true),
                "false" => Base::Bool(false),
                "nil" => Base::Nil,
                _ => Base::Function(name.clone()),
            },
            Word::Mark(mark) => return Err(Trouble::fails(format!("{mark} stands where nothing like it can"))),
        };
        if joins {
            return Err(Trouble::fails("two values stand together"));
        }
        out.push(Operand { base, fields: Vec::new() });
        joins = true;
    }
    if out.is_empty() { Err(Trouble::fails("a command says nothing")) } else { Ok(out) }
}

/// A number; forms that are seldom are left alone.
fn number(text: &str) -> Result<Base, Trouble> {
    let digits = text.trim_start_matches(['-', '+']);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !text.starts_with('+');
    let leads = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    let odd = || Trouble::not_computed(format!("the number {text}"));
    if !is_plain || leads {
        return Err(odd());
    }
    if digits.contains('.') {
        return text.parse().map(Base::Float).map_err(|_| odd());
    }
    text.parse().map(Base::Int).map_err(|_| odd())
}
