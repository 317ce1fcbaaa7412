package recorder

import (
	"context"
	"fmt"
	"time"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/rancher/cluster-api-provider-rke2/bootstrap/api/v1beta1"
	controlplanev1 "github.com/rancher/cluster-api-provider-rke2/controlplane/api/v1beta1"
	"github.com/rancher/cluster-api-provider-rke2/controlplane/internal/controllers"
	rke2provider "github.com/rancher/cluster-api-provider-rke2/pkg/rke2"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

// reconcilers make what the controllers would have made for an object, and ask them.
type reconcilers struct {
	call    Outdated
	client  client.Client
	server  *walker.Server
	cluster *clusterv1.Cluster
}

type controlPlane struct {
	*reconcilers
	names    []string
	machines map[string]*clusterv1.Machine
	configs  map[string]*bootstrapv1.RKE2Config
	infra    map[string]*unstructured.Unstructured
	before   map[string]map[string]any
}

// controlPlane makes three objects for each of two Machines; CAPRKE2 makes them alike for the
// first server and for those that join.
func (c *reconcilers) controlPlane(_ string, stored map[string]any) (walker.Observer, error) {
	rcp := &controlplanev1.RKE2ControlPlane{}
	if err := walker.FromMap(stored, rcp); err != nil {
		return nil, err
	}
	o := &controlPlane{
		reconcilers: c, names: []string{"demo-init", "demo-join"}, machines: map[string]*clusterv1.Machine{},
		configs: map[string]*bootstrapv1.RKE2Config{}, infra: map[string]*unstructured.Unstructured{}, before: map[string]map[string]any{},
	}
	for _, name := range o.names {
		if err := o.make(rcp, name); err != nil {
			return nil, err
		}
		desired, err := o.desired(rcp, name)
		if err != nil {
			return nil, err
		}
		o.before[name] = desired
	}
	return o, nil
}

func (o *controlPlane) make(rcp *controlplanev1.RKE2ControlPlane, name string) error {
	owner := &rke2provider.ControlPlane{RCP: rcp, Cluster: o.cluster}
	spec := owner.InitialControlPlaneConfig()
	if name == "demo-join" {
		spec = owner.JoinControlPlaneConfig()
	}
	config := owner.GenerateRKE2Config(spec)
	config.TypeMeta = metav1.TypeMeta{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "RKE2Config"}
	config.Name, config.UID = name, types.UID("uid-config-"+name)
	config.Labels = controllers.ControlPlaneMachineLabelsForCluster(rcp, o.cluster.Name)
	config.Annotations = rcp.Spec.MachineTemplate.ObjectMeta.Annotations
	configured := &bootstrapv1.RKE2Config{}
	if err := o.server.Made(config, configured); err != nil {
		return err
	}
	infra, err := o.infraMachine(rcp, name, &config.OwnerReferences[0])
	if err != nil {
		return err
	}
	failureDomain := "fd-a"
	machine, err := computeDesiredMachine(&controllers.RKE2ControlPlaneReconciler{Client: o.client}, rcp, o.cluster,
		&corev1.ObjectReference{APIVersion: infra.GetAPIVersion(), Kind: infra.GetKind(), Namespace: rcp.Namespace, Name: name},
		&corev1.ObjectReference{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "RKE2Config", Namespace: rcp.Namespace, Name: name},
		&failureDomain, nil)
	if err != nil {
		return err
	}
	created, err := time.Parse(time.RFC3339, capi.Machines)
	if err != nil {
		return err
	}
	machine.Name, machine.UID, machine.CreationTimestamp = name, types.UID("uid-"+name), metav1.NewTime(created)
	o.machines[name], o.configs[name], o.infra[name] = machine, configured, infra
	return nil
}

func (o *controlPlane) infraMachine(rcp *controlplanev1.RKE2ControlPlane, name string, owner *metav1.OwnerReference) (*unstructured.Unstructured, error) {
	ref := &rcp.Spec.MachineTemplate.InfrastructureRef
	template := &unstructured.Unstructured{}
	template.SetAPIVersion(ref.APIVersion)
	template.SetKind(ref.Kind)
	if err := o.client.Get(context.Background(), client.ObjectKey{Namespace: rcp.Namespace, Name: ref.Name}, template); err != nil {
		return nil, err
	}
	infra, err := external.GenerateTemplate(&external.GenerateTemplateInput{
		Template: template, TemplateRef: ref, Namespace: rcp.Namespace, ClusterName: o.cluster.Name, OwnerRef: owner,
		Labels: controllers.ControlPlaneMachineLabelsForCluster(rcp, o.cluster.Name), Annotations: rcp.Spec.MachineTemplate.ObjectMeta.Annotations,
	})
	if err != nil {
		return nil, err
	}
	infra.SetName(name)
	return infra, nil
}

// desired is what syncMachines would apply to a Machine and to the objects beside it.
func (o *controlPlane) desired(rcp *controlplanev1.RKE2ControlPlane, name string) (map[string]any, error) {
	existing := o.machines[name]
	machine, err := computeDesiredMachine(&controllers.RKE2ControlPlaneReconciler{Client: o.client}, rcp, o.cluster,
		&existing.Spec.InfrastructureRef, existing.Spec.Bootstrap.ConfigRef, existing.Spec.FailureDomain, existing)
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{
		"labels":      controllers.ControlPlaneMachineLabelsForCluster(rcp, o.cluster.Name),
		"annotations": rcp.Spec.MachineTemplate.ObjectMeta.Annotations,
	}
	return walker.ToMap(map[string]any{
		"machine":         machine,
		"bootstrapConfig": map[string]any{"metadata": metadata},
		"infraMachine":    map[string]any{"metadata": metadata},
	}), nil
}

func (o *controlPlane) Objects() walker.Objects {
	objects := walker.Objects{Cluster: walker.ToMap(o.cluster)}
	for _, name := range o.names {
		objects.Machines = append(objects.Machines, walker.MachineObjects{
			Machine: walker.ToMap(o.machines[name]), BootstrapConfig: walker.ToMap(o.configs[name]), InfraMachine: o.infra[name].Object,
		})
	}
	return objects
}

func (o *controlPlane) Observe(stored map[string]any) walker.Observation {
	rcp := &controlplanev1.RKE2ControlPlane{}
	if err := walker.FromMap(stored, rcp); err != nil {
		return walker.Observation{Error: err.Error()}
	}
	answer := walker.Observation{}
	outdated, err := o.outdated(rcp)
	if err != nil {
		return walker.Observation{Error: err.Error()}
	}
	for _, name := range o.names {
		if _, found := outdated[name]; found {
			answer.Outdated = append(answer.Outdated, name)
		}
		desired, err := o.desired(rcp, name)
		if err != nil {
			return walker.Observation{Error: err.Error()}
		}
		for _, path := range walker.Differences(o.before[name], desired) {
			answer.Propagated = append(answer.Propagated, name+": "+path)
		}
	}
	return answer
}

// outdated gives the comparison copies: it normalises its arguments in place.
func (o *controlPlane) outdated(rcp *controlplanev1.RKE2ControlPlane) (machines collections.Machines, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	owner := &rke2provider.ControlPlane{
		RCP: rcp.DeepCopy(), Cluster: o.cluster, Machines: collections.Machines{},
		Rke2Configs: map[string]*bootstrapv1.RKE2Config{}, InfraResources: o.infra,
	}
	for _, name := range o.names {
		owner.Machines[name] = o.machines[name].DeepCopy()
		owner.Rke2Configs[name] = o.configs[name].DeepCopy()
	}
	return o.call(owner), nil
}

// The controller's own function that its package does not export.

//go:linkname computeDesiredMachine github.com/rancher/cluster-api-provider-rke2/controlplane/internal/controllers.(*RKE2ControlPlaneReconciler).computeDesiredMachine
func computeDesiredMachine(r *controllers.RKE2ControlPlaneReconciler, rcp *controlplanev1.RKE2ControlPlane, cluster *clusterv1.Cluster, infraRef, bootstrapRef *corev1.ObjectReference, failureDomain *string, existing *clusterv1.Machine) (*clusterv1.Machine, error)
