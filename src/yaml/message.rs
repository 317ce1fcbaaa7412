//! The reader's complaints in the words of the policy file instead of those of a program.

/// The entry of `known` that a person most likely meant by `word`.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= 2.max(name.len() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Turns one message of serde into a sentence for the person who wrote the file.
pub(crate) fn plain(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or(message);
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return unknown("there is no such field here", rest);
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let word = quoted(rest).next().unwrap_or_default();
        return unknown(&format!("{word:?} is not a choice here"), rest);
    }
    if let Some(name) = message.strip_prefix("missing field ").and_then(|rest| quoted(rest).next()) {
        return format!("the field `{name}` is missing");
    }
    if let Some((found, wanted)) = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.split_once(", expected "))
    {
        // What is no map may be any file, and its text no business of a log.
        let is_text = wanted.starts_with("struct ") && found.starts_with("string ");
        let found = if is_text { "text".to_owned() } else { finding(found) };
        return format!("expected {}, found {found}", wish(wanted));
    }
    message.to_owned()
}

/// A sentence about a word that is not among those that serde lists after it.
fn unknown(what: &str, rest: &str) -> String {
    let mut words = quoted(rest);
    let word = words.next().unwrap_or_default();
    let known: Vec<&str> = words.collect();
    match nearest(word, known.iter().copied()) {
        Some(name) => format!("{what}; did you mean `{name}`?"),
        None if known.is_empty() => what.to_owned(),
        None => format!("{what}; known are {}", known.join(", ")),
    }
}

/// The words between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// What serde wanted, in the words of the file.
fn wish(wanted: &str) -> String {
    match wanted {
        "a sequence" => "a list (lines that start with -)".to_owned(),
        "a string" => "text (put it in quotes)".to_owned(),
        "string or map" => "a word (unquoted yes, no, on and off are true or false in YAML)".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "u64" | "u32" | "usize" => "a whole number that is not negative".to_owned(),
        other => match other.strip_prefix("struct ") {
            Some(_) => "a map of fields".to_owned(),
            None => other.to_owned(),
        },
    }
}

/// What serde found, in the words of the file.
fn finding(found: &str) -> String {
    match found {
        "map" => "a map".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" | "unit value" => "nothing".to_owned(),
        other => other
            .replace("string ", "")
            .replace("boolean ", "")
            .replace("integer ", "")
            .replace("floating point ", "")
            .replace('`', ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_its_word() {
        let known = ["placeholders", "equivalent", "type", "from"];
        assert_eq!(nearest("placeholder", known), Some("placeholders"));
        assert_eq!(nearest("equivelant", known), Some("equivalent"));
        assert_eq!(nearest("kubernetes", known), None);
    }

    #[test]
    fn messages_speak_of_the_file() {
        for (serde, ours) in [
            (
                "unknown field `placeholder`, expected one of `name`, `placeholders`",
                "there is no such field here; did you mean `placeholders`?",
            ),
            ("unknown variant `on`, expected `once` or `follow`", "\"on\" is not a choice here; did you mean `once`?"),
            (
                "invalid type: string \"a\", expected a sequence",
                "expected a list (lines that start with -), found \"a\"",
            ),
            ("invalid type: string \"PASSWORD=x\", expected struct Policy", "expected a map of fields, found text"),
            ("invalid type: integer `3`, expected a string", "expected text (put it in quotes), found 3"),
            ("missing field `name`", "the field `name` is missing"),
        ] {
            assert_eq!(plain(serde), ours);
        }
    }
}
