package written

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"rollgate.dev/oracle/walker"
)

// maker makes objects anew.
type maker struct {
	lines []newLine
	seen  map[string]bool
}

// newLine is a case without a base: an object that nobody has made before.
type newLine struct {
	ID     string         `json:"id"`
	Kind   string         `json:"kind"`
	New    map[string]any `json:"new"`
	Answer newAnswer      `json:"answer"`
}

type newAnswer struct {
	Accepted bool   `json:"accepted"`
	Stage    string `json:"stage,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// make makes the objects of a line anew, each once.
func (m *maker) make(server *walker.Server, one line) {
	group, version, _ := strings.Cut(one.APIVersion, "/")
	crd := server.CRD(group, one.Kind)
	if crd == nil || crd.Versions[version] == nil || !crd.Versions[version].Served {
		return
	}
	for _, object := range []map[string]any{one.Old, one.New} {
		if object == nil {
			continue
		}
		object = bare(one, object)
		key := one.Kind + fmt.Sprint(object)
		if m.seen[key] {
			continue
		}
		m.seen[key] = true
		line := newLine{Kind: one.Kind, New: walker.ToMap(object), Answer: newAnswer{Accepted: true}}
		line.ID = fmt.Sprintf("%s/%s#new:%s-%d", one.Kind, version, one.Test, len(m.lines)+1)
		if _, rejection := server.Create(object); rejection != nil {
			line.Answer = newAnswer{Stage: rejection.Stage, Reason: rejection.Reason}
		}
		m.lines = append(m.lines, line)
	}
}

// bare is an object as somebody writes it who makes it.
func bare(one line, object map[string]any) map[string]any {
	object = walker.ToMap(object)
	object["apiVersion"], object["kind"] = one.APIVersion, one.Kind
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	object["metadata"] = metadata
	for _, gone := range []string{"creationTimestamp", "generateName", "generation", "managedFields", "ownerReferences", "resourceVersion", "uid"} {
		delete(metadata, gone)
	}
	for key, value := range map[string]string{"name": "demo", "namespace": "default"} {
		if said, _ := metadata[key].(string); said == "" {
			metadata[key] = value
		}
	}
	delete(object, "status")
	return object
}

// write adds the new objects to a recording.
func (m *maker) write(name string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	lines, err := io.ReadAll(reader)
	if err != nil {
		return err
	}
	first, rest, _ := bytes.Cut(lines, []byte("\n"))
	header := walker.Decode(first)
	count, _ := header["count"].(int64)
	header["count"] = count + int64(len(m.lines))
	packed := &bytes.Buffer{}
	compressor, err := gzip.NewWriterLevel(packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(compressor)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(header); err != nil {
		return err
	}
	if _, err := compressor.Write(rest); err != nil {
		return err
	}
	for _, line := range m.lines {
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	if err := compressor.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, packed.Bytes(), 0o644)
}
