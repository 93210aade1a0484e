{{- /* The name of everything; also that of the workload, which the program is told: it reads its replica count while it runs. */ -}}
{{- define "driftless.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "driftless.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "driftless.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "driftless.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "driftless.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: application-controller
app.kubernetes.io/part-of: argocd
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.global.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "driftless.serviceAccountName" -}}
{{- $account := .Values.controller.serviceAccount }}
{{- if $account.create }}
{{- default (include "driftless.fullname" .) $account.name }}
{{- else }}
{{- required "controller.serviceAccount.name: name the ServiceAccount to use, or let the chart create one (controller.serviceAccount.create)" $account.name }}
{{- end }}
{{- end }}

{{- define "driftless.image" -}}
{{- $global := .Values.global.image }}
{{- $own := .Values.controller.image }}
{{- $repository := default $global.repository $own.repository }}
{{- if and $global.digest (not $own.tag) (not $own.repository) }}
{{- printf "%s@%s" $repository $global.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default $global.tag $own.tag | default .Chart.AppVersion | toString) }}
{{- end }}
{{- end }}

{{- define "driftless.kind" -}}
{{- ternary "Deployment" "StatefulSet" .Values.controller.dynamicClusterDistribution }}
{{- end }}

{{- /* Argo CD's two ConfigMaps come from this chart? */ -}}
{{- define "driftless.createParams" -}}
{{- if and .Values.configs.params.create (not .Values.dropIn) }}true{{ end }}
{{- end }}
{{- define "driftless.createCm" -}}
{{- if and .Values.configs.cm.create (not .Values.dropIn) }}true{{ end }}
{{- end }}

{{- /* The content of such a ConfigMap: its keys without the two that steer the chart, all as text. */ -}}
{{- define "driftless.configData" -}}
{{- range $key, $value := omit . "create" "annotations" }}
{{ $key }}: {{ include "driftless.text" $value | quote }}
{{- end }}
{{- end }}

{{- /* A number of a values file is a float: without help 1000000 would become 1e+06. */ -}}
{{- define "driftless.text" -}}
{{- if and (kindIs "float64" .) (eq . (float64 (int64 .))) }}
{{- int64 . }}
{{- else }}
{{- . }}
{{- end }}
{{- end }}

{{- /* What pods read from ConfigMaps only when they start. Everything else is watched, and must not roll them. */ -}}
{{- define "driftless.startConfiguration" -}}
{{- $config := dict }}
{{- if include "driftless.createParams" . }}
{{- $_ := set $config "params" (omit .Values.configs.params "create" "annotations") }}
{{- end }}
{{- if include "driftless.createCm" . }}
{{- range include "driftless.environmentKeysOfCm" . | fromJsonArray }}
{{- if hasKey $.Values.configs.cm . }}
{{- $_ := set $config . (get $.Values.configs.cm .) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $config }}
{{- end }}

{{- define "driftless.inClusterEnabled" -}}
{{- $said := get .Values.configs.cm "cluster.inClusterEnabled" }}
{{- if or .Values.dropIn (ne (toString $said) "false") }}true{{ end }}
{{- end }}

{{- /* The namespaces of namespaced mode. */ -}}
{{- define "driftless.managedNamespaces" -}}
{{- $own := include "driftless.namespace" . }}
{{- default (list $own) .Values.rbac.namespaces | uniq | toJson }}
{{- end }}

{{- /* Further namespaces with Applications, as configured; globs and /regular expressions/ among them. */ -}}
{{- define "driftless.applicationNamespaces" -}}
{{- $said := get .Values.configs.params "application.namespaces" | default "" | toString }}
{{- $found := list }}
{{- range splitList "," $said }}
{{- with trim . }}
{{- $found = append $found . }}
{{- end }}
{{- end }}
{{- $found | uniq | toJson }}
{{- end }}

{{- /* Mistakes that the schema cannot see. */ -}}
{{- define "driftless.validate" -}}
{{- if .Values.dropIn }}
{{- range $name := list "params" "cm" }}
{{- $set := keys (omit (get $.Values.configs $name) "create" "annotations") | sortAlpha }}
{{- if $set }}
{{- fail (printf "dropIn: true leaves the ConfigMaps to the Argo CD that is there, so configs.%s has no effect (%s): set it there, or by controller.extraArgs or controller.env" $name (join ", " $set)) }}
{{- end }}
{{- end }}
{{- if .Values.configs.secret.createSecret }}
{{- fail "dropIn: true leaves argocd-secret to the Argo CD that is there: take configs.secret.createSecret away" }}
{{- end }}
{{- if or .Values.configs.ssh.knownHosts .Values.configs.ssh.extraHosts .Values.configs.tls.certificates }}
{{- fail "dropIn: true leaves argocd-ssh-known-hosts-cm and argocd-tls-certs-cm to the Argo CD that is there: take configs.ssh and configs.tls away" }}
{{- end }}
{{- end }}
{{- if and .Values.rbac.namespaced (kindIs "bool" .Values.rbac.clusterWrite | ternary .Values.rbac.clusterWrite true) }}
{{- fail "rbac.namespaced: true means no rights outside of rbac.namespaces: take rbac.clusterWrite away" }}
{{- end }}
{{- if and .Values.rbac.namespaced .Values.rbac.extraClusterRules }}
{{- fail "rbac.namespaced: true means no ClusterRole: take rbac.extraClusterRules away" }}
{{- end }}
{{- if and .Values.rbac.namespaced (include "driftless.applicationNamespaces" . | fromJsonArray) }}
{{- fail "Applications in further namespaces (application.namespaces) are watched in the whole cluster: that cannot be with rbac.namespaced: true" }}
{{- end }}
{{- if and .Values.rbac.namespaces (not .Values.rbac.namespaced) }}
{{- fail "rbac.namespaces counts with rbac.namespaced: true only; the namespaces that may be changed otherwise are rbac.writeNamespaces" }}
{{- end }}
{{- $scaling := .Values.controller.autoscaling }}
{{- if and $scaling.enabled (gt (int $scaling.minReplicas) (int $scaling.maxReplicas)) }}
{{- fail (printf "controller.autoscaling: minReplicas (%v) is more than maxReplicas (%v)" $scaling.minReplicas $scaling.maxReplicas) }}
{{- end }}
{{- if and (hasKey .Values.configs.params "controller.sharding.algorithm") (not (has (get .Values.configs.params "controller.sharding.algorithm") (list "legacy" "round-robin" "consistent-hashing"))) }}
{{- fail (printf "configs.params.\"controller.sharding.algorithm\" is %q: it is one of legacy, round-robin, consistent-hashing" (get .Values.configs.params "controller.sharding.algorithm")) }}
{{- end }}
{{- range .Values.controller.env }}
{{- if and (eq .name "ARGOCD_CONTROLLER_REPLICAS") }}
{{- fail "controller.env: ARGOCD_CONTROLLER_REPLICAS would fix the number of shards; without it the controller follows the replicas of its workload while it runs" }}
{{- end }}
{{- end }}
{{- include "driftless.guard" . }}
{{- end }}

{{- /* Beside an Argo CD whose own controller still has replicas, nothing is installed. Sees the cluster at install and upgrade only. */ -}}
{{- define "driftless.guard" -}}
{{- if and .Values.dropIn .Values.dropInGuard }}
{{- $namespace := include "driftless.namespace" . }}
{{- range $kind := list "StatefulSet" "Deployment" }}
{{- range $item := (lookup "apps/v1" $kind $namespace "").items }}
{{- $labels := $item.metadata.labels | default dict }}
{{- $controller := eq (get $labels "app.kubernetes.io/component") "application-controller" }}
{{- $own := and (eq (get $labels "app.kubernetes.io/instance") $.Release.Name) (eq $item.metadata.name (include "driftless.fullname" $)) }}
{{- $replicas := ternary 1 $item.spec.replicas (kindIs "invalid" $item.spec.replicas) }}
{{- if and $controller (not $own) (gt (int $replicas) 0) }}
{{- fail (printf "%s %s/%s is an application controller with %v replicas, and two of them would fight over the same Applications. First: kubectl -n %s scale %s/%s --replicas=0 (or set dropInGuard: false)" $kind $namespace $item.metadata.name $replicas $namespace ($kind | lower) $item.metadata.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
