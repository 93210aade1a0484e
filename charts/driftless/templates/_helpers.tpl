{{- /* The name of everything; also that of the workload, which the program is told: it reads its replica count while it runs. */ -}}
{{- define "driftless.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- /* A release may be named with dots, a Service may not. */ -}}
{{- $base := default $full .Values.fullnameOverride | replace "." "-" }}
{{- /* One that only looks stands beside the other, which may have the name without this. */ -}}
{{- if .Values.controller.shadow.enabled }}
{{- printf "%s-shadow" ($base | trunc 33 | trimSuffix "-") }}
{{- else }}
{{- $base | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* What the workload is: the guard of a release that is in charge looks for application-controller. */ -}}
{{- define "driftless.component" -}}
{{- ternary "application-controller-shadow" "application-controller" .Values.controller.shadow.enabled }}
{{- end }}

{{- /* The name of an object in a namespace that may be another's: (dict "root" $ "namespace" … "suffix" …). There, two releases must differ. */ -}}
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

{{- /* Argo CD's two ConfigMaps come from this chart? */ -}}
{{- define "driftless.createParams" -}}
{{- if and .Values.configs.params.create (not .Values.dropIn) }}true{{ end }}
{{- end }}
{{- define "driftless.createCm" -}}
{{- if and .Values.configs.cm.create (not .Values.dropIn) }}true{{ end }}
{{- end }}

{{- /* argocd-cmd-params-cm: what `configs.params` says, and `global.logging` where that says nothing. */ -}}
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

{{- /* The number of replicas is said by somebody else. Null is not enough for that: with --reuse-values Helm drops it before an earlier number. */ -}}
{{- define "driftless.replicasElsewhere" -}}
{{- if or .Values.controller.autoscaling.enabled (has (toString .Values.controller.replicas) (list "live" "<nil>")) }}true{{ end }}
{{- end }}

{{- /* The number of replicas to write, or nothing (see controller.replicas). */ -}}
{{- define "driftless.replicas" -}}
{{- if not (include "driftless.replicasElsewhere" .) }}
{{- int .Values.controller.replicas }}
{{- else }}
{{- with lookup "apps/v1" (include "driftless.kind" .) (include "driftless.namespace" .) (include "driftless.fullname" .) }}
{{- /* A number that Helm has written goes when Helm does not repeat it, unless somebody else has written it since (server-side apply). What
       nobody has written has no owner. */ -}}
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

{{- /* Something of the controller, or else what is said for all. */ -}}
{{- define "driftless.networkPolicy" -}}
{{- $own := .Values.controller.networkPolicy.create }}
{{- if kindIs "bool" $own | ternary $own .Values.global.networkPolicy.create }}true{{ end }}
{{- end }}

{{- /* What pods read from ConfigMaps only when they start. Everything else is watched, and must not roll them. */ -}}
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

{{- /* Further namespaces with Applications, as configured; globs and /regular expressions/ among them. */ -}}
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

{{- /* Mistakes that the schema cannot see. */ -}}
{{- define "driftless.validate" -}}
{{- if .Chart.IsRoot }}
{{- $known := include "driftless.globalKeys" . | fromJsonArray }}
{{- range keys .Values.global | sortAlpha }}
{{- if not (has . $known) }}
{{- fail (printf "global.%s is not a value of this chart, so it would have no effect: take it away (README.md has the table of values)" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- $name := include "driftless.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}
{{- fail (printf "%q cannot be the name of a Service: it has to begin with a letter and to be lower-case letters, digits and dashes; set fullnameOverride" $name) }}
{{- end }}
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
{{- fail "Applications in further namespaces (application.namespaces, rbac.applicationNamespaces) are watched in the whole cluster: that cannot be with rbac.namespaced: true" }}
{{- end }}
{{- if and .Values.rbac.namespaces (not .Values.rbac.namespaced) }}
{{- fail "rbac.namespaces counts with rbac.namespaced: true only; the namespaces that may be changed otherwise are rbac.writeNamespaces" }}
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
{{- include "driftless.guard" . }}
{{- end }}

{{- /* One that only looks: beside an Argo CD, with a number of replicas that does not move, and without rights to write. */ -}}
{{- define "driftless.validateShadow" -}}
{{- if .Values.controller.shadow.enabled }}
{{- if not .Values.dropIn }}
{{- fail "controller.shadow.enabled: true compares beside the Argo CD that is there, with its settings: set dropIn: true" }}
{{- end }}
{{- if include "driftless.replicasElsewhere" . }}
{{- fail "controller.shadow.enabled: true needs a number in controller.replicas, and no autoscaling: its replicas agree on nothing, each takes its share of that number" }}
{{- end }}
{{- if and .Values.controller.dynamicClusterDistribution (gt (int .Values.controller.replicas) 1) }}
{{- fail "controller.shadow.enabled: true with several replicas needs controller.dynamicClusterDistribution: false: the number of a pod is its share" }}
{{- end }}
{{- range concat .Values.rbac.extraRoleRules .Values.rbac.extraClusterRules }}
{{- range .verbs }}
{{- if not (has . (list "get" "list" "watch")) }}
{{- fail (printf "controller.shadow.enabled: true has no use for the right to %s: take it out of rbac.extraRoleRules and rbac.extraClusterRules" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Beside an Argo CD whose own controller still has replicas, nothing is installed. Sees the cluster at install and upgrade only. */ -}}
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
{{- fail (printf "%s %s/%s is an application controller with %v replicas, and two of them would fight over the same Applications. First: kubectl -n %s scale %s/%s --replicas=0 (or set dropInGuard: false)" $kind $namespace $item.metadata.name $replicas $namespace ($kind | lower) $item.metadata.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
