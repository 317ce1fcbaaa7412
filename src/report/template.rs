//! Renders the formats that are markup from a template, which escapes everything that stands in a report.

use std::io::{self, Write};

use minijinja::value::Serde;
use minijinja::{Environment, Output, State, UndefinedBehavior};

use crate::tree::Value;

/// Writes a template with a report's values in it.
pub(super) fn render(name: &'static str, source: &'static str, context: &Value, out: &mut dyn Write) -> io::Result<()> {
    let mut engine = Environment::new();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_formatter(escaped);
    engine.add_template(name, source).map_err(io::Error::other)?;
    let mut context = context.clone();
    printable(&mut context);
    let text = engine.get_template(name).and_then(|page| page.render(Serde(&context))).map_err(io::Error::other)?;
    // The lines that held only statements of the template are empty now.
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Writes a value of a report as text of HTML and XML alike, in an attribute too. Only markup of the template itself is not escaped.
fn escaped(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &minijinja::Value) -> Result<(), minijinja::Error> {
    let text = value.to_string();
    if value.is_safe() {
        return Ok(out.write_str(&text)?);
    }
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        let (plain, sign) = rest.split_at(at);
        out.write_str(plain)?;
        out.write_str(match &sign[..1] {
            "&" => "&amp;",
            "<" => "&lt;",
            ">" => "&gt;",
            "\"" => "&quot;",
            _ => "&apos;",
        })?;
        rest = &sign[1..];
    }
    Ok(out.write_str(rest)?)
}

/// Takes the characters out that no document of XML may hold, escaped or not (XML 1.0, 2.2 Char). Control characters were written
/// out when the report was made.
fn printable(value: &mut Value) {
    match value {
        Value::String(text) => {
            let bad = |c: char| matches!(c, '\u{fffe}' | '\u{ffff}') || c.is_control() && !matches!(c, '\n' | '\t');
            if text.contains(bad) {
                *text = text.replace(bad, "\u{fffd}").into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(printable),
        Value::Object(map) => map.values_mut().for_each(printable),
        _ => {}
    }
}
