//! The placeholders that are looked for, and where they stand in a text: one pass over it, however many they are.

use std::fmt::Write as _;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use memchr::memmem;

use super::escape::Escape;
use super::token::Joints;

/// A placeholder that is looked for.
#[derive(Clone, Copy)]
pub(super) struct Target<'p> {
    /// Place of its late value in the policy.
    pub(super) value: usize,
    /// The placeholder.
    pub(super) placeholder: &'p str,
    /// What is written in its place; `None` where it is only looked for.
    pub(super) with: Option<&'p str>,
}

/// All placeholders that are looked for.
pub(super) struct Targets<'p> {
    list: Vec<Target<'p>>,
    needles: Vec<Needle>,
    finder: Finder,
    shortest: usize,
}

/// One spelling of a placeholder.
struct Needle {
    /// Place of its target.
    target: usize,
    spelling: Spelling,
    joints: Joints,
}

/// A placeholder that stands in a text for itself.
pub(super) struct Standing<'t, 'p> {
    /// Its bytes.
    pub(super) range: Range<usize>,
    /// Which one.
    pub(super) target: &'t Target<'p>,
    /// How it is spelled there.
    pub(super) spelling: Spelling,
    /// The escape right in front of it, if its last letter would else be one of the same word.
    pub(super) escape: Option<Escape>,
}

impl<'p> Targets<'p> {
    /// What finds these targets in every spelling; one without a placeholder is never found.
    pub(super) fn new(list: Vec<Target<'p>>) -> Self {
        let mut needles = Vec::with_capacity(list.len());
        let mut texts = Vec::with_capacity(list.len());
        for (target, Target { placeholder, .. }) in
            list.iter().enumerate().filter(|(_, one)| !one.placeholder.is_empty())
        {
            // What stands beside a placeholder joins it as it is meant, however it is spelled.
            let joints = Joints::of(placeholder);
            for (spelling, text) in Spelling::all(placeholder) {
                needles.push(Needle { target, spelling, joints });
                texts.push(text);
            }
        }
        let shortest = list.iter().map(|target| target.placeholder.len()).min().unwrap_or(usize::MAX);
        Self { list, needles, finder: Finder::new(texts), shortest }
    }

    /// The targets, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Target<'p>> {
        self.list.iter()
    }

    /// Whether nothing is looked for.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The placeholders, in order; none where something is written in their place.
    pub(super) fn words(&self) -> Vec<&'p str> {
        let is_looked_for = self.list.iter().all(|target| target.with.is_none());
        self.list.iter().filter(|_| is_looked_for).map(|target| target.placeholder).collect()
    }

    /// Bytes of the shortest placeholder.
    pub(super) const fn shortest(&self) -> usize {
        self.shortest
    }

    /// Where placeholders stand as whole tokens. Some may overlap; those of one target come in order.
    pub(super) fn places<'t>(&'t self, text: &str) -> Vec<Standing<'t, 'p>> {
        self.places_in(text.as_bytes())
    }

    /// Where placeholders stand as whole tokens in bytes that need not be text.
    pub(super) fn places_in<'t>(&'t self, bytes: &[u8]) -> Vec<Standing<'t, 'p>> {
        let mut found = Vec::new();
        self.finder.each(bytes, &mut |needle, range| {
            let Needle { target, spelling, joints } = &self.needles[needle];
            if joints.stands(bytes, &range) {
                let escape = joints.escape(bytes, range.start);
                found.push(Standing { range, target: &self.list[*target], spelling: *spelling, escape });
            }
        });
        found
    }

    /// What finds the documents that may hold one of them.
    pub(super) fn scent(&self) -> Finder {
        // A text with blanks may be folded over lines, and a quote is written twice in single quotes, so the longest word is looked
        // for. A spelling with a backslash needs no look: such a document is read anyway.
        let word = |text: &str| text.split([' ', '\'']).max_by_key(|word| word.len()).unwrap_or_default().to_owned();
        let spellings = self.list.iter().flat_map(|target| Spelling::all(target.placeholder));
        Finder::new(
            spellings.map(|(_, text)| text).filter(|text| !text.contains('\\')).map(|text| word(&text)).collect(),
        )
    }
}

/// Finds many texts at once.
pub(super) enum Finder {
    /// A few are looked for one by one, which takes little preparation.
    Few(Vec<memmem::Finder<'static>>),
    /// Many in one pass.
    Many(AhoCorasick),
}

impl Finder {
    /// So many texts are looked for one by one.
    const FEW: usize = 4;

    /// What finds these texts.
    pub(super) fn new(texts: Vec<String>) -> Self {
        let few = || Self::Few(texts.iter().map(|text| memmem::Finder::new(text).into_owned()).collect());
        match texts.len() > Self::FEW {
            true => AhoCorasick::new(&texts).map_or_else(|_| few(), Self::Many),
            false => few(),
        }
    }

    /// Hands every place of every text to `see`, with the place of the text in the list.
    pub(super) fn each(&self, within: &[u8], see: &mut impl FnMut(usize, Range<usize>)) {
        match self {
            Self::Few(texts) => {
                for (place, finder) in texts.iter().enumerate() {
                    let length = finder.needle().len();
                    let mut from = 0;
                    while let Some(at) = within.get(from..).and_then(|rest| finder.find(rest)) {
                        let start = from + at;
                        see(place, start..start + length);
                        from = start + 1;
                    }
                }
            }
            Self::Many(finder) => {
                finder.find_overlapping_iter(within).for_each(|found| see(found.pattern().as_usize(), found.range()));
            }
        }
    }

    /// Whether any of the texts stands in it.
    pub(super) fn is_in(&self, within: &[u8]) -> bool {
        match self {
            Self::Few(texts) => texts.iter().any(|finder| finder.find(within).is_some()),
            Self::Many(finder) => finder.is_match(within),
        }
    }
}

/// How a text is spelled inside another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As it is.
    Plain,
    /// With its marks as numbers, as the query of a URL writes them (RFC 3986, section 2.3).
    Url,
    /// As `Url`, with small letters in the numbers.
    UrlLower,
    /// As a string of JSON that may stand in HTML: `toJson` of Helm and Go's `encoding/json` write `<` as `\u003c`.
    JsonHtml,
    /// As a string of JSON.
    Json,
    /// As a string of JSON in ASCII only, as Python writes it.
    JsonAscii,
}

impl Spelling {
    /// The spellings of a placeholder that are different ones, each with its text.
    fn all(placeholder: &str) -> Vec<(Self, String)> {
        let mut all = vec![(Self::Plain, placeholder.to_owned())];
        for spelling in [Self::Url, Self::UrlLower, Self::JsonHtml, Self::Json, Self::JsonAscii] {
            let text = spelling.write(placeholder);
            if all.iter().all(|(_, other)| *other != text) {
                all.push((spelling, text));
            }
        }
        all
    }

    /// A text in this spelling.
    pub(super) fn write(self, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Url | Self::UrlLower => percent(text, self == Self::UrlLower),
            Self::JsonHtml | Self::Json | Self::JsonAscii => {
                let quoted = crate::tree::Value::from(text).to_string();
                let mut json = String::with_capacity(quoted.len());
                for c in quoted[1..quoted.len() - 1].chars() {
                    let html = self == Self::JsonHtml && matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
                    if html || self == Self::JsonAscii && !c.is_ascii() {
                        for unit in c.encode_utf16(&mut [0; 2]) {
                            write!(json, "\\u{unit:04x}").expect("writing to a string cannot fail");
                        }
                    } else {
                        json.push(c);
                    }
                }
                json
            }
        }
    }
}

/// A text with its marks as numbers.
fn percent(text: &str, lower: bool) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    let write = |byte: u8| match (plain(byte), lower) {
        (true, _) => char::from(byte).to_string(),
        (false, false) => format!("%{byte:02X}"),
        (false, true) => format!("%{byte:02x}"),
    };
    text.bytes().map(write).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_looked_for_as_each_writer_spells_it() {
        let texts =
            |placeholder: &str| Spelling::all(placeholder).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts("55.55.55.55"), ["55.55.55.55"]);
        assert_eq!(texts("<VIP>"), ["<VIP>", "%3CVIP%3E", "%3cVIP%3e", r"\u003cVIP\u003e"]);
        assert_eq!(texts("\"VIP\""), ["\"VIP\"", "%22VIP%22", "\\\"VIP\\\""]);
        assert_eq!(texts("à"), ["à", "%C3%A0", "%c3%a0", r"\u00e0"]);
        assert_eq!(Spelling::JsonAscii.write("😀"), r"\ud83d\ude00");
    }

    proptest::proptest! {
        /// Many placeholders are found where each of them is found alone.
        #[test]
        fn many_are_found_where_each_is_found_alone(text in "[ab.5 ]{0,60}", names in proptest::collection::vec("[ab5][ab.5]{0,3}[ab5]", 5..9)) {
            let target = |value: usize| Target { value, placeholder: &names[value], with: None };
            let many = Targets::new((0..names.len()).map(target).collect());
            let mut together: Vec<(usize, usize)> =
                many.places(&text).iter().map(|one| (one.target.value, one.range.start)).collect();
            let mut alone = Vec::new();
            for value in 0..names.len() {
                let one = Targets::new(vec![target(value)]);
                alone.extend(one.places(&text).iter().map(|one| (value, one.range.start)));
            }
            together.sort_unstable();
            alone.sort_unstable();
            proptest::prop_assert_eq!(together, alone);
        }
    }
}
