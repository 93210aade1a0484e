{{- /* Name of all objects. The program gets it too, because it reads the replica count of the
       workload of this name. */ -}}
{{- define "driftless.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- /* The name of a release may contain dots, the name of a Service may not. */ -}}
{{- $base := default $full .Values.fullnameOverride | replace "." "-" }}
{{- /* A shadow may run beside a release with the name without this suffix. */ -}}
{{- if .Values.controller.shadow.enabled }}
{{- printf "%s-shadow" ($base | trunc 33 | trimSuffix "-") }}
{{- else }}
{{- $base | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* Component of the workload. The guard of an active release looks for application-controller. */ -}}
{{- define "driftless.component" -}}
{{- ternary "application-controller-shadow" "application-controller" .Values.controller.shadow.enabled }}
{{- end }}

{{- /* Name of an object in a namespace that may be shared by releases, where names must differ:
       (dict "root" $ "namespace" … "suffix" …). */ -}}
{{- define "driftless.nameIn" -}}
{{- $own := include "driftless.namespace" .root }}
{{- $name := printf "%s%s" (include "driftless.fullname" .root) .suffix }}
{{- ternary $name (printf "%s-%s" $own $name) (eq .namespace $own) }}
{{- end }}

{{- define "driftless.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
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
{{- printf "%s:%s" $repository (default $global.tag $own.tag | default .Chart.AppVersion | include "driftless.text") }}
{{- end }}
{{- end }}

{{- define "driftless.kind" -}}
{{- ternary "Deployment" "StatefulSet" .Values.controller.dynamicClusterDistribution }}
{{- end }}

{{- /* Whether this chart creates Argo CD's two ConfigMaps. */ -}}
{{- define "driftless.createParams" -}}
{{- if and .Values.configs.params.create (not .Values.dropIn) }}true{{ end }}
{{- end }}
{{- define "driftless.createCm" -}}
{{- if and .Values.configs.cm.create (not .Values.dropIn) }}true{{ end }}
{{- end }}

{{- /* argocd-cmd-params-cm: `configs.params`, and `global.logging` for keys that are not set there. */ -}}
{{- define "driftless.params" -}}
{{- $params := omit .Values.configs.params "create" "annotations" }}
{{- range $key, $value := .Values.global.logging }}
{{- $name := printf "controller.log.%s" $key }}
{{- if and $value (not (hasKey $params $name)) }}
{{- $_ := set $params $name $value }}
{{- end }}
{{- end }}
{{- include "driftless.texts" $params }}
{{- end }}

{{- /* Whether the number of replicas is set outside the chart. Null alone does not suffice: with
       --reuse-values Helm drops it in favour of an earlier number. */ -}}
{{- define "driftless.replicasElsewhere" -}}
{{- if or .Values.controller.autoscaling.enabled (has (toString .Values.controller.replicas) (list "live" "<nil>")) }}true{{ end }}
{{- end }}

{{- /* The number of replicas to write, or nothing (see controller.replicas). */ -}}
{{- define "driftless.replicas" -}}
{{- if not (include "driftless.replicasElsewhere" .) }}
{{- int .Values.controller.replicas }}
{{- else }}
{{- with lookup "apps/v1" (include "driftless.kind" .) (include "driftless.namespace" .) (include "driftless.fullname" .) }}
{{- /* With server-side apply, a number that Helm has written is removed if Helm omits it, unless
       another manager has written it since. A number that no manager has written has no owner. */ -}}
{{- $applied := false }}
{{- $owned := false }}
{{- $shared := false }}
{{- range .metadata.managedFields }}
{{- $fields := dig "f:spec" dict (.fieldsV1 | default dict) }}
{{- $ours := and (eq .operation "Apply") (hasKey $fields "f:template") }}
{{- $applied = or $applied $ours }}
{{- if hasKey $fields "f:replicas" }}
{{- $owned = true }}
{{- $shared = or $shared (not $ours) }}
{{- end }}
{{- end }}
{{- if or (not $applied) (and $owned (not $shared)) }}
{{- int .spec.replicas }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A value of `controller`, or else of `global`. */ -}}
{{- define "driftless.networkPolicy" -}}
{{- $own := .Values.controller.networkPolicy.create }}
{{- if kindIs "bool" $own | ternary $own .Values.global.networkPolicy.create }}true{{ end }}
{{- end }}

{{- /* Settings that pods read only at their start. All others are watched, and must not replace
       pods. */ -}}
{{- define "driftless.startConfiguration" -}}
{{- $config := dict }}
{{- if include "driftless.createParams" . }}
{{- $_ := set $config "params" (include "driftless.params" . | fromYaml) }}
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

{{- /* Further namespaces with Applications, as configured; globs and /regular expressions/ among
       them. */ -}}
{{- define "driftless.applicationNamespaces" -}}
{{- $said := get .Values.configs.params "application.namespaces" | default "" | toString }}
{{- $found := list }}
{{- range default (splitList "," $said) .Values.rbac.applicationNamespaces }}
{{- with trim . }}
{{- $found = append $found . }}
{{- end }}
{{- end }}
{{- $found | uniq | toJson }}
{{- end }}

{{- /* Errors that the schema cannot detect. */ -}}
{{- define "driftless.validate" -}}
{{- if .Chart.IsRoot }}
{{- $known := include "driftless.globalKeys" . | fromJsonArray }}
{{- range keys .Values.global | sortAlpha }}
{{- if not (has . $known) }}
{{- fail (printf "global.%s is not a value of this chart, so it would have no effect: remove it (README.md has the table of values)" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- $name := include "driftless.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}
{{- fail (printf "%q cannot be the name of a Service: it must begin with a letter and contain only lower-case letters, digits and dashes; set fullnameOverride" $name) }}
{{- end }}
{{- if .Values.dropIn }}
{{- range $name := list "params" "cm" }}
{{- $set := keys (omit (get $.Values.configs $name) "create" "annotations") | sortAlpha }}
{{- if $set }}
{{- fail (printf "dropIn: true leaves the ConfigMaps to the existing Argo CD, so configs.%s has no effect (%s): set it there, or by controller.extraArgs or controller.env" $name (join ", " $set)) }}
{{- end }}
{{- end }}
{{- if .Values.configs.secret.createSecret }}
{{- fail "dropIn: true leaves argocd-secret to the existing Argo CD: remove configs.secret.createSecret" }}
{{- end }}
{{- if or .Values.configs.ssh.knownHosts .Values.configs.ssh.extraHosts .Values.configs.tls.certificates }}
{{- fail "dropIn: true leaves argocd-ssh-known-hosts-cm and argocd-tls-certs-cm to the existing Argo CD: remove configs.ssh and configs.tls" }}
{{- end }}
{{- end }}
{{- if and .Values.rbac.namespaced (kindIs "bool" .Values.rbac.clusterWrite | ternary .Values.rbac.clusterWrite true) }}
{{- fail "rbac.namespaced: true means no rights outside of rbac.namespaces: remove rbac.clusterWrite" }}
{{- end }}
{{- if and .Values.rbac.namespaced .Values.rbac.extraClusterRules }}
{{- fail "rbac.namespaced: true means no ClusterRole: remove rbac.extraClusterRules" }}
{{- end }}
{{- if and .Values.rbac.namespaced (include "driftless.applicationNamespaces" . | fromJsonArray) }}
{{- fail "Applications in further namespaces (application.namespaces, rbac.applicationNamespaces) are watched in the whole cluster, which rbac.namespaced: true excludes" }}
{{- end }}
{{- if and .Values.rbac.namespaces (not .Values.rbac.namespaced) }}
{{- fail "rbac.namespaces needs rbac.namespaced: true; without it, use rbac.writeNamespaces" }}
{{- end }}
{{- $scaling := .Values.controller.autoscaling }}
{{- if and $scaling.enabled (gt (int $scaling.minReplicas) (int $scaling.maxReplicas)) }}
{{- fail (printf "controller.autoscaling: minReplicas (%v) is more than maxReplicas (%v)" $scaling.minReplicas $scaling.maxReplicas) }}
{{- end }}
{{- if and (hasKey .Values.configs.params "controller.sharding.algorithm") (not (has (get .Values.configs.params "controller.sharding.algorithm") (list "" "legacy" "round-robin" "consistent-hashing"))) }}
{{- fail (printf "configs.params.\"controller.sharding.algorithm\" is %q: it is one of legacy, round-robin, consistent-hashing" (get .Values.configs.params "controller.sharding.algorithm")) }}
{{- end }}
{{- range concat .Values.global.env .Values.controller.env }}
{{- if eq .name "ARGOCD_CONTROLLER_REPLICAS" }}
{{- fail "controller.env: ARGOCD_CONTROLLER_REPLICAS would fix the number of shards; without it the controller follows the replicas of its workload while it runs" }}
{{- end }}
{{- end }}
{{- include "driftless.validateShadow" . }}
{{- include "driftless.validateRenderer" . }}
{{- include "driftless.guard" . }}
{{- end }}

{{- /* Shadow mode: beside an Argo CD, with a fixed number of replicas, and without rights to write. */ -}}
{{- define "driftless.validateShadow" -}}
{{- if .Values.controller.shadow.enabled }}
{{- if not .Values.dropIn }}
{{- fail "controller.shadow.enabled: true compares beside an existing Argo CD, with its settings: set dropIn: true" }}
{{- end }}
{{- if include "driftless.replicasElsewhere" . }}
{{- fail "controller.shadow.enabled: true needs a number in controller.replicas, and no autoscaling: its replicas do not coordinate, each takes its share of that number" }}
{{- end }}
{{- if and .Values.controller.dynamicClusterDistribution (gt (int .Values.controller.replicas) 1) }}
{{- fail "controller.shadow.enabled: true with several replicas needs controller.dynamicClusterDistribution: false: the ordinal of a pod determines its share" }}
{{- end }}
{{- range concat .Values.rbac.extraRoleRules .Values.rbac.extraClusterRules }}
{{- range .verbs }}
{{- if not (has . (list "get" "list" "watch")) }}
{{- fail (printf "controller.shadow.enabled: true does not need the right to %s: remove it from rbac.extraRoleRules and rbac.extraClusterRules" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Refuses to install while the controller of an existing Argo CD has replicas. Works at install
       and upgrade only, not when rendering. */ -}}
{{- define "driftless.guard" -}}
{{- if and .Values.dropIn .Values.dropInGuard (not .Values.controller.shadow.enabled) }}
{{- $namespace := include "driftless.namespace" . }}
{{- range $kind := list "StatefulSet" "Deployment" }}
{{- range $item := (lookup "apps/v1" $kind $namespace "").items }}
{{- $labels := $item.metadata.labels | default dict }}
{{- $controller := eq (get $labels "app.kubernetes.io/component") "application-controller" }}
{{- $own := and (eq (get $labels "driftless.io/release") $.Release.Name) (eq $item.metadata.name (include "driftless.fullname" $)) }}
{{- $replicas := ternary 1 $item.spec.replicas (kindIs "invalid" $item.spec.replicas) }}
{{- if and $controller (not $own) (gt (int $replicas) 0) }}
{{- fail (printf "%s %s/%s is an application controller with %v replicas, and two controllers would overwrite each other's work. First: kubectl -n %s scale %s/%s --replicas=0 (or set dropInGuard: false)" $kind $namespace $item.metadata.name $replicas $namespace ($kind | lower) $item.metadata.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
