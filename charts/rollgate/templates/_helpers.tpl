{{- define "rollgate.labels" -}}
app.kubernetes.io/name: rollgate
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "rollgate.selector" -}}
{app.kubernetes.io/name: rollgate, app.kubernetes.io/instance: {{ .Release.Name }}}
{{- end }}

{{- define "rollgate.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "rollgate.secret" -}}
{{ .Values.certificates.secret | default (printf "%s-tls" .Release.Name) }}
{{- end }}

{{/* The policy as `--policy` takes it. */}}
{{- define "rollgate.policy" -}}
{{ if .Values.policy.text }}configmap/{{ .Release.Namespace }}/{{ .Release.Name }}-policy{{ else }}{{ .Values.policy.from }}{{ end }}
{{- end }}

{{/* A list as `"a", "b"`, which is the same in YAML and in JSON. */}}
{{- define "rollgate.list" -}}
{{- $words := list -}}
{{- range . }}{{- $words = append $words (quote .) }}{{- end -}}
{{ join ", " $words }}
{{- end }}

{{/* Lines of a file that are no comments. */}}
{{- define "rollgate.lines" -}}
{{- $kept := list -}}
{{- range (splitList "\n" .) }}{{- if and . (not (hasPrefix "#" .)) }}{{- $kept = append $kept . }}{{- end }}{{- end -}}
{{ toJson $kept }}
{{- end }}

{{/* Where the API server asks. */}}
{{- define "rollgate.client" -}}
{{- $client := dict -}}
{{- if .Values.webhook.url -}}
{{- $client = set $client "url" .Values.webhook.url -}}
{{- else -}}
{{- $client = set $client "service" (dict "name" .Release.Name "namespace" .Release.Namespace "path" "/validate" "port" 443) -}}
{{- end -}}
{{- if and (eq .Values.certificates.from "secret") .Values.certificates.authority -}}
{{- $client = set $client "caBundle" (b64enc .Values.certificates.authority) -}}
{{- end -}}
{{ toJson $client }}
{{- end }}

{{/* A file of this chart with its words between @ filled in; `rollgate serve manifests` fills in the same ones. */}}
{{- define "rollgate.file" -}}
{{- $ := .root -}}
{{- $controllers := list -}}
{{- range (include "rollgate.lines" ($.Files.Get "files/controllers.txt") | fromJsonArray) -}}
{{- $controllers = append $controllers (printf "'system:serviceaccount:%s'" .) -}}
{{- end -}}
{{- $users := list -}}
{{- range $.Values.webhook.skip }}{{- $users = append $users (printf "'%s'" .) }}{{- end -}}
{{- $policy := splitList "/" (include "rollgate.policy" $) -}}
{{- $words := dict
  "GROUPS" (include "rollgate.list" (include "rollgate.lines" ($.Files.Get "files/groups.txt") | fromJsonArray))
  "CONTROLLERS" (join ", " $controllers)
  "USERS" (join ", " $users)
  "POLICYNAME" (last $policy)
  "SECRET" (include "rollgate.secret" $)
  "CONFIGURATION" $.Release.Name
  "CLIENT" (include "rollgate.client" $)
  "FAILURE" $.Values.webhook.failurePolicy
  "TIMEOUT" (toString $.Values.webhook.timeoutSeconds)
  "NAMESPACES" (toJson $.Values.webhook.namespaceSelector)
  "LABEL" $.Values.webhook.dataLabel
  "ACCOUNT" (printf "%s:%s" $.Release.Namespace $.Release.Name)
-}}
{{- $text := $.Files.Get (printf "files/%s.yaml" .name) -}}
{{- range $word, $value := $words }}{{- $text = $text | replace (printf "@%s@" $word) $value }}{{- end -}}
{{ $text }}
{{- end }}
