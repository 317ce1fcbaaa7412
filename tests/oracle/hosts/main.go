// Command hosts records what the API server makes of an object when Helm or kubectl writes it over the edits of somebody
// else: seeded triples of last manifest, live object and rendered object over the providers' CRDs, written by the API
// server's own merge code (managedfields, structured-merge-diff, structural defaulting) and Helm's own patch library.
//
// Usage: go run . -cases N FOLDER... > cases.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/yaml"
)

// server stands for the API server as far as it stores one kind in one version.
type server struct {
	gvk     schema.GroupVersionKind
	shape   *structural.Structural
	manager *managedfields.FieldManager
}

// one is one recorded case.
type one struct {
	Seed     int64          `json:"seed"`
	Way      string         `json:"way"`
	Force    bool           `json:"force,omitempty"`
	Adopts   bool           `json:"adopts,omitempty"`
	Live     map[string]any `json:"live"`
	Last     map[string]any `json:"last"`
	Rendered map[string]any `json:"rendered"`
	After    map[string]any `json:"after,omitempty"`
	Conflict bool           `json:"conflict,omitempty"`
}

type same struct{ runtime.ObjectConvertor }

func (same) Convert(in, out, context any) error { return errors.New("not used") }
func (same) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}
func (same) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errors.New("not used")
}

type filler struct{ shape *structural.Structural }

func (f filler) Default(object runtime.Object) {
	defaulting.Default(object.(*unstructured.Unstructured).Object, f.shape)
}

type maker struct{}

func (maker) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object, nil
}

func newServers(crd *apiextv1.CustomResourceDefinition) ([]*server, error) {
	var servers []*server
	for _, version := range crd.Spec.Versions {
		if !version.Served || version.Schema == nil {
			continue
		}
		internal := &apiext.JSONSchemaProps{}
		if err := apiextv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, internal, nil); err != nil {
			return nil, err
		}
		shape, err := structural.NewStructural(internal)
		if err != nil {
			return nil, err
		}
		spec, err := builder.BuildOpenAPIV3(crd, version.Name, builder.Options{})
		if err != nil {
			return nil, err
		}
		converter, err := managedfields.NewTypeConverter(spec.Components.Schemas, false)
		if err != nil {
			return nil, err
		}
		gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
		manager, err := managedfields.NewDefaultCRDFieldManager(converter, same{}, filler{shape}, maker{}, gvk, gvk.GroupVersion(), "", nil)
		if err != nil {
			return nil, err
		}
		servers = append(servers, &server{gvk, shape, manager})
	}
	return servers, nil
}

// kept is what the server makes of an object that it decodes.
func (s *server) kept(object map[string]any) *unstructured.Unstructured {
	object = runtime.DeepCopyJSON(object)
	pruning.Prune(object, s.shape, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.shape)
	defaulting.Default(object, s.shape)
	return &unstructured.Unstructured{Object: object}
}

func (s *server) update(live *unstructured.Unstructured, object map[string]any, manager string) (*unstructured.Unstructured, error) {
	if live == nil {
		made, _ := maker{}.New(s.gvk)
		live = made.(*unstructured.Unstructured)
	}
	after, err := s.manager.Update(live, s.kept(object), manager)
	if err != nil {
		return nil, err
	}
	return after.(*unstructured.Unstructured), nil
}

func (s *server) apply(live *unstructured.Unstructured, object map[string]any, manager string, force bool) (*unstructured.Unstructured, error) {
	if live == nil {
		made, _ := maker{}.New(s.gvk)
		live = made.(*unstructured.Unstructured)
	}
	sent := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	after, err := s.manager.Apply(live.DeepCopy(), sent, manager, force)
	if err != nil {
		return nil, err
	}
	return s.kept(after.(*unstructured.Unstructured).Object), nil
}

func toMap(text []byte) (map[string]any, error) {
	var object map[string]any
	return object, json.Unmarshal(text, &object)
}

func text(object any) []byte {
	out, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return out
}

// record makes one case, or none where the random objects lead nowhere.
func record(s *server, seed int64) (*one, error) {
	r := rand.New(rand.NewSource(seed))
	g := &generator{r}
	last := g.object(s)
	rendered := g.changed(s, last)
	way := []string{"server-side-apply", "merge-patch", "last-applied"}[r.Intn(3)]
	force := r.Intn(2) == 0
	adopts := way == "server-side-apply" && r.Intn(4) == 0
	var live *unstructured.Unstructured
	var err error
	if way == "server-side-apply" && !adopts {
		live, err = s.apply(nil, last, "helm", false)
	} else {
		first := runtime.DeepCopyJSON(last)
		if way == "last-applied" {
			annotations := map[string]any{"kubectl.kubernetes.io/last-applied-configuration": string(text(last))}
			first["metadata"].(map[string]any)["annotations"] = annotations
		}
		live, err = s.update(nil, first, "helm")
	}
	if err != nil {
		return nil, err
	}
	for edits := r.Intn(3); edits > 0; edits-- {
		if r.Intn(3) == 0 {
			// Somebody else applies a few fields of his own.
			live, err = s.apply(live, g.part(s), "other", true)
		} else {
			live, err = s.update(live, g.changed(s, live.Object), "editor")
		}
		if err != nil {
			return nil, err
		}
	}
	c := &one{Seed: seed, Way: way, Force: force, Adopts: adopts, Live: live.Object, Last: last, Rendered: rendered}
	switch way {
	case "server-side-apply":
		base := live
		if adopts {
			base = live.DeepCopy()
			entries := base.GetManagedFields()
			for i := range entries {
				if entries[i].Manager == "helm" {
					entries[i].Operation = "Apply"
				}
			}
			base.SetManagedFields(entries)
		}
		after, err := s.apply(base, rendered, "helm", force)
		if apierrors.IsConflict(err) {
			c.Conflict = true
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		c.After = after.Object
	default:
		var patch []byte
		if way == "merge-patch" {
			patch, err = jsonpatch.CreateMergePatch(text(last), text(rendered))
		} else {
			patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(text(last), text(rendered), text(live.Object))
		}
		if err != nil {
			return nil, err
		}
		patched, err := jsonpatch.MergePatch(text(live.Object), patch)
		if err != nil {
			return nil, err
		}
		object, err := toMap(patched)
		if err != nil {
			return nil, err
		}
		after, err := s.update(live, object, "helm")
		if err != nil {
			return nil, err
		}
		c.After = after.Object
	}
	return c, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "hosts:", err)
	os.Exit(1)
}

// wanted are the kinds over which cases are made.
var wanted = map[string]bool{
	"KubeadmControlPlane": true, "KubeadmConfigTemplate": true, "MachineDeployment": true, "MachinePool": true,
	"Cluster": true, "MachineHealthCheck": true, "RKE2ControlPlane": true, "RKE2ConfigTemplate": true,
	"OpenStackMachineTemplate": true, "OpenStackCluster": true, "VSphereMachineTemplate": true,
}

func main() {
	cases := flag.Int("cases", 300, "how many cases")
	flag.Parse()
	var servers []*server
	for _, root := range flag.Args() {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			crd := &apiextv1.CustomResourceDefinition{}
			if err := yaml.Unmarshal(text, crd); err != nil || crd.Kind != "CustomResourceDefinition" {
				return err
			}
			if !wanted[crd.Spec.Names.Kind] || strings.HasPrefix(crd.Spec.Group, "vmware.") {
				return nil
			}
			more, err := newServers(crd)
			servers = append(servers, more...)
			return err
		})
		if err != nil {
			fail(err)
		}
	}
	sort.Slice(servers, func(i, j int) bool { return servers[i].gvk.String() < servers[j].gvk.String() })
	out := bufio.NewWriter(os.Stdout)
	skipped := 0
	for seed, made := int64(1), 0; made < *cases; seed++ {
		c, err := record(servers[int(seed)%len(servers)], seed)
		if err != nil {
			skipped++
			if skipped <= 5 {
				fmt.Fprintln(os.Stderr, "seed", seed, "skipped:", err)
			}
			continue
		}
		made++
		fmt.Fprintln(out, string(text(c)))
	}
	fmt.Fprintln(os.Stderr, len(servers), "kinds,", *cases, "cases,", skipped, "seeds skipped")
	if err := out.Flush(); err != nil {
		fail(err)
	}
}
