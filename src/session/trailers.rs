//! The commits of a change as Git has them: who made them, their trailers, and what their signatures prove. Nothing that the change
//! itself can write says whom to trust: neither its mailmap nor a file of keys in its checkout.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail, ensure};

use super::revisions::{Range, git};
use crate::approval::trailer::{Commit, Person, Signature};
use crate::policy::ApprovalTrailer;

/// Most commits of a change.
const MOST: usize = 2_000;
/// Git without what a change or a machine could bend: replaced objects, other separators, signatures in between, another encoding.
const PLAIN: [&str; 6] =
    ["--no-replace-objects", "-c", "trailer.separators=:", "-c", "i18n.logOutputEncoding=UTF-8", "--no-pager"];
/// Fields of a commit, in their order; the names of the trailers go between.
const FIELDS: usize = 11;

/// The commits of a change, those that approve with what their signatures prove.
///
/// # Errors
/// In a sentence, when not all of them are there to be read.
pub(crate) fn read(rules: &ApprovalTrailer, range: &Range, folder: &Path) -> Result<Vec<Commit>, String> {
    commits(rules, range, folder).map_err(|error| format!("{error:#}"))
}

fn commits(rules: &ApprovalTrailer, range: &Range, folder: &Path) -> anyhow::Result<Vec<Commit>> {
    if git(&["rev-parse", "--is-shallow-repository"])? != "false" {
        let remotes = git(&["remote"]).unwrap_or_default();
        let remote = remotes.lines().next().unwrap_or("origin");
        bail!(
            "this clone is shallow, so it may lack commits of the change; run: git fetch --unshallow {remote} \
             (in GitLab CI set GIT_DEPTH: 0, in GitHub Actions fetch-depth: 0)"
        );
    }
    let name = &rules.git_trailer;
    let format = format!(
        "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%cn%x00%ce%x00%(trailers:key={name},valueonly,unfold,separator=%x01)%x00\
         %(trailers:key=Co-authored-by,valueonly,unfold,separator=%x01)%x00%B%x00"
    );
    let (base, most) = (format!("^{}", range.tip), format!("--max-count={}", MOST + 1));
    let listed = plain(&["rev-list", &most, &base, &range.head])?;
    let walk = ["log", "--no-color", "--no-show-signature", "--no-notes", "-z", &most, &format, &base, &range.head];
    let text = plain(&walk)?;
    let fields: Vec<&str> = text.split('\0').collect();
    let rows: Vec<&[&str]> = fields.chunks_exact(FIELDS).collect();
    ensure!(rows.len() <= MOST, "the change has more than {MOST} commits; judge it in parts");
    // No commit can pass for another one by what stands in it.
    let is_whole = rows.len() * FIELDS + 1 == fields.len();
    let is_same = rows.iter().map(|row| row.first().copied().unwrap_or_default()).eq(listed.lines());
    ensure!(is_whole && is_same, "git log gave an answer that cannot be read");
    let trees = trees(&rows)?;
    let mut commits = Vec::new();
    for row in rows {
        let &[hash, tree, parents, author, author_mail, committer, committer_mail, trailers, others, body, _] = row
        else {
            bail!("git log gave an answer that cannot be read");
        };
        let mut parents = parents.split_whitespace();
        let is_empty = match (parents.next(), parents.next()) {
            (Some(parent), None) => trees.get(parent).is_some_and(|before| before == tree),
            _ => false,
        };
        let values = |text: &str| -> Vec<String> {
            text.split('\u{1}').filter(|value| !value.is_empty()).map(str::to_owned).collect()
        };
        let starts = |line: &&str| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        let is_trailer =
            |line: &&str| starts(line) && line[name.len()..].trim_start_matches([' ', '\t']).starts_with(':');
        let mut commit = Commit {
            hash: hash.to_owned(),
            author: Person { name: author.to_owned(), mail: author_mail.to_owned() },
            committer: Person { name: committer.to_owned(), mail: committer_mail.to_owned() },
            others: values(others).iter().map(|text| Person::parse(text)).collect(),
            is_empty,
            trailers: values(trailers),
            lines: body.lines().filter(is_trailer).count(),
            signature: Signature::NotAsked,
        };
        if rules.signed && !commit.trailers.is_empty() {
            commit.signature = signature(rules, hash, folder)?;
        }
        commits.push(commit);
    }
    Ok(commits)
}

/// The tree of each commit and of each parent that lies outside of the change.
fn trees(rows: &[&[&str]]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut trees: BTreeMap<String, String> =
        rows.iter().filter_map(|row| Some(((*row.first()?).to_owned(), (*row.get(1)?).to_owned()))).collect();
    for row in rows {
        for parent in row.get(2).into_iter().flat_map(|parents| parents.split_whitespace()) {
            if !trees.contains_key(parent) {
                let tree = plain(&["rev-parse", "--verify", "--quiet", &format!("{parent}^{{tree}}")])?;
                trees.insert(parent.to_owned(), tree.trim().to_owned());
            }
        }
    }
    Ok(trees)
}

/// What the signature of a commit proves. Whom to trust is said by the policy's side, or by this machine.
fn signature(rules: &ApprovalTrailer, hash: &str, folder: &Path) -> anyhow::Result<Signature> {
    let signers = match &rules.allowed_signers {
        Some(file) => {
            let file = folder.join(file);
            let file = std::fs::canonicalize(&file)
                .with_context(|| format!("allowedSigners {} cannot be read", file.display()))?;
            Some(file.to_str().ok_or_else(|| anyhow!("{} is not text", file.display()))?.to_owned())
        }
        None => None,
    };
    let told = match &signers {
        Some(file) => file.clone(),
        // A file of the checkout is one that the change can write.
        None => trusted_signers().unwrap_or_else(|| "/dev/null".to_owned()),
    };
    let told = format!("gpg.ssh.allowedSignersFile={told}");
    let nothing = |why: &str| {
        Ok(Signature::Nothing(format!(
            "{why}; sign it (git commit --allow-empty -S) with a key that the policy's side trusts"
        )))
    };
    let shown =
        plain(&["-c", &told, "log", "-1", "--no-color", "--no-show-signature", "--format=%G?%x00%GS%x00%GF", hash])?;
    let mut parts = shown.trim_end_matches('\n').split('\0');
    let (state, signer, key) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next());
    match state {
        "G" => {}
        "N" => return nothing("it has no signature"),
        "U" | "E" => return nothing("nobody here knows the key that it was signed with"),
        "X" | "Y" => return nothing("its signature or the key of it has expired"),
        "R" => return nothing("the key of its signature was revoked"),
        _ => return nothing("its signature is not good"),
    }
    // Git answers this with the trust that it was told to want.
    let is_good = plain(&["-c", &told, "verify-commit", hash]).is_ok();
    let is_ssh = key.is_some_and(|key| key.starts_with("SHA256:"));
    if !is_good || signers.is_some() && !is_ssh {
        return nothing("its signature is not one that the policy wants");
    }
    Ok(Signature::By(signer.to_owned()))
}

/// The file of SSH keys that Git trusts on this machine, where it lies outside of the checkout.
fn trusted_signers() -> Option<String> {
    let file = git(&["config", "--type=path", "--get", "gpg.ssh.allowedSignersFile"]).ok()?;
    let real = std::fs::canonicalize(Path::new(&file).is_absolute().then_some(&file)?).ok()?;
    let top = std::fs::canonicalize(git(&["rev-parse", "--show-toplevel"]).ok()?).ok()?;
    (!real.starts_with(top)).then_some(file)
}

/// What Git prints, as text; bytes that are none come out as U+FFFD, which no trailer may hold.
fn plain(args: &[&str]) -> anyhow::Result<String> {
    let output =
        Command::new("git").args(PLAIN).args(args).stdin(Stdio::null()).output().context("git cannot be run")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git {}: {}", args.first().unwrap_or(&""), said.lines().next().unwrap_or("it failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Who commits here.
///
/// # Errors
/// When Git knows nobody.
pub(crate) fn committer() -> anyhow::Result<Person> {
    let text =
        git(&["var", "GIT_COMMITTER_IDENT"]).context("nobody is known to commit here; set user.name and user.email")?;
    Ok(Person::parse(&text))
}

/// Makes a commit of a message alone, and gives its name.
///
/// # Errors
/// When something else is about to be committed, or Git makes none.
pub(crate) fn commit(message: &str, signed: bool) -> anyhow::Result<String> {
    ensure!(
        git(&["diff", "--cached", "--quiet"]).is_ok(),
        "there are changes in the index, and an approval is a commit that changes nothing; commit or unstage them first"
    );
    let mut command = Command::new("git");
    command.args(["commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--file=-"]);
    command.args(signed.then_some("--gpg-sign"));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("git cannot be run")?;
    child.stdin.take().context("git cannot be told")?.write_all(message.as_bytes()).context("git cannot be told")?;
    let output = child.wait_with_output().context("git cannot be run")?;
    if !output.status.success() {
        bail!("git commit: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}
