// Command templates writes down what Go makes of templates as the patches of a ClusterClass hold them: text/template with
// the functions of sprig that Cluster API gives it (renderValueTemplate in
// core/reconcilers/topology/cluster/patches/inline/json_patch_generator.go, v1.14.2), and the value that comes out as YAML.
//
// The first line holds the variables; then a line a template: {"t": template, "text": ..., "value": ...}, or "error": true
// where Go refuses it. Functions are tried with every kind of value in every place, whole templates are written by hand.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

const variables = `{"image": "registry.local/a/b:v1.2", "empty": "", "spaced": "  two words ", "lines": "one\ntwo\n", "quoted": "a \"b\" \\c\t<&>",
 "digits": "012", "fraction": "1.5", "word": "true", "wide": "grüße", "version": "v1.31.4", "pre": "v1.32.0-rc.1+x", "encoded": "aGVsbG8=",
 "count": 3, "zero": 0, "big": 1234567, "huge": 12345678901234567890, "less": -2, "half": 2.5, "on": true, "off": false,
 "list": ["x", "y", "a/b"], "numbers": [1, 2.5], "none": [], "map": {"k": "v", "deep": {"n": 1, "s": ""}}, "bare": {},
 "builtin": {"cluster": {"name": "demo", "topology": {"version": "v1.31.4", "class": "c"}},
  "controlPlane": {"version": "v1.31.4", "replicas": 3, "metadata": {"labels": {"a.b/c": "d"}}}}}`

// Functions by the number of values that they are tried with.
var (
	one = strings.Fields("trim upper lower nospace b64enc b64dec quote squote toString toJson print int int64 add1 not empty " +
		"default coalesce len first last list dict and or eq join html js title untitle sha256sum keys toYaml atoi float64 kindOf")
	two = strings.Fields("trimPrefix trimSuffix trimAll contains hasPrefix hasSuffix join splitList default coalesce eq ne lt le gt ge " +
		"and or add sub mul div mod max min index hasKey get has semverCompare list dict print quote printf indent nindent ternary trunc")
	three = strings.Fields("replace ternary eq index printf coalesce default and or add max hasKey substr list")
)

// Whole templates.
var whole = []string{
	`{{ .image }}`, `{{ .count }}`, `{{ .huge }}`, `{{ .half }}`, `{{ }}`, `{{ .missing }}`, `{{ .missing.deeper }}`, `{{ .image.deeper }}`,
	`{{ .map }}`, `{{ .list }}`, `{{ .map.deep.n }}`, `{{ $.map.k }}`, `{{ . | len }}`, `{{ .builtin.controlPlane.metadata.labels }}`,
	`{{ index .builtin.controlPlane.metadata.labels "a.b/c" }}`, `{{ index .list 5 }}`, `{{ index .map "none" }}`, `{{ (index .list 0) }}`,
	`{{ if .on }}true{{ end }}`, `{{ if .off }}true{{ else }}false{{ end }}`, `{{ if .missing }}a{{ else if .count }}b{{ else }}c{{ end }}`,
	`{{ if and .on (not .off) (eq .version "v1.31.4") }}yes{{ end }}`, `{{ if or .off .empty .none .bare .zero }}yes{{ else }}no{{ end }}`,
	`{{ if eq .image "a" "b" "registry.local/a/b:v1.2" }}yes{{ end }}`, `{{ if ne .missing "x" }}yes{{ end }}`, `{{ if eq .missing nil }}yes{{ end }}`,
	`{{ if gt .count 2.0 }}yes{{ end }}`, `{{ if gt .count 2 }}yes{{ end }}`, `{{ if lt (int .count) 4 }}yes{{ end }}`, `{{ if eq .count 3.0 }}yes{{ end }}`,
	`{{ range .list }}- {{ . }}` + "\n" + `{{ end }}`, `{{ range $i, $v := .list }}{{ $i }}={{ $v }};{{ end }}`, `{{ range $k, $v := .map }}{{ $k }};{{ end }}`,
	`{{ range .none }}x{{ else }}none{{ end }}`, `{{ range .missing }}x{{ else }}none{{ end }}`, `{{ range .image }}x{{ end }}`, `{{ range 3 }}x{{ . }}{{ end }}`,
	`{{ range .count }}x{{ end }}`, `{{ range $i := .list }}{{ if eq $i "y" }}{{ break }}{{ end }}{{ $i }}{{ end }}`, `{{ range .list }}{{ if eq . "x" }}{{ continue }}{{ end }}{{ . }}{{ end }}`,
	`{{ with .map.k }}{{ . }}{{ end }}`, `{{ with .missing }}a{{ else }}b{{ end }}`, `{{ with $x := .count }}{{ $x }}{{ end }}`, `{{ with .empty }}a{{ else with .image }}{{ . }}{{ end }}`,
	`{{ $a := 1 }}{{ if true }}{{ $a = 2 }}{{ end }}{{ $a }}`, `{{ $a := 1 }}{{ if true }}{{ $a := 2 }}{{ end }}{{ $a }}`, `{{ $a }}`,
	"a\n  {{- if .on }}\n b {{- end }}\n{{- /* c */ -}}\n d", "{{- .image -}}", "{{-.image}}", "{{ .image -}} x", "a {{- 3 }}", `{{/* a */}}b`, `{{ /* a */ }}b`,
	"files:\n{{- range .list }}\n- path: {{ . | quote }}\n  content: |\n    {{ $.image }}\n{{- end }}\n", "{{ .lines | indent 4 }}", "{{ .lines | nindent 2 | trim }}",
	`{{ printf "%s-%d" .image 3 }}`, `{{ printf "%d" .count }}`, `{{ printf "%v %v %v" .count .on }}`, `{{ printf "%q" .quoted }}`, `{{ printf "%05d" 7 }}`, `{{ printf "%.1f" .half }}`,
	`{{ printf "%s" }}`, `{{ printf "a" "b" }}`, `{{ printf "%s" .list }}`, `{{ printf "%t" .on }}`, `{{ printf "100%%" }}`, `{{ "a" | printf "%s-%s" "b" }}`,
	`{{ semverCompare ">= v1.31.0" .version }}`, `{{ semverCompare "<1.31.0" .version }}`, `{{ semverCompare "^1.31.0" .version }}`, `{{ semverCompare "~1.31" .version }}`,
	`{{ semverCompare ">=1.32.0" .pre }}`, `{{ semverCompare ">=1.32.0-0" .pre }}`, `{{ semverCompare "1.31.x" .version }}`, `{{ semverCompare ">=1.30, <1.32" .version }}`,
	`{{ semverCompare ">=1.30 || <1.2" .version }}`, `{{ semverCompare "!=1.31.4" .version }}`, `{{ semverCompare "=1.31.4" .version }}`, `{{ semverCompare "1.31" .version }}`, `{{ semverCompare ">1.31" .version }}`,
	`{{ semverCompare "<=1.31" .version }}`, `{{ semverCompare "1.30 - 1.32" .version }}`, `{{ semverCompare "*" .version }}`, `{{ semverCompare ">=1.31.4" .image }}`,
	`{{ trimPrefix "v" .version }}`, `{{ .version | trimPrefix "v" | quote }}`, `{{ (semver .version).Minor }}`, `{{ regexMatch "^a" .image }}`, `{{ .version | replace "." "-" }}`,
	`{{ ternary "a" "b" .on }}`, `{{ .on | ternary "a" "b" }}`, `{{ ternary "a" "b" .count }}`, `{{ default "d" .missing }}`, `{{ .missing | default .image }}`, `{{ .zero | default 7 }}`, `{{ .off | default true }}`,
	`{{ toJson .map }}`, `{{ .quoted | toJson }}`, `{{ toJson .huge }}`, `{{ toJson .half }}`, `{{ toJson .wide }}`, `{{ toJson .missing }}`, `{{ list 1 "a" .on | toJson }}`, `{{ dict "b" 1 "a" .list | toJson }}`,
	`{{ dict "b" 1 }}`, `{{ list }}`, `{{ (list 1 2) | join "," }}`, `{{ splitList "/" .image | last }}`, `{{ splitList ":" .image | toJson }}`, `{{ "x" }}`, "{{ `x\\n` }}", `{{ "x\n\u00e9" }}`, `{{ 'a' }}`, `{{ 1_000 }}`,
	`{{ 0x10 }}`, `{{ 1.0 }}`, `{{ 1e3 }}`, `{{ -1 }}`, `{{ 1.5 }}`, `{{ true }}`, `{{ nil }}`, `{{ "a" "b" }}`, `{{ .image "a" }}`, `{{ upper }}`, `{{ nosuch .image }}`, `{{ .image | upper | lower | trimSuffix "2" }}`,
	`{{ if }}a{{ end }}`, `{{ if .on }}a`, `{{ end }}`, `{{ else }}`, `{{ .image`, `}} {{ .image }}`, `{{ }}`, `{{ .image }} {{`, `{{ define "x" }}a{{ end }}{{ template "x" }}`, `{{ block "x" . }}a{{ end }}`,
	`{{ and .on .image }}`, `{{ or .empty .image }}`, `{{ and }}`, `{{ not .missing }}`, `{{ and .off .image.deeper }}`, `{{ or .on .image.deeper }}`, `{{ len .missing }}`, `{{ len .image }}`, `{{ len .count }}`,
	`{{ add .count 1 }}`, `{{ add (int .count) 1 | int }}`, `{{ sub 1 .big }}`, `{{ div 7 2 }}`, `{{ div 1 0 }}`, `{{ mod -7 2 }}`, `{{ mul .half 2 }}`, `{{ max 1 .count }}`, `{{ int .fraction }}`, `{{ int .digits }}`, `{{ int .word }}`, `{{ int .on }}`, `{{ int .huge }}`,
	`{{ .digits }}`, `{{ .word }}`, `{{ .fraction }}`, `{{ .wide | upper }}`, `{{ .wide | len }}`, `{{ .wide | quote }}`, `{{ .wide | b64enc }}`, `[{{ .image }}, {{ .count }}]`, `{a: {{ .image | quote }}}`, "- {{ .lines }}", `{{ .builtin.cluster.name }}-{{ .builtin.controlPlane.replicas }}`,
	`{{ if semverCompare ">= v1.25" .builtin.controlPlane.version }}new{{ else }}old{{ end }}`, `{{ with .builtin.controlPlane }}{{ .version }}{{ end }}`, `{{ $v := .builtin.controlPlane.version }}{{ $v | trimPrefix "v" }}`,
}

func main() {
	data := map[string]any{}
	if err := json.Unmarshal([]byte(variables), &data); err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	write(out, json.RawMessage(variables))
	names := strings.Fields(".image .empty .spaced .lines .quoted .digits .fraction .word .wide .version .pre .encoded .count .zero .big .huge .less .half " +
		".on .off .missing .list .numbers .none .map .bare 1 -3 2.5 true nil \"x\" \"k\" \",\"")
	for _, text := range whole {
		record(out, text, data)
	}
	for _, name := range one {
		for _, first := range names {
			record(out, fmt.Sprintf("{{ %s %s }}", name, first), data)
		}
	}
	for _, name := range two {
		for _, first := range names {
			for _, second := range names {
				record(out, fmt.Sprintf("{{ %s %s %s }}", name, first, second), data)
			}
		}
	}
	few := strings.Fields(".image .empty .count .half .on .off .missing .list .map .version 1 \"x\" \"k\" \"%v-%v\"")
	for _, name := range three {
		for _, first := range few {
			for _, second := range few {
				for _, third := range few {
					record(out, fmt.Sprintf("{{ %s %s %s %s }}", name, first, second, third), data)
				}
			}
		}
	}
}

type outcome struct {
	Template string          `json:"t"`
	Error    bool            `json:"error,omitempty"`
	Text     string          `json:"text"`
	Value    json.RawMessage `json:"value,omitempty"`
}

func record(out *json.Encoder, text string, data map[string]any) {
	result := outcome{Template: text}
	var buffer bytes.Buffer
	parsed, err := template.New("tpl").Funcs(sprig.HermeticTxtFuncMap()).Parse(text)
	if err == nil {
		err = parsed.Execute(&buffer, data)
	}
	if err != nil {
		result.Error = true
	} else {
		result.Text = buffer.String()
		if value, err := yaml.YAMLToJSON(buffer.Bytes()); err == nil {
			result.Value = value
		}
	}
	write(out, result)
}

func write(out *json.Encoder, value any) {
	if err := out.Encode(value); err != nil {
		panic(err)
	}
}
