//! Cuts a Go template into text and the words of its actions (`text/template/parse/lex.go`).

use crate::gotemplate::Trouble;

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    /// Text that comes out as it stands.
    Text(String),
    /// The words of one action.
    Action(Vec<Word>),
}

/// A word of an action.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Word {
    /// A name: of a function, or `if`, `range`, `end`, `true` and so on.
    Name(String),
    /// `.name`, directly behind what it is a field of, or at the start of an operand.
    Field(String),
    /// `.` alone.
    Dot,
    /// `$name`; the name is empty for `$` alone.
    Variable(String),
    /// A text between quotes, unquoted.
    Text(String),
    /// A number as it stands.
    Number(String),
    /// White space.
    Space,
    /// `(`, `)`, `|`, `,`, `=` or `:=`.
    Mark(&'static str),
}

/// Cuts a template.
pub(crate) fn parts(template: &str) -> Result<Vec<Part>, Trouble> {
    let mut out = Vec::new();
    let mut rest = template;
    let mut trims = false;
    while let Some(start) = rest.find("{{") {
        let mut text = &rest[..start];
        let mut inner = &rest[start + 2..];
        if trims {
            text = text.trim_start_matches(WHITE);
        }
        if inner.starts_with('-') && inner[1..].starts_with(WHITE) {
            text = text.trim_end_matches(WHITE);
            inner = &inner[1..];
        }
        if !text.is_empty() {
            out.push(Part::Text(text.to_owned()));
        }
        let (words, after, cuts) = action(inner)?;
        if !words.is_empty() {
            out.push(Part::Action(words));
        }
        (rest, trims) = (after, cuts);
    }
    let last = if trims { rest.trim_start_matches(WHITE) } else { rest };
    if !last.is_empty() {
        out.push(Part::Text(last.to_owned()));
    }
    Ok(out)
}

/// What counts as white space.
const WHITE: [char; 4] = [' ', '\t', '\r', '\n'];

/// Reads one action: its words, what follows it, and whether that is trimmed.
fn action(inner: &str) -> Result<(Vec<Word>, &str, bool), Trouble> {
    let bare = inner.trim_start_matches(WHITE);
    if let Some(comment) = bare.strip_prefix("/*") {
        let end = comment.find("*/").ok_or_else(|| Trouble::fails("a comment does not end"))?;
        let (after, cuts) = closed(&comment[end + 2..]).ok_or_else(|| Trouble::fails("a comment stands alone"))?;
        return Ok((Vec::new(), after, cuts));
    }
    let mut words = Vec::new();
    let mut rest = inner;
    loop {
        if let Some((after, cuts)) = closed(rest) {
            return Ok((words, after, cuts));
        }
        let Some(first) = rest.chars().next() else { return Err(Trouble::fails("an action does not end")) };
        rest = if WHITE.contains(&first) {
            words.push(Word::Space);
            rest.trim_start_matches(WHITE)
        } else {
            word(rest, first, &mut words)?
        };
    }
}

/// What follows the end of an action, where it is at its end.
fn closed(rest: &str) -> Option<(&str, bool)> {
    if let Some(after) = rest.strip_prefix("}}") {
        return Some((after, false));
    }
    let spaced = rest.trim_start_matches(WHITE);
    (spaced.len() < rest.len()).then(|| spaced.strip_prefix("-}}")).flatten().map(|after| (after, true))
}

/// Reads one word and gives what follows it.
fn word<'t>(rest: &'t str, first: char, words: &mut Vec<Word>) -> Result<&'t str, Trouble> {
    for mark in [":=", "(", ")", "|", ",", "="] {
        if let Some(after) = rest.strip_prefix(mark) {
            words.push(Word::Mark(mark));
            return Ok(after);
        }
    }
    let name_end =
        |text: &str| text.find(|letter: char| letter != '_' && !letter.is_alphanumeric()).unwrap_or(text.len());
    match first {
        '"' => quoted(rest, words),
        '`' => {
            let end = rest[1..].find('`').ok_or_else(|| Trouble::fails("a text does not end"))?;
            words.push(Word::Text(rest[1..=end].to_owned()));
            Ok(&rest[end + 2..])
        }
        '.' if !rest[1..].starts_with(|letter: char| letter.is_ascii_digit()) => {
            let end = name_end(&rest[1..]);
            words.push(if end == 0 { Word::Dot } else { Word::Field(rest[1..=end].to_owned()) });
            Ok(&rest[end + 1..])
        }
        '$' => {
            let end = name_end(&rest[1..]);
            words.push(Word::Variable(rest[1..=end].to_owned()));
            Ok(&rest[end + 1..])
        }
        '0'..='9' | '-' | '+' | '.' => {
            let body = &rest[1..];
            let end = body
                .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.' && letter != '_')
                .unwrap_or(body.len());
            words.push(Word::Number(rest[..=end].to_owned()));
            Ok(&rest[end + 1..])
        }
        letter if letter == '_' || letter.is_alphabetic() => {
            let end = name_end(rest);
            words.push(Word::Name(rest[..end].to_owned()));
            Ok(&rest[end..])
        }
        other => Err(Trouble::not_computed(format!("{other:?} in an action"))),
    }
}

/// Reads a text between double quotes.
fn quoted<'t>(rest: &'t str, words: &mut Vec<Word>) -> Result<&'t str, Trouble> {
    let mut out = String::new();
    let mut letters = rest.char_indices().skip(1);
    while let Some((place, letter)) = letters.next() {
        match letter {
            '"' => {
                words.push(Word::Text(out));
                return Ok(&rest[place + 1..]);
            }
            '\n' => break,
            '\\' => out.push(match letters.next() {
                Some((_, 'n')) => '\n',
                Some((_, 't')) => '\t',
                Some((_, 'r')) => '\r',
                Some((_, letter @ ('"' | '\\'))) => letter,
                _ => return Err(Trouble::not_computed("an escape in a text")),
            }),
            letter => out.push(letter),
        }
    }
    Err(Trouble::fails("a text does not end"))
}
