package walker

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Provider is what a recorder knows about one version of one provider.
type Provider struct {
	Name    string // name of the recording, e.g. cluster-api
	Module  string // Go module that the answers come from
	Gates   string // feature gates that differ from the defaults of that version
	Now     string // the controllers' clock
	CRDs    string // sha256 of the CRD files
	Server  *Server
	Kinds   []Kind
	Hints   Hints
	Version string
}

// Kind is one kind of object to walk.
type Kind struct {
	Group string
	Kind  string
	Hints Hints
	Bases []Base
	// Pairs adds mutations that the walk of single fields does not reach.
	Pairs func(version string, obj map[string]any) []Case
	// Observe makes the controller's objects for a stored base; nil where only the webhooks
	// and the schema answer.
	Observe func(base string, stored map[string]any) (Observer, error)
	// Versions limits the API versions; empty means all that are served.
	Versions []string
}

// Base is one object to start from.
type Base struct {
	Name string
	// Prepare fills or trims the object. For a full base it gets every field that the schema
	// has, for another one only what Prepare itself sets.
	Prepare func(version string, obj map[string]any)
	Full    bool
	// Walk is false for a base that only Pairs are tried on.
	NoWalk bool
	// Versions limits the API versions of this base.
	Versions []string
}

// Observer is the controller's view of one base.
type Observer interface {
	// Objects are the objects that the controller made for the base; written into the recording.
	Objects() Objects
	// Observe compares them with the changed object, which is in the storage version.
	Observe(stored map[string]any) Observation
}

// Objects belong to a base.
type Objects struct {
	Machines    []MachineObjects `json:"machines,omitempty"`
	MachineSets []map[string]any `json:"machineSets,omitempty"`
	Cluster     map[string]any   `json:"cluster,omitempty"`
}

// MachineObjects are one Machine and what belongs to it.
type MachineObjects struct {
	Machine         map[string]any `json:"machine"`
	BootstrapConfig map[string]any `json:"bootstrapConfig,omitempty"`
	InfraMachine    map[string]any `json:"infraMachine,omitempty"`
}

// Observation is the controller's answer.
type Observation struct {
	Outdated   []string
	Why        map[string][]string
	Propagated []string
	Error      string
}

type header struct {
	Format   int      `json:"format"`
	Provider string   `json:"provider"`
	Module   string   `json:"module"`
	Version  string   `json:"version"`
	Recorder string   `json:"recorder"`
	Sources  []string `json:"sources"`
	CRDs     string   `json:"crds"`
	Gates    string   `json:"gates"`
	Now      string   `json:"now"`
	Bases    int      `json:"bases"`
	Count    int      `json:"count"`
}

type baseLine struct {
	Base           string         `json:"base"`
	Kind           string         `json:"kind"`
	APIVersion     string         `json:"apiVersion"`
	StorageVersion string         `json:"storageVersion"`
	Observed       bool           `json:"observed"`
	Dropped        []string       `json:"dropped,omitempty"`
	Object         map[string]any `json:"object"`
	Objects
}

type caseLine struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Base   string `json:"base"`
	Patch  []Op   `json:"patch"`
	Answer answer `json:"answer"`
}

type answer struct {
	Accepted   bool                `json:"accepted"`
	Stage      string              `json:"stage,omitempty"`
	Reason     string              `json:"reason,omitempty"`
	Changed    []string            `json:"changed,omitempty"`
	Outdated   []string            `json:"outdated,omitempty"`
	Why        map[string][]string `json:"why,omitempty"`
	Propagated []string            `json:"propagated,omitempty"`
	Error      string              `json:"error,omitempty"`
}

// Main records a provider. The folder that holds the recorders is the parent of the working
// folder, `-sources` names the folders that the recorder's hash covers, `-out` the recording.
func Main(build func() (*Provider, error)) {
	out := flag.String("out", "", "file to write")
	sources := flag.String("sources", "", "comma separated folders whose sources make the recorder")
	only := flag.String("only", "", "record only this kind (for trials)")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	if err := record(build, *out, strings.Split(*sources, ","), *only); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func record(build func() (*Provider, error), out string, sources []string, only string) error {
	provider, err := build()
	if err != nil {
		return err
	}
	digest, err := hashSources("..", sources)
	if err != nil {
		return err
	}
	r := &recorder{provider: provider}
	for _, kind := range provider.Kinds {
		if only != "" && only != kind.Kind {
			continue
		}
		if err := r.kind(kind); err != nil {
			return fmt.Errorf("%s: %w", kind.Kind, err)
		}
	}
	head := header{
		Format: 1, Provider: provider.Name, Module: provider.Module, Version: provider.Version,
		Recorder: digest, Sources: sources, CRDs: provider.CRDs, Gates: provider.Gates, Now: provider.Now,
		Bases: r.bases, Count: r.count,
	}
	return writeFile(out, head, r.lines.Bytes())
}

// writeFile compresses without time or name, so equal recordings are equal bytes.
func writeFile(out string, head header, lines []byte) error {
	buffer := &bytes.Buffer{}
	compressor, err := gzip.NewWriterLevel(buffer, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := compressor.Write(append(append(encode(head), '\n'), lines...)); err != nil {
		return err
	}
	if err := compressor.Close(); err != nil {
		return err
	}
	return os.WriteFile(out, buffer.Bytes(), 0o644)
}

// hashSources covers every .go, .s, .mod and .sum file that lies directly in one of the given
// folders, in the byte order of their paths relative to root: path, NUL, length in decimal, NUL,
// content.
func hashSources(root string, sources []string) (string, error) {
	var names []string
	for _, source := range sources {
		entries, err := os.ReadDir(filepath.Join(root, source))
		if err != nil {
			return "", err
		}
		for _, entry := range entries {
			switch filepath.Ext(entry.Name()) {
			case ".go", ".s", ".mod", ".sum":
				names = append(names, source+"/"+entry.Name())
			}
		}
	}
	sort.Strings(names)
	digest := sha256.New()
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(digest, "%s\x00%d\x00", name, len(content))
		digest.Write(content)
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

type recorder struct {
	provider *Provider
	lines    bytes.Buffer
	bases    int
	count    int
}

func (r *recorder) line(value any) {
	r.lines.Write(encode(value))
	r.lines.WriteByte('\n')
}

func (r *recorder) kind(kind Kind) error {
	crd := r.provider.Server.CRD(kind.Group, kind.Kind)
	if crd == nil {
		return fmt.Errorf("no CRD of %s", kind.Group)
	}
	var versions []string
	for name, version := range crd.Versions {
		if version.Served && (len(kind.Versions) == 0 || contains(kind.Versions, name)) {
			versions = append(versions, name)
		}
	}
	sort.Strings(versions)
	for _, version := range versions {
		for _, base := range kind.Bases {
			if len(base.Versions) > 0 && !contains(base.Versions, version) {
				continue
			}
			if err := r.base(kind, crd, crd.Versions[version], base); err != nil {
				return fmt.Errorf("%s %s: %w", version, base.Name, err)
			}
		}
	}
	return nil
}

func contains(names []string, name string) bool {
	for _, known := range names {
		if known == name {
			return true
		}
	}
	return false
}

func (r *recorder) base(kind Kind, crd *CRD, version *Version, base Base) error {
	hints := merge(r.provider.Hints, kind.Hints)
	generator := &generator{hints: hints}
	obj := map[string]any{
		"apiVersion": kind.Group + "/" + version.Name,
		"kind":       kind.Kind,
		"metadata":   map[string]any{"name": "demo", "namespace": "default"},
	}
	if base.Full {
		spec := version.Schema.Properties["spec"]
		if value, ok := generator.value(&spec, []string{"spec"}, 0); ok {
			obj["spec"] = value
		}
	}
	if base.Prepare != nil {
		base.Prepare(version.Name, obj)
	}
	stored, dropped, err := r.create(obj)
	if err != nil {
		return err
	}
	metadata := stored["metadata"].(map[string]any)
	metadata["uid"], metadata["creationTimestamp"], metadata["generation"] = "uid-demo", "2025-01-01T00:00:00Z", int64(1)
	object, err := r.provider.Server.Read(stored, version.Name)
	if err != nil {
		return err
	}
	id := kind.Kind + "/" + version.Name + "/" + base.Name
	var observer Observer
	if kind.Observe != nil {
		if observer, err = kind.Observe(base.Name, stored); err != nil {
			return err
		}
	}
	line := baseLine{
		Base: id, Kind: kind.Kind, APIVersion: kind.Group + "/" + version.Name, StorageVersion: crd.Storage,
		Observed: observer != nil, Dropped: dropped, Object: object,
	}
	if observer != nil {
		line.Objects = observer.Objects()
		if observation := observer.Observe(stored); observation.Error != "" {
			return fmt.Errorf("the base itself is in error: %s", encode(observation))
		} else if len(observation.Outdated) > 0 {
			fmt.Printf("  outdated by itself: %s\n", encode(observation))
		}
	}
	r.bases++
	r.line(line)
	before := r.count
	for _, c := range cases(kind, version, base, generator, object) {
		if err := r.one(kind, id, object, stored, c, observer); err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
	}
	fmt.Printf("%-60s %6d cases, %d dropped\n", id, r.count-before, len(dropped))
	return nil
}

func cases(kind Kind, version *Version, base Base, generator *generator, object map[string]any) []Case {
	m := &mutator{generator: generator, deep: !base.Full, seen: map[string]bool{}}
	m.add("", "same", []Op{}...)
	if !base.NoWalk {
		spec := version.Schema.Properties["spec"]
		if present, ok := object["spec"]; ok {
			m.walk(&spec, []string{"spec"}, "/spec", present)
		}
	}
	m.twins(object)
	if kind.Pairs != nil {
		for _, c := range kind.Pairs(version.Name, clone(object)) {
			if applies(c.Patch, object) {
				m.cases = append(m.cases, c)
			}
		}
	}
	return m.cases
}

// twins repeats a change of init on join, where the same field is there.
func (m *mutator) twins(object map[string]any) {
	const from, to = "/initConfiguration/", "/joinConfiguration/"
	single := m.cases
	for _, c := range single {
		if len(c.Patch) != 1 || !strings.Contains(c.Patch[0].Path, from) {
			continue
		}
		twin := c.Patch[0]
		twin.Path = strings.Replace(twin.Path, from, to, 1)
		both := []Op{c.Patch[0], twin}
		if applies(both, object) {
			m.cases = append(m.cases, Case{ID: c.ID + "+join", Patch: both})
		}
	}
}

func applies(patch []Op, object map[string]any) bool {
	_, err := patched(object, patch)
	return err == nil
}

func patched(object map[string]any, patch []Op) (map[string]any, error) {
	decoded, err := jsonpatch.DecodePatch(encode(patch))
	if err != nil {
		return nil, err
	}
	raw, err := decoded.Apply(encode(object))
	if err != nil {
		return nil, err
	}
	return Decode(raw), nil
}

func (r *recorder) one(kind Kind, base string, object, stored map[string]any, c Case, observer Observer) error {
	changed, err := patched(object, c.Patch)
	if err != nil {
		return err
	}
	if c.Patch == nil {
		c.Patch = []Op{}
	}
	line := caseLine{ID: base + "#" + c.ID, Kind: kind.Kind, Base: base, Patch: c.Patch}
	result, rejection := r.provider.Server.Update(changed, stored)
	if rejection != nil {
		line.Answer = answer{Stage: rejection.Stage, Reason: rejection.Reason}
	} else {
		line.Answer = answer{Accepted: true, Changed: limit(Differences(stored, result))}
		if observer != nil {
			observation := observer.Observe(result)
			line.Answer.Outdated = observation.Outdated
			line.Answer.Why = observation.Why
			line.Answer.Propagated = limit(observation.Propagated)
			line.Answer.Error = shorten(observation.Error)
		}
	}
	r.count++
	r.line(line)
	return nil
}

func limit(paths []string) []string {
	if len(paths) > 40 {
		return append(append([]string{}, paths[:40]...), "...")
	}
	return paths
}

// create makes the base. Fields that the provider refuses are taken out, one refusal after the
// other, and named in the recording: a full base holds every field that can stand beside the others.
func (r *recorder) create(obj map[string]any) (map[string]any, []string, error) {
	var dropped []string
	for {
		stored, rejection := r.provider.Server.Create(obj)
		if rejection == nil {
			return stored, dropped, nil
		}
		var now []string
		for _, path := range rejection.Fields {
			if gone := drop(obj, path); gone != "" {
				now = append(now, gone)
			}
		}
		if len(now) == 0 || len(dropped) > 100 {
			return nil, nil, fmt.Errorf("base refused (%s): %s (dropped %v)", rejection.Stage, rejection.Reason, dropped)
		}
		fmt.Printf("  dropped %v: %s\n", now, rejection.Reason)
		dropped = append(dropped, now...)
	}
}

// drop removes the deepest existing part of a field path, never a whole spec.
func drop(obj map[string]any, path string) string {
	steps := split(path)
	var current any = obj
	for i, step := range steps {
		fields, isMap := current.(map[string]any)
		if isMap {
			next, ok := fields[step]
			if !ok {
				return ""
			}
			_, nextMap := next.(map[string]any)
			_, nextList := next.([]any)
			if i > 0 && (i == len(steps)-1 || !nextMap && !nextList || missing(next, steps[i+1])) {
				delete(fields, step)
				return strings.Join(steps[:i+1], ".")
			}
			current = next
			continue
		}
		items, isList := current.([]any)
		index, err := strconv.Atoi(step)
		if !isList || err != nil || index >= len(items) {
			return ""
		}
		current = items[index]
	}
	return ""
}

func missing(value any, step string) bool {
	switch typed := value.(type) {
	case map[string]any:
		_, ok := typed[step]
		return !ok
	case []any:
		index, err := strconv.Atoi(step)
		return err != nil || index >= len(typed)
	}
	return true
}

func split(path string) []string {
	var steps []string
	for _, part := range strings.Split(path, ".") {
		for {
			open := strings.IndexByte(part, '[')
			if open < 0 {
				break
			}
			if open > 0 {
				steps = append(steps, part[:open])
			}
			end := strings.IndexByte(part, ']')
			if end < open {
				break
			}
			steps = append(steps, part[open+1:end])
			part = part[end+1:]
		}
		if part != "" {
			steps = append(steps, part)
		}
	}
	return steps
}
