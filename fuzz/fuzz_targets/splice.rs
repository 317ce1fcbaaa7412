//! Edits either leave every other byte alone and read as meant, or are refused.
//!
//! The first line of the input is the token, the second the new text, the rest the document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rollgate::facade::late::token;
use rollgate::facade::yaml::{self, Edit, New, Spot};

fuzz_target!(|input: &[u8]| {
    let Ok(input) = std::str::from_utf8(input) else { return };
    let mut parts = input.splitn(3, '\n');
    let (Some(token), Some(with), Some(document)) = (parts.next(), parts.next(), parts.next()) else { return };
    let with = with.replace("\\n", "\n");
    let Ok(tree) = yaml::read(document.as_bytes()) else { return };
    for node in tree.nodes() {
        let Some(text) = tree.scalar_text(node) else { continue };
        let spots: Vec<Spot> = token::places(text.as_bytes(), token)
            .filter(|range| text.is_char_boundary(range.start) && text.is_char_boundary(range.end))
            .map(|range| Spot { range, with: with.clone() })
            .collect();
        if spots.is_empty() {
            continue;
        }
        for new in [New::Text { spots, number: false }, New::Value(with.clone().into())] {
            let Ok(patches) = tree.edit(&[Edit { node, new }]) else { continue };
            let span = tree.span(tree.follow(node));
            assert!(patches.iter().all(|patch| span.contains(patch.span)));
            let patched = yaml::apply(document.as_bytes(), &patches);
            assert!(yaml::read(&patched).is_ok());
        }
    }
});
