{{- /*
Port of the read API; 0: off. A caller is checked by reviews, which need cluster-wide rights, and a
shadow writes nothing.
*/ -}}
{{- define "driftless.apiPort" -}}
{{- if or .Values.rbac.namespaced .Values.controller.shadow.enabled }}0{{ else }}{{ int .Values.controller.containerPorts.api }}{{ end }}
{{- end }}

{{- /* Flags. Without the replica count, because scaling must not restart pods. */ -}}
{{- define "driftless.args" -}}
{{- $controller := .Values.controller }}
- /usr/local/bin/argocd-application-controller
- --metrics-port={{ int $controller.containerPorts.metrics }}
- --api-port={{ include "driftless.apiPort" . }}
{{- if and .Values.dashboard.enabled (ne (include "driftless.apiPort" .) "0") }}
- --dashboard
{{- with .Values.dashboard.grafanaUrl }}
- {{ printf "--dashboard-grafana-url=%s" . | quote }}
{{- end }}
{{- end }}
{{- if $controller.shadow.enabled }}
- --shadow
- --shadow-grace={{ $controller.shadow.grace }}
{{- end }}
{{- with $controller.statusProcessors }}
- --status-processors={{ int . }}
{{- end }}
{{- with $controller.operationProcessors }}
- --operation-processors={{ int . }}
{{- end }}
{{- with .Values.externalRedis.host }}
- --redis={{ . }}:{{ int $.Values.externalRedis.port }}
{{- end }}
{{- with .Values.repoServer.address }}
- --repo-server={{ ternary "" . (eq . "embedded") }}
{{- end }}
{{- if .Values.repoServer.pluginsOnly }}
- --repo-server-plugins-only
{{- end }}
{{- with $controller.sharding.algorithm }}
- --sharding-method={{ . }}
{{- end }}
{{- with $controller.sharding.clusterSplit }}
- --cluster-split={{ kindIs "string" . | ternary . (int .) }}
{{- end }}
{{- with $controller.sharding.clusterWeights }}
- --cluster-weights={{ . }}
{{- end }}
{{- if not (include "driftless.createParams" .) }}
{{- with .Values.global.logging.format }}
- --logformat={{ . }}
{{- end }}
{{- with .Values.global.logging.level }}
- --loglevel={{ . }}
{{- end }}
{{- end }}
{{- with $controller.metrics.applicationLabels }}
{{- if and .enabled .labels }}
- --metrics-application-labels={{ join "," .labels }}
{{- end }}
{{- end }}
{{- include "driftless.rendererClientArgs" . }}
{{- with $controller.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Variables that do not come from ConfigMaps. The name of the pod is its identity, because with
       hostNetwork the host name is that of the node. */ -}}
{{- define "driftless.ownEnvironment" -}}
- name: HOSTNAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: DRIFTLESS_API_ADDRESS
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
- name: DRIFTLESS_POD_UID
  valueFrom:
    fieldRef:
      fieldPath: metadata.uid
- name: ARGOCD_APPLICATION_CONTROLLER_NAME
  value: {{ include "driftless.fullname" . }}
- name: ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION
  value: {{ .Values.controller.dynamicClusterDistribution | quote }}
- name: ARGOCD_CONTROLLER_HEARTBEAT_TIME
  value: {{ .Values.controller.heartbeatTime | int | quote }}
{{- if .Values.controller.shadow.enabled }}
- name: ARGOCD_CONTROLLER_REPLICAS
  value: {{ int .Values.controller.replicas | quote }}
{{- end }}
- name: DRIFTLESS_CACHE_DIR
  value: /home/argocd/cache
{{- $redis := list }}
{{- $secret := .Values.externalRedis.existingSecret }}
{{- if $secret }}
{{- $redis = list (list "REDIS_PASSWORD" "redis-password") (list "REDIS_USERNAME" "redis-username") (list "REDIS_SENTINEL_USERNAME" "redis-sentinel-username") (list "REDIS_SENTINEL_PASSWORD" "redis-sentinel-password") }}
{{- else if .Values.dropIn }}
{{- $secret = "argocd-redis" }}
{{- $redis = list (list "REDIS_PASSWORD" "auth") }}
{{- end }}
{{- range $redis }}
- name: {{ first . }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret | quote }}
      key: {{ last . }}
      optional: true
{{- end }}
{{- end }}

{{- /* Each name once: the last definition wins. */ -}}
{{- define "driftless.env" -}}
{{- $all := list }}
{{- $seen := list }}
{{- range concat (include "driftless.ownEnvironment" . | fromYamlArray) (include "driftless.environment" . | fromYamlArray) .Values.global.env .Values.controller.env | reverse }}
{{- if not (has .name $seen) }}
{{- $seen = append $seen .name }}
{{- $entry := deepCopy . }}
{{- if kindIs "invalid" .value }}
{{- $entry = omit $entry "value" }}
{{- else }}
{{- $_ := set $entry "value" (include "driftless.text" .value) }}
{{- end }}
{{- $all = append $all $entry }}
{{- end }}
{{- end }}
{{- toYaml (reverse $all) }}
{{- end }}

{{- define "driftless.podSecurityContext" -}}
{{- $context := deepCopy .Values.global.securityContext }}
{{- range $field, $value := .Values.controller.podSecurityContext }}
{{- if kindIs "invalid" $value }}
{{- $_ := unset $context $field }}
{{- else }}
{{- $_ := set $context $field $value }}
{{- end }}
{{- end }}
{{- toYaml $context }}
{{- end }}

{{- /* Affinity of the pod: `controller.affinity`, or else the presets of `global.affinity`. */ -}}
{{- define "driftless.affinity" -}}
{{- if .Values.controller.affinity }}
{{- toYaml .Values.controller.affinity }}
{{- else }}
{{- $affinity := dict }}
{{- $preset := .Values.global.affinity }}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" (include "driftless.selectorLabels" . | fromYaml)) }}
{{- if eq $preset.podAntiAffinity "hard" }}
{{- $_ := set $affinity "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) }}
{{- else if eq $preset.podAntiAffinity "soft" }}
{{- $_ := set $affinity "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 100 "podAffinityTerm" $term))) }}
{{- end }}
{{- with $preset.nodeAffinity.matchExpressions }}
{{- $node := dict "matchExpressions" . }}
{{- if eq $preset.nodeAffinity.type "hard" }}
{{- $_ := set $affinity "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" (list $node))) }}
{{- else }}
{{- $_ := set $affinity "nodeAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 1 "preference" $node))) }}
{{- end }}
{{- end }}
{{- toYaml $affinity }}
{{- end }}
{{- end }}

{{- define "driftless.topologySpread" -}}
{{- $labels := include "driftless.selectorLabels" . | fromYaml }}
{{- $spread := default .Values.global.topologySpreadConstraints .Values.controller.topologySpreadConstraints }}
{{- if not $spread }}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
{{- $spread = append $spread (dict "maxSkew" 1 "topologyKey" $key "whenUnsatisfiable" "ScheduleAnyway") }}
{{- end }}
{{- end }}
{{- $filled := list }}
{{- range $spread }}
{{- $filled = append $filled (merge (deepCopy .) (dict "labelSelector" (dict "matchLabels" $labels))) }}
{{- end }}
{{- toYaml $filled }}
{{- end }}

{{- define "driftless.probes" -}}
{{- $controller := .Values.controller }}
{{- with $controller.startupProbe }}
{{- if .enabled }}
startupProbe:
  httpGet:
    path: /livez
    port: metrics
  initialDelaySeconds: {{ int .initialDelaySeconds }}
  periodSeconds: {{ int .periodSeconds }}
  timeoutSeconds: {{ int .timeoutSeconds }}
  failureThreshold: {{ int .failureThreshold }}
  successThreshold: {{ int .successThreshold }}
{{- end }}
{{- end }}
{{- with $controller.livenessProbe }}
{{- if .enabled }}
livenessProbe:
  httpGet:
    path: /livez
    port: metrics
  initialDelaySeconds: {{ int .initialDelaySeconds }}
  periodSeconds: {{ int .periodSeconds }}
  timeoutSeconds: {{ int .timeoutSeconds }}
  failureThreshold: {{ int .failureThreshold }}
{{- end }}
{{- end }}
{{- with $controller.readinessProbe }}
readinessProbe:
  httpGet:
    path: /readyz
    port: metrics
  initialDelaySeconds: {{ int .initialDelaySeconds }}
  periodSeconds: {{ int .periodSeconds }}
  timeoutSeconds: {{ int .timeoutSeconds }}
  failureThreshold: {{ int .failureThreshold }}
  successThreshold: {{ int .successThreshold }}
{{- end }}
{{- end }}

{{- define "driftless.container" -}}
{{- $controller := .Values.controller -}}
name: {{ $controller.name | quote }}
image: {{ include "driftless.image" . | quote }}
imagePullPolicy: {{ default .Values.global.image.imagePullPolicy $controller.image.imagePullPolicy }}
args:
  {{- include "driftless.args" . | trim | nindent 2 }}
env:
  {{- include "driftless.env" . | nindent 2 }}
{{- with $controller.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: metrics
    containerPort: {{ int $controller.containerPorts.metrics }}
    protocol: TCP
  {{- if ne (include "driftless.apiPort" .) "0" }}
  - name: api
    containerPort: {{ include "driftless.apiPort" . }}
    protocol: TCP
  {{- end }}
{{ include "driftless.probes" . | trim }}
resources:
  {{- toYaml $controller.resources | nindent 2 }}
securityContext:
  {{- toYaml $controller.containerSecurityContext | nindent 2 }}
workingDir: /home/argocd
volumeMounts:
  - name: home
    mountPath: /home/argocd
  - name: tmp
    mountPath: /tmp
  {{- if $controller.plugins.enabled }}
  - name: plugins
    mountPath: /home/argocd/cmp-server/plugins
  {{- end }}
  - name: ssh-known-hosts
    mountPath: /app/config/ssh
    readOnly: true
  - name: tls-certs
    mountPath: /app/config/tls
    readOnly: true
  - name: repo-server-tls
    mountPath: /app/config/controller/tls
    readOnly: true
  - name: repo-server-mtls
    mountPath: /app/config/reposerver/mtls
    readOnly: true
  {{- if $controller.automountServiceAccountToken }}
  - name: service-account
    mountPath: /var/run/secrets/kubernetes.io/serviceaccount
    readOnly: true
  {{- end }}
  {{- with include "driftless.rendererClientMounts" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $controller.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "driftless.volumes" -}}
- name: home
  emptyDir:
    {{- with .Values.controller.emptyDir.sizeLimit }}
    sizeLimit: {{ . | quote }}
    {{- else }} {}
    {{- end }}
- name: tmp
  emptyDir:
    {{- with .Values.controller.emptyDir.tmpSizeLimit }}
    sizeLimit: {{ . | quote }}
    {{- else }} {}
    {{- end }}
{{- if .Values.controller.plugins.enabled }}
{{- /* In memory, because ssh keys of repositories are lent over it (provideGitCreds). */}}
- name: plugins
  emptyDir:
    medium: Memory
    sizeLimit: 16Mi
{{- end }}
- name: ssh-known-hosts
  configMap:
    name: argocd-ssh-known-hosts-cm
    optional: true
- name: tls-certs
  configMap:
    name: argocd-tls-certs-cm
    optional: true
{{- /* The first Secret also contains the private key of the repo-server, which must not be mounted. */}}
- name: repo-server-tls
  secret:
    secretName: {{ .Values.repoServer.tlsSecret | quote }}
    optional: true
    items:
      - key: tls.crt
        path: tls.crt
      - key: ca.crt
        path: ca.crt
- name: repo-server-mtls
  secret:
    secretName: {{ .Values.repoServer.mtlsSecret | quote }}
    optional: true
    items:
      - key: client.crt
        path: client.crt
      - key: client.key
        path: client.key
{{- if .Values.controller.automountServiceAccountToken }}
{{- /* The token that the kubelet would mount into every container, as a volume that only one
       container mounts. */}}
- name: service-account
  projected:
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3607
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                apiVersion: v1
                fieldPath: metadata.namespace
{{- end }}
{{- include "driftless.rendererVolumes" . }}
{{- with .Values.controller.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The pod template, equal for both kinds of workload. */ -}}
{{- define "driftless.podTemplate" -}}
{{- $controller := .Values.controller -}}
metadata:
  labels:
    {{- $labels := merge (include "driftless.selectorLabels" . | fromYaml) (include "driftless.nameLabels" . | fromYaml) }}
    {{- $own := dict "app.kubernetes.io/part-of" "argocd" }}
    {{- range list $own $controller.podLabels .Values.global.podLabels .Values.global.additionalLabels }}
    {{- $labels = merge $labels (include "driftless.texts" . | fromYaml) }}
    {{- end }}
    {{- toYaml $labels | nindent 4 }}
  annotations:
    # Checksum of settings that are read at the start only. Watched settings need no restart.
    checksum/start-configuration: {{ include "driftless.startConfiguration" . | sha256sum }}
    {{- $annotations := include "driftless.texts" $controller.podAnnotations | fromYaml }}
    {{- $annotations = merge $annotations (include "driftless.texts" .Values.global.podAnnotations | fromYaml) }}
    {{- $annotations = mergeOverwrite $annotations (include "driftless.identityAnnotations" . | fromYaml) }}
    {{- if not (hasKey $annotations "kubectl.kubernetes.io/default-container") }}
    {{- $_ := set $annotations "kubectl.kubernetes.io/default-container" $controller.name }}
    {{- end }}
    {{- with omit $annotations "checksum/start-configuration" }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "driftless.serviceAccountName" . | quote }}
  # The token is a volume, which only the controller's container mounts.
  automountServiceAccountToken: false
  # Otherwise Services of the namespace would become environment variables, and some of Argo CD's have
  # names of variables that the controller reads.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ int $controller.terminationGracePeriodSeconds }}
  {{- with default .Values.global.imagePullSecrets $controller.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "driftless.podSecurityContext" . | nindent 4 }}
  {{- if $controller.hostNetwork }}
  hostNetwork: true
  {{- end }}
  {{- /* With hostNetwork, ClusterFirst means the node's DNS, which does not resolve names of
         Services. */}}
  dnsPolicy: {{ ternary "ClusterFirstWithHostNet" $controller.dnsPolicy (and $controller.hostNetwork (eq $controller.dnsPolicy "ClusterFirst")) }}
  {{- with $controller.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with default .Values.global.hostAliases $controller.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with default .Values.global.priorityClassName $controller.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- with default .Values.global.runtimeClassName $controller.runtimeClassName }}
  runtimeClassName: {{ . | quote }}
  {{- end }}
  {{- with $controller.schedulerName }}
  schedulerName: {{ . | quote }}
  {{- end }}
  {{- with default .Values.global.nodeSelector $controller.nodeSelector }}
  nodeSelector:
    {{- include "driftless.texts" . | nindent 4 }}
  {{- end }}
  {{- with default .Values.global.tolerations $controller.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "driftless.affinity" . | fromYaml }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- include "driftless.topologySpread" . | nindent 4 }}
  {{- with $controller.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - {{ include "driftless.container" . | nindent 6 | trim }}
    {{- if eq .Values.renderer.mode "sidecar" }}
    - {{ include "driftless.rendererContainer" . | nindent 6 | trim }}
    {{- end }}
    {{- with $controller.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "driftless.volumes" . | nindent 4 }}
{{- end }}
