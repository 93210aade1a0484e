{{- /* A value as a string. A number of a values file is a float: printed directly, 1000000 would
       become 1e+06. */ -}}
{{- define "driftless.text" -}}
{{- if and (kindIs "float64" .) (eq . (float64 (int64 .))) }}
{{- int64 . }}
{{- else }}
{{- . }}
{{- end }}
{{- end }}

{{- /* A map with string values: numbers and booleans are converted, nulls are omitted. */ -}}
{{- define "driftless.texts" -}}
{{- $texts := dict }}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{- $_ := set $texts $key (include "driftless.text" $value) }}
{{- end }}
{{- end }}
{{- toYaml $texts }}
{{- end }}

{{- /* Selector labels. A workload can never change them, so they depend on the release only. */ -}}
{{- define "driftless.selectorLabels" -}}
app.kubernetes.io/component: {{ include "driftless.component" . | quote }}
driftless.io/release: {{ .Release.Name | quote }}
{{- end }}

{{- /* Labels by which other programs find the pods. With dropIn they are those of Argo CD's own
       controller: only such pods are admitted to Redis and the repo-server by its NetworkPolicies,
       counted by `argocd admin cluster`, and selected by its metrics Service. */ -}}
{{- define "driftless.nameLabels" -}}
{{- $name := default (ternary "argocd-application-controller" .Chart.Name .Values.dropIn) .Values.nameOverride -}}
app.kubernetes.io/name: {{ .Values.controller.shadow.enabled | ternary (printf "%s-shadow" (default .Chart.Name .Values.nameOverride)) $name | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ and .Values.dropIn (not .Values.controller.shadow.enabled) | ternary (default .Release.Name .Values.dropInInstance) .Release.Name | quote }}
{{- end }}

{{- /* Labels of an object: (dict "root" $ "more" …). Precedence: selector and name labels, labels
       of the object, global labels, labels of the chart. */ -}}
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

{{- /* The field `annotations`, if there are any. */ -}}
{{- define "driftless.annotations" -}}
{{- with include "driftless.texts" (default dict .) | fromYaml }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
