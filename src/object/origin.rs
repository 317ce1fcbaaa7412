//! Where a place of an object stands: the file that it was read from, line and column, and the template of the chart that
//! made it. The spans of the reader say it; only the first key of an everyday document is told by its lines.

use std::cell::OnceCell;

use bytes::Bytes;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Body, Object, Path, Segment};
use crate::hashed::HashMap;
use crate::tree::Value;
use crate::yaml::{self, NodeId, Tree};

/// What Helm writes before each manifest (helm `pkg/action/action.go`, `renderResources`).
const SOURCE: &[u8] = b"# Source: ";
/// What Helm 4 notes in each object that it hands to a post-renderer (helm `pkg/action/action.go`, `annotateAndMerge`).
const FILENAME: &str = "postrenderer.helm.sh/postrender-filename";

/// A place in what was rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// The file that was given; absent where the stream came through a pipe or a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line of that file, or of the stream, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Template of the chart, as Helm names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// The files that a stream was put together from, by the line of the stream at which each starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    starts: Vec<(usize, String)>,
}

impl Files {
    /// A stream that is one file.
    #[must_use]
    pub fn one(name: impl Into<String>) -> Self {
        Self { starts: vec![(1, name.into())] }
    }

    /// Some files as one stream, each a document or more; what has no name came from no file.
    #[must_use]
    pub fn joined(parts: Vec<(String, Bytes)>) -> (Self, Bytes) {
        let (mut files, mut all, mut line) = (Self::default(), Vec::new(), 1);
        for (name, bytes) in parts {
            if !all.is_empty() {
                let separator: &[u8] = b"\n---\n";
                all.extend_from_slice(separator);
                line += 2;
            }
            files.starts.push((line, name));
            line += memchr::memchr_iter(b'\n', &bytes).count();
            all.extend_from_slice(&bytes);
        }
        (files, all.into())
    }

    /// The file in which a line of the stream stands, and which line of it that is.
    #[must_use]
    pub fn at(&self, line: usize) -> (Option<&str>, usize) {
        let after = self.starts.partition_point(|(start, _)| *start <= line);
        match after.checked_sub(1).and_then(|place| self.starts.get(place)) {
            Some((start, name)) => (Some(name.as_str()).filter(|name| !name.is_empty()), line - start + 1),
            None => (None, line),
        }
    }
}

/// Where the places of one object stand.
pub(crate) struct Origins<'o> {
    files: &'o Files,
    template: Option<String>,
    /// Line of the stream at which the object's document starts.
    line: usize,
    /// Where its first key stands in the stream, where that was told without a tree.
    first: Option<usize>,
    /// Its tree, once somebody looks for a place inside.
    tree: OnceCell<Option<Tree<'o>>>,
    /// Text of the document, and where it starts in the stream.
    text: &'o [u8],
    base: usize,
    /// Line starts of the document, as offsets in its text.
    lines: OnceCell<Vec<usize>>,
    /// Entries of maps and items of lists that were looked into: a list may have thousands of items that change.
    maps: HashMap<NodeId, HashMap<String, (NodeId, NodeId)>>,
    lists: HashMap<NodeId, Vec<NodeId>>,
}

impl<'o> Origins<'o> {
    /// The places of an object that was rendered. An object that came in a `List` is known by its document only.
    #[must_use]
    pub(crate) fn of(object: &'o Object, files: &'o Files) -> Self {
        let (text, base) = match &object.body {
            Body::Text(bytes, span) => (span.of(bytes), span.start),
            Body::Value(_) => (&[][..], 0),
        };
        let (maps, lists) = (HashMap::default(), HashMap::default());
        let (tree, lines) = (OnceCell::new(), OnceCell::new());
        let first = object.everyday().and_then(first_key).map(|at| base + at);
        let mut places = Self { files, template: None, line: object.line, first, tree, text, base, lines, maps, lists };
        let annotated = || if object.may_say(FILENAME) { places.annotated() } else { None };
        places.template = source_line(text).or_else(annotated).filter(|name| is_plain(name));
        places
    }

    fn tree(&self) -> Option<&Tree<'o>> {
        tree_of(&self.tree, (self.text, self.base, self.line))
    }

    /// The template that the annotation of Helm 4 names.
    fn annotated(&self) -> Option<String> {
        let tree = self.tree()?;
        let inner = |node, key| tree.get(node, key);
        let node = inner(inner(inner(tree.root()?, "metadata")?, "annotations")?, FILENAME)?;
        tree.string(node).map(str::to_owned)
    }

    /// Where the object starts: its first key.
    #[must_use]
    pub(crate) fn start(&self) -> Location {
        let of_tree = || self.tree().and_then(|tree| Some(tree.span(tree.root()?).start));
        self.first.or_else(of_tree).map_or_else(|| self.located(self.line, 1), |offset| self.position(offset))
    }

    /// Where a place stands: at its key or item, or at the innermost one around it that was rendered. `holds` is the object
    /// that the path is about; where a list in it is another one than was rendered, its items are not looked for by number.
    pub(crate) fn find(&mut self, path: &Path, holds: Option<&Value>) -> Location {
        match self.nearest(path, holds) {
            Some(offset) => self.position(offset),
            None => self.start(),
        }
    }

    fn nearest(&mut self, path: &Path, holds: Option<&Value>) -> Option<usize> {
        let tree = tree_of(&self.tree, (self.text, self.base, self.line))?;
        let (mut node, mut value, mut found) = (tree.root()?, holds, None);
        for segment in path.segments() {
            let at = tree.follow(node);
            let (mark, next) = match segment {
                Segment::Key(key) => {
                    let entries = self.maps.entry(at).or_insert_with(|| entries(tree, at));
                    let Some((name, next)) = entries.get(key).copied() else { break };
                    value = value.and_then(|value| value.get(key));
                    (name, next)
                }
                Segment::Index(place) => {
                    let items = self.lists.entry(at).or_insert_with(|| tree.items(at).collect());
                    let same = value.is_none_or(|value| value.as_array().is_some_and(|list| list.len() == items.len()));
                    let Some(next) = items.get(*place).copied().filter(|_| same) else { break };
                    value = value.and_then(|value| value.get(*place));
                    (next, next)
                }
            };
            found = Some(tree.span(mark).start);
            node = next;
        }
        found
    }

    /// Line and column of an offset of the stream.
    fn position(&self, offset: usize) -> Location {
        let offset = offset.saturating_sub(self.base);
        if offset.checked_add(self.base) == self.first {
            // It begins its line.
            let before = self.text.get(..offset).unwrap_or_default();
            return self.located(self.line + memchr::memchr_iter(b'\n', before).count(), 1);
        }
        let starts = || std::iter::once(0).chain(memchr::memchr_iter(b'\n', self.text).map(|at| at + 1)).collect();
        let lines: &Vec<usize> = self.lines.get_or_init(starts);
        let place = lines.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = lines.get(place).copied().unwrap_or(offset);
        let before = self.text.get(start..offset).unwrap_or_default();
        self.located(self.line + place, 1 + yaml::chars(before))
    }

    fn located(&self, line: usize, column: usize) -> Location {
        let (file, line) = self.files.at(line);
        Location { file: file.map(str::to_owned), line, column, template: self.template.clone() }
    }
}

/// The tree of a document, which is read when somebody asks for it.
fn tree_of<'c, 'o>(
    tree: &'c OnceCell<Option<Tree<'o>>>,
    (text, base, line): (&'o [u8], usize, usize),
) -> Option<&'c Tree<'o>> {
    tree.get_or_init(|| yaml::read_at(text, base, line).ok().filter(|tree| !tree.is_converted())).as_ref()
}

/// Where the first key of an everyday document stands: it begins the first line that holds more than blanks and comments.
fn first_key(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.trim_ascii_start().first() {
            None | Some(b'#') => at += line.len(),
            Some(first) => return (line.first() == Some(first) && first.is_ascii()).then_some(at),
        }
    }
    None
}

/// Names of the entries of a map as Kubernetes reads them, with the nodes of key and value.
fn entries(tree: &Tree<'_>, node: NodeId) -> HashMap<String, (NodeId, NodeId)> {
    tree.entries(node).filter_map(|(name, value)| Some((tree.key_text(name)?.into_owned(), (name, value)))).collect()
}

/// The template that a comment at the head of a document names.
fn source_line(text: &[u8]) -> Option<String> {
    let head = text
        .split(|byte| *byte == b'\n')
        .take_while(|line| line.is_empty() || line.starts_with(b"#") || *line == b"\r");
    let name = head.filter_map(|line| line.strip_prefix(SOURCE)).next()?;
    std::str::from_utf8(name.trim_ascii()).ok().map(str::to_owned)
}

/// Whether a name can be shown as it stands: a path of a chart has no control characters, and no blanks at its ends.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 512
        && !name.chars().any(|character| character.is_control() || is_hidden(character))
}

/// Characters that change how a line is shown: marks of direction, and those that take no room.
fn is_hidden(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Stream;

    fn located(text: &str, place: usize, path: &str) -> Location {
        let stream = Stream::load(&Bytes::copy_from_slice(text.as_bytes())).expect("a stream");
        let files = Files::one("a.yaml");
        let path = Path::parse(path).expect("a path");
        Origins::of(&stream.objects.objects()[place], &files).find(&path, None)
    }

    const TWO: &str = "---\n# Source: demo/templates/a.yaml\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n# Source: demo/templates/b.yaml\n\
                       apiVersion: v1\nkind: A\nmetadata: {name: b}\nspec:\n  # words\n  version: v1\n  list:\n  - {name: x}\n  - name: y\n    é: [1, 2]\n";

    #[test]
    fn a_place_has_file_line_column_and_template() {
        let template = Some("demo/templates/b.yaml".to_owned());
        let at = |line, column| Location { file: Some("a.yaml".to_owned()), line, column, template: template.clone() };
        assert_eq!(located(TWO, 1, "spec.version"), at(13, 3));
        assert_eq!(located(TWO, 1, "spec.list[1].é[1]"), at(17, 12));
        assert_eq!(located(TWO, 1, "metadata.name"), at(10, 12));
    }

    #[test]
    fn what_was_not_rendered_stands_at_what_is_around_it() {
        assert_eq!((located(TWO, 1, "spec.gone.field").line, located(TWO, 1, "spec.list[7]").line), (11, 14));
        assert_eq!(located(TWO, 0, "spec.version").line, 3, "an object without the field stands at its start");
    }

    #[test]
    fn the_first_key_stands_where_the_tree_says() {
        for front in [
            "",
            "# said\n",
            "\n  \n#\n",
            "\r\n# said\r\n",
            "\u{feff}",
            "   # said\n\n",
            "---\n# said\n",
            "--- # said\n",
        ] {
            for key in ["apiVersion", "\"apiVersion\"", "'apiVersion'"] {
                let text = format!("{front}{key}: v1\nkind: ConfigMap\nmetadata:\n  name: a\n");
                let stream = Stream::load(&Bytes::from(text.clone())).expect("a stream");
                let (object, files) = (&stream.objects.objects()[0], Files::default());
                let told = Origins::of(object, &files);
                let mut read = Origins::of(object, &files);
                read.first = None;
                assert_eq!(told.start(), read.start(), "{text:?}");
            }
        }
    }

    #[test]
    fn an_item_of_a_list_that_is_not_the_rendered_one_is_not_looked_for_by_number() {
        let stream = Stream::load(&Bytes::copy_from_slice(TWO.as_bytes())).expect("a stream");
        let files = Files::default();
        let holds = crate::tree::json!({"spec": {"list": [{"name": "live"}, {"name": "x"}, {"name": "y"}]}});
        let path = Path::parse("spec.list[1].name").expect("a path");
        let found = Origins::of(&stream.objects.objects()[1], &files).find(&path, Some(&holds));
        assert_eq!((found.file, found.line), (None, 14));
    }

    #[test]
    fn helm_4_names_the_template_in_an_annotation() {
        let text = format!(
            "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    {FILENAME}: demo/templates/c.yaml\n"
        );
        assert_eq!(located(&text, 0, "kind").template.as_deref(), Some("demo/templates/c.yaml"));
        let forged = text.replace("demo/", "\"\\e[31m\\n::error\"#");
        assert_eq!(located(&forged, 0, "kind").template, None);
    }

    #[test]
    fn files_keep_their_names_and_lines() {
        let part = |name: &str, text: &str| (name.to_owned(), Bytes::from(text.to_owned()));
        let (files, bytes) = Files::joined(vec![part("a", "x: 1\ny: 2\n"), part("b", "z: 3"), part("c", "w: 4\n")]);
        let line_of = |word: &str| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            text.lines().position(|line| line.starts_with(word)).expect("a line") + 1
        };
        for (word, expected) in [("x", ("a", 1)), ("y", ("a", 2)), ("z", ("b", 1)), ("w", ("c", 1))] {
            let (name, line) = files.at(line_of(word));
            assert_eq!((name.expect("a name"), line), expected);
        }
        assert_eq!(Files::default().at(3), (None, 3));
    }
}
