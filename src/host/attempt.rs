//! One write of the host, as whoever says what becomes of it sees it, and what that is.

use super::HostKind;
use super::answered::{Agreement, Answered};
use super::ask::Sender;
use super::pairs::Defined;
use super::predict::Run;
use super::server::{Attempt, Reply};
use super::write::{AfterWrite, Before, Last};
use crate::apiserver::fields::owners;
use crate::kinds::shapes::{Former, former};
use crate::model::RuleId;
use crate::object::{Key, Object};
use crate::tree::Value;
use crate::world::{BaseKind, Coverage, Marks, Unread, WriteMethod};

/// Why Helm 4 writes nothing (helm `pkg/kube/client.go`, `Update`).
const FORCED_APPLY: &str = "Helm cannot both replace objects and apply them, so it stops before it writes anything; \
     the release is applied, so leave --force-replace out or pass --server-side=false";

impl Run<'_> {
    /// What the host's write of one object comes to; `None` where that is doubt, or the write is only collected.
    pub(super) fn attempt(
        &mut self,
        object: &Object,
        live: &Object,
        way: WriteMethod,
        live_value: &Value,
        rendered: &Value,
    ) -> Option<AfterWrite> {
        let last = self.last_value(self.base_of(&object.key), &live.key)?;
        let host = &self.world.host;
        let last = self.last(last.as_ref());
        if (matches!(last, Last::Nothing) || !self.is_kept(object))
            && self.is_part(object)
            && let Some(because) = self.not_ours(&Marks::of(live_value))
        {
            return Some(AfterWrite::Refused { rule: RuleId::of("host/ownership"), because });
        }
        if host.replace && way == WriteMethod::ServerSideApply {
            return Some(AfterWrite::Refused {
                rule: RuleId::of("host/replace-with-apply"),
                because: FORCED_APPLY.to_owned(),
            });
        }
        if let Some(because) = self.not_in_the_last(object, way) {
            return Some(AfterWrite::Refused { rule: RuleId::of("host/rollback-without-last"), because });
        }
        if way == WriteMethod::ServerSideApply
            && let Some(because) = self.owned_in_a_gone_version(object, live_value)
        {
            return Some(AfterWrite::Refused { rule: RuleId::of("host/gone-version"), because });
        }
        let versions = || self.versions();
        let sent_since: Vec<Value> = self.sent_since(&object.key, &live.key);
        let (key, api_version) = (&live.key, object.api_version.as_str());
        let definition = Defined { key, api_version, versions: &versions, sent_since: &sent_since };
        let says_owners = self.world.coverage != Coverage::Whole;
        let before = Before { key: &live.key, live: live_value, last, says_owners, definition: &definition };
        let attempt = self.attempt_of(object, &live.key, way, Some(live_value));
        let reply = self.server.change(&attempt, &before, rendered);
        let outcome = self.replied(object, &live.key, way, reply)?;
        self.note_adoption(&outcome, &live.key, rendered);
        Some(outcome)
    }

    /// Why an apply is refused of an object that somebody owns a part of in an `apiVersion` that its definition has no longer: the API server
    /// converts the object into the version of each entry of `managedFields` first, whoever's it is (structured-merge-diff v6
    /// `merge/update.go`, `update` and `prune`; apiextensions-apiserver `pkg/apiserver/conversion/converter.go`, `Convert`, v0.36). Where the
    /// version of the provider is not known that is doubt, and so it is with Flux, which may bring such entries into the written version
    /// first (kustomize-controller `internal/features/features.go`, MigrateAPIVersion, off by default in v1.9).
    fn owned_in_a_gone_version(&mut self, object: &Object, live: &Value) -> Option<String> {
        let entries = owners(live);
        let versions = self.versions();
        let known = entries
            .iter()
            .map(|entry| (former(&object.key.kind, (&object.api_version, &entry.api_version), &versions), entry));
        let (known, entry) =
            known.filter(|(known, _)| *known != Former::There).max_by_key(|(known, _)| *known == Former::Gone)?;
        let version = &entry.api_version;
        let says = format!(
            "{:?} owns a part of it in {version}, which the definition of {} no longer has, so the API server cannot convert the object and refuses \
             every apply",
            entry.manager, object.key.kind
        );
        let remedy = "take the entry out of metadata.managedFields (kubectl get --show-managed-fields; kubectl patch --type json)";
        if known == Former::Gone && self.world.host.kind != Some(HostKind::Flux) {
            return Some(format!("{says}; the release stops half-way; {remedy}"));
        }
        self.out.doubts.push(Unread {
            what: format!("whether the API server takes the apply of {}", object.key),
            why: match known {
                Former::Gone => format!("{says}, unless Flux brings the entry into the written version first (feature gate MigrateAPIVersion of kustomize-controller)"),
                _ => format!("{says}, if that is so in the version of the provider that runs"),
            },
            remedy: format!("{remedy}, or ask the API server by --dry-run-server"),
            keys: vec![object.key.clone()],
        });
        None
    }

    /// What the host wrote last time, where the last manifest has this of it.
    pub(super) fn last<'v>(&self, manifest: Option<&'v Value>) -> Last<'v> {
        let host = &self.world.host;
        match (manifest, self.world.base.kind) {
            (Some(value), _) => Last::Known(value),
            // Flux takes ownership unless it is told not to.
            (None, BaseKind::FirstInstall) if host.take_ownership || host.kind == Some(HostKind::Flux) => Last::Taken,
            // A file may hold a part only; the record of a release holds everything.
            (None, BaseKind::Release | BaseKind::FirstInstall) => Last::Nothing,
            (None, _) => Last::Unknown,
        }
    }

    /// One write to what is there, as whoever says what becomes of it sees it.
    pub(super) fn attempt_of<'o>(
        &'o self,
        object: &'o Object,
        key: &'o Key,
        way: WriteMethod,
        live: Option<&Value>,
    ) -> Attempt<'o> {
        let sender = Sender { host: &self.world.host, applier: self.applier(live) };
        Attempt { object, key, way, sender, is_repeated: self.sorted.doubles.contains(&object.key) }
    }

    /// What becomes of an object by what was said to its write, which is written down beside it.
    pub(super) fn replied<T>(&mut self, object: &Object, key: &Key, way: WriteMethod, reply: Reply<T>) -> Option<T> {
        let answered =
            |verdict: Agreement| Answered { key: key.clone(), api_version: object.api_version.clone(), way, verdict };
        self.out.answered.extend(reply.agreement.map(answered));
        self.writes.extend(reply.write);
        reply.outcome
    }
}
