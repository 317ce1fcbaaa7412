//! The placeholders that are looked for, and where they stand in a text: one pass over it, however many they are.

use std::ops::Range;

use aho_corasick::AhoCorasick;
use memchr::memmem;

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
    /// Whether its marks are written as numbers, as in the query of a URL.
    escaped: bool,
    joints: Joints,
}

/// A placeholder that stands in a text for itself.
pub(super) struct Standing<'t, 'p> {
    /// Its bytes.
    pub(super) range: Range<usize>,
    /// Which one.
    pub(super) target: &'t Target<'p>,
    /// Whether its marks are written as numbers.
    pub(super) escaped: bool,
}

impl<'p> Targets<'p> {
    pub(super) fn new(list: Vec<Target<'p>>) -> Self {
        let mut needles = Vec::with_capacity(list.len());
        let mut texts = Vec::with_capacity(list.len());
        for (target, Target { placeholder, .. }) in
            list.iter().enumerate().filter(|(_, one)| !one.placeholder.is_empty())
        {
            needles.push(Needle { target, escaped: false, joints: Joints::of(placeholder) });
            texts.push((*placeholder).to_owned());
            if let Some(text) = percent(placeholder) {
                needles.push(Needle { target, escaped: true, joints: Joints::of(&text) });
                texts.push(text);
            }
        }
        let shortest = list.iter().map(|target| target.placeholder.len()).min().unwrap_or(usize::MAX);
        Self { list, needles, finder: Finder::new(texts), shortest }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Target<'p>> {
        self.list.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Bytes of the shortest placeholder.
    pub(super) const fn shortest(&self) -> usize {
        self.shortest
    }

    /// Where placeholders stand as whole tokens. Some may overlap; those of one target come in order.
    pub(super) fn places<'t>(&'t self, text: &str) -> Vec<Standing<'t, 'p>> {
        let mut found = Vec::new();
        self.finder.each(text.as_bytes(), &mut |needle, range| {
            let Needle { target, escaped, joints } = &self.needles[needle];
            if joints.stands(text.as_bytes(), &range) {
                found.push(Standing { range, target: &self.list[*target], escaped: *escaped });
            }
        });
        found
    }

    /// What finds the documents that may hold one of them.
    pub(super) fn scent(&self) -> Finder {
        // A text with blanks may be folded over lines, and a quote is written twice in single quotes, so the longest word is looked for.
        let word = |text: &str| text.split([' ', '\'']).max_by_key(|word| word.len()).unwrap_or_default().to_owned();
        let spellings =
            self.list.iter().flat_map(|target| [Some(target.placeholder.to_owned()), percent(target.placeholder)]);
        Finder::new(spellings.flatten().map(|text| word(&text)).collect())
    }
}

/// Finds many texts at once.
pub(super) enum Finder {
    /// A few are looked for one by one, which takes no preparation.
    Few(Vec<String>),
    /// Many in one pass.
    Many(AhoCorasick),
}

impl Finder {
    /// So many texts are looked for one by one.
    const FEW: usize = 4;

    pub(super) fn new(texts: Vec<String>) -> Self {
        match texts.len() > Self::FEW {
            true => AhoCorasick::new(&texts).map_or(Self::Few(texts), Self::Many),
            false => Self::Few(texts),
        }
    }

    /// Hands every place of every text to `see`, with the place of the text in the list.
    pub(super) fn each(&self, within: &[u8], see: &mut impl FnMut(usize, Range<usize>)) {
        match self {
            Self::Few(texts) => {
                for (place, text) in texts.iter().enumerate() {
                    let finder = memmem::Finder::new(text);
                    let mut from = 0;
                    while let Some(at) = within.get(from..).and_then(|rest| finder.find(rest)) {
                        let start = from + at;
                        see(place, start..start + text.len());
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
            Self::Few(texts) => texts.iter().any(|text| memmem::find(within, text.as_bytes()).is_some()),
            Self::Many(finder) => finder.is_match(within),
        }
    }
}

/// A text with its marks as the query of a URL writes them; `None` where it has none (RFC 3986, section 2.3).
pub(super) fn percent(text: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    if text.bytes().all(plain) {
        return None;
    }
    let write = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    Some(text.bytes().map(write).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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
