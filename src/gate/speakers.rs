//! What the Pods that announce for MetalLB add to who can take an address over: where none is ready nothing is announced, and a version
//! may treat a Node otherwise than the next one.

use std::collections::BTreeSet;

use crate::world::workload::{Node, Speaker, Workload};

/// A version of MetalLB that does not announce from a Node that is cordoned, which the drain of a Machine does first
/// (<https://github.com/metallb/metallb/pull/2470>, taken back for 0.15 by <https://github.com/metallb/metallb/pull/2715>).
const STOPS_WHERE_CORDONED: &str = "0.14.9";

/// The speakers of a workload cluster, as far as they were read.
#[derive(Clone, Copy)]
pub(super) struct Speakers<'j>(Option<&'j [Speaker]>, Option<&'j str>);

impl<'j> Speakers<'j> {
    /// Those that were read; one of which none was found has another name there, so nothing is known of it.
    pub(super) fn of(found: &'j Workload) -> Self {
        match found.speakers.as_ref().map(|told| told.read()) {
            Some(Ok(read)) => Self(Some(read.as_slice()).filter(|speakers| !speakers.is_empty()), None),
            Some(Err((why, _))) => Self(None, Some(why)),
            None => Self(None, None),
        }
    }

    fn on(&self, node: &str) -> Option<&'j Speaker> {
        self.0?.iter().find(|speaker| speaker.node == node)
    }

    /// Why MetalLB does not announce from a Node. Where its version is not known the strictest one counts.
    pub(super) fn keeps_from(&self, node: &Node) -> Option<&'static str> {
        let speaker = self.on(&node.name);
        let is_read = self.0.is_some();
        let stops =
            speaker.and_then(|speaker| speaker.version.as_deref()).is_none_or(|told| told == STOPS_WHERE_CORDONED);
        match speaker {
            None if is_read => Some("has no speaker of MetalLB"),
            Some(speaker) if !speaker.ready => Some("has a speaker of MetalLB that is not ready"),
            Some(speaker) if node.excluded && speaker.ignores_exclusion => None,
            _ if node.excluded => Some("is excluded from load balancers by its label"),
            _ if node.unschedulable && stops => Some("is cordoned"),
            _ => None,
        }
    }

    /// What is known of the versions that run, as the end of a sentence about a Node that has an address and goes.
    pub(super) fn says(&self, holder: &str) -> String {
        if let Some(why) = self.1 {
            return format!("; which version of MetalLB announces it is not known: {why}");
        }
        let Some(speakers) = self.0 else { return String::new() };
        let versions: BTreeSet<&str> = speakers.iter().filter_map(|speaker| speaker.version.as_deref()).collect();
        let stops = self.on(holder).and_then(|speaker| speaker.version.as_deref()) == Some(STOPS_WHERE_CORDONED);
        match versions.len() {
            2.. => {
                let all = versions.into_iter().collect::<Vec<_>>().join(" and ");
                format!("; speakers of MetalLB {all} run at once and may not agree who announces")
            }
            _ if stops => format!(
                "; MetalLB {STOPS_WHERE_CORDONED} stops announcing from a Node as soon as that is cordoned, which its drain does first"
            ),
            _ => String::new(),
        }
    }

    /// Whether CAPRKE2 can take a Node from the load balancers by its label.
    pub(super) fn honour_exclusion(&self) -> bool {
        !self.0.is_some_and(|speakers| speakers.iter().any(|speaker| speaker.ignores_exclusion))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaker(version: Option<&str>) -> Speaker {
        Speaker { node: "cp-0".to_owned(), ready: true, version: version.map(str::to_owned), ignores_exclusion: false }
    }

    #[test]
    fn a_cordoned_node_announces_unless_its_version_stops_there() {
        let node = Node { name: "cp-0".to_owned(), unschedulable: true, ..Node::default() };
        for (version, keeps) in [(Some("0.14.9"), true), (Some("0.14.8"), false), (Some("0.15.2"), false), (None, true)]
        {
            let speakers = [speaker(version)];
            assert_eq!(Speakers(Some(&speakers), None).keeps_from(&node).is_some(), keeps, "{version:?}");
        }
        assert!(Speakers(None, None).keeps_from(&node).is_some(), "nobody looked");
    }

    #[test]
    fn a_node_without_a_ready_speaker_announces_nothing() {
        let node = |name: &str| Node { name: name.to_owned(), ..Node::default() };
        let mut speakers = [speaker(Some("0.15.2"))];
        assert_eq!(Speakers(Some(&speakers), None).keeps_from(&node("cp-0")), None);
        assert_eq!(Speakers(Some(&speakers), None).keeps_from(&node("cp-1")), Some("has no speaker of MetalLB"));
        assert_eq!(Speakers(None, None).keeps_from(&node("cp-1")), None);
        speakers[0].ready = false;
        assert!(Speakers(Some(&speakers), None).keeps_from(&node("cp-0")).is_some());
    }

    #[test]
    fn what_the_label_does_is_told_to_the_speaker() {
        let node = Node { name: "cp-0".to_owned(), excluded: true, ..Node::default() };
        let mut speakers = [speaker(Some("0.15.2"))];
        assert!(
            Speakers(Some(&speakers), None).keeps_from(&node).is_some()
                && Speakers(Some(&speakers), None).honour_exclusion()
        );
        speakers[0].ignores_exclusion = true;
        assert!(
            Speakers(Some(&speakers), None).keeps_from(&node).is_none()
                && !Speakers(Some(&speakers), None).honour_exclusion()
        );
    }

    #[test]
    fn a_version_is_spoken_of_where_it_counts() {
        let says = |versions: &[&str]| {
            let mut all: Vec<Speaker> = versions.iter().map(|version| speaker(Some(version))).collect();
            all.iter_mut().skip(1).for_each(|speaker| speaker.node = "cp-1".to_owned());
            Speakers(Some(&all), None).says("cp-0")
        };
        assert!(says(&["0.14.9", "0.14.9"]).contains("stops announcing"));
        assert!(says(&["0.14.9", "0.15.2"]).contains("0.14.9 and 0.15.2 run at once"));
        assert_eq!(says(&["0.15.2", "0.15.2"]), "");
    }
}
