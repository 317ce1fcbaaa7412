package watch

import (
	"fmt"

	"rollgate.dev/oracle/walker"
)

// Owner is an object of type T whose controller made Machines.
type Owner[T any] interface {
	// Objects are what the controller made.
	Objects() walker.Objects
	// Names are those of the Machines.
	Names() []string
	// UpToDate compares a Machine with a changed owner; the messages say what differs.
	UpToDate(changed *T, name string) (bool, []string, error)
	// Desired is what the controllers would apply to a Machine and to the objects beside it.
	Desired(changed *T, name string) (map[string]any, error)
}

type watched[T any] struct {
	Owner[T]
	before map[string]map[string]any
}

// Observe watches the Machines that were made for the stored owner.
func Observe[T any](stored *T, owner Owner[T]) (walker.Observer, error) {
	w := &watched[T]{Owner: owner, before: map[string]map[string]any{}}
	for _, name := range owner.Names() {
		desired, err := owner.Desired(stored, name)
		if err != nil {
			return nil, err
		}
		w.before[name] = desired
	}
	return w, nil
}

func (w *watched[T]) Observe(stored map[string]any) walker.Observation {
	changed := new(T)
	if err := walker.FromMap(stored, changed); err != nil {
		return walker.Observation{Error: err.Error()}
	}
	answer := walker.Observation{Why: map[string][]string{}}
	for _, name := range w.Names() {
		upToDate, messages, err := w.upToDate(changed, name)
		if err != nil {
			return walker.Observation{Error: err.Error()}
		}
		if !upToDate {
			answer.Outdated = append(answer.Outdated, name)
			if len(messages) > 0 {
				answer.Why[name] = messages
			}
		}
		desired, err := w.Desired(changed, name)
		if err != nil {
			return walker.Observation{Error: err.Error()}
		}
		for _, path := range walker.Differences(w.before[name], desired) {
			answer.Propagated = append(answer.Propagated, name+": "+path)
		}
	}
	return answer
}

func (w *watched[T]) upToDate(changed *T, name string) (ok bool, messages []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return w.Owner.UpToDate(changed, name)
}

// Applied is what is applied to a Machine, and the metadata of the objects beside it.
func Applied(machine any, labels, annotations map[string]string) map[string]any {
	metadata := map[string]any{"labels": labels, "annotations": annotations}
	return walker.ToMap(map[string]any{
		"machine":         machine,
		"bootstrapConfig": map[string]any{"metadata": metadata},
		"infraMachine":    map[string]any{"metadata": metadata},
	})
}
