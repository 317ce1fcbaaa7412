package watch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

// The Machines of a control plane: made by kubeadm init, and joined.
const (
	Init = "demo-init"
	Join = "demo-join"
)

// copied is an API object that copies itself.
type copied[T any] interface {
	client.Object
	DeepCopy() T
}

// Machines are what the controller of a control plane made: Machines M, bootstrap configurations C and infra Machines, by the
// names of the Machines.
type Machines[M copied[M], C copied[C]] struct {
	Cluster  client.Object
	Machines map[string]M
	Infra    map[string]*unstructured.Unstructured
	configs  map[string]C
}

// Make makes both Machines.
func (m *Machines[M, C]) Make(one func(name string, join bool) (M, C, *unstructured.Unstructured, error)) error {
	m.Machines, m.configs, m.Infra = map[string]M{}, map[string]C{}, map[string]*unstructured.Unstructured{}
	for _, name := range m.Names() {
		machine, config, infra, err := one(name, name == Join)
		if err != nil {
			return err
		}
		m.Machines[name], m.configs[name], m.Infra[name] = machine, config, infra
	}
	return nil
}

// Names are those of the Machines.
func (*Machines[M, C]) Names() []string { return []string{Init, Join} }

// Configs are copies: the comparisons normalise their arguments in place.
func (m *Machines[M, C]) Configs() map[string]C {
	configs := map[string]C{}
	for name, config := range m.configs {
		configs[name] = config.DeepCopy()
	}
	return configs
}

// Objects are what is written into the recording.
func (m *Machines[M, C]) Objects() walker.Objects {
	objects := walker.Objects{Cluster: walker.ToMap(m.Cluster)}
	for _, name := range m.Names() {
		objects.Machines = append(objects.Machines, walker.MachineObjects{
			Machine: walker.ToMap(m.Machines[name]), BootstrapConfig: walker.ToMap(m.configs[name]), InfraMachine: m.Infra[name].Object,
		})
	}
	return objects
}

// Identify names an object that a controller made as the API server would have done.
func Identify(obj client.Object, kind schema.GroupVersionKind, name, uid string) {
	obj.GetObjectKind().SetGroupVersionKind(kind)
	obj.SetName(name)
	obj.SetUID(types.UID(uid))
}

// Age is Identify for a Machine or a MachineSet, which the controllers compare by age.
func Age(obj client.Object, kind schema.GroupVersionKind, name, uid string) {
	Identify(obj, kind, name, uid)
	obj.SetCreationTimestamp(moment(capi.Machines))
}

// Expiry is when the certificates of a control plane Machine end.
func Expiry() metav1.Time { return moment(capi.Expiry) }

// Discover fills what the bootstrap controller writes into the configuration of a Machine that joins (reconcileDiscovery).
func Discover(hashes *[]string, endpoint, token *string) {
	if len(*hashes) == 0 {
		*hashes = []string{"sha256:0000000000000000000000000000000000000000000000000000000000000001"}
	}
	if *endpoint == "" {
		*endpoint = "10.0.0.100:6443"
	}
	if *token == "" {
		*token = "xxxxxx.0123456789abcdef"
	}
}
