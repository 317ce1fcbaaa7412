//! One superset form for every API version of a kind: v1beta2 names, plus what only v1beta1 has.
//! One table moves values into that form and paths along with them, so a rule is never written twice.

use super::kind::Kind;
use super::versions::{Since, Versions};
use std::sync::OnceLock;

use crate::object::{ApiVersion, Path, Segment, go_seconds};
use crate::schema::carry::{Carry, Form, steps};
use crate::schema::moves::{How, of_kind};
use crate::schema::sources::Sources;
use crate::tree::{Map, Value};

/// What conversion does to a kubeadm configuration on top of renaming.
type Convert = fn(&mut Value, &str);

/// What older versions wrote into a kubeadm configuration where nobody said anything.
type Defaults = fn(&mut Map);

/// The fields of one kind that stand elsewhere in the superset form.
#[derive(Debug)]
pub struct Superset {
    moves: Vec<Carry>,
    sources: OnceLock<Sources>,
    config: Option<Config>,
}

/// A kubeadm configuration inside an object.
#[derive(Debug, Clone, Copy)]
struct Config {
    /// Its place, as a JSON pointer.
    place: &'static str,
    /// What converts it.
    convert: Convert,
    /// First version whose conversion does so.
    since: &'static Since,
    /// What it had by default.
    defaults: Defaults,
}

impl Superset {
    /// The shared table as far as the superset form follows it: what only one version has stays where it is, and so does what
    /// only the conversion since Cluster API 1.11 moves.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self::below(name, "")
    }

    /// The shared table of a kind, but only its moves below one prefix.
    #[must_use]
    pub fn below(name: &str, only: &str) -> Self {
        let all = of_kind(name).iter().flat_map(|(prefix, moves)| moves.iter().map(move |one| (*prefix, one)));
        let moves = all
            .filter(|(_, one)| !matches!(one.how, How::Plain | How::Gone | How::New | How::Named))
            .filter(|(_, one)| TIMEOUTS.iter().all(|(from, _)| *from != one.from))
            .filter(|(prefix, _)| only.is_empty() || *prefix == only)
            .map(|(prefix, one)| Carry::of(prefix, one));
        Self { moves: moves.collect(), sources: OnceLock::new(), config: None }
    }

    /// This table for a kind with a kubeadm configuration at `place`.
    #[must_use]
    pub fn with_config(
        mut self,
        place: &'static str,
        convert: Convert,
        since: &'static Since,
        defaults: Defaults,
    ) -> Self {
        let prefix = dotted(place);
        self.moves.extend(TIMEOUTS.map(|(from, _)| in_place(&prefix, from)));
        self.config = Some(Config { place, convert, since, defaults });
        self
    }

    /// This table for a kind whose durations at `places` below `prefix` stay where they are.
    #[must_use]
    pub fn with_durations(mut self, prefix: &str, places: &[&str]) -> Self {
        self.moves.extend(places.iter().map(|place| in_place(prefix, place)));
        self
    }
}

impl Superset {
    /// Moves the fields of an object.
    fn move_all(&self, object: &mut Value) {
        for place in self.sources.get_or_init(|| Sources::of(&self.moves)).in_object(object) {
            self.moves[place].forward(object, Form::Superset);
        }
    }
}

/// A duration that stays where it is.
fn in_place(prefix: &str, place: &str) -> Carry {
    let place = steps(prefix, place);
    Carry { from: place.clone(), to: place, how: How::Seconds }
}

/// A JSON pointer as a dotted place.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

impl Kind {
    /// Where it keeps a kubeadm configuration, as a JSON pointer.
    #[must_use]
    pub fn config_place(&self) -> Option<&'static str> {
        Some(self.config()?.place)
    }

    /// Fills in what older versions had by default in the kubeadm configuration of an object.
    pub fn fill_config(&self, object: &mut Value) {
        if let Some(config) = self.config()
            && let Some(map) = object.pointer_mut(config.place).and_then(Value::as_object_mut)
        {
            (config.defaults)(map);
        }
    }

    fn config(&self) -> Option<Config> {
        self.superset?.config
    }

    fn moves(&self) -> &'static [Carry] {
        self.superset.map_or(&[], |superset| superset.moves.as_slice())
    }
}

/// Whether the superset form of a kind depends on the versions of the providers.
#[must_use]
pub(crate) fn is_of_versions(kind: &Kind) -> bool {
    kind.config().is_some()
}

/// The object in the superset form; since Cluster API 1.11 also with what conversion drops and restores.
#[must_use]
pub(crate) fn value(kind: &Kind, api_version: &str, object: &Value, versions: &Versions) -> Value {
    moved(kind, api_version, object.clone(), versions)
}

/// An object in the superset form, moved in place: for one that nobody needs as it was.
#[must_use]
pub(crate) fn moved(kind: &Kind, api_version: &str, object: Value, versions: &Versions) -> Value {
    let mut out = object;
    if ApiVersion::is_before_v1beta2(api_version) {
        if let Some(superset) = kind.superset.as_ref() {
            superset.move_all(&mut out);
        }
        if let Some(config) = kind.config().filter(|config| versions.has(config.since)) {
            (config.convert)(&mut out, config.place);
        }
    }
    out
}

/// The places of durations that Go cannot read, as rendered.
#[must_use]
pub(crate) fn unreadable(kind: &Kind, api_version: &str, object: &Value) -> Vec<Path> {
    let mut out = Vec::new();
    if !ApiVersion::is_before_v1beta2(api_version) {
        return out;
    }
    for one in kind.moves().iter().filter(|one| one.how == How::Seconds && one.is_in(object)) {
        texts(object, &one.from, &Path::root(), &mut out);
    }
    // All of them are among the moves.
    if let Some(place) = kind.config_place().filter(|_| !out.is_empty()) {
        let prefix = dotted(place);
        for (from, _) in TIMEOUTS {
            texts(object, &steps(&prefix, from), &Path::root(), &mut out);
        }
    }
    out
}

/// Adds the places at a pattern whose texts are no durations.
fn texts(value: &Value, pattern: &[Option<Segment>], at: &Path, out: &mut Vec<Path>) {
    let Some((first, rest)) = pattern.split_first() else {
        if value.as_str().is_some_and(|text| go_seconds(text).is_none()) {
            out.push(at.clone());
        }
        return;
    };
    match first {
        Some(segment) => {
            if let Some(below) = Path::from(vec![segment.clone()]).get(value) {
                texts(below, rest, &at.with(segment.clone()), out);
            }
        }
        None => {
            for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                texts(item, rest, &at.index(place), out);
            }
        }
    }
}

/// The place in the superset form that a place of the object has moved to.
#[must_use]
pub fn path(kind: &Kind, api_version: &str, path: &Path, versions: &Versions) -> Path {
    let mut out = path.clone();
    if ApiVersion::is_before_v1beta2(api_version) {
        for one in kind.moves() {
            if let Some(moved) = one.path(&out) {
                out = moved;
            }
        }
        if let Some(config) = kind.config().filter(|config| versions.has(config.since)) {
            let prefix = dotted(config.place);
            for (from, to) in TIMEOUTS {
                let one = Carry { from: steps(&prefix, from), to: steps(&prefix, to), how: How::Same };
                if let Some(moved) = one.path(&out) {
                    out = moved;
                }
            }
        }
    }
    out
}

/// Timeouts that conversion moves; what it does with their values stands in `convert`.
const TIMEOUTS: [(&str, &str); 2] = [
    (
        "clusterConfiguration.apiServer.timeoutForControlPlane",
        "initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds",
    ),
    ("joinConfiguration.discovery.timeout", "joinConfiguration.timeouts.tlsBootstrapSeconds"),
];
