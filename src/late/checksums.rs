//! Checksums that a chart made of texts in which a placeholder still stood: `checksum/config` annotations and names that end in a
//! hash. They stay the same when the late value changes, so whatever they should make new is not made new.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::packing::stretches;
use super::stream::Marked;
use crate::model::Finding;
use crate::object::{Inventory, Location, Object};
use crate::parallel;
use crate::policy::Policy;

/// Digits of the shortest piece of a hash that is looked at; charts cut hashes to eight and more.
const SHORTEST: usize = 8;

/// Bytes of the stream that one core looks through at a time.
const PIECE: usize = 1 << 18;

/// Bytes of a document, about: few documents are looked through in place.
const DOCUMENT: usize = PIECE / 64;

/// A hash in the stream: where it stands.
type Hashes<'s> = HashMap<&'s [u8], Vec<Range<usize>>>;

/// The checksums in a stream that were made of its own texts before these late values were filled in.
pub(super) fn stale(
    stream: &[u8],
    marked: &[Marked<'_>],
    policy: &Policy,
    filled: impl Fn(usize) -> bool,
    objects: &Inventory,
) -> Vec<Finding> {
    if !(0..policy.late_values.len()).any(&filled) {
        return Vec::new();
    }
    let hashes = hashes(stream);
    if hashes.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeMap<usize, (Range<usize>, usize)> = BTreeMap::new();
    let mut look = |text: &[&str], value: usize| {
        let mut digest = Sha256::new();
        text.iter().for_each(|piece| digest.update(piece));
        let digits: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        for range in hashes.get(&digits.as_bytes()[..SHORTEST]).into_iter().flatten() {
            if digits.as_bytes().starts_with(&stream[range.clone()]) {
                found.entry(range.start).or_insert_with(|| (range.clone(), value));
            }
        }
    };
    for document in marked {
        let Some(first) = document.values().find(|value| filled(*value)) else { continue };
        for text in documents(document.text(stream)) {
            look(&text, first);
        }
        for hit in &document.hits {
            let Some(value) = hit.values().find(|value| filled(*value)) else { continue };
            let text = document.tree.scalar_text(hit.node).unwrap_or_default();
            look(&[text], value);
            look(&[text, "\n"], value);
            look(&[text.trim_end()], value);
        }
    }
    for (value, late) in policy.late_values.iter().enumerate().filter(|(value, _)| filled(*value)) {
        late.placeholders.iter().for_each(|placeholder| look(&[placeholder], value));
    }
    let lines = Offsets::of(stream, objects);
    found
        .into_values()
        .filter_map(|(range, value)| {
            lines.finding(&stream[range.clone()], range.start, &policy.late_values[value].name)
        })
        .collect()
}

/// A document as the chart may have hashed it: Helm takes white space off its ends and writes a comment before it.
fn documents(text: &str) -> Vec<Vec<&str>> {
    let body = text.trim();
    let body = match body.strip_prefix("# Source: ") {
        Some(rest) => rest.split_once('\n').map_or("", |(_, body)| body).trim(),
        None => body,
    };
    let ways = [
        vec![body],
        vec![body, "\n"],
        vec!["\n", body],
        vec!["\n", body, "\n"],
        vec!["---\n", body],
        vec!["---\n", body, "\n"],
    ];
    ways.into_iter().filter(|_| !body.is_empty()).collect()
}

/// A text in pieces of about this length, each of which ends with a line.
fn pieces(text: &[u8], length: usize) -> Vec<Range<usize>> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    while start < text.len() {
        let least = start.saturating_add(length).min(text.len());
        let end = memchr::memchr(b'\n', &text[least..]).map_or(text.len(), |at| least + at + 1);
        pieces.push(start..end);
        start = end;
    }
    pieces
}

/// What looks like a SHA-256 or the beginning of one, by its first digits.
fn hashes(stream: &[u8]) -> Hashes<'_> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'=');
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let in_piece = |piece: &Range<usize>| {
        let found = stretches(&stream[piece.clone()], SHORTEST, is_digit);
        found.map(|found| piece.start + found.start..piece.start + found.end).collect::<Vec<_>>()
    };
    let pieces = pieces(stream, PIECE);
    let documents = stream.len() / DOCUMENT;
    let mut hashes = Hashes::new();
    for Range { start, end } in parallel::pieces(&pieces, documents, in_piece).into_iter().flatten() {
        let length = end - start;
        let before = start.checked_sub(1).map(|before| &stream[before]);
        let alone = !before.is_some_and(is_word) && !stream.get(end).is_some_and(is_word);
        let run = &stream[start..end];
        let mixed = run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic);
        // A piece of a hash stands behind a dash, at the end of a name.
        let piece = before == Some(&b'-') && stream.get(end) != Some(&b'-');
        if alone && mixed && (length == 64 || (SHORTEST..64).contains(&length) && piece) {
            hashes.entry(&run[..SHORTEST]).or_default().push(start..end);
        }
    }
    hashes
}

/// Which object stands at an offset of the stream.
struct Offsets<'a> {
    stream: &'a [u8],
    objects: Vec<&'a Object>,
}

impl<'a> Offsets<'a> {
    fn of(stream: &'a [u8], objects: &'a Inventory) -> Self {
        let mut objects: Vec<&Object> = objects.objects().iter().collect();
        objects.sort_by_key(|object| object.line);
        Self { stream, objects }
    }

    fn finding(&self, hash: &[u8], offset: usize, value: &str) -> Option<Finding> {
        let line = 1 + memchr::memchr_iter(b'\n', &self.stream[..offset]).count();
        let next = self.objects.partition_point(|object| object.line <= line);
        let object = self.objects.get(next.checked_sub(1)?)?;
        let message = format!(
            "line {line}: the checksum {} was made by the chart of a text in which the placeholder of late value {value} still stood, so \
             it does not change when the value does; let the chart know the value (rollgate values)",
            String::from_utf8_lossy(hash)
        );
        let mut finding = Finding::new("late-value-in-checksum", object.key.clone(), message);
        finding.about.location = Some(Location { line, column: 1, ..Location::default() });
        Some(finding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha(text: &str) -> String {
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn what_may_be_a_hash_is_seen_and_what_is_part_of_something_else_is_not() {
        let whole = sha("a");
        for (text, count) in [
            (format!("checksum/config: {whole}"), 1),
            (format!("name: cp-{}", &whole[..10]), 1),
            (format!("name: {}", &whole[..10]), 0),
            (format!("image: x@sha256:{whole}"), 1),
            (format!("blob: {whole}{whole}"), 0),
            (format!("blob: Z{whole}"), 0),
            ("id: 0d9a6a54-2c5e-4f6f-8f2c-3c9d1e7b5a1".to_owned(), 1),
            ("name: cp-12345678".to_owned(), 0),
        ] {
            assert_eq!(hashes(text.as_bytes()).len(), count, "{text}");
        }
    }

    #[test]
    fn hashes_of_a_long_stream_are_those_of_its_lines() {
        let line = |number: usize| format!("  checksum/{number}: {}\n", sha(&number.to_string()));
        let long: String = (0..3 * PIECE / line(1).len()).map(line).collect();
        assert!(pieces(long.as_bytes(), PIECE).len() > 2);
        let found = hashes(long.as_bytes());
        let places: usize = found.values().map(Vec::len).sum();
        assert_eq!(places, long.lines().count());
        assert!(found.values().flatten().all(|place| long[..place.start].ends_with(": ") && place.len() == 64));
    }

    #[test]
    fn a_document_is_hashed_as_charts_hash_it() {
        let ways = documents("\n# Source: c/templates/a.yaml\nkind: ConfigMap\n");
        let texts: Vec<String> = ways.iter().map(|pieces| pieces.concat()).collect();
        for rendered in ["kind: ConfigMap\n", "kind: ConfigMap", "\nkind: ConfigMap\n", "---\nkind: ConfigMap\n"] {
            assert!(texts.iter().any(|text| text == rendered), "{rendered:?}");
        }
    }
}
