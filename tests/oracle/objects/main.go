// Records which objects a stream holds, by the code that Helm 3, Helm 4 and kubectl run: cli-runtime's builder for what is
// written, Helm's own sorting for what is a hook. Streams are made from a seed, so that a run can be had again.
//
//	go run . -seed 1 -streams 3000 >FILE
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// object is what is compared of one: its identity and, where it has one, the text of data.v.
type object struct {
	API       string  `json:"a"`
	Kind      string  `json:"k"`
	Namespace string  `json:"ns,omitempty"`
	Name      string  `json:"n"`
	Text      *string `json:"v,omitempty"`
}

// answer is what one program makes of one stream.
type answer struct {
	// In is what rollgate gets; By who reads it: build, helm3, helm4.
	In string `json:"in"`
	By string `json:"by"`
	// Written are the objects of the release, Hooks those of the hooks, in the order of their names.
	Written []object `json:"written"`
	Hooks   []object `json:"hooks,omitempty"`
	// Refused says that the program stops.
	Refused bool `json:"refused,omitempty"`
}

func main() {
	log.SetFlags(0)
	log.SetOutput(discard{})
	seed := flag.Int64("seed", 1, "where the streams start from")
	streams := flag.Int("streams", 1000, "how many")
	sources := flag.String("sources", ".", "folder of these sources, for the header")
	flag.Parse()
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(header(*sources)))
	dice := rand.New(rand.NewSource(*seed))
	for _, text := range fixed() {
		for _, one := range answers(text) {
			must(encoder.Encode(one))
		}
	}
	for i := 0; i < *streams; i++ {
		for _, one := range answers(generate(dice)) {
			must(encoder.Encode(one))
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// answers asks all three about one text: as a whole stream, and as a file of a chart.
func answers(text string) []answer {
	all := []answer{asked(text, "build", func() ([]object, []object, error) {
		written, err := build(text)
		return written, nil, err
	})}
	if printed, written, hooks, err := helm3(text); err == nil {
		all = append(all, answer{In: printed, By: "helm3", Written: sorted(written), Hooks: sorted(hooks)})
	}
	if merged, written, hooks, err := helm4(text); err == nil {
		all = append(all, answer{In: merged, By: "helm4", Written: sorted(written), Hooks: sorted(hooks)})
	}
	return all
}

func asked(text, by string, read func() ([]object, []object, error)) answer {
	written, hooks, err := read()
	if err != nil {
		return answer{In: text, By: by, Written: []object{}, Refused: true}
	}
	return answer{In: text, By: by, Written: sorted(written), Hooks: sorted(hooks)}
}

// build is what `Client.Build` of both Helms and `kubectl apply` do with a stream, but for the questions to a server.
func build(text string) ([]object, error) {
	infos, err := resource.NewLocalBuilder().
		Unstructured().
		ContinueOnError().
		Flatten().
		Stream(strings.NewReader(text), "stream").
		Do().
		Infos()
	if err != nil {
		return nil, err
	}
	objects := make([]object, 0, len(infos))
	for _, info := range infos {
		held, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("%T is no object", info.Object)
		}
		objects = append(objects, of(held))
	}
	return objects, nil
}

func of(held *unstructured.Unstructured) object {
	one := object{API: held.GetAPIVersion(), Kind: held.GetKind(), Namespace: held.GetNamespace(), Name: held.GetName()}
	if data, ok := held.Object["data"].(map[string]any); ok {
		if text, ok := data["v"].(string); ok {
			one.Text = &text
		}
	}
	return one
}

// sorted puts objects into an order of their own: Helm writes by kinds, rollgate reads as it comes.
func sorted(objects []object) []object {
	key := func(one object) string {
		text := ""
		if one.Text != nil {
			text = *one.Text
		}
		return strings.Join([]string{one.API, one.Kind, one.Namespace, one.Name, text}, "\x00")
	}
	out := append([]object{}, objects...)
	sort.SliceStable(out, func(i, j int) bool { return key(out[i]) < key(out[j]) })
	return out
}

// header names the program that made the recording, and the versions of what it ran.
func header(sources string) map[string]any {
	modules := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			switch module.Path {
			case "helm.sh/helm/v3", "helm.sh/helm/v4", "k8s.io/apimachinery", "k8s.io/cli-runtime", "sigs.k8s.io/kustomize/kyaml":
				modules[module.Path] = module.Version
			}
		}
	}
	return map[string]any{"program": "sha256:" + hash(sources), "go": runtime.Version(), "modules": modules}
}

func hash(folder string) string {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	must(err)
	names = append(names, filepath.Join(folder, "go.mod"))
	sort.Strings(names)
	sum := sha256.New()
	for _, name := range names {
		bytes, err := os.ReadFile(name)
		must(err)
		fmt.Fprintf(sum, "%s\n%s", filepath.Base(name), bytes)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
