{{- /* Flags. The replica count is not among them: scaling must not restart anybody. */ -}}
{{- define "driftless.args" -}}
{{- $controller := .Values.controller }}
- /usr/local/bin/argocd-application-controller
- --metrics-port={{ int $controller.containerPorts.metrics }}
{{- with $controller.statusProcessors }}
- --status-processors={{ int . }}
{{- end }}
{{- with $controller.operationProcessors }}
- --operation-processors={{ int . }}
{{- end }}
{{- with $controller.sharding.algorithm }}
- --sharding-method={{ . }}
{{- end }}
{{- with $controller.sharding.clusterSplit }}
- --cluster-split={{ int . }}
{{- end }}
{{- with $controller.sharding.clusterWeights }}
- --cluster-weights={{ . }}
{{- end }}
{{- with $controller.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* What is not from ConfigMaps. The name of the pod is its identity, also where hostNetwork makes the host name that of the node. */ -}}
{{- define "driftless.ownEnvironment" -}}
- name: HOSTNAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: ARGOCD_APPLICATION_CONTROLLER_NAME
  value: {{ include "driftless.fullname" . }}
- name: ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION
  value: {{ .Values.controller.dynamicClusterDistribution | quote }}
- name: ARGOCD_CONTROLLER_HEARTBEAT_TIME
  value: {{ .Values.controller.heartbeatTime | int | quote }}
- name: DRIFTLESS_CACHE_DIR
  value: /home/argocd/cache
{{- end }}

{{- define "driftless.env" -}}
{{- $replaced := list }}
{{- range .Values.controller.env }}
{{- $replaced = append $replaced .name }}
{{- end }}
{{- $all := list }}
{{- range concat (include "driftless.ownEnvironment" . | fromYamlArray) (include "driftless.environment" . | fromYamlArray) }}
{{- if not (has .name $replaced) }}
{{- $all = append $all . }}
{{- end }}
{{- end }}
{{- toYaml (concat $all .Values.controller.env) }}
{{- end }}

{{- define "driftless.topologySpread" -}}
{{- $labels := include "driftless.selectorLabels" . | fromYaml }}
{{- $spread := .Values.controller.topologySpreadConstraints }}
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
  periodSeconds: {{ int .periodSeconds }}
  timeoutSeconds: {{ int .timeoutSeconds }}
  failureThreshold: {{ int .failureThreshold }}
{{- end }}
{{- end }}
{{- with $controller.livenessProbe }}
{{- if .enabled }}
livenessProbe:
  httpGet:
    path: /livez
    port: metrics
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
name: application-controller
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
  - name: ssh-known-hosts
    mountPath: /app/config/ssh
    readOnly: true
  - name: tls-certs
    mountPath: /app/config/tls
    readOnly: true
  {{- with $controller.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "driftless.volumes" -}}
- name: home
  emptyDir:
    {{- with .Values.controller.emptyDir.sizeLimit }}
    sizeLimit: {{ . }}
    {{- else }} {}
    {{- end }}
- name: tmp
  emptyDir: {}
- name: ssh-known-hosts
  configMap:
    name: argocd-ssh-known-hosts-cm
    optional: true
- name: tls-certs
  configMap:
    name: argocd-tls-certs-cm
    optional: true
{{- with .Values.controller.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The pod template, the same for both kinds of workload. */ -}}
{{- define "driftless.podTemplate" -}}
{{- $controller := .Values.controller -}}
metadata:
  labels:
    {{- $labels := include "driftless.selectorLabels" . | fromYaml }}
    {{- $own := dict "app.kubernetes.io/component" "application-controller" "app.kubernetes.io/part-of" "argocd" }}
    {{- merge $labels $own $controller.podLabels .Values.global.additionalLabels | toYaml | nindent 4 }}
  annotations:
    # Of what is read at the start only; what is watched restarts nobody.
    checksum/start-configuration: {{ include "driftless.startConfiguration" . | sha256sum }}
    {{- with $controller.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "driftless.serviceAccountName" . }}
  automountServiceAccountToken: true
  # Services of the namespace would become environment, and some of Argo CD's have names that mean something here.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ int $controller.terminationGracePeriodSeconds }}
  {{- with default .Values.global.imagePullSecrets $controller.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml $controller.podSecurityContext | nindent 4 }}
  {{- if $controller.hostNetwork }}
  hostNetwork: true
  {{- end }}
  dnsPolicy: {{ $controller.dnsPolicy }}
  {{- with $controller.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $controller.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $controller.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $controller.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- with $controller.schedulerName }}
  schedulerName: {{ . }}
  {{- end }}
  {{- with $controller.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $controller.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $controller.affinity }}
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
    {{- with $controller.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "driftless.volumes" . | nindent 4 }}
{{- end }}
