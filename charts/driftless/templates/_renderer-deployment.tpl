{{- /* The pod of renderer.mode: deployment. */ -}}
{{- define "driftless.rendererPod" -}}
{{- $controller := .Values.controller }}
{{- $deployment := .Values.renderer.deployment -}}
metadata:
  labels:
    {{- $labels := include "driftless.rendererSelector" . | fromYaml }}
    {{- $_ := set $labels "app.kubernetes.io/name" "driftless-renderer" }}
    {{- $_ := set $labels "app.kubernetes.io/instance" .Release.Name }}
    {{- $_ := set $labels "app.kubernetes.io/part-of" "argocd" }}
    {{- range list $deployment.podLabels .Values.global.additionalLabels }}
    {{- $labels = merge $labels (include "driftless.texts" . | fromYaml) }}
    {{- end }}
    {{- toYaml $labels | nindent 4 }}
  {{- with include "driftless.annotations" $deployment.podAnnotations | trim }}{{ . | nindent 2 }}{{ end }}
spec:
  serviceAccountName: {{ include "driftless.rendererName" . | quote }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- if kindIs "bool" $deployment.hostUsers }}
  hostUsers: {{ $deployment.hostUsers }}
  {{- end }}
  {{- with default .Values.global.imagePullSecrets $controller.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- $context := include "driftless.rendererSecurityContext" . | fromYaml }}
    {{- $pod := dict "runAsNonRoot" true }}
    {{- range $field := list "runAsUser" "runAsGroup" "seccompProfile" }}
    {{- if hasKey $context $field }}
    {{- $_ := set $pod $field (get $context $field) }}
    {{- end }}
    {{- end }}
    {{- if hasKey $context "runAsGroup" }}
    {{- $_ := set $pod "fsGroup" $context.runAsGroup }}
    {{- end }}
    {{- toYaml $pod | nindent 4 }}
  {{- with default .Values.global.priorityClassName $deployment.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- with default .Values.global.runtimeClassName $deployment.runtimeClassName }}
  runtimeClassName: {{ . | quote }}
  {{- end }}
  {{- with default .Values.global.nodeSelector $deployment.nodeSelector }}
  nodeSelector:
    {{- include "driftless.texts" . | nindent 4 }}
  {{- end }}
  {{- with default .Values.global.tolerations $deployment.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $deployment.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "driftless.rendererSelector" $ | nindent 10 }}
    {{- end }}
  {{- with $deployment.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - {{ include "driftless.rendererContainer" . | nindent 6 | trim }}
  volumes:
    {{- include "driftless.rendererStaging" . | nindent 4 }}
    - name: renderer-server
      secret:
        secretName: {{ default (printf "%s-server" (include "driftless.rendererName" .)) $deployment.tls.serverSecret | quote }}
    {{- with $deployment.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- /* Certificates of both sides: the existing ones as long as their names are valid, or else new
       ones of a CA whose key is not kept. */ -}}
{{- define "driftless.rendererCertificates" -}}
{{- $name := include "driftless.rendererName" . }}
{{- $namespace := include "driftless.namespace" . }}
{{- $tls := .Values.renderer.deployment.tls }}
{{- $host := printf "%s.%s.svc" $name $namespace }}
{{- $secrets := list }}
{{- if not $tls.serverSecret }}
{{- $server := lookup "v1" "Secret" $namespace (printf "%s-server" $name) | default dict }}
{{- $client := lookup "v1" "Secret" $namespace (printf "%s-client" $name) | default dict }}
{{- $kept := and $server.data $client.data }}
{{- range list $server $client }}
{{- $kept = and $kept (eq (dig "metadata" "annotations" "driftless.io/certificate-names" "" .) $host) }}
{{- end }}
{{- if $kept }}
{{- $secrets = list (dict "name" (printf "%s-server" $name) "data" $server.data) (dict "name" (printf "%s-client" $name) "data" $client.data) }}
{{- else }}
{{- $days := int $tls.validityDays }}
{{- $authority := genCA (printf "%s-authority" $name) $days }}
{{- $serving := genSignedCert $name nil (list $host (printf "%s.%s" $name $namespace) $name "localhost") $days $authority }}
{{- $asking := genSignedCert (printf "%s-client" $name) nil (list (printf "%s-client" $name)) $days $authority }}
{{- range $suffix, $pair := dict "server" $serving "client" $asking }}
{{- $data := dict "tls.crt" ($pair.Cert | b64enc) "tls.key" ($pair.Key | b64enc) "ca.crt" ($authority.Cert | b64enc) }}
{{- $secrets = append $secrets (dict "name" (printf "%s-%s" $name $suffix) "data" $data) }}
{{- end }}
{{- end }}
{{- end }}
{{- dict "names" $host "secrets" $secrets | toYaml }}
{{- end }}
