//! The rows as a table, and the page that it stands in.

use std::fmt::Write as _;
use std::path::Path;

use crate::measure::Median;

/// A kubeconfig of a cluster that nobody reaches: this machine, at a port where nothing listens.
pub(crate) const NOWHERE: &str = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\n\
     contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n";

/// A policy by which an unread release is no doubt.
pub(crate) const WITHOUT_RELEASE: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nunseen: {release: allow}\n";

/// Where the table stands in the page.
const MARKERS: (&str, &str) = ("<!-- made by `make speed` -->\n", "<!-- end -->\n");

/// One workload.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) goal: &'static str,
    pub(crate) own: Median,
    pub(crate) mega_instructions: Option<f64>,
    pub(crate) peer: Option<(&'static str, Median)>,
    pub(crate) note: String,
}

impl Row {
    /// A line of the table.
    pub(crate) fn line(&self) -> String {
        let Median { ms, best, mib } = self.own;
        let count = self.mega_instructions.map_or_else(String::new, |count| format!("{count:.1}"));
        let memory = if mib > 0.0 { format!("{mib:.0}") } else { String::new() };
        let mut peer = self.peer.map_or_else(String::new, |(name, peer)| {
            let ratio = peer.ms / ms;
            let ratio =
                if ratio >= 1.0 { format!("{ratio:.1}x faster") } else { format!("{:.1}x as long", 1.0 / ratio) };
            let memory = if mib > 0.0 && peer.mib > mib {
                format!(", {:.1}x less memory", peer.mib / mib)
            } else {
                String::new()
            };
            format!("{name} {:.1} ms, {:.0} MiB: {ratio}{memory}", peer.ms, peer.mib)
        });
        if !self.note.is_empty() {
            let comma = if peer.is_empty() { "" } else { "; " };
            peer = format!("{peer}{comma}{}", self.note);
        }
        format!("| {} | {} | {ms:.1} | {best:.1} | {memory} | {count} | {peer} |", self.what, self.goal)
    }
}

/// The whole table, with what it was made on.
pub(crate) fn table(rows: &[Row], load: &str, program: &Path) -> String {
    let mut out = String::from(
        "| workload | goal | ms (median) | ms (best) | MiB | million instructions | beside |\n|---|---|---|---|---|---|---|\n",
    );
    rows.iter().for_each(|row| writeln!(out, "{}", row.line()).expect("a string can be written"));
    let size = std::fs::metadata(program).map_or(0, |file| file.len());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let model = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let pages = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let told = std::env::var("MIMALLOC_ALLOW_THP")
        .map_or_else(|_| String::new(), |told| format!(", MIMALLOC_ALLOW_THP={told}"));
    writeln!(
        out,
        "\nMachine: {cores} cores{}; load average before and after: {load} and {}. Allocator: mimalloc; transparent huge pages: {}{told}. \
         Program: {:.1} MB.",
        model
            .trim_start_matches([' ', '\t', ':'])
            .split(" @")
            .next()
            .map(|name| format!(" of {name}"))
            .unwrap_or_default(),
        self::load(),
        pages.split(['[', ']']).nth(1).unwrap_or("unknown"),
        size as f64 / 1e6,
    )
    .expect("a string can be written");
    out
}

/// The load average of the last minute.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

/// Puts the table into the page.
pub(crate) fn write(table: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/speed.md");
    let page = std::fs::read_to_string(&file).expect("the page is in the repository");
    let (before, rest) = page.split_once(MARKERS.0).expect("the page has the first marker");
    let (_, after) = rest.split_once(MARKERS.1).expect("the page has the second marker");
    let page = format!("{before}{}{table}{}{after}", MARKERS.0, MARKERS.1);
    std::fs::write(&file, page).expect("the page can be written");
}

/// A policy with ten late values, none of which stands in the stream.
pub(crate) fn ten_late_values() -> String {
    let mut text = String::from("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n");
    for number in 0..10 {
        writeln!(
            text,
            "- {{name: late-{number}, placeholders: [\"55.55.55.{number}\"], type: ip, from: [{{env: LATE_{number}}}]}}"
        )
        .expect("a string can be written");
    }
    text
}
