//! Comments of a pin file outlive a write: each stays above or beside the line that it stood at, as long as that line is there. What
//! they say never changes what is read.

use std::collections::{BTreeMap, BTreeSet};

/// The line that a comment belongs to: its section, which entry of that, and which key of it; `-` where it begins the entry.
type Anchor = (String, String, String);

/// A line and what it belongs to.
struct Line<'t> {
    anchor: Option<Anchor>,
    text: &'t str,
    /// Whether it is a comment and nothing else.
    comment: bool,
}

/// The comments of `before` in the text that takes its place. Those of its head, which begins the text already, are left out.
pub(super) fn woven(before: &str, after: &str) -> String {
    let (mut above, mut beside, end) = comments(before);
    if above.is_empty() && beside.is_empty() && end.is_empty() {
        return after.to_owned();
    }
    let lines = lines(after);
    let there: BTreeSet<&Anchor> = lines.iter().filter_map(|line| line.anchor.as_ref()).collect();
    // A key that is gone leaves its comment to its entry.
    let gone: Vec<Anchor> = above.keys().filter(|anchor| !there.contains(anchor)).cloned().collect();
    for anchor in gone {
        let entry = (anchor.0.clone(), anchor.1.clone(), "-".to_owned());
        let lost = above.remove(&anchor).unwrap_or_default();
        if there.contains(&entry) {
            above.entry(entry).or_default().extend(lost);
        }
    }
    let mut text = String::with_capacity(before.len() + after.len());
    for line in &lines {
        let indent = line.text.len() - line.text.trim_start().len();
        let anchor = line.anchor.as_ref();
        for comment in anchor.and_then(|anchor| above.remove(anchor)).unwrap_or_default() {
            text.push_str(&line.text[..indent]);
            text.push_str(comment);
            text.push('\n');
        }
        text.push_str(line.text);
        if let Some(comment) = anchor.and_then(|anchor| beside.remove(anchor)) {
            text.push(' ');
            text.push_str(comment);
        }
        text.push('\n');
    }
    for comment in end {
        text.push_str(comment);
        text.push('\n');
    }
    text
}

/// The comments above lines, those beside them, and those behind the last one.
type Comments<'t> = (BTreeMap<Anchor, Vec<&'t str>>, BTreeMap<Anchor, &'t str>, Vec<&'t str>);

/// The comments of a text but for those of its head.
fn comments(text: &str) -> Comments<'_> {
    let (mut above, mut beside, mut waiting) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    let all = lines(text);
    for line in all.iter().skip_while(|line| line.text.starts_with('#')) {
        match &line.anchor {
            None if line.comment => waiting.push(line.text.trim()),
            None => {}
            Some(anchor) => {
                if !waiting.is_empty() {
                    above.insert(anchor.clone(), std::mem::take(&mut waiting));
                }
                if let Some(comment) = trailing(line.text) {
                    beside.insert(anchor.clone(), comment);
                }
            }
        }
    }
    (above, beside, waiting)
}

/// Each line with what it belongs to.
fn lines(text: &str) -> Vec<Line<'_>> {
    let mut list: Vec<Line<'_>> = Vec::new();
    let (mut section, mut entry) = (String::new(), Vec::new());
    // Lines of a text over several lines are no keys and no comments.
    let mut deeper_than = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let inside = deeper_than.is_some_and(|outer| indent > outer || line.trim().is_empty());
        let place = list.len();
        list.push(Line { anchor: None, text: line, comment: !inside && line.trim_start().starts_with('#') });
        if inside || line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let (dash, rest) = match line.trim_start().strip_prefix("- ") {
            Some(rest) => (true, rest.trim_start()),
            None => (false, line.trim_start()),
        };
        let Some((key, value)) = rest.trim_start_matches('{').split_once(':') else { continue };
        deeper_than = matches!(value.trim_start().chars().next(), Some('|' | '>')).then_some(indent);
        if !dash && indent == 0 {
            name(&mut list, &mut entry, &section);
            key.trim().clone_into(&mut section);
            list[place].anchor = Some((String::new(), String::new(), section.clone()));
            continue;
        }
        if dash {
            name(&mut list, &mut entry, &section);
        }
        let key = key.trim().to_owned();
        entry.push((place, if dash { "-".to_owned() } else { key.clone() }));
        list[place].anchor = Some((section.clone(), String::new(), key));
    }
    name(&mut list, &mut entry, &section);
    list
}

/// Gives the lines of an entry the name of it: that of a pin, or time and name of an event.
fn name(list: &mut [Line<'_>], entry: &mut Vec<(usize, String)>, section: &str) {
    let said = |key: &str| {
        let flow =
            entry.first().map(|(place, _)| list[*place].text).filter(|text| text.trim_start().starts_with("- {"));
        let line = || entry.iter().map(|(place, _)| list[*place].text).find(|text| begins(text, key));
        let text = flow.or_else(line)?;
        let at = text.find(&format!("{key}:"))? + key.len() + 1;
        let value = text[at..].trim_start();
        let end = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].find(quote).map(|end| end + 2),
            _ => value.find([',', '}', '#']),
        };
        Some(value[..end.unwrap_or(value.len())].trim().trim_matches(['"', '\'']).to_owned())
    };
    let own = said("name").unwrap_or_default();
    let id = if section == "pins" { own } else { format!("{}|{own}", said("time").unwrap_or_default()) };
    for (place, key) in entry.drain(..) {
        list[place].anchor = Some((section.to_owned(), id.clone(), key));
    }
}

/// Whether a line is that of a key.
fn begins(line: &str, key: &str) -> bool {
    let rest = line.trim_start().trim_start_matches("- ");
    rest.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
}

/// The comment behind the value of a line.
fn trailing(line: &str) -> Option<&str> {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some('"'), _) if before == '\\' => {
                // An escaped backslash escapes nothing behind it.
                before = ' ';
                continue;
            }
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') if matches!(before, ' ' | '{' | ',' | ':') => quote = Some(c),
            (None, '#') if before == ' ' => return Some(line[at..].trim_end()),
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
# Owned by team edge.
apiVersion: rollgate.dev/v1alpha1
kind: Pins # of the edge
# The addresses.
pins:
  # Agreed with the network team.
  - name: \"vip\" # ticket 4
    # Was 10.0.3.6 in May.
    value: \"10.0.3.7 # no comment\"
    source: \"x\"
  # Nobody knows why.
  - {name: old, value: \"1\", source: y} # to go
history: []
# The end.
";

    #[test]
    fn comments_stay_where_they_stood() {
        let after = "\
# Owned by team edge.
apiVersion: rollgate.dev/v1alpha1
kind: Pins
pins:
  - name: \"new\"
    value: \"2\"
  - name: \"vip\"
    value: \"10.0.3.8\"
    source: \"x\"
history:
  - time: \"2026\"
    name: \"vip\"
";
        let woven = woven(BEFORE, after);
        assert_eq!(
            woven,
            "\
# Owned by team edge.
apiVersion: rollgate.dev/v1alpha1
kind: Pins # of the edge
# The addresses.
pins:
  - name: \"new\"
    value: \"2\"
  # Agreed with the network team.
  - name: \"vip\" # ticket 4
    # Was 10.0.3.6 in May.
    value: \"10.0.3.8\"
    source: \"x\"
history:
  - time: \"2026\"
    name: \"vip\"
# The end.
"
        );
        assert_eq!(super::woven(&woven, after), woven, "once is enough");
    }

    #[test]
    fn the_comment_of_a_key_that_is_gone_goes_to_its_entry_and_that_of_a_pin_with_it() {
        let after = "pins:\n  - name: \"vip\"\n    source: \"x\"\n  - name: \"old\"\n    value: \"1\"\n";
        let text = woven(BEFORE, after);
        assert!(
            text.contains("  # Agreed with the network team.\n  # Was 10.0.3.6 in May.\n  - name: \"vip\""),
            "{text}"
        );
        assert!(text.contains("  # Nobody knows why.\n  - name: \"old\" # to go\n"), "{text}");
        let none = woven(BEFORE, "pins: []\n");
        assert_eq!(none, "# The addresses.\npins: []\n# The end.\n");
    }

    #[test]
    fn what_only_looks_like_a_comment_is_none() {
        for line in ["value: \"a # b\"", "value: 'a # b'", "value: a#b", "value: \"\\\\\" ", "value: \"\\\" # \""] {
            assert_eq!(trailing(line), None, "{line}");
        }
        assert_eq!(trailing("value: \"a\\\\\" # b"), Some("# b"));
        let text = "pins:\n  - name: a\n    value: |\n      # text\n    source: x\n";
        assert_eq!(woven(text, "pins:\n  - name: a\n"), "pins:\n  - name: a\n");
    }
}
