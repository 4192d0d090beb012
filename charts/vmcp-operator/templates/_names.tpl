{{- define "vmcp-operator.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "vmcp-operator.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vmcp-operator.labels" -}}
{{ include "vmcp-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* Takes (list root image). */ -}}
{{- define "vmcp-operator.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- with $root.Values.images.registry }}{{ . }}/{{ end -}}
{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end }}

{{- define "vmcp-operator.webhookScope" -}}
sideEffects: None
admissionReviewVersions: [v1]
{{- with .Values.namespaces }}
namespaceSelector:
  matchExpressions:
    - { key: kubernetes.io/metadata.name, operator: In, values: {{ toJson . }} }
{{- end }}
{{- end }}
