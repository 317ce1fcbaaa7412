// Command capture writes down what a provider's own tests ask its webhooks.
//
//	capture wrap FOLDER MODULE PACKAGE...   wraps the validating methods in a copy of the module
//	capture lines FILE...                   prints what the wrapped tests wrote as lines of tables/<provider>.jsonl
//	capture compared FILE...                prints what they gave to the comparisons of Machines
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
)

//go:embed witness.go.txt
var witness []byte

func main() {
	err := fmt.Errorf("usage: capture wrap FOLDER MODULE PACKAGE... | capture lines FILE | capture compared FILE")
	switch {
	case len(os.Args) > 4 && os.Args[1] == "wrap":
		err = wrapAll(os.Args[2], os.Args[3], os.Args[4:])
	case len(os.Args) > 2 && os.Args[1] == "lines":
		err = lines(os.Args[2:])
	case len(os.Args) > 2 && os.Args[1] == "compared":
		err = compared(os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		os.Exit(1)
	}
}

func wrapAll(folder, module string, packages []string) error {
	at := filepath.Join(folder, "witness")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(at, "witness.go"), witness, 0o644); err != nil {
		return err
	}
	for _, name := range packages {
		files, err := filepath.Glob(filepath.Join(folder, name, "*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			if err := wrap(file, module); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

// isAsked says whether tests ask a function about objects: one of the interfaces, or a part of one.
func isAsked(name string) bool {
	return name == "Default" || strings.HasPrefix(name, "Validate") || strings.HasPrefix(name, "validate")
}

// comparing are the functions by which controllers compare Machines with their owner.
var comparing = map[string]bool{"UpToDate": true, "matchesKubeadmConfig": true, "matchesInfraMachine": true, "MachineTemplateUpToDate": true}

// wrap gives the validating and comparing functions of a file another name, and puts ones in their place that write down what
// they are given.
func wrap(file, module string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	places := token.NewFileSet()
	parsed, err := parser.ParseFile(places, file, source, 0)
	if err != nil {
		return err
	}
	offset := func(at token.Pos) int { return places.Position(at).Offset }
	text := func(node ast.Node) string { return string(source[offset(node.Pos()):offset(node.End())]) }
	added := map[int]string{}
	var tail strings.Builder
	for _, declaration := range parsed.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Type.Results.NumFields() == 0 || function.Type.TypeParams != nil {
			continue
		}
		if name := function.Name.Name; !isAsked(name) && !comparing[name] {
			continue
		}
		self, call := "", function.Name.Name+"Asked"
		if function.Recv != nil {
			self, call = "(self "+text(function.Recv.List[0].Type)+") ", "self."+call
		}
		added[offset(function.Name.End())] = "Asked"
		var params, args []string
		for _, param := range function.Type.Params.List {
			for i := 0; i < max(1, len(param.Names)); i++ {
				args = append(args, fmt.Sprintf("asked%d", len(args)))
				params = append(params, args[len(args)-1]+" "+text(param.Type))
			}
		}
		given := append([]string{}, args...)
		if self != "" {
			given = append(given, "self")
		}
		if function.Type.Params.NumFields() > 0 && strings.HasPrefix(text(function.Type.Params.List[len(function.Type.Params.List)-1].Type), "...") {
			args[len(args)-1] += "..."
		}
		fmt.Fprintf(&tail, "\nfunc %s%s(%s) %s {\n\twitness.Ask(%s)\n\treturn %s(%s)\n}\n",
			self, function.Name.Name, strings.Join(params, ", "), text(function.Type.Results),
			strings.Join(given, ", "), call, strings.Join(args, ", "))
	}
	if len(added) == 0 {
		return nil
	}
	added[offset(parsed.Name.End())] = "\n\nimport \"" + module + "/witness\"\n"
	var order []int
	for at := range added {
		order = append(order, at)
	}
	sort.Sort(sort.Reverse(sort.IntSlice(order)))
	result := string(source)
	for _, at := range order {
		result = result[:at] + added[at] + result[at:]
	}
	return os.WriteFile(file, []byte(result+tail.String()), 0o644)
}

// groups are the API groups of kinds, infrastructure's where none is named.
var groups = map[string]string{
	"Cluster": "", "ClusterClass": "", "Machine": "", "MachineSet": "", "MachineDeployment": "", "MachinePool": "",
	"MachineHealthCheck": "", "MachineDrainRule": "", "ExtensionConfig": "runtime.",
	"ClusterResourceSet": "addons.", "ClusterResourceSetBinding": "addons.", "IPAddress": "ipam.", "IPAddressClaim": "ipam.",
	"KubeadmConfig": "bootstrap.", "KubeadmConfigTemplate": "bootstrap.",
	"KubeadmControlPlane": "controlplane.", "KubeadmControlPlaneTemplate": "controlplane.",
	"AWSManagedControlPlane": "controlplane.", "AWSManagedControlPlaneTemplate": "controlplane.", "ROSAControlPlane": "controlplane.",
	"RKE2Config": "bootstrap.", "RKE2ConfigTemplate": "bootstrap.", "RKE2ControlPlane": "controlplane.", "RKE2ControlPlaneTemplate": "controlplane.",
}

type seen struct {
	Kind    string         `json:"kind"`
	Package string         `json:"package"`
	Object  map[string]any `json:"object"`
}

// lines prints each pair of objects once.
func lines(files []string) error {
	printed := map[string]bool{}
	return each(files, func(test string, objects []seen) error {
		last := objects[min(1, len(objects)-1)]
		group, known := groups[last.Kind]
		if !known {
			group = "infrastructure."
		}
		if strings.Contains(last.Package, "/vmware/") {
			group = "vmware.infrastructure."
		}
		version := last.Package[strings.LastIndexByte(last.Package, '/')+1:]
		out := map[string]any{
			"test": test, "kind": last.Kind, "apiVersion": group + "cluster.x-k8s.io/" + version, "new": written(last.Object),
		}
		if old := written(objects[0].Object); !reflect.DeepEqual(old, out["new"]) {
			out["old"] = old
		}
		encoded, err := json.Marshal(out)
		if err == nil && !printed[string(encoded)] {
			printed[string(encoded)] = true
			fmt.Println(string(encoded))
		}
		return err
	})
}

// compared prints each comparison once: all objects that it was given, by their kinds.
func compared(files []string) error {
	printed := map[string]bool{}
	return each(files, func(test string, objects []seen) error {
		out := map[string]any{"test": test}
		for _, one := range objects {
			key := one.Kind
			for out[key] != nil {
				key += "+"
			}
			out[key] = written(one.Object)
		}
		encoded, err := json.Marshal(out)
		if err == nil && !printed[string(encoded)] {
			printed[string(encoded)] = true
			fmt.Println(string(encoded))
		}
		return err
	})
}

// each gives what was asked, question by question.
func each(files []string, take func(test string, objects []seen) error) error {
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
			asked := struct {
				Test    string `json:"test"`
				Objects []seen `json:"objects"`
			}{}
			if err := json.Unmarshal([]byte(line), &asked); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if len(asked.Objects) == 0 {
				continue
			}
			if err := take(asked.Test, asked.Objects); err != nil {
				return err
			}
		}
	}
	return nil
}

// written is an object without what no test writes: a status, and what Go has no word for.
func written(object map[string]any) any {
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	return bare(object)
}

func bare(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if inner == nil {
				delete(value, key)
			} else {
				value[key] = bare(inner)
			}
		}
	case []any:
		for i := range value {
			value[i] = bare(value[i])
		}
	}
	return value
}
