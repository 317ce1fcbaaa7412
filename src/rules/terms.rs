//! The words of a report that are no rules: gates, findings, decisions, exit codes, states of late values. What each means, and
//! what to do about it.

use super::term::{Term, decision, exit, finding, gate, late, source};

/// What to do where Machines go.
const REVIEW: &str = "Read which field causes it (rollgate explain RULE). If it is not wanted, take the change back. If it is, approve exactly \
                      this change (rollgate approve), or let it through with the policy: expect, gates, maxMachines, windows.";
/// What to do where a read is missing.
const GRANT: &str = "Do what the lines `do` and `next` say: grant the right (docs/rbac.yaml), reach the cluster, or give the file. Then run it again.";

/// Every word.
pub(crate) const TERMS: &[Term] = &[
    gate("none", "Nothing of the change reaches a Machine.", "Nothing to do."),
    gate(
        "in-place",
        "The change reaches running Machines, and none is replaced. It reads each judged change. Default: allow. Skipped where none reaches Machines in place.",
        "Nothing to do, unless gates.inPlace says otherwise.",
    ),
    gate(
        "scale",
        "Only the number of Machines changes. It reads each judged change. Default: allow. Skipped where no number of Machines changes; fewer Machines also meet scaleIn.",
        "Compare the new number with what you want; fewer counts against maxMachines.",
    ),
    gate(
        "latent",
        "The change is accepted now and lands with the next new Machine: a template edited in place, OnDelete, a pause. It reads each judged change. Default: warn. Skipped where nothing lands later.",
        "Decide when it may land. Every Machine that is made later, also in place of a broken one, has it.",
    ),
    gate(
        "rollout",
        "Machines are replaced. It reads each judged change. Default: hold, or warn while a window of the policy is open. Skipped where none is replaced.",
        REVIEW,
    ),
    gate(
        "rejected",
        "The API server will refuse the write, and the release stops half-way. It reads each judged change. Default: hold. Skipped where the API server refuses nothing that is known here.",
        "Correct the field that the reason names before anything is written.",
    ),
    gate(
        "delete",
        "Machines are destroyed and not replaced. It reads each judged change. Default: hold. Skipped where none is destroyed.",
        REVIEW,
    ),
    gate(
        "unknown",
        "Nothing is known about the field, so it may do anything; it meets the stricter of the rollout and delete gates.",
        "Find out what the field does and write a rule for it into the policy (rules), or take the change back.",
    ),
    gate(
        "infrastructure",
        "Load balancers, networks or security groups move at once, with no Machine replaced. It reads each judged change. Default: warn. Skipped where no infrastructure moves.",
        "Check what depends on them, above all the endpoint of the control plane.",
    ),
    gate(
        "maxMachines",
        "More Machines would go in one run than the policy allows, or their number is not known. It reads the Machines of the whole write and counts each once. Default: no limit. Skipped where the policy says none.",
        "Split the change, or raise gates.maxMachines in the policy.",
    ),
    gate(
        "budget.perCluster",
        "More Machines of one cluster would go in one run than the policy allows, or their number is not known. It reads the judged Machines of each \
         cluster. Default: no limit. Skipped where the policy says no gates.budget.perCluster.",
        "Split the change, or raise gates.budget.perCluster in the policy.",
    ),
    gate(
        "budget.perDay",
        "Counting the last 24 hours, more Machines would go than the policy allows; or what went out is not known, which is undecided. It \
         reads the history (gates.budget.history), in which post-renderers note each install that they let out with its Machines; an install that is \
         tried again counts once. Default: no limit. Skipped where no Machine goes, or the policy says no gates.budget.perDay.",
        "Wait until the time that the reason names, split the change, or raise gates.budget.perDay in the policy.",
    ),
    gate(
        "budget.perClusterAndDay",
        "The same as budget.perDay for each cluster by itself. It reads the history too. Default: no limit. Skipped where no Machine goes, or the policy says no \
         gates.budget.perClusterAndDay.",
        "Wait until the time that the reason names, split the change, or raise gates.budget.perClusterAndDay in the policy.",
    ),
    gate(
        "budget.history",
        "What goes out cannot be noted, another install took what was left of the budget meanwhile, or the stream itself writes the history. It reads the history once more when the install goes out. Default: hold. Skipped where the policy has no budget of a day.",
        "Try again; give the account the right to write the ConfigMap (docs/rbac.yaml, rollgate-commit).",
    ),
    gate(
        "maxUnavailable",
        "While the owners of one cluster roll together, more of its Machines would be missing or not ok at one time than the policy allows. It reads the strategies of all owners of a cluster that roll, its Machines, those that are missing, and what its health checks say. Default: 1. Skipped where no owner that rolls lets a Machine go before another one is made.",
        "Let fewer owners roll at once, give them maxSurge, or raise gates.maxUnavailable in the policy.",
    ),
    gate(
        "windows",
        "Machines would go outside every maintenance window of the policy. It reads the clock and the windows of the policy. Default: no windows. Skipped where no Machine is replaced, destroyed or drained because fewer are wanted.",
        "Wait for the window, or change gates.windows in the policy.",
    ),
    gate(
        "paused",
        "A change that replaces or deletes Machines lands as soon as a pause or another block ends, and nobody is asked again then. It reads each change that something holds back. Default: the answer of the gate for the later effect. Skipped where nothing is held back.",
        "Decide now: let it through with gates.paused, or take the change back before the pause ends.",
    ),
    gate(
        "scaleIn",
        "More workers than maxMachines (3 by default) are removed at once, or a control plane gets smaller. It reads the owners that get smaller, alone and all groups of workers of a cluster together, also where the same write replaces others. Default: hold. Skipped where nothing gets smaller.",
        "Check the new number of replicas; set gates.scaleIn or gates.maxMachines where this is wanted.",
    ),
    gate(
        "version",
        "Kubernetes versions would not fit together after the write: a control plane skips a minor version or goes back, workers are newer than their control plane or too far behind it, kubeadm and RKE2 are mixed, the Cluster API that runs cannot roll a control plane of kubeadm to that version, or a component is told a flag or feature gate that the version no longer has. It reads the versions of control planes and workers after the write, the version of Cluster API, and the names of images. Default: hold. Skipped where no version is written.",
        "Upgrade the control plane to each minor version in turn, and workers after it; set gates.version where this is wanted.",
    ),
    gate(
        "freezes",
        "Machines would go during a freeze of the policy, when nothing may be replaced or destroyed. It reads the clock and the freezes of the policy. Default: no freezes. Skipped where no Machine is replaced, destroyed or drained because fewer are wanted.",
        "Wait until the freeze is over, or change gates.freezes in the policy.",
    ),
    gate(
        "health.bootstrap",
        "The control plane of the cluster was never complete, and a rollout now would take Machines from it. It reads the status of the control plane. Default: hold. Skipped where nothing rolls, or the status says nothing.",
        "Wait until the control plane is initialized.",
    ),
    gate(
        "health.inProgress",
        "The owner is not done with what it was told before, and another rollout on top of it would start. It reads the generation and the counts in the status of each owner that rolls. Default: hold. Skipped where nothing rolls.",
        "Wait until the rollout, the scaling or the update is over.",
    ),
    gate(
        "health.remediation",
        "A Machine is being replaced because it is broken, or a MachineHealthCheck has unhealthy Machines, which it replaces or which are too many to replace; a rollout now would compete with it. It reads the control plane that rolls, the Machines of its cluster and its MachineHealthChecks. Default: hold. Skipped where nothing rolls.",
        "Wait until the remediation is over; kubectl describe the MachineHealthCheck says which Machines.",
    ),
    gate(
        "health.machines",
        "Machines of the cluster are not ok, so a rollout would start from a broken state, or their controller takes no step. It reads the Machines of a control plane that rolls; for workers all Machines of the cluster, and how many its owners want. Default: hold. Skipped where nothing rolls, or no Machine was read.",
        "Look at the Machine that the reason names and bring it back first.",
    ),
    gate(
        "health.etcd",
        "After a step of the rollout too few healthy members of etcd would be left for a quorum, a member is a learner, or one has no Machine; or the Pods of etcd should be read and could not. It reads the conditions of the control plane and its Machines and, where the policy lets it look, the Pods of etcd. Default: hold. Skipped where no control plane rolls, or etcd is external.",
        "Bring the members back first; do not force this.",
    ),
    gate(
        "health.vip",
        "The Node that has the virtual IP of a control plane goes, and it is in doubt whether another one takes it over (its state, or the version of what announces the address), or nobody could see who has it. It reads Nodes, Leases, what MetalLB announces and its speakers in the workload cluster. Default: warn with workload: {read: true}, else allow. Skipped where no Machine of a control plane goes.",
        "Make another Node of the control plane able to take it over; where nobody looked, set workload: {read: true} or look there yourself.",
    ),
    gate(
        "health.pdb",
        "A PodDisruptionBudget that allows no disruption keeps Pods on the Node of a Machine that goes, so its drain does not end; or nobody could see that. It reads Nodes, PodDisruptionBudgets and their Pods in the workload cluster. Default: warn with workload: {read: true}, else allow. Skipped where no Machine is drained.",
        "Let the budget allow a disruption (more Pods, or a lower minAvailable), or limit the drain with nodeDrainTimeout.",
    ),
    gate(
        "health.hosts",
        "A new Machine is made before an old one goes, or beside all others, and no free host is there for it; or hosts would not be used again although a template says so. It reads the BareMetalHosts and what templates of Metal3 select. Default: hold. Skipped where no BareMetalHost was read.",
        "Make hosts available, or let the owner go below its count (maxUnavailable).",
    ),
    gate(
        "health.images",
        "New Machines boot from an image that its server does not have any more, or nobody could ask it. It reads the addresses in templates, and asks the servers of images.servers. Default: hold with images.servers, else allow. Skipped where the write makes no Machine.",
        "Put the image back, or write one that is served; name its server under images.servers of the policy.",
    ),
    gate(
        "expected",
        "The policy expects this change (expect), or would if it fitted: the reason says which, and why not.",
        "Nothing to do where it passes; else compare the value, the Machines and the time with the policy.",
    ),
    gate(
        "approval",
        "An approval that was counted on is no longer good or cannot be used up, or the stream writes the place where approvals are kept.",
        "rollgate approve --list shows what became of it; docs/approvals.md says what it is bound to.",
    ),
    gate(
        "policy",
        "The stream writes the ConfigMap that the policy of this run is read from, so that it would decide about itself.",
        "Take it out of the chart, and keep the policy in a namespace that those who render cannot write.",
    ),
    gate(
        "set-back",
        "Fields that would have replaced or destroyed Machines were set back to what they were, and the rest goes out (setBack: rolling).",
        "Approve the whole change, or write it when its Machines may roll; until then each install sets these fields back.",
    ),
    gate(
        "break-glass",
        "Whoever ran the install let it through although it was held and nobody approved it (--break-glass), or tried to and could not, because that cannot be written down. \
         It reads the wish, approvals.breakGlass of the policy, and the entries where approvals are kept. Default: the policy forbids it. Skipped \
         where nothing is held, and by no plan.",
        "Read the reasons below it: they are what was let through. rollgate approve --list shows who did it and when; approvals.breakGlass forbids or allows it.",
    ),
    gate(
        "release",
        "The newest revision of the release is pending: somebody else is writing it, or was interrupted.",
        "Wait, or bring the release into order first (helm history, helm rollback).",
    ),
    gate("read", "Something that is needed could not be read, so nothing can be said about it.", GRANT),
    gate(
        "fault",
        "The run ended before it could judge: time or memory ran out, or something could not be written.",
        "Fix what the message names and run again.",
    ),
    gate(
        "usage",
        "The run ended before it could judge: an option, the policy or the stream is wrong.",
        "Correct what the message names and run again.",
    ),
    gate(
        "late",
        "A late value that is not known offline reaches a field that would replace Machines.",
        "Give the value by a file pin or a source, or run with --live cluster.",
    ),
    gate(
        "late-value",
        "A late value is not known, cannot be used, or policy and chart no longer agree.",
        "Wait for its source (--wait), correct the source, or its entry in the policy.",
    ),
    gate(
        "pin",
        "The pin of a late value and its source, or what is live, do not agree.",
        "Decide which is right: rollgate pin set NAME VALUE --reason TEXT.",
    ),
    gate(
        "placeholder",
        "A placeholder of a known late value is left in a place that could not be filled in.",
        "Let the chart take the value before it renders (rollgate values), or correct resolve and keys in the policy.",
    ),
    finding(
        "adopted-unchanged",
        "The release takes an object over and writes nothing to it, although it differs from what the chart renders.",
        "Make the chart say what is live, or change the object on purpose.",
    ),
    finding(
        "cancelled-rollout",
        "Machines that are out of date match again after this write, so a rollout that is due ends.",
        "Check that nobody waits for that rollout.",
    ),
    finding(
        "dangling-reference",
        "An object refers to a template, or a Cluster to its control plane, infrastructure or class, that is neither in the release nor among what was read; without it no Machine can be made.",
        "Render that too, or correct the name.",
    ),
    finding(
        "half-applied",
        "The API server refuses one object, and the host then writes only a part of the release.",
        "Correct the object that is refused before anything is written.",
    ),
    finding(
        "late-value-in-checksum",
        "A checksum was made by the chart before a late value was filled in, so it does not change when the value does.",
        "Let the chart know the value before it renders (rollgate values).",
    ),
    finding(
        "late-value-in-hashed-template",
        "The name of a template is a hash that the chart made before a late value was filled in.",
        "Let the chart know the value before it renders (rollgate values).",
    ),
    finding(
        "late-value-unseen",
        "Neither a placeholder of a late value nor its value stands in the stream: a typo, or the chart prints another placeholder now.",
        "Correct placeholders in the policy, or write optional: true there.",
    ),
    finding(
        "likely-placeholder",
        "A text looks like a placeholder, and no late value has it.",
        "Add it to placeholders of its late value in the policy, or to except if it is meant.",
    ),
    finding(
        "old-template-removed",
        "A template is deleted that Machines of an old revision still use.",
        "Keep it until the rollout is over (helm.sh/resource-policy: keep).",
    ),
    finding(
        "pending-rollout",
        "Machines are out of date already, whatever this write does; it may let their rollout go.",
        "Find out why it waits (a pause, OnDelete) before you write anything.",
    ),
    finding(
        "perpetual-rollout",
        "A Machine made by the owner is out of date at once, so it would be replaced for ever.",
        "Correct the field that the finding names, before the rollout starts.",
    ),
    finding(
        "pinned-field",
        "A field that the policy pins was set back, or could not be.",
        "Change its entry under pins.fields if the new value is wanted.",
    ),
    finding(
        "set-back",
        "A field that would have replaced or destroyed Machines goes out as it was (setBack: rolling).",
        "Approve the whole change, or write it when its Machines may roll.",
    ),
    finding(
        "recreated",
        "The host deletes an object and makes it again, whether it changes or not.",
        "Remove what makes the host do so (--force, Force=true, a hook).",
    ),
    finding(
        "removal-takes-others",
        "What is removed takes compared objects with it: a namespace, a definition, a Flux release.",
        "Keep it, or move what is in it first.",
    ),
    finding(
        "removed-in-use",
        "An object is removed that others still refer to.",
        "Render it again, or move what refers to it first.",
    ),
    finding(
        "renamed-equal-content",
        "A template has a new name and the same content: Machines are replaced and get nothing new.",
        "Keep the old name.",
    ),
    finding(
        "silent-no-op",
        "The field is accepted and does nothing: it is not read, or not known to this version.",
        "Take it out, or use the field that works.",
    ),
    finding(
        "template-in-use-removed",
        "A template is deleted while an owner still refers to it, so no Machine can be made any more.",
        "Keep it (helm.sh/resource-policy: keep), or refer to another one first.",
    ),
    finding(
        "write-refused",
        "The API server refuses the write of this object.",
        "Correct what the sentence names before anything is written.",
    ),
    decision("allow", "The install may go on; the exit code is 0.", "Nothing to do."),
    decision(
        "warn",
        "The install may go on, and somebody should read this. Never the decision of a whole run.",
        "Read it.",
    ),
    decision("hold", "The install is stopped; the exit code is 3.", REVIEW),
    decision("undecided", "Something needed is not known. It is never treated as allow; the exit code is 4.", GRANT),
    exit("0", "Allow: the install may go on. A post-renderer prints the stream only with this code.", "Nothing to do."),
    exit(
        "1",
        "An internal error, or an output that cannot be written. It says nothing about the install.",
        "Make the output writable. If it already is, report the message as a bug.",
    ),
    exit(
        "2",
        "The command line, the policy or the stream cannot be read. Nothing was judged.",
        "Correct what the message names, with its line and column.",
    ),
    exit("3", "Hold: a gate, a pin or a left-over placeholder stops the install.", REVIEW),
    exit("4", "Undecided: something needed could not be read, or a late value is not there in time.", GRANT),
    late(
        "unused",
        "Nothing in the stream needs it.",
        "Nothing to do, unless its placeholder is mistyped: then there is a finding late-value-unseen.",
    ),
    late("resolved", "A source gave it, and it was filled in.", "Nothing to do."),
    late("pinned", "The pin gave it; the source agrees or was not needed.", "Nothing to do."),
    late(
        "differs",
        "The source and the pin disagree, so the install is held.",
        "Decide which is right: rollgate pin set NAME VALUE --reason TEXT.",
    ),
    late(
        "missing",
        "No source has it yet, so nothing is written.",
        "Wait for it (--wait 10m), or look at its sources: rollgate pin verify.",
    ),
    late("unread", "A source could not be read, and doubt is no value.", GRANT),
    late(
        "symbolic",
        "Offline and not known: equal to itself and to nothing else.",
        "Give it by a file pin or a source where the verdict depends on it.",
    ),
    late(
        "invalid",
        "A source gave something that is not of its type.",
        "Correct the source, or type, pattern or within in the policy.",
    ),
    source(
        "absent",
        "Its object, file or variable is not there, or what it is made of is not known.",
        "Wait for whoever makes it; check its name and namespace.",
    ),
    source(
        "kind-unknown",
        "The API server does not know its kind: no such definition is installed, or the apiVersion is another one.",
        "Install the definition, or correct apiVersion and kind in the policy.",
    ),
    source(
        "key-missing",
        "The object is there, and the key or field is not. The keys that are there are listed.",
        "Correct path in the policy, or wait until the key is written.",
    ),
    source("empty", "It holds nothing yet.", "Wait for whoever writes it."),
    source(
        "placeholder",
        "It holds a placeholder, or another spelling of \"not known yet\".",
        "Wait for whoever writes it.",
    ),
    source(
        "malformed",
        "It holds something that is not of the type.",
        "Correct the source, or type, pattern or within in the policy.",
    ),
    source("forbidden", "The right to read it is missing.", "Grant it: docs/rbac.yaml."),
    source("unread", "It could not be read, or gives several values.", GRANT),
    source("resolved", "It holds the value.", "Nothing to do."),
];

#[cfg(test)]
mod tests {
    use super::super::term::Sort;
    use super::*;

    /// Gates that no policy answers: they speak of the run itself, or of what was decided elsewhere.
    const UNANSWERED: [&str; 14] = [
        "none",
        "unknown",
        "expected",
        "approval",
        "policy",
        "set-back",
        "release",
        "read",
        "fault",
        "usage",
        "late",
        "late-value",
        "pin",
        "placeholder",
    ];

    #[test]
    fn a_gate_says_what_it_reads_its_default_and_when_it_is_skipped() {
        let answered = TERMS.iter().filter(|term| term.sort == Sort::Gate && !UNANSWERED.contains(&term.name));
        let lacks = |term: &&Term| ["It reads ", "Default: ", "Skipped "].iter().any(|word| !term.says.contains(word));
        let silent: Vec<&str> = answered.filter(lacks).map(|term| term.name).collect();
        assert!(silent.is_empty(), "{silent:?}");
    }
}
