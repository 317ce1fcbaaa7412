package watch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
)

// Worker is the Machine of a MachineDeployment.
const Worker = "demo-worker"

// Workers are a MachineDeployment D with one MachineSet S and one of its Machines M. The functions are the controllers' own.
type Workers[D any, S copied[S], M copied[M]] struct {
	*Environment
	Cluster client.Object
	Set     S
	Machine M
	// WantedSet is what a MachineDeployment wants, from none or from the one that it has.
	WantedSet func(c client.Client, md *D, existing S) (S, error)
	// WantedMachine is what a MachineSet wants, from none or from the one that it has.
	WantedMachine func(c client.Client, set S, existing M) (M, error)
	// Metadata are the labels and annotations of the objects beside a Machine.
	Metadata func(set S) (labels, annotations map[string]string)
	// Found says whether a MachineSet is the one that its MachineDeployment wants; the messages say what differs.
	Found func(md *D, set S, now *metav1.Time) (bool, []string, error)
}

// Make makes the MachineSet and its Machine. finishSet and finishMachine set what a release's controllers set beside what they
// compute: identities, counts, references.
func (w *Workers[D, S, M]) Make(md *D, finishSet func(S), finishMachine func(M)) error {
	var none struct {
		set     S
		machine M
	}
	set, err := w.WantedSet(w.Client, md, none.set)
	if err != nil {
		return err
	}
	finishSet(set)
	if err := w.Server.Made(set, w.Set); err != nil {
		return err
	}
	machine, err := w.WantedMachine(w.Client, w.Set, none.machine)
	if err != nil {
		return err
	}
	finishMachine(machine)
	return w.Server.Made(machine, w.Machine)
}

// Names is the Machine's.
func (*Workers[D, S, M]) Names() []string { return []string{Worker} }

// Objects are what is written into the recording.
func (w *Workers[D, S, M]) Objects() walker.Objects {
	return walker.Objects{
		Cluster:     walker.ToMap(w.Cluster),
		MachineSets: []map[string]any{walker.ToMap(w.Set)},
		Machines:    []walker.MachineObjects{{Machine: walker.ToMap(w.Machine)}},
	}
}

// UpToDate gives the comparison copies: it normalises its arguments in place.
func (w *Workers[D, S, M]) UpToDate(md *D, _ string) (bool, []string, error) {
	return w.Found(md, w.Set.DeepCopy(), &w.Now)
}

// Desired is what the MachineDeployment would apply to its MachineSet, and that to its Machine.
func (w *Workers[D, S, M]) Desired(md *D, _ string) (map[string]any, error) {
	set, err := w.WantedSet(w.Client, md, w.Set)
	if err != nil {
		return nil, err
	}
	machine, err := w.WantedMachine(w.Client, set, w.Machine)
	if err != nil {
		return nil, err
	}
	labels, annotations := w.Metadata(set)
	applied := Applied(machine, labels, annotations)
	applied["machineSet"] = walker.ToMap(map[string]any{"spec": walker.ToMap(set)["spec"], "labels": set.GetLabels(), "annotations": set.GetAnnotations()})
	return applied, nil
}

// Unique replaces the hash by which a MachineSet tells its Machines apart, wherever it stands.
func Unique(label string, own map[string]string, others ...map[string]string) {
	hash := own[label]
	for _, labels := range append(others, own) {
		if labels[label] == hash {
			labels[label] = "unique"
		}
	}
}
