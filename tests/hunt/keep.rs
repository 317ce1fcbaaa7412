//! Keeps what was found as a folder that can become a scenario: the World, the stream, what was foretold and what came.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::steps::Write;
use crate::{Played, Script};

/// The folder of all finds.
pub(crate) struct Finds {
    folder: PathBuf,
    next: Mutex<usize>,
}

impl Finds {
    /// In `ROLLGATE_HUNT_FINDS`, else beside the logs of the run.
    pub(crate) fn new(out: &Path) -> Self {
        let folder = std::env::var_os("ROLLGATE_HUNT_FINDS").map_or_else(|| out.join("finds"), PathBuf::from);
        fs::create_dir_all(&folder).expect("the folder of finds can be made");
        let kept = fs::read_dir(&folder).expect("it can be read").flatten();
        let number = |name: &str| name.split('-').next().and_then(|number| number.parse::<usize>().ok());
        let last = kept.filter_map(|entry| number(entry.file_name().to_str()?)).max();
        Self { folder, next: Mutex::new(last.map_or(1, |last| last + 1)) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps one; gives its folder.
    pub(crate) fn keep(&self, script: &Script, write: &Write, played: &Played, line: &str) -> PathBuf {
        let mut next = self.next.lock().expect("no thread panics with it");
        let name = format!("{:03}-{}-{}", *next, played.mark.word(), write.class).replace(' ', "-");
        let folder = self.folder.join(&name);
        fs::create_dir_all(&folder).expect("the folder of the find can be made");
        let text = |name: &str, content: &str| fs::write(folder.join(name), content).expect("the find can be written");
        let pretty = |value: &Value| format!("{value:#}\n");
        // The World is that of the forecast: the next one overwrites the file.
        drop(fs::copy(&played.world, folder.join("live.yaml")));
        text("rendered.yaml", &played.stream);
        text("foretold.json", &pretty(&played.forecast.report));
        text("base.json", &pretty(&json!(played.base)));
        text("script.json", &pretty(&json!(script)));
        let came = json!({
            "refused": played.outcome.refused, "gone": played.outcome.gone, "made": played.outcome.made,
            "outdated": played.outcome.outdated, "rested": played.outcome.rested, "snapshotDiffers": played.forecast.snapshot_differs,
        });
        text("came.json", &pretty(&came));
        let edits: Vec<String> =
            write.edits.iter().map(|edit| json!(edit).to_string().chars().take(300).collect()).collect();
        let place = format!("{} {:?}", script.place(), write.way);
        let entry = format!("- {name}: {place}: {line}\n  - {}\n", edits.join("\n  - "));
        let index = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("INDEX.md"));
        index.and_then(|mut index| index.write_all(entry.as_bytes())).expect("the index can be written");
        *next += 1;
        folder
    }
}

/// Notes the shortest script beside a find.
pub(crate) fn note(folder: &Path, script: &Script) {
    fs::write(folder.join("shortest.json"), format!("{:#}\n", json!(script))).expect("the find can be written");
}

/// The script that is to be played again, where one is named.
pub(crate) fn script() -> Option<Script> {
    let file = std::env::var_os("ROLLGATE_HUNT_SCRIPT")?;
    let text = fs::read_to_string(file).expect("the script can be read");
    Some(serde_json::from_str(&text).expect("a script is what a hunt wrote"))
}

/// What earlier walks found, to be played before a new one: names and scripts of the folder `tests/hunt/found`.
pub(crate) fn found() -> Vec<(String, Script)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hunt/found");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder of what was found").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).expect("the script can be read");
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, serde_json::from_str(&text).expect("a script is what a hunt wrote"))
    };
    files.into_iter().map(read).collect()
}
