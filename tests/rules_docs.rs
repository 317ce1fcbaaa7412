//! The pages in `docs/rules/` are made from the packs; write them anew with `ROLLGATE_WRITE=1 cargo test --test rules_docs`.

use std::path::Path;

#[test]
fn the_pages_of_the_rules_are_fresh() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules");
    let write = std::env::var_os("ROLLGATE_WRITE").is_some();
    for (name, text) in rollgate::rules::pages() {
        let place = folder.join(&name);
        if write {
            std::fs::create_dir_all(&folder).expect("the folder can be made");
            std::fs::write(&place, text).expect("the page can be written");
        } else {
            let have = std::fs::read_to_string(&place).unwrap_or_default();
            assert!(have == text, "docs/rules/{name} is stale; run ROLLGATE_WRITE=1 cargo test --test rules_docs");
        }
    }
}
