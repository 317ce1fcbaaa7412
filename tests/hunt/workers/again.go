package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// again plays a find once more.
func (f *figures) again(folder string) {
	read := func(file string) []object {
		raw, err := os.ReadFile(filepath.Join(folder, file))
		must(err)
		var found []object
		for _, document := range bytes.Split(raw, []byte("---\n")) {
			if len(bytes.TrimSpace(document)) == 0 {
				continue
			}
			one := object{}
			must(utiljson.Unmarshal(document, &one))
			found = append(found, one)
		}
		return found
	}
	raw, err := os.ReadFile(filepath.Join(folder, "world.json"))
	must(err)
	var world []json.RawMessage
	must(json.Unmarshal(raw, &world))
	var objects []object
	for _, each := range world {
		u := &unstructured.Unstructured{}
		must(u.UnmarshalJSON(each))
		objects = append(objects, u.Object)
	}
	options, err := os.ReadFile(filepath.Join(folder, "command"))
	must(err)
	replaces := strings.Contains(string(options), "--method replace")
	work, err := os.MkdirTemp("", "workers")
	must(err)
	defer os.RemoveAll(work)
	w := newWorld(objects, time.Now().Add(-time.Second).UTC())
	said, err := asked(work, w.dump(false), read("base.yaml"), read("rendered.yaml"), replaces)
	must(err)
	seen := judged(w, read("base.yaml"), read("rendered.yaml"), replaces).outcome
	fmt.Printf("%s: said %s (%s); refused %q, gone %s, made %s, outdated %s, due %s, rested %v, failures %v\n", marks[mark(said, seen)], said.Decision, said.Effect,
		seen.refused, names(seen.gone), names(seen.made), names(seen.outdated), names(seen.due), seen.rested, seen.failures)
}
