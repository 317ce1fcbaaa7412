//! The pages of the words of a report, made from what `explain` says: exit codes with what to do, and all the others.

use std::fmt::Write as _;

use super::term::{Sort, Term};
use super::terms::TERMS;

/// The page of the exit codes.
#[must_use]
pub fn exit_codes() -> String {
    let mut page = String::from(
        "# Exit codes\n\nMade from what `rollgate explain \"exit 3\"` says; a test fails when they part. A code never depends on the format of the\n\
         report, nor on whether it can be read: nothing that ends with another code than 0 is an allow.\n\n\
         | code | means | what to do |\n|---|---|---|\n",
    );
    rows(&mut page, Sort::Exit);
    page.push_str(
        "\n## Decisions\n\nThe `decision` of a report, and the exit code that it comes to: `allow` 0, `hold` 3, `undecided` 4. Of several releases in one\n\
         run (`plan --all`) the worst counts, and `hold` outweighs `undecided`; where one of them cannot be judged at all, the run ends with its\n\
         fault and writes no report.\n\n\
         | decision | means | what to do |\n|---|---|---|\n",
    );
    rows(&mut page, Sort::Decision);
    page.push_str(
        "\n## In a script\n\n```sh script\nrollgate plan rendered.yaml --live nightly.json || code=$?\ncase \"${code:-0}\" in\n  0) ;;                      # go on\n  \
         3) exit 1 ;;               # somebody has to decide: the report names the field and the next command\n  4) exit 1 ;;               # something could not be read: \
         the line `next` says what gives it\n  *) exit 2 ;;               # the check itself failed: standard error says why\nesac\n```\n",
    );
    page
}

/// The page of all other words.
#[must_use]
pub fn words() -> String {
    let mut page = String::from(
        "# The words of a report\n\nMade from what `rollgate explain WORD` says; a test fails when they part. [exit-codes.md](exit-codes.md) has the decisions,\n\
         [gates.md](gates.md) when a gate is asked and what it does where the policy says nothing, [rules/](rules/README.md) the rules by name.\n",
    );
    for (title, sort) in [
        ("Gates", Sort::Gate),
        ("Findings", Sort::Finding),
        ("States of a late value", Sort::LateState),
        ("States of a source of a late value", Sort::SourceState),
    ] {
        let _: std::fmt::Result = write!(page, "\n## {title}\n\n| word | means | what to do |\n|---|---|---|\n");
        rows(&mut page, sort);
    }
    page
}

fn rows(page: &mut String, sort: Sort) {
    let cell = |text: &str| text.replace('|', "\\|");
    for Term { name, says, remedy, .. } in TERMS.iter().filter(|term| term.sort == sort) {
        let _: std::fmt::Result = writeln!(page, "| `{name}` | {} | {} |", cell(says), cell(remedy));
    }
}
