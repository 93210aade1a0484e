{{- /* A value as text. A number of a values file is a float: without help 1000000 would become 1e+06. */ -}}
{{- define "driftless.text" -}}
{{- if and (kindIs "float64" .) (eq . (float64 (int64 .))) }}
{{- int64 . }}
{{- else }}
{{- . }}
{{- end }}
{{- end }}

{{- /* A map whose values have to be texts: numbers and booleans are, what is null is not there. */ -}}
{{- define "driftless.texts" -}}
{{- $texts := dict }}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{- $_ := set $texts $key (include "driftless.text" $value) }}
{{- end }}
{{- end }}
{{- toYaml $texts }}
{{- end }}

{{- /* What selects: a workload can never change it, so it does not depend on anything but the release. */ -}}
{{- define "driftless.selectorLabels" -}}
app.kubernetes.io/component: {{ include "driftless.component" . | quote }}
driftless.io/release: {{ .Release.Name | quote }}
{{- end }}

{{- /* By these others find the pods. Beside an Argo CD they are those of its own controller: its NetworkPolicies let nobody else to Redis and
       the repo-server, `argocd admin cluster` counts them, its Service of metrics shows them. */ -}}
{{- define "driftless.nameLabels" -}}
{{- $name := default (ternary "argocd-application-controller" .Chart.Name .Values.dropIn) .Values.nameOverride -}}
app.kubernetes.io/name: {{ .Values.controller.shadow.enabled | ternary (printf "%s-shadow" (default .Chart.Name .Values.nameOverride)) $name | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ and .Values.dropIn (not .Values.controller.shadow.enabled) | ternary (default .Release.Name .Values.dropInInstance) .Release.Name | quote }}
{{- end }}

{{- /* Labels of an object: (dict "root" $ "more" …). What selects and names comes first, then the object's own, those for all, and the chart's. */ -}}
{{- define "driftless.labelsWith" -}}
{{- $root := .root }}
{{- $labels := merge (include "driftless.selectorLabels" $root | fromYaml) (include "driftless.nameLabels" $root | fromYaml) }}
{{- $standard := dict
      "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
      "app.kubernetes.io/version" $root.Chart.AppVersion
      "app.kubernetes.io/part-of" "argocd"
      "app.kubernetes.io/managed-by" $root.Release.Service }}
{{- range list .more $root.Values.global.additionalLabels $standard }}
{{- $labels = merge $labels (include "driftless.texts" . | fromYaml) }}
{{- end }}
{{- toYaml $labels }}
{{- end }}

{{- define "driftless.labels" -}}
{{- include "driftless.labelsWith" (dict "root" . "more" dict) }}
{{- end }}

{{- /* The field `annotations`, where there are any. */ -}}
{{- define "driftless.annotations" -}}
{{- with include "driftless.texts" (default dict .) | fromYaml }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
