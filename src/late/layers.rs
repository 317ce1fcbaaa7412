//! Placeholders inside a text, also inside the base64, gzip and zstd that Secrets, cloud-init and kubeadm files are wrapped in, and
//! inside documents that a text is itself. A layer is closed again, with new content, only where its content held a placeholder.

use std::cell::Cell;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::escape::Escape;
use super::packing::{
    self, Layer, Layered, MOST_LAYERS, MOST_TOGETHER, PADDING, alphabet, every_run, every_stretch, is_base64, is_line,
    padding, runs, runs_of,
};
use super::targets::{Spelling, Standing, Targets};
use super::{context, embedded};
use crate::yaml;

/// A stretch of a text that holds placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    /// The placeholders that it holds.
    pub(super) places: Vec<PlaceholderSpot>,
    /// The text that takes its place; `None` where nothing in it is replaced.
    pub(super) new: Option<String>,
    /// Why something in it cannot be replaced although its value is known.
    pub(super) refused: Option<String>,
    /// Whether something in it is not unpacked, so that nobody knows what stands there.
    pub(super) closed: bool,
}

/// One placeholder inside a spot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlaceholderSpot {
    /// Its late value, by its place in the policy.
    pub(super) value: usize,
    /// The layers around it, the outermost first.
    pub(super) layers: Vec<Layer>,
}

impl Spot {
    /// The late values whose placeholders it holds, one entry for each place.
    pub(super) fn values(&self) -> impl Iterator<Item = usize> + '_ {
        self.places.iter().map(|place| place.value)
    }
}

/// What is looked for, and how much may still be unpacked for it.
#[derive(Clone, Copy)]
pub(super) struct Unpacking<'a> {
    pub(super) targets: &'a Targets<'a>,
    /// Layers around the text.
    depth: usize,
    /// Bytes that may still be unpacked.
    left: &'a Cell<u64>,
}

impl Unpacking<'_> {
    /// This look one layer deeper; `None` where that is too deep.
    pub(super) fn deeper(self) -> Option<Self> {
        (self.depth < MOST_LAYERS).then_some(Self { depth: self.depth + 1, ..self })
    }
}

/// Finds every placeholder in a text and in the layers inside it, in order, without overlap.
pub(super) fn spots(text: &str, targets: &Targets<'_>) -> Vec<Spot> {
    at_depth(text, Unpacking { targets, depth: 0, left: &Cell::new(MOST_TOGETHER) })
}

/// The spots that have something to take their place.
pub(super) fn replacements(spots: &[Spot]) -> Vec<yaml::Spot> {
    let known = |spot: &Spot| Some(yaml::Spot { range: spot.range.clone(), with: spot.new.clone()? });
    spots.iter().filter_map(known).collect()
}

/// The text with every spot replaced that has something to take its place.
pub(super) fn apply(text: &str, spots: &[Spot]) -> String {
    yaml::respell(text, &replacements(spots))
}

/// Finds every placeholder in a text that lies inside as many layers as the look says, and in the layers inside it.
pub(super) fn at_depth(text: &str, look: Unpacking<'_>) -> Vec<Spot> {
    let standing = look.targets.places(text).into_iter();
    let mut found: Vec<Spot> = standing.map(|standing| plain(text, standing)).collect();
    let cares = found.iter().any(embedded::needs_care);
    match look.deeper() {
        Some(deeper) => {
            if cares && let Some(spot) = embedded::spot(text, deeper) {
                return vec![spot];
            }
            match wrapped(text, deeper) {
                Some(spot) => found.push(spot),
                None => {
                    found.extend(blocks(text, deeper));
                    let runs = every_run(text.as_bytes(), shortest(look.targets));
                    let behind = |range: &Range<usize>| Escape::ending(&text.as_bytes()[..range.start]);
                    found.extend(runs.filter_map(|range| {
                        let escape = behind(&range);
                        let spot = opened(&text[range.clone()], range, deeper)?;
                        Some(match escape {
                            Some(escape) => spot.behind(escape),
                            None => spot,
                        })
                    }));
                }
            }
        }
        None => {
            let deep = every_run(text.as_bytes(), shortest(look.targets)).next();
            found.extend(deep.map(|range| Spot::new(range, Inside::closed(), |_| String::new())));
        }
    }
    found.sort_by_key(|spot| (spot.range.start, std::cmp::Reverse(spot.range.end)));
    // A placeholder made of base64 letters may itself look like a layer: the outermost finding counts.
    let mut end = 0;
    found.retain(|spot| {
        let free = spot.range.start >= end;
        if free {
            end = spot.range.end;
        }
        free
    });
    found
}

/// The spot of one placeholder.
fn plain(text: &str, standing: Standing<'_, '_>) -> Spot {
    let Standing { range, target, spelling, escape } = standing;
    let layers = match spelling {
        Spelling::Plain if matches!(escape, Some(Escape::Percent | Escape::PercentTwice)) => vec![Layer::Url],
        Spelling::Plain => Vec::new(),
        Spelling::Url | Spelling::UrlLower => vec![Layer::Url],
        Spelling::JsonHtml | Spelling::Json | Spelling::JsonAscii => vec![Layer::Json],
    };
    let written = target.with.map(|with| match (spelling, escape) {
        (Spelling::Plain, Some(escape @ (Escape::Percent | Escape::PercentTwice))) => {
            escape.written(text, &range, with).map(|new| (range.clone(), new))
        }
        (Spelling::Plain, Some(escape)) => context::written(text, range.clone(), with)
            .and_then(|(range, new)| Ok((range.clone(), escape.written(text, &range, &new)?))),
        // In the query of a URL an address is a text as any other.
        (Spelling::Url | Spelling::UrlLower, _) => Ok((range.clone(), spelling.write(with))),
        _ => context::written(text, range.clone(), with).map(|(range, new)| (range, spelling.write(&new))),
    });
    let (range, new, refused) = match written {
        None => (range, None, None),
        Some(Ok((range, new))) => (range, Some(new), None),
        Some(Err(why)) => (range, None, Some(why)),
    };
    Spot { range, places: vec![PlaceholderSpot { value: target.value, layers }], new, refused, closed: false }
}

/// Opens one run of base64 characters.
fn opened(run: &str, range: Range<usize>, look: Unpacking<'_>) -> Option<Spot> {
    let alphabet = alphabet(run);
    let layer = alphabet.decode(run).ok()?;
    Some(Spot::new(range, inside(&layer, look)?, |bytes| alphabet.encode(bytes)))
}

/// Opens a text that is nothing but base64 broken into lines, and breaks the new one at the same width.
fn wrapped(text: &str, look: Unpacking<'_>) -> Option<Spot> {
    let body = text.trim_end();
    let width = memchr::memchr3(b'\n', b'\r', b' ', body.as_bytes())?;
    let mut joined = String::new();
    let mut last = width;
    for piece in body.split_ascii_whitespace() {
        // Only the last line may be shorter; most texts are seen to be something else at their first word.
        if last != width || piece.len() > width || !is_letters(piece.as_bytes()) {
            return None;
        }
        last = piece.len();
        joined.push_str(piece);
    }
    let layer = STANDARD.decode(joined).ok()?;
    let inside = inside(&layer, look)?;
    let mark = ["\r\n", "\n", " "].into_iter().find(|mark| body[width..].starts_with(mark))?;
    Some(Spot::new(0..body.len(), inside, |bytes| broken(bytes, width, mark)))
}

/// Bytes as base64 in lines of a width.
fn broken(bytes: &[u8], width: usize, mark: &str) -> String {
    let letters = STANDARD.encode(bytes);
    let lines: Vec<&str> =
        (0..letters.len()).step_by(width).map(|at| &letters[at..letters.len().min(at + width)]).collect();
    lines.join(mark)
}

/// Whether these are letters of base64 with nothing but its padding between.
fn is_letters(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| is_base64(*byte) || *byte == b'=')
}

/// Letters in the shortest line that base64 is broken into.
const SHORTEST_LINE: usize = 20;

/// Opens base64 that is broken into lines inside of a longer text, as parts of MIME and documents in scripts are: lines of one width
/// and one indent, the last of them not longer.
fn blocks<'l>(text: &'l str, look: Unpacking<'l>) -> impl Iterator<Item = Spot> + 'l {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(block) = next_block(text, at) {
            at = block.end;
            if let Some(spot) = opened_block(text, &block, look) {
                return Some(spot);
            }
        }
        None
    })
}

/// Lines that may be one piece of base64.
struct Block {
    /// Where each line stands, without indent and mark.
    lines: Vec<Range<usize>>,
    /// Where to look on.
    end: usize,
}

/// The next lines of one width and indent.
fn next_block(text: &str, from: usize) -> Option<Block> {
    let mut lines: Vec<Range<usize>> = Vec::new();
    let mut indent = "";
    let mut at = from;
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |length| at + length);
        let line = text[at..end].trim_end_matches('\r');
        let body = line.trim_start_matches([' ', '\t']);
        let (start, margin) = (at + line.len() - body.len(), &line[..line.len() - body.len()]);
        let fits = match lines.first() {
            None => body.len() >= SHORTEST_LINE,
            Some(first) => margin == indent && !body.is_empty() && body.len() <= first.len(),
        };
        let fits = fits && is_letters(body.as_bytes());
        if fits {
            indent = margin;
            lines.push(start..start + body.len());
        }
        let is_last = lines.first().is_some_and(|first| !fits || body.len() < first.len());
        if is_last && lines.len() > 1 {
            // What ended it may begin the next one.
            return Some(Block { lines, end: if fits { (end + 1).min(text.len()) } else { at } });
        }
        if is_last {
            lines.clear();
            if !fits && body.len() >= SHORTEST_LINE && is_letters(body.as_bytes()) {
                continue;
            }
        }
        at = (end + 1).min(text.len());
        if end == text.len() {
            break;
        }
    }
    (lines.len() > 1).then_some(Block { lines, end: text.len() })
}

/// Opens a block; where its last line is something else, such as the end of a document in a script, without that.
fn opened_block(text: &str, block: &Block, look: Unpacking<'_>) -> Option<Spot> {
    [block.lines.len(), block.lines.len() - 1].into_iter().filter(|count| *count > 1).find_map(|count| {
        let lines = &block.lines[..count];
        let (first, last) = (lines.first()?, lines.last()?);
        let joined: String = lines.iter().map(|line| &text[line.clone()]).collect();
        let layer = STANDARD.decode(joined).ok()?;
        let inside = inside(&layer, look)?;
        let mark = &text[first.end..lines[1].start];
        Some(Spot::new(first.start..last.end, inside, |bytes| broken(bytes, first.len(), mark)))
    })
}

/// What stands in a layer.
struct Inside {
    places: Vec<PlaceholderSpot>,
    new: Option<Vec<u8>>,
    refused: Option<String>,
    closed: bool,
}

impl Inside {
    /// Nobody knows what stands there.
    const fn closed() -> Self {
        Self { places: Vec::new(), new: None, refused: None, closed: true }
    }
}

impl Spot {
    /// The spot of base64 that stands right behind an escape, refused where its new letters would not be right there.
    fn behind(mut self, escape: Escape) -> Self {
        let Some(new) = self.new.take() else { return self };
        // Its padding stood there as it is.
        let letters = new.trim_end_matches('=');
        match escape.written(letters, &(0..0), letters) {
            Ok(written) if written == letters => self.new = Some(new),
            Ok(_) => self.refused = Some("it stands in base64, and its marks need an escape there".to_owned()),
            Err(why) => self.refused = Some(why),
        }
        self
    }

    /// What stands in a layer, closed again by `close`.
    fn new(range: Range<usize>, inside: Inside, close: impl FnOnce(&[u8]) -> String) -> Self {
        let Inside { places, new, refused, closed } = inside;
        Self { range, places, new: new.as_deref().map(close), refused, closed }
    }
}

/// Looks into the bytes behind base64, through what they are packed with; `None` where no placeholder is in them.
fn inside(layer: &[u8], look: Unpacking<'_>) -> Option<Inside> {
    let unpacked = match Layered::of(layer, look.left) {
        Layered::Text(unpacked) => unpacked,
        Layered::Bytes(bytes) => return in_bytes(&bytes, look.targets, &[Layer::Base64]),
        Layered::Closed => return Some(Inside::closed()),
    };
    let spots = at_depth(&unpacked.text, look);
    let around: Vec<Layer> = std::iter::once(Layer::Base64).chain(unpacked.layer()).collect();
    if spots.is_empty() {
        // Every second byte of UTF-16 is zero, as PowerShell takes its encoded commands.
        let is_wide = memchr::memchr(0, unpacked.text.as_bytes()).is_some();
        return is_wide.then(|| in_bytes(unpacked.text.as_bytes(), look.targets, &around)).flatten();
    }
    let changed = spots.iter().any(|spot| spot.new.is_some());
    let new = changed.then(|| unpacked.pack(apply(&unpacked.text, &spots)));
    let refused = spots.iter().find_map(|spot| spot.refused.clone());
    let closed = spots.iter().any(|spot| spot.closed);
    Some(Inside { places: within(&around, spots), new, refused, closed })
}

/// Looks into bytes that can be searched and not written.
fn in_bytes(bytes: &[u8], targets: &Targets<'_>, around: &[Layer]) -> Option<Inside> {
    let mut values: Vec<usize> = targets.places_in(bytes).iter().map(|one| one.target.value).collect();
    if memchr::memchr(0, bytes).is_some() {
        let narrow: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        values.extend(targets.places_in(&narrow).iter().map(|one| one.target.value));
    }
    if values.is_empty() {
        return None;
    }
    values.sort_unstable();
    values.dedup();
    let places = values.into_iter().map(|value| PlaceholderSpot { value, layers: around.to_vec() }).collect();
    let refused = Some("data that is no text, or packed in a way that cannot be packed again".to_owned());
    Some(Inside { places, new: None, refused, closed: false })
}

/// The places of some spots, with one more step around each of them.
pub(super) fn within(around: &[Layer], spots: Vec<Spot>) -> Vec<PlaceholderSpot> {
    let places = spots.into_iter().flat_map(|spot| spot.places);
    let deeper =
        places.map(|PlaceholderSpot { value, layers }| PlaceholderSpot { value, layers: [around, &layers].concat() });
    deeper.collect()
}

/// The text that is packed in a run of base64 characters, also where that is broken into lines.
pub(super) fn open(run: &str) -> Option<String> {
    packing::open(run, &Cell::new(MOST_TOGETHER))
}

/// Hands a text and every text that is packed in it to `see`.
pub(super) fn each(text: &str, see: &mut impl FnMut(&str)) {
    each_at(text, see, 0, &Cell::new(MOST_TOGETHER));
}

fn each_at(text: &str, see: &mut impl FnMut(&str), depth: usize, left: &Cell<u64>) {
    see(text);
    if depth < MOST_LAYERS {
        for range in runs(text.as_bytes(), 12) {
            if let Some(inner) = packing::open(&text[range], left).filter(|inner| !inner.contains('\0')) {
                each_at(&inner, see, depth + 1, left);
            }
        }
    }
}

/// Fewest base64 characters that a placeholder can hide in.
const fn shortest(targets: &Targets<'_>) -> usize {
    targets.shortest().div_ceil(3).saturating_mul(4)
}

/// Letters in the shortest line that may be one of a text that is nothing but base64.
const SHORTEST_WHOLE: usize = 8;

/// Whether raw bytes of a document hold a layer with a placeholder in it, or one that only a reader can put together.
pub(super) fn suspect(document: &[u8], targets: &Targets<'_>) -> bool {
    let left = Cell::new(MOST_TOGETHER);
    let look = Unpacking { targets, depth: 1, left: &left };
    let looked = |range: Range<usize>| {
        let run = std::str::from_utf8(&document[range.clone()]).unwrap_or_default();
        opened(run, range, look).is_some()
    };
    let shortest = shortest(targets);
    let least = (SHORTEST_WHOLE - PADDING).min(shortest.saturating_sub(2 * PADDING));
    every_stretch(document, least).any(|stretch| {
        let length = stretch.len() + padding(document, stretch.end);
        length >= SHORTEST_WHOLE && is_line(document, &stretch)
            || length + PADDING >= shortest && runs_of(document, stretch, shortest).any(looked)
    })
}

#[cfg(test)]
mod tests;
