//! Edits either leave every other byte alone and read as meant, or are refused.
//!
//! The first line of the input is the token, the second the new text, the rest the document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rollgate::yaml::{self, Edit, New};

fuzz_target!(|input: &[u8]| {
    let Ok(input) = std::str::from_utf8(input) else { return };
    let mut parts = input.splitn(3, '\n');
    let (Some(token), Some(with), Some(document)) = (parts.next(), parts.next(), parts.next()) else { return };
    let with = with.replace("\\n", "\n");
    let Ok(tree) = yaml::read(document.as_bytes()) else { return };
    for hit in tree.find_tokens(&[token]) {
        if hit.key || hit.whole == 0 {
            continue;
        }
        let pairs = vec![(token.to_owned(), with.clone())];
        for new in [New::Tokens(pairs), New::Value(with.clone().into())] {
            let Ok(patches) = tree.edit(&[Edit { node: hit.node, new }]) else { continue };
            let span = tree.span(hit.node);
            assert!(patches.iter().all(|patch| span.contains(patch.span)));
            let patched = yaml::apply(document.as_bytes(), &patches);
            assert!(yaml::read(&patched).is_ok());
        }
    }
});
