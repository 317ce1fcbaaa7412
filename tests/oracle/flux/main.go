// Command flux records what helm-controller makes of the values of a HelmRelease: seeded cases of inline values and
// references, composed by its own library (fluxcd/pkg/chartutil) from ConfigMaps and Secrets that no cluster holds.
//
// Usage: go run . -cases N > cases.jsonl
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/chartutil"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// one is one recorded case. Integers that are no floating-point numbers stand as {"$int": N}.
type one struct {
	Values json.RawMessage              `json:"values,omitempty"`
	From   []meta.ValuesReference       `json:"from"`
	Maps   map[string]map[string]string `json:"maps"`
	After  any                          `json:"after,omitempty"`
	Reason string                       `json:"reason,omitempty"`
}

// cluster answers for the objects of a case.
type cluster struct {
	client.Client
	maps map[string]map[string]string
}

func (c cluster) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	data, found := c.maps[key.Name]
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, key.Name)
	}
	switch object := object.(type) {
	case *corev1.ConfigMap:
		object.Data = data
	case *corev1.Secret:
		object.Data = map[string][]byte{}
		for name, text := range data {
			object.Data[name] = []byte(text)
		}
	}
	return nil
}

// marked tells integers from floating-point numbers, which look the same in JSON and not to a template.
func marked(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, inner := range value {
			out[name] = marked(inner)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for index, inner := range value {
			out[index] = marked(inner)
		}
		return out
	case int64:
		return map[string]any{"$int": value}
	}
	return value
}

func play(values string, from []meta.ValuesReference, maps map[string]map[string]string) one {
	out := one{From: from, Maps: maps}
	var inline map[string]any
	if values != "" {
		out.Values = json.RawMessage(values)
		// As HelmRelease.GetValues does.
		_ = yaml.Unmarshal([]byte(values), &inline)
	}
	after, err := chartutil.ChartValuesFromReferences(context.Background(), logr.Discard(), cluster{maps: maps}, "n", inline, from...)
	if err == nil {
		out.After = marked(after.AsMap())
		return out
	}
	for reason, word := range map[error]string{
		chartutil.ErrResourceNotFound: "missing", chartutil.ErrKeyNotFound: "key", chartutil.ErrValuesDataRead: "read",
		chartutil.ErrValueMerge: "merge", chartutil.ErrUnsupportedRefKind: "kind",
	} {
		var told *chartutil.ErrValuesReference
		if errors.As(err, &told) && errors.Is(told.Reason, reason) {
			out.Reason = word
		}
	}
	if out.Reason == "" {
		panic(fmt.Sprint("no reason: ", err))
	}
	return out
}

var (
	names   = []string{"a", "b", "c", "a.b", "d"}
	scalars = []string{`1`, `0`, `-3`, `3000000`, `1.5`, `true`, `null`, `"x"`, `"1"`, `""`, `"a,b"`, `123456789012345678`}
	paths   = []string{
		"a", "b", "c", "a.b", "a.b.c", "b.a", "a[0]", "a[1]", "a[0].b", "a[2][0]", "a[0][1]", "c.d[1].a", `a\.b`, `d.a\.b`, "a.", ".a", "a..b",
		"[0]", "a[0", "a]", "a[x]", "a[70000]", "a[1]b", "a[0].", "d.d", "b.c", "a-b", "a/b", `\a`, "a[1].c.d",
	}
	texts = []string{
		"1", "0", "007", "-1", "+5", "true", "TRUE", "False", "null", "Null", "~", "", "x", "'x'", `"7"`, `'`, `"`, `'a"`, "{a,b}", "{1,2", "{}",
		"{1}x", "a,b=c", "a=b", "a,b", `a\,b`, `\`, "3000000", "9223372036854775807", "9223372036854775808", "1.5", "1e3", " 1", "a\n", "a: b\n",
		"[1,2]", "é", "x=y,c=3", "1,c.d=2", "{a,b},c=1", "[0]", "'{a}'", `"a,b"`, "-0", "00", "0x10", "1_000",
	}
	files = []string{
		"a: 1\n", "a: {b: x}\n", "a: {b: {c: 3000000}}\nb: [1, 2]\n", "a: [1, {b: 2}]\n", "", "null\n", "# nothing\n", "- a\n", "text\n", "1\n",
		"a: 1\na: 2\n", "a: yes\n", "a: 0777\n", "---\na: 1\n---\na: 2\n", "a: [\n", "\ta: 1\n", "a: null\n", "b: {a: null}\n", "1: x\n", "c: {d: [{a: 1}]}\n",
		"a: &x {b: 1}\nc: *x\n", "d: {a: 1, d: 2}\n", "a: 1.0\nb: 1e6\n",
	}
)

func tree(random *rand.Rand, depth int) string {
	switch kind := random.Intn(10); {
	case kind < 4 && depth > 0:
		parts, seen := []string{}, map[string]bool{}
		for range random.Intn(4) {
			name := names[random.Intn(len(names))]
			if !seen[name] {
				parts = append(parts, fmt.Sprintf("%q:%s", name, tree(random, depth-1)))
			}
			seen[name] = true
		}
		return "{" + strings.Join(parts, ",") + "}"
	case kind < 6 && depth > 0:
		parts := []string{}
		for range random.Intn(4) {
			parts = append(parts, tree(random, depth-1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return scalars[random.Intn(len(scalars))]
}

func seeded(seed int64) one {
	random := rand.New(rand.NewSource(seed))
	pick := func(from []string) string { return from[random.Intn(len(from))] }
	values := ""
	switch random.Intn(8) {
	case 0:
	case 1:
		values = tree(random, 2)
	default:
		for !strings.HasPrefix(values, "{") {
			values = tree(random, 3)
		}
	}
	maps := map[string]map[string]string{}
	for _, name := range []string{"m", "n"} {
		maps[name] = map[string]string{"values.yaml": pick(files), "k": pick(texts), "l": pick(texts), "f": pick(files)}
	}
	from := make([]meta.ValuesReference, 0, 4)
	for range random.Intn(4) {
		one := meta.ValuesReference{Kind: pick([]string{"ConfigMap", "Secret"}), Name: pick([]string{"m", "m", "n", "n", "n", "gone"})}
		one.Optional = random.Intn(3) == 0
		switch random.Intn(3) {
		case 0:
			one.ValuesKey = pick([]string{"", "f", "", "f", "lost"})
		default:
			one.ValuesKey, one.TargetPath, one.Literal = pick([]string{"k", "l"}), pick(paths), random.Intn(3) == 0
		}
		from = append(from, one)
	}
	return play(values, from, maps)
}

func main() {
	cases := flag.Int64("cases", 100, "seeded cases beside every path with every text")
	flag.Parse()
	out := json.NewEncoder(os.Stdout)
	write := func(one one) {
		if err := out.Encode(one); err != nil {
			panic(err)
		}
	}
	for _, path := range paths {
		for _, text := range texts {
			for _, literal := range []bool{false, true} {
				from := []meta.ValuesReference{{Kind: "ConfigMap", Name: "m", ValuesKey: "k", TargetPath: path, Literal: literal}}
				write(play(`{"a":{"b":1},"c":{"d":[{"a":null}]}}`, from, map[string]map[string]string{"m": {"k": text}}))
			}
		}
	}
	for seed := range *cases {
		write(seeded(seed))
	}
}
