//! The pages in `docs/rules/` are made from the packs, and those in `docs/providers/` from what each provider knows. The reference of the
//! policy, the exit codes and the words of a report are made too. Write them anew with `ROLLGATE_WRITE=1 cargo test --test rules_docs`.

use std::path::Path;

fn fresh(folder: &str, pages: Vec<(String, String)>) {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let write = std::env::var_os("ROLLGATE_WRITE").is_some();
    for (name, text) in pages {
        let file = place.join(&name);
        if write {
            std::fs::create_dir_all(&place).expect("the folder can be made");
            std::fs::write(&file, text).expect("the page can be written");
        } else {
            let have = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(have == text, "{folder}/{name} is stale; run ROLLGATE_WRITE=1 cargo test --test rules_docs");
        }
    }
}

#[test]
fn the_pages_of_the_rules_are_fresh() {
    fresh("docs/rules", rollgate::facade::rules::pages());
}

#[test]
fn the_pages_of_the_providers_are_fresh() {
    fresh("docs/providers", rollgate::facade::providers::pages());
}

#[test]
fn the_reference_of_the_policy_and_the_words_are_fresh() {
    let pages = [
        ("policy-reference.md", rollgate::facade::policy::reference()),
        ("exit-codes.md", rollgate::facade::rules::exit_codes()),
        ("words.md", rollgate::facade::rules::words()),
    ];
    fresh("docs", pages.into_iter().map(|(name, text)| (name.to_owned(), text)).collect());
}
