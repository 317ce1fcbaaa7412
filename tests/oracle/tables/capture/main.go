// Command capture writes down what a provider's own tests ask its webhooks.
//
//	capture wrap FOLDER MODULE PACKAGE...   wraps the validating methods in a copy of the module
//	capture lines FILE...                   prints what the wrapped tests wrote as lines of tables/<provider>.jsonl
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
	err := fmt.Errorf("usage: capture wrap FOLDER MODULE PACKAGE... | capture lines FILE")
	switch {
	case len(os.Args) > 4 && os.Args[1] == "wrap":
		err = wrapAll(os.Args[2], os.Args[3], os.Args[4:])
	case len(os.Args) > 2 && os.Args[1] == "lines":
		err = lines(os.Args[2:])
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

// asked are the methods that tests call: those of the interface, and the one that they share.
var asked = map[string]bool{"ValidateCreate": true, "ValidateUpdate": true, "validate": true}

// wrap gives the validating methods of a file another name, and puts ones in their place that write down what they are given.
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
		method, ok := declaration.(*ast.FuncDecl)
		if !ok || method.Recv == nil || !asked[method.Name.Name] || method.Type.Results.NumFields() == 0 {
			continue
		}
		added[offset(method.Name.End())] = "Asked"
		var params, args []string
		for _, param := range method.Type.Params.List {
			for i := 0; i < max(1, len(param.Names)); i++ {
				args = append(args, fmt.Sprintf("asked%d", len(args)))
				params = append(params, args[len(args)-1]+" "+text(param.Type))
			}
		}
		results := "asked"
		if method.Type.Results.NumFields() == 2 {
			results = "warnings, asked"
		}
		fmt.Fprintf(&tail, "\nfunc (self %s) %s(%s) %s {\n\twitness.Ask(%s)\n\t%s := self.%sAsked(%s)\n\treturn %s\n}\n",
			text(method.Recv.List[0].Type), method.Name.Name, strings.Join(params, ", "), text(method.Type.Results),
			strings.Join(append(args, "self"), ", "), results, method.Name.Name, strings.Join(args, ", "), results)
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
	"KubeadmControlPlane": "controlplane.", "KubeadmControlPlaneTemplate": "controlplane.", "AWSManagedControlPlane": "controlplane.",
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
			last := asked.Objects[min(1, len(asked.Objects)-1)]
			group, known := groups[last.Kind]
			if !known {
				group = "infrastructure."
			}
			if strings.Contains(last.Package, "/vmware/") {
				group = "vmware.infrastructure."
			}
			version := last.Package[strings.LastIndexByte(last.Package, '/')+1:]
			out := map[string]any{
				"test": asked.Test, "kind": last.Kind, "apiVersion": group + "cluster.x-k8s.io/" + version, "new": written(last.Object),
			}
			if old := asked.Objects[0].Object; !reflect.DeepEqual(old, last.Object) {
				out["old"] = written(old)
			}
			encoded, err := json.Marshal(out)
			if err != nil {
				return err
			}
			if !printed[string(encoded)] {
				printed[string(encoded)] = true
				fmt.Println(string(encoded))
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
