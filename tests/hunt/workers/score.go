package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// report is what rollgate says, as far as it is compared.
type report struct {
	Decision, Effect string
	Reasons          []struct{ Effect, Rule, Gate, Message string }
	Findings         []struct{ ID string }
	Rollouts         []struct {
		Owner        struct{ Name string }
		Effect       string
		Machines     int
		MachineNames []string
	}
	raw []byte
}

// inUse says whether something goes that others still name, or something is named that is not there: no Machine shows that.
func (r *report) inUse() bool {
	for _, finding := range r.Findings {
		if finding.ID == "removed-in-use" || finding.ID == "dangling-reference" {
			return true
		}
	}
	return false
}

// outcome is what came.
type outcome struct {
	refused                            string
	gone, made, outdated, due, leaving map[string]bool
	rested, met                        bool
	failures                           map[string]string
	// Machines whose deletion had begun before and still goes on.
	hanging map[string]bool
}

// Marks, from the best to the worst.
var marks = []string{"agrees", "doubt", "word", "count", "false hold", "false safe"}

const (
	agrees = iota
	doubt
	word
	count
	falseHold
	falseSafe
)

// asked has rollgate judge a write, in a folder that can be kept.
func asked(folder string, live, base, next []object, replaces bool) (report, error) {
	must(os.MkdirAll(folder, 0o755))
	must(os.WriteFile(filepath.Join(folder, "live.json"), known(live), 0o644))
	for file, objects := range map[string][]object{"base.yaml": base, "rendered.yaml": next} {
		var all strings.Builder
		for _, one := range objects {
			raw, err := json.Marshal(one)
			must(err)
			fmt.Fprintf(&all, "---\n%s\n", raw)
		}
		must(os.WriteFile(filepath.Join(folder, file), []byte(all.String()), 0o644))
	}
	options := []string{"plan", "rendered.yaml", "--live", "live.json", "--policy", "none", "-n", namespace, "-o", "json",
		"--provider", "cluster-api=v1.14.2", "--feature-gate", "MachineTaintPropagation=false", "--now", time.Now().UTC().Format(time.RFC3339)}
	if replaces {
		options = append(options, "--host", "kubectl", "--method", "replace")
	} else {
		options = append(options, "--host", "helm3", "--method", "merge-patch", "--base", "base.yaml")
	}
	must(os.WriteFile(filepath.Join(folder, "command"), []byte(strings.Join(options, " ")+"\n"), 0o644))
	command := exec.Command(os.Getenv("ROLLGATE_BIN"), options...)
	command.Dir = folder
	var complaint strings.Builder
	command.Stderr = &complaint
	raw, err := command.Output()
	said := report{raw: raw}
	if json.Unmarshal(raw, &said) != nil {
		return said, fmt.Errorf("rollgate: %w: %s", err, complaint.String())
	}
	return said, nil
}

// known writes down a cluster as one of which all that is asked for was read.
func known(live []object) []byte {
	kinds := object{}
	for _, kind := range []string{"Cluster", "ClusterClass", "MachineDeployment", "MachineSet", "MachineHealthCheck", "Machine", "MachinePool", "MachineDrainRule"} {
		kinds[kind+".cluster.x-k8s.io"] = "everywhere"
	}
	for _, kind := range loose {
		kinds[kind.Kind+"."+kind.Group] = "everywhere"
	}
	now := time.Now().UTC().Format(time.RFC3339)
	raw, err := json.Marshal(object{"apiVersion": "rollgate.dev/v1alpha1", "kind": "World", "madeBy": "hunt", "keyId": strings.Repeat("0", 32), "resourceVersions": object{},
		"world": object{"taken": now, "now": now, "source": object{"kind": "cluster", "name": "hunt"}, "live": live, "base": object{"kind": "unknown", "objects": []any{}}, "host": object{"kind": "kubectl", "evidence": "told", "release": nil, "namespace": namespace, "context": nil, "method": nil, "force": false, "writesNothing": false}, "release": nil,
			"readings": []any{}, "pins": []any{}, "providers": object{}, "featureGates": object{}, "unread": []any{}, "absent": []any{},
			"coverage": object{"asked": object{"kinds": kinds, "absent": []any{}}}}})
	must(err)
	return raw
}

// came compares two dumps of a cluster.
func came(before, after []object) outcome {
	is := func(names map[string]bool, name string) { names[name] = true }
	seen := outcome{gone: map[string]bool{}, made: map[string]bool{}, outdated: map[string]bool{}, due: map[string]bool{}, leaving: map[string]bool{}, hanging: map[string]bool{}}
	then, now := byUID(before), byUID(after)
	for uid, one := range then {
		later := now[uid]
		goes := later == nil || text(later, "metadata", "deletionTimestamp") != ""
		switch text(one, "kind") {
		case "Machine":
			was := text(one, "metadata", "deletionTimestamp") != ""
			switch {
			case was && later == nil, goes && !was:
				is(seen.gone, name(one))
			case was:
				is(seen.hanging, name(one))
			case owned(one, before) && !owned(later, after):
				is(seen.gone, name(one))
			case outdated(later) && !outdated(one):
				is(seen.outdated, name(one))
			}
		case "MachineDeployment", "MachineSet":
			if goes {
				is(seen.leaving, name(one))
			}
		}
	}
	for uid, one := range now {
		if then[uid] == nil && text(one, "kind") == "Machine" {
			is(seen.made, name(one))
		}
	}
	return seen
}

func byUID(objects []object) map[string]object {
	found := map[string]object{}
	for _, one := range objects {
		found[text(one, "metadata", "uid")+text(one, "kind")] = one
	}
	return found
}

// owned says whether a Machine has a MachineSet that finds it.
func owned(machine object, all []object) bool {
	var owner string
	references, _ := machine["metadata"].(object)["ownerReferences"].([]any)
	for _, reference := range references {
		if reference := reference.(object); reference["kind"] == "MachineSet" && reference["controller"] == true {
			owner = text(reference, "uid")
		}
	}
	for _, one := range all {
		if owner == "" || text(one, "metadata", "uid") != owner || text(one, "kind") != "MachineSet" {
			continue
		}
		labels, _ := machine["metadata"].(object)["labels"].(object)
		selector, _ := one["spec"].(object)["selector"].(object)
		wanted, _ := selector["matchLabels"].(object)
		for key, value := range wanted {
			if labels[key] != value {
				return false
			}
		}
		return true
	}
	return false
}

func outdated(machine object) bool {
	status, _ := machine["status"].(object)
	conditions, _ := status["conditions"].([]any)
	for _, condition := range conditions {
		if condition := condition.(object); condition["type"] == "UpToDate" {
			return condition["status"] == "False"
		}
	}
	return false
}

// mark compares what was said with what came. What comes without the write too may or may not count.
func mark(said report, seen outcome) int {
	found := compared(said, seen, false)
	if !seen.met || found <= doubt {
		return found
	}
	own := seen
	own.gone, own.outdated = without(seen.gone, seen.due), without(seen.outdated, seen.due)
	return min(found, compared(said, own, true))
}

func compared(said report, seen outcome, hurried bool) int {
	foretold, owners, machines, fewer := map[string]bool{}, map[string]bool{}, 0, 0
	for _, each := range said.Rollouts {
		owners[each.Owner.Name] = true
		for _, name := range each.MachineNames {
			foretold[name] = true
		}
		if each.Effect == "scale" {
			fewer += each.Machines
		} else {
			machines += each.Machines
		}
	}
	allowed := said.Decision == "allow"
	if seen.refused != "" {
		refused := said.Effect == "rejected"
		for _, reason := range said.Reasons {
			refused = refused || reason.Effect == "rejected"
		}
		switch {
		case allowed:
			return falseSafe
		case refused:
			return agrees
		}
		return word
	}
	// What hangs in its deletion goes with the others or not.
	foretold = without(foretold, seen.hanging)
	gone, hanging := len(seen.gone), len(seen.hanging)
	every := union(seen.gone, seen.outdated)
	switch {
	case gone == 0:
		return still(said, seen, foretold, owners)
	case machines == 0 && (fewer == gone || fewer == gone+hanging):
		return agrees
	case allowed:
		if fewer > 0 && len(seen.made) == 0 {
			return count
		}
		return falseSafe
	case alike(foretold, seen.gone), machines+fewer == gone, machines+fewer == gone+hanging, alike(foretold, every):
		return agrees
	case hurried || !seen.rested:
		if len(foretold) == 0 || len(without(seen.gone, foretold)) == 0 {
			return agrees
		}
		return count
	case said.Effect == "rollout" || said.Effect == "delete" || said.Effect == "scale":
		return count
	}
	return word
}

func still(said report, seen outcome, foretold, owners map[string]bool) int {
	waits := len(seen.outdated) > 0
	switch {
	case said.Decision == "allow":
		if waits && said.Effect != "latent" {
			return falseSafe
		}
		return agrees
	case waits && (said.Effect == "rollout" || said.Effect == "latent"):
		return agrees
	case said.Effect == "rollout" && len(seen.due) > 0 && (len(without(foretold, seen.due)) == 0 || len(without(owners, seen.due)) == 0):
		return agrees
	case said.Effect == "delete" && len(foretold) == 0 && len(seen.hanging) > 0:
		return agrees
	case said.Effect == "delete" && len(owners) > 0 && len(without(owners, seen.leaving)) == 0:
		return agrees
	case said.Effect == "unknown" && said.inUse():
		return agrees
	case said.Decision == "undecided":
		return doubt
	case said.Effect == "rollout" || said.Effect == "delete" || said.Effect == "rejected" || said.Effect == "unknown":
		if waits {
			return word
		}
		return falseHold
	}
	return agrees
}

func without(these, others map[string]bool) map[string]bool {
	left := map[string]bool{}
	for one := range these {
		if !others[one] {
			left[one] = true
		}
	}
	return left
}

func union(these, others map[string]bool) map[string]bool {
	all := map[string]bool{}
	for _, each := range []map[string]bool{these, others} {
		for one := range each {
			all[one] = true
		}
	}
	return all
}

func alike(these, others map[string]bool) bool {
	return len(these) == len(others) && len(without(these, others)) == 0
}

func names(of map[string]bool) string {
	var list []string
	for one := range of {
		list = append(list, one)
	}
	sort.Strings(list)
	return "[" + strings.Join(list, " ") + "]"
}
