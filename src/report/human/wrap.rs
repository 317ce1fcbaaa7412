//! Words within the width of a page. A path, a name or a command is never broken: what is wider stands on a line of its own.

/// The words of a text as lines. The first line has `taken` columns less than the page is wide, the others `indent` less.
pub(super) fn lines(text: &str, width: usize, taken: usize, indent: usize) -> Vec<String> {
    let (mut out, mut line, mut used) = (Vec::new(), String::new(), taken);
    for word in words(text) {
        let wide = columns(&word);
        let space = usize::from(!line.is_empty());
        // At the start of a line there is no better place for a word that is too wide.
        let fits = used + space + wide <= width || (line.is_empty() && used <= indent);
        if !fits {
            out.push(std::mem::take(&mut line));
            used = indent;
        } else if space == 1 {
            line.push(' ');
            used += 1;
        }
        line.push_str(&word);
        used += wide;
    }
    out.push(line);
    out
}

/// How wide a value may be that stays on the line of the one that takes its place.
const SHORT: usize = 18;

/// What is never broken: a word, a way into a document with its signs, a short value and what takes its place, a mark.
fn words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut joins = false;
    let mut all = text.split(' ').filter(|word| !word.is_empty()).peekable();
    while let Some(word) = all.next() {
        let is_arrow = word == "->" && all.peek().is_some_and(|next| columns(next) <= SHORT);
        let is_short = out.last().is_some_and(|last| columns(last) <= SHORT);
        match out.last_mut() {
            Some(last) if joins || word == ">" || is_rule(word) || is_arrow && is_short => {
                last.push(' ');
                last.push_str(word);
            }
            _ => out.push(word.to_owned()),
        }
        joins = word == ">" || word == "<old" || is_arrow && is_short;
    }
    out
}

/// Whether a word is the id of a rule behind a sentence, which looks lost on a line of its own.
fn is_rule(word: &str) -> bool {
    word.starts_with('[') && word.ends_with(']') && word.contains('/')
}

/// How wide a text is, in columns of a terminal.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_the_next_line_and_paths_stay_whole() {
        let text = "spec.files[0].content > spec.containers[0].env 10.0.3.7 -> 10.0.3.42 replaces 3 Machines";
        let found = lines(text, 50, 10, 4);
        assert_eq!(
            found,
            ["", "spec.files[0].content > spec.containers[0].env", "10.0.3.7 -> 10.0.3.42 replaces 3 Machines"]
        );
        let found = lines("why: spec.files[0].content 10.0.3.7 -> 10.0.3.42 and more", 40, 0, 2);
        assert_eq!(found, ["why: spec.files[0].content", "10.0.3.7 -> 10.0.3.42 and more"]);
        assert_eq!(lines("a b", 50, 10, 4), ["a b"]);
        let long = "x".repeat(80);
        assert_eq!(lines(&format!("see {long} there"), 40, 0, 0), ["see", long.as_str(), "there"]);
        assert_eq!(lines(&long, 40, 0, 0), [long.as_str()]);
        assert_eq!(lines("", 40, 0, 0), [""]);
    }
}
