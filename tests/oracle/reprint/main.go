// Records what kyaml makes of folded texts when it reads a document and prints it again, as Helm 4 does with what a
// post-renderer gives back (helm pkg/action, annotateAndMerge and splitAndDeannotate).
//
// Standard output: one line a text, {"before": the value as read, "after": the value after one pass}. A text that cannot be
// read afterwards is left out.
package main

import (
	"encoding/json"
	"math/rand"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/yaml"
)

type record struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// value reads the text at v.
func value(text string) (string, bool) {
	var document map[string]any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return "", false
	}
	value, ok := document["v"].(string)
	return value, ok
}

func main() {
	random := rand.New(rand.NewSource(7))
	headers := []string{">", ">-", ">+", ">2", ">2+", ">2-"}
	lines := []string{"a", "b c", "  x", " y", "", "", "\td", "d ", "- e: f", "   deep", "word word", "é"}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	seen := map[string]bool{}
	for len(seen) < 1500 {
		var text strings.Builder
		text.WriteString("kind: K\nmetadata: {name: x}\nv: " + headers[random.Intn(len(headers))] + "\n")
		for range 1 + random.Intn(7) {
			line := lines[random.Intn(len(lines))]
			if line != "" {
				line = "  " + line
			}
			text.WriteString(line + "\n")
		}
		text.WriteString("z: 1\n")
		before, ok := value(text.String())
		if !ok || seen[before] {
			continue
		}
		seen[before] = true
		nodes, err := kio.ParseAll(text.String())
		if err != nil {
			continue
		}
		printed, err := kio.StringAll(nodes)
		if err != nil {
			continue
		}
		after, ok := value(printed)
		if !ok {
			continue
		}
		if err := encoder.Encode(record{before, after}); err != nil {
			panic(err)
		}
	}
}
