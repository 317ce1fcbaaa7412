//! What source-controller leaves out of the artifact of a repository: `.sourceignore`, read as go-git reads a `.gitignore` (fluxcd/pkg
//! `sourceignore/sourceignore.go`; go-git `plumbing/format/gitignore`, `pattern.go` and `matcher.go`, v5). Unlike Git it takes what is below
//! a folder that is left out in again, where a later pattern says so.

use std::path::Path;

/// The file that says what is left out.
pub(crate) const FILE: &str = ".sourceignore";
/// What is left out always (`ExcludeVCS`).
const ALWAYS: [&str; 4] = [".git/", ".gitignore", ".gitmodules", ".gitattributes"];
/// What is left out where no pattern is given at all (`ExcludeExt`, `ExcludeCI`, `ExcludeExtra`).
const DEFAULT: [&str; 20] = [
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.png",
    "*.wmv",
    "*.flv",
    "*.tar.gz",
    "*.zip",
    ".github/",
    ".circleci/",
    ".travis.yml",
    ".gitlab-ci.yml",
    "appveyor.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "codeship-services.yml",
    "codeship-steps.yml",
    "**/.goreleaser.yml",
    "**/.sops.yaml",
    "**/.flux.yaml",
];

/// What is left out.
#[derive(Debug, Default)]
pub(crate) struct Ignored(Vec<Pattern>);

/// One pattern, and the folder that it counts in.
#[derive(Debug)]
struct Pattern {
    domain: Vec<String>,
    parts: Vec<String>,
    is_inclusion: bool,
    is_of_folders: bool,
    is_glob: bool,
}

fn parts_of(path: &Path) -> Vec<String> {
    path.iter().map(|part| part.to_string_lossy().into_owned()).collect()
}

impl Ignored {
    /// Adds the patterns of a file in a folder.
    pub(crate) fn add(&mut self, text: &str, folder: &Path) {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        self.0.extend(lines.map(|line| Pattern::of(line, parts_of(folder))));
    }

    /// Whether a file or folder is left out.
    pub(crate) fn has(&self, path: &Path, is_folder: bool) -> bool {
        let path = parts_of(path);
        let own = self.0.iter().rev().find_map(|pattern| pattern.says(&path, is_folder));
        let plain = |words: &[&str]| words.iter().any(|word| Pattern::of(word, Vec::new()).fits(&path, is_folder));
        own.unwrap_or_else(|| plain(&ALWAYS) || self.0.is_empty() && plain(&DEFAULT))
    }
}

impl Pattern {
    fn of(line: &str, domain: Vec<String>) -> Self {
        let (is_inclusion, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let line = if line.ends_with("\\ ") { line } else { line.trim_end_matches(' ') };
        let (is_of_folders, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
        let parts = line.split('/').map(str::to_owned).collect();
        Self { domain, parts, is_inclusion, is_of_folders, is_glob: line.contains('/') }
    }

    /// Whether it leaves a path out; nothing where it does not say.
    fn says(&self, path: &[String], is_folder: bool) -> Option<bool> {
        let below = path.strip_prefix(self.domain.as_slice()).filter(|below| !below.is_empty())?;
        self.fits(below, is_folder).then_some(!self.is_inclusion)
    }

    fn fits(&self, path: &[String], is_folder: bool) -> bool {
        if self.is_glob { self.fits_glob(path, is_folder) } else { self.fits_name(path, is_folder) }
    }

    fn fits_name(&self, path: &[String], is_folder: bool) -> bool {
        let found = path.iter().position(|name| is_match(&self.parts[0], name));
        found.is_some_and(|at| !self.is_of_folders || is_folder || at + 1 < path.len())
    }

    fn fits_glob(&self, path: &[String], is_folder: bool) -> bool {
        let (mut path, mut matched, mut can_traverse) = (path, false, false);
        for (at, part) in self.parts.iter().enumerate() {
            let is_last = at + 1 == self.parts.len();
            if part.is_empty() {
                can_traverse = false;
                continue;
            }
            if part == "**" {
                if is_last {
                    break;
                }
                can_traverse = true;
                continue;
            }
            if part.contains("**") || path.is_empty() {
                return false;
            }
            if std::mem::take(&mut can_traverse) {
                let found = path.iter().position(|name| is_match(part, name));
                matched = found.is_some();
                path = found.map_or(&[], |found| &path[found + 1..]);
            } else {
                if !is_match(part, &path[0]) {
                    return false;
                }
                path = &path[1..];
                // A file that fits a folder of the pattern is none that is meant.
                matched = !path.is_empty() || is_last;
            }
        }
        matched && (!self.is_of_folders || is_folder || !path.is_empty())
    }
}

/// What one place of a name may be.
#[derive(Debug)]
enum Step {
    /// As many letters as it takes.
    Any,
    /// One letter.
    One,
    /// One of these letters, or none of them.
    Of { is_negated: bool, ranges: Vec<(char, char)> },
}

impl Step {
    fn fits(&self, letter: char) -> bool {
        match self {
            Self::Any => false,
            Self::One => true,
            Self::Of { is_negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter)) != *is_negated
            }
        }
    }
}

/// Whether a name fits a pattern of Go's `path/filepath.Match`; a pattern that is none fits nothing. Only the last star is tried again, so
/// that a pattern of many takes no longer than its length times that of the name.
fn is_match(pattern: &str, name: &str) -> bool {
    let Some(steps) = steps(pattern) else { return false };
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(letter) = name.get(place) {
        match (steps.get(at), &mut star) {
            (Some(Step::Any), _) => {
                at += 1;
                star = Some((at, place));
            }
            (Some(step), _) if step.fits(*letter) => (at, place) = (at + 1, place + 1),
            (_, Some((behind, taken))) => {
                *taken += 1;
                (at, place) = (*behind, *taken);
            }
            (_, None) => return false,
        }
    }
    steps.iter().skip(at).all(|step| matches!(step, Step::Any))
}

/// The steps of a pattern; nothing where it is none.
fn steps(pattern: &str) -> Option<Vec<Step>> {
    let only = |letter: char| Step::Of { is_negated: false, ranges: vec![(letter, letter)] };
    let mut letters = pattern.chars();
    let mut out = Vec::new();
    while let Some(letter) = letters.next() {
        out.push(match letter {
            '*' => Step::Any,
            '?' => Step::One,
            '[' => class(&mut letters)?,
            '\\' => only(letters.next()?),
            letter => only(letter),
        });
    }
    Some(out)
}

/// The letters of a class, up to its end; nothing where it has none.
fn class(letters: &mut std::str::Chars<'_>) -> Option<Step> {
    let is_negated = letters.as_str().starts_with('^');
    if is_negated {
        letters.next();
    }
    let one = |letters: &mut std::str::Chars<'_>| match letters.next()? {
        '\\' => letters.next(),
        '-' | ']' => None,
        letter => Some(letter),
    };
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty() && letters.as_str().starts_with(']') {
            letters.next();
            return Some(Step::Of { is_negated, ranges });
        }
        let low = one(letters)?;
        let mut high = low;
        if letters.as_str().starts_with('-') {
            letters.next();
            high = one(letters)?;
        }
        ranges.push((low, high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ignored(text: &str, path: &str) -> bool {
        let mut ignored = Ignored::default();
        ignored.add(text, Path::new(""));
        ignored.has(Path::new(path), false)
    }

    #[test]
    fn patterns_are_read_as_go_git_reads_them() {
        for (text, path, is) in [
            ("apps/edge.yaml", "apps/edge.yaml", true),
            ("edge.yaml", "apps/edge.yaml", true),
            ("/edge.yaml", "apps/edge.yaml", false),
            ("/apps/", "apps/edge.yaml", true),
            ("apps/", "apps", false),
            ("/docs/", "apps/edge.yaml", false),
            ("/apps/**/*.md", "apps/a/b/c.md", true),
            ("/apps/**/*.md", "apps/a/b/c.yaml", false),
            ("**/test", "a/test/b.yaml", true),
            ("/*\n!/clusters", "clusters/prod/a.yaml", false),
            ("/*\n!/clusters", "apps/a.yaml", true),
            // Git would leave this out, as its folder is left out.
            ("/*\n!/clusters/prod", "clusters/prod/a.yaml", false),
            ("# apps/\n\n", "apps/a.yaml", false),
            ("a[0-9].yaml", "a7.yaml", true),
            ("a[^0-9].yaml", "a7.yaml", false),
            ("a\\*.yaml", "ab.yaml", false),
            ("a?.yaml", "ab.yaml", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a[", "a[", false),
            ("a[]-x]", "a-", false),
        ] {
            assert_eq!(is_ignored(text, path), is, "{text:?} {path}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let (pattern, name) = ("*a".repeat(100) + "b", "a".repeat(250));
        assert!(!is_match(&pattern, &name) && is_match(&"*a".repeat(100), &name));
    }

    #[test]
    fn defaults_count_where_nothing_is_said() {
        assert!(is_ignored("", "apps/.sops.yaml") && is_ignored("", "a.png") && is_ignored("", ".github/w.yaml"));
        assert!(!is_ignored("x", "apps/.sops.yaml") && is_ignored("x", "a/.gitignore"));
        let mut below = Ignored::default();
        below.add("a.yaml", Path::new("apps"));
        assert!(below.has(Path::new("apps/a.yaml"), false) && !below.has(Path::new("a.yaml"), false));
    }
}
