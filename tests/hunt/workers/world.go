package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinehealthcheck"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	"sigs.k8s.io/cluster-api/internal/util/ssa"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"
)

const namespace = "default"

// Kinds that no Go type here stands for: the templates, what is cloned from them, and the control plane.
var loose = []schema.GroupVersionKind{
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "DevCluster"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "DevMachineTemplate"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "DevMachine"},
	{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmConfigTemplate"},
	{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmConfig"},
	{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmControlPlane"},
}

var core = []string{"Cluster", "MachineDeployment", "MachineSet", "MachineHealthCheck", "Machine"}

// object is one of the cluster's, as JSON has it.
type object = map[string]any

// world is a cluster in memory, with the controllers of its workers.
type world struct {
	client.Client
	clock    time.Time
	sets     reconcile.Reconciler
	groups   reconcile.Reconciler
	checks   reconcile.Reconciler
	failures map[string]string
	// Whether something was written that made a difference, and whether nothing is left to be done.
	moved, rested bool
	// Whether something is gone whose dependents may be left over.
	deleted bool
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, corev1.AddToScheme, apiextensionsv1.AddToScheme} {
		must(add(s))
	}
	for _, kind := range loose {
		s.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		s.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	return s
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// private sets a field that only the controllers' own set-up fills.
func private(of any, name string, value any) {
	field := reflect.ValueOf(of).Elem().FieldByName(name)
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

// newWorld makes a cluster of objects that were dumped from another one.
func newWorld(objects []object, clock time.Time) *world {
	w := &world{clock: clock, failures: map[string]string{}, deleted: true}
	s := scheme()
	var there []client.Object
	for _, kind := range loose {
		plural := metav1.ObjectMeta{Name: plural(kind.Kind) + "." + kind.Group, Labels: map[string]string{"cluster.x-k8s.io/v1beta2": kind.Version}}
		there = append(there, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: plural})
	}
	for _, one := range objects {
		there = append(there, typed(s, one))
	}
	base := fake.NewClientBuilder().WithScheme(s).WithObjects(there...).WithReturnManagedFields().
		WithStatusSubresource(&clusterv1.Cluster{}, &clusterv1.MachineDeployment{}, &clusterv1.MachineSet{}, &clusterv1.MachineHealthCheck{}, &clusterv1.Machine{}).Build()
	w.Client = client.WithFieldOwner(interceptor.NewClient(base, w.server()), "manager")
	recorder := &record.FakeRecorder{}
	controller := capicontroller.NewFakeController()
	key := client.ObjectKey{Namespace: namespace, Name: "demo"}
	workload := clustercache.NewFakeClusterCache(base, key, "machinehealthcheck-watchClusterNodes")

	groups := &machinedeployment.Reconciler{Client: w, APIReader: w}
	private(groups, "msClientWithDeleteResponse", capicontroller.NewClientWithDeleteResponseFromClient(w))
	private(groups, "ssaCache", ssa.NewCache("machinedeployment"))
	private(groups, "recorder", recorder)
	private(groups, "controller", controller)

	machines := &machineset.Reconciler{Client: w, APIReader: w, ClusterCache: workload, PreflightChecks: sets.New(
		clusterv1.MachineSetPreflightCheckControlPlaneIsStable, clusterv1.MachineSetPreflightCheckKubernetesVersionSkew,
		clusterv1.MachineSetPreflightCheckKubeadmVersionSkew, clusterv1.MachineSetPreflightCheckControlPlaneVersionSkew)}
	private(machines, "machineClientWithDeleteResponse", capicontroller.NewClientWithDeleteResponseFromClient(w))
	private(machines, "ssaCache", ssa.NewCache("machineset"))
	private(machines, "recorder", recorder)
	private(machines, "controller", controller)
	private(machines, "disableRemoveManagedFieldsForLabelsAndAnnotations", true)

	checks := &machinehealthcheck.Reconciler{Client: w, ClusterCache: workload}
	log := logr.Discard()
	private(checks, "recorder", recorder)
	private(checks, "controller", controller)
	private(checks, "predicateLog", &log)
	w.groups, w.sets, w.checks = groups, machines, checks
	return w
}

// typed gives an object the Go type of its kind.
func typed(s *runtime.Scheme, one object) client.Object {
	u := &unstructured.Unstructured{Object: one}
	made, err := s.New(u.GroupVersionKind())
	must(err)
	if _, ok := made.(*unstructured.Unstructured); ok {
		return u.DeepCopy()
	}
	raw, err := json.Marshal(one)
	must(err)
	must(json.Unmarshal(raw, made))
	return made.(client.Object)
}

func plural(kind string) string {
	names := map[string]string{"DevCluster": "devclusters", "DevMachineTemplate": "devmachinetemplates", "DevMachine": "devmachines",
		"KubeadmConfigTemplate": "kubeadmconfigtemplates", "KubeadmConfig": "kubeadmconfigs", "KubeadmControlPlane": "kubeadmcontrolplanes"}
	return names[kind]
}

// all gives the objects of a kind, ordered by name.
func (w *world) all(kind schema.GroupVersionKind) []object {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	must(w.List(context.Background(), list))
	var found []object
	for _, item := range list.Items {
		item.SetGroupVersionKind(kind)
		found = append(found, item.Object)
	}
	sort.Slice(found, func(i, j int) bool { return name(found[i]) < name(found[j]) })
	return found
}

// dump gives all objects; nodes are those of the workload cluster.
func (w *world) dump(nodes bool) []object {
	var found []object
	for _, kind := range core {
		found = append(found, w.all(clusterv1.GroupVersion.WithKind(kind))...)
	}
	for _, kind := range loose {
		found = append(found, w.all(kind)...)
	}
	if nodes {
		found = append(found, w.all(corev1.SchemeGroupVersion.WithKind("Node"))...)
	}
	return found
}

// clone makes a second world of the same state.
func (w *world) clone() *world { return newWorld(copied(w.dump(true)), w.clock) }

func copied(objects []object) []object {
	var result []object
	for _, one := range objects {
		result = append(result, runtime.DeepCopyJSON(one))
	}
	return result
}

// rest lets the controllers work for so many rounds at most; true where nothing moves any more.
func (w *world) rest(rounds int) bool {
	for ; rounds > 0; rounds-- {
		w.moved = false
		w.round()
		if !w.moved {
			w.rested = true
			return true
		}
	}
	w.rested = false
	return false
}

func (w *world) round() {
	ctx := ctrl.LoggerInto(context.Background(), logr.Discard())
	for _, each := range []struct {
		kind string
		by   reconcile.Reconciler
	}{{"MachineDeployment", w.groups}, {"MachineSet", w.sets}, {"Machine", nil}, {"MachineHealthCheck", w.checks}} {
		if each.by == nil {
			w.machines(ctx)
			continue
		}
		for _, one := range w.all(clusterv1.GroupVersion.WithKind(each.kind)) {
			key := types.NamespacedName{Namespace: namespace, Name: name(one)}
			_, err := each.by.Reconcile(ctx, reconcile.Request{NamespacedName: key})
			delete(w.failures, each.kind+"/"+name(one))
			if err != nil {
				w.failures[each.kind+"/"+name(one)] = err.Error()
			}
		}
	}
}

func name(one object) string { return text(one, "metadata", "name") }

func text(one object, path ...string) string {
	value, _, _ := unstructured.NestedFieldNoCopy(one, path...)
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
