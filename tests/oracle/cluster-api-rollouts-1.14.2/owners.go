package main

import (
	"context"
	"fmt"
	_ "unsafe" // for go:linkname

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/desiredstate"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/watch"

	"rollgate.dev/oracle/tables"
	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

const controlPlaneGroup = "controlplane.cluster.x-k8s.io"

// all are the kinds of a recording: one for each base.
type all struct {
	e       *watch.Environment
	cluster *clusterv1.Cluster
	kinds   []walker.Kind
	names   map[string]int
}

// add turns one comparison of a test into a base and its case; one whose owners the server refuses is left out.
func (a *all) add(one comparison) error {
	switch {
	case one.KubeadmControlPlane != nil && one.Machine != nil:
		return a.controlPlane(one)
	case one.MachineTemplateSpec != nil && one.Wanted != nil:
		a.deployment(one)
	}
	return nil
}

// base adds a kind whose one base becomes the wanted owner.
func (a *all) base(group, kind, test string, before, after map[string]any, observe func(string, map[string]any) (walker.Observer, error)) {
	before, after = walker.ToMap(before), walker.ToMap(after)
	for _, owner := range []map[string]any{before, after} {
		if _, rejection := a.e.Server.Create(owner); rejection != nil {
			fmt.Printf("left out: %s: %s\n", test, rejection.Reason)
			return
		}
	}
	a.names[test]++
	a.kinds = append(a.kinds, walker.Kind{
		Group: group, Kind: kind, Versions: []string{"v1beta2"}, Observe: observe,
		Bases: []walker.Base{{Name: fmt.Sprintf("%s-%d", test, a.names[test]), NoWalk: true, Prepare: func(_ string, obj map[string]any) {
			for key, value := range before {
				obj[key] = value
			}
		}}},
		Pairs: func(string, map[string]any) []walker.Case {
			return []walker.Case{walker.Many("1", tables.Patch(before, after)...)}
		},
	})
}

// controlPlane gives the Machine an owner of its own version, bootstrap configuration and infrastructure template.
func (a *all) controlPlane(one comparison) error {
	after := framed("KubeadmControlPlane", controlPlaneGroup+"/v1beta2", one.KubeadmControlPlane)
	before := walker.ToMap(after)
	machine, config := &clusterv1.Machine{}, &bootstrapv1.KubeadmConfig{}
	if err := walker.FromMap(one.Machine, machine); err != nil {
		return err
	}
	spec := before["spec"].(map[string]any)
	if machine.Spec.Version != "" {
		spec["version"] = machine.Spec.Version
	}
	if one.KubeadmConfig != nil {
		if err := walker.FromMap(one.KubeadmConfig, config); err != nil {
			return err
		}
		spec["kubeadmConfigSpec"] = one.KubeadmConfig["spec"]
	}
	if name, group, kind := clonedFrom(one.Unstructured); name != "" {
		spec["machineTemplate"].(map[string]any)["spec"].(map[string]any)["infrastructureRef"] = map[string]any{"apiGroup": group, "kind": kind, "name": name}
	}
	bare(before)
	bare(after)
	a.base(controlPlaneGroup, "KubeadmControlPlane", one.Test, before, after, func(_ string, stored map[string]any) (walker.Observer, error) {
		kcp := &controlplanev1.KubeadmControlPlane{}
		if err := walker.FromMap(stored, kcp); err != nil {
			return nil, err
		}
		o := &owned{all: a}
		if err := o.make(kcp, machine, config, one); err != nil {
			return nil, err
		}
		return watch.Observe(kcp, o)
	})
	return nil
}

func clonedFrom(infra map[string]any) (name, group, kind string) {
	annotations := (&unstructured.Unstructured{Object: infra}).GetAnnotations()
	if infra == nil || annotations == nil {
		return "", "", ""
	}
	from := annotations[clusterv1.TemplateClonedFromGroupKindAnnotation]
	for i := range from {
		if from[i] == '.' {
			return annotations[clusterv1.TemplateClonedFromNameAnnotation], from[i+1:], from[:i]
		}
	}
	return "", "", ""
}

// owned is the Machine of a control plane.
type owned struct {
	*all
	machine *clusterv1.Machine
	config  *bootstrapv1.KubeadmConfig
	infra   *unstructured.Unstructured
}

// make puts the Machine of a test and what belongs to it where its owner finds them.
func (o *owned) make(kcp *controlplanev1.KubeadmControlPlane, machine *clusterv1.Machine, config *bootstrapv1.KubeadmConfig, one comparison) error {
	made, err := desiredstate.ComputeDesiredMachine(kcp, o.cluster, machine.Spec.FailureDomain, nil)
	if err != nil {
		return err
	}
	watch.Age(made, clusterv1.GroupVersion.WithKind("Machine"), watch.Join, "uid-"+watch.Join)
	made.Status.CertificatesExpiryDate = watch.Expiry()
	for key, value := range machine.Annotations {
		made.Annotations[key] = value
	}
	if machine.Spec.Version != "" {
		made.Spec.Version = machine.Spec.Version
	}
	if machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		made.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: watch.Join}
	} else {
		secret := "given"
		made.Spec.Bootstrap.DataSecretName = &secret
	}
	made.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capi.InfraGroup, Kind: "DockerMachine", Name: watch.Join}
	if one.Unstructured != nil {
		o.infra = &unstructured.Unstructured{Object: walker.ToMap(one.Unstructured)}
		o.infra.SetName(watch.Join)
		o.infra.SetNamespace("default")
		o.infra.SetAPIVersion(capi.InfraGroup + "/v1beta1")
		made.Spec.InfrastructureRef.Kind = o.infra.GetKind()
	}
	o.machine = &clusterv1.Machine{}
	if err := o.e.Server.Made(made, o.machine); err != nil {
		return err
	}
	if one.KubeadmConfig != nil {
		configured := config.DeepCopy()
		watch.Identify(configured, bootstrapv1.GroupVersion.WithKind("KubeadmConfig"), watch.Join, "uid-config-"+watch.Join)
		configured.Namespace, configured.Labels = "default", made.Labels
		o.config = configured
	}
	return nil
}

func (*owned) Names() []string { return []string{watch.Join} }

func (o *owned) Objects() walker.Objects {
	machine := walker.MachineObjects{Machine: walker.ToMap(o.machine)}
	if o.config != nil {
		machine.BootstrapConfig = walker.ToMap(o.config)
	}
	if o.infra != nil {
		machine.InfraMachine = o.infra.Object
	}
	return walker.Objects{Cluster: walker.ToMap(o.cluster), Machines: []walker.MachineObjects{machine}}
}

// UpToDate gives the comparison copies: it normalises its arguments in place.
func (o *owned) UpToDate(kcp *controlplanev1.KubeadmControlPlane, name string) (bool, []string, error) {
	configs, infra := map[string]*bootstrapv1.KubeadmConfig{}, map[string]*unstructured.Unstructured{}
	if o.config != nil {
		configs[name] = o.config.DeepCopy()
	}
	if o.infra != nil {
		infra[name] = o.infra.DeepCopy()
	}
	ok, result, err := pkg.UpToDate(context.Background(), o.e.Client, o.cluster, o.machine.DeepCopy(), kcp.DeepCopy(), &o.e.Now, infra, configs)
	if result == nil {
		return ok, nil, err
	}
	return ok, result.ConditionMessages, err
}

// Desired is what syncMachines would apply to the Machine and to the objects beside it.
func (o *owned) Desired(kcp *controlplanev1.KubeadmControlPlane, _ string) (map[string]any, error) {
	machine, err := desiredstate.ComputeDesiredMachine(kcp, o.cluster, o.machine.Spec.FailureDomain, o.machine)
	if err != nil {
		return nil, err
	}
	return watch.Applied(machine, desiredstate.ControlPlaneMachineLabels(kcp, o.cluster.Name), desiredstate.ControlPlaneMachineAnnotations(kcp)), nil
}
