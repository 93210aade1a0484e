{{- /* The renderer runs tenants' charts and overlays. It gets no token, no Secret and no
       environment of the controller. */ -}}

{{- define "driftless.rendererName" -}}
{{- printf "%s-renderer" (include "driftless.fullname" .) }}
{{- end }}

{{- /* Volumes of the chart. No other container may mount them, except the plugins' sockets. */ -}}
{{- define "driftless.ownVolumes" -}}
{{- list "home" "tmp" "ssh-known-hosts" "tls-certs" "repo-server-tls" "repo-server-mtls" "service-account" "renderer-socket" "renderer-staging" "renderer-client" "renderer-server" | toJson }}
{{- end }}

{{- /* Address of the renderer, for its own flag and the controller's. */ -}}
{{- define "driftless.rendererListen" -}}
{{- if eq .Values.renderer.mode "deployment" -}}
tls:{{ .Values.renderer.deployment.listenAddress }}:{{ int .Values.renderer.deployment.port }}
{{- else -}}
unix:/run/driftless/renderer/private/render.sock
{{- end }}
{{- end }}
{{- define "driftless.rendererAddress" -}}
{{- if eq .Values.renderer.mode "deployment" -}}
tls:{{ include "driftless.rendererName" . }}.{{ include "driftless.namespace" . }}.svc:{{ int .Values.renderer.deployment.port }}
{{- else -}}
{{ include "driftless.rendererListen" . }}
{{- end }}
{{- end }}

{{- /* User of the renderer's container, and of the controller's. Empty if the platform assigns it. */ -}}
{{- define "driftless.rendererUser" -}}
{{- with .Values.renderer.securityContext.runAsUser }}{{ int64 . }}{{ end }}
{{- end }}
{{- define "driftless.controllerUser" -}}
{{- $pod := include "driftless.podSecurityContext" . | fromYaml }}
{{- with default $pod.runAsUser .Values.controller.containerSecurityContext.runAsUser }}{{ int64 . }}{{ end }}
{{- end }}

{{- /* Flags of the controller. */ -}}
{{- define "driftless.rendererClientArgs" -}}
{{- if ne .Values.renderer.mode "none" }}
- --renderer={{ include "driftless.rendererAddress" . }}
{{- if eq .Values.renderer.mode "deployment" }}
- --renderer-ca=/app/config/renderer/ca.crt
- --renderer-cert=/app/config/renderer/tls.crt
- --renderer-key=/app/config/renderer/tls.key
{{- else }}
{{- with include "driftless.rendererUser" . }}
- --renderer-uid={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Flags with the address of the renderer, for itself and its probes. */ -}}
{{- define "driftless.rendererListenArgs" -}}
- --listen={{ include "driftless.rendererListen" . }}
{{- if eq .Values.renderer.mode "deployment" }}
- --tls-cert=/app/config/renderer/tls.crt
- --tls-key=/app/config/renderer/tls.key
- --client-ca=/app/config/renderer/ca.crt
{{- end }}
{{- end }}

{{- /* Security context of the container: fields of the values, and fixed fields that override them. */ -}}
{{- define "driftless.rendererSecurityContext" -}}
{{- $context := dict "runAsNonRoot" true "readOnlyRootFilesystem" true "allowPrivilegeEscalation" false "privileged" false "capabilities" (dict "drop" (list "ALL")) }}
{{- range $field, $value := .Values.renderer.securityContext }}
{{- if not (kindIs "invalid" $value) }}
{{- $_ := set $context $field (has $field (list "runAsUser" "runAsGroup") | ternary (int64 $value) $value) }}
{{- end }}
{{- end }}
{{- toYaml $context }}
{{- end }}

{{- /* A probe: (dict "root" $ "probe" values). */ -}}
{{- define "driftless.rendererProbe" -}}
exec:
  command:
    - /usr/local/bin/driftless
    - render
    - --check
    {{- include "driftless.rendererListenArgs" .root | trim | nindent 4 }}
periodSeconds: {{ int .probe.periodSeconds }}
timeoutSeconds: {{ int .probe.timeoutSeconds }}
failureThreshold: {{ int .probe.failureThreshold }}
{{- end }}

{{- /* The container, equal in both kinds of pod. It has another working directory, because the home
       directory of the image belongs to another user. */ -}}
{{- define "driftless.rendererContainer" -}}
{{- $renderer := .Values.renderer -}}
name: renderer
image: {{ include "driftless.image" . | quote }}
imagePullPolicy: {{ default .Values.global.image.imagePullPolicy .Values.controller.image.imagePullPolicy }}
args:
  {{- if ne $renderer.mode "deployment" }}
  # Every user may write to the directory of an emptyDir. So the socket is in a subdirectory that the
  # renderer owns and its group may enter.
  - /bin/sh
  - -c
  - (umask 027 && mkdir -p /run/driftless/renderer/private) && exec "$@"
  - sh
  {{- end }}
  - /usr/local/bin/driftless
  - render
  {{- include "driftless.rendererListenArgs" . | trim | nindent 2 }}
  {{- with $renderer.parallelism }}
  - --parallelism={{ int . }}
  {{- end }}
  {{- with $renderer.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
startupProbe:
  {{- include "driftless.rendererProbe" (dict "root" . "probe" $renderer.startupProbe) | nindent 2 }}
livenessProbe:
  {{- include "driftless.rendererProbe" (dict "root" . "probe" $renderer.livenessProbe) | nindent 2 }}
{{- if eq $renderer.mode "deployment" }}
readinessProbe:
  {{- include "driftless.rendererProbe" (dict "root" . "probe" $renderer.deployment.readinessProbe) | nindent 2 }}
ports:
  - name: render
    containerPort: {{ int $renderer.deployment.port }}
    protocol: TCP
lifecycle:
  preStop:
    exec:
      # Wait until requests are routed elsewhere, and most running ones have ended.
      command:
        - /usr/bin/sleep
        - '10'
{{- else }}
lifecycle:
  preStop:
    exec:
      # The controller finishes its current steps, which may need a rendering: wait until it has closed
      # its metrics port.
      command:
        - /usr/bin/timeout
        - '12'
        - /bin/bash
        - -c
        - while (exec 3<>/dev/tcp/127.0.0.1/{{ int .Values.controller.containerPorts.metrics }}) 2>/dev/null; do sleep 0.5; done
{{- end }}
resources:
  {{- toYaml $renderer.resources | nindent 2 }}
securityContext:
  {{- include "driftless.rendererSecurityContext" . | nindent 2 }}
workingDir: /tmp
volumeMounts:
  - name: renderer-staging
    mountPath: /tmp
  {{- if eq $renderer.mode "deployment" }}
  - name: renderer-server
    mountPath: /app/config/renderer
    readOnly: true
  {{- else }}
  - name: renderer-socket
    mountPath: /run/driftless/renderer
  {{- end }}
  {{- with $renderer.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "driftless.rendererStaging" -}}
- name: renderer-staging
  emptyDir:
    {{- with .Values.renderer.staging }}
    {{- if or .sizeLimit .medium }}
    {{- with .medium }}
    medium: {{ . }}
    {{- end }}
    {{- with .sizeLimit }}
    sizeLimit: {{ . | quote }}
    {{- end }}
    {{- else }} {}
    {{- end }}
    {{- end }}
{{- end }}

{{- /* Volumes of the controller's pod. */ -}}
{{- define "driftless.rendererVolumes" -}}
{{- if eq .Values.renderer.mode "sidecar" }}
{{ include "driftless.rendererStaging" . }}
- name: renderer-socket
  emptyDir:
    sizeLimit: 1Mi
{{- else if eq .Values.renderer.mode "deployment" }}
- name: renderer-client
  secret:
    secretName: {{ default (printf "%s-client" (include "driftless.rendererName" .)) .Values.renderer.deployment.tls.clientSecret | quote }}
{{- end }}
{{- end }}

{{- /* Volume mounts of the controller's container. The renderer owns the socket; the controller
       only connects to it. */ -}}
{{- define "driftless.rendererClientMounts" -}}
{{- if eq .Values.renderer.mode "sidecar" }}
- name: renderer-socket
  mountPath: /run/driftless/renderer
  readOnly: true
{{- else if eq .Values.renderer.mode "deployment" }}
- name: renderer-client
  mountPath: /app/config/renderer
  readOnly: true
{{- end }}
{{- end }}

{{- /* Labels of the renderers' pods. Never those of a controller, which policies of Argo CD admit
       to Redis and the repo-server. */ -}}
{{- define "driftless.rendererSelector" -}}
app.kubernetes.io/component: {{ printf "%s-renderer" (include "driftless.component" .) | quote }}
driftless.io/release: {{ .Release.Name | quote }}
{{- end }}
{{- define "driftless.rendererLabels" -}}
{{- $labels := include "driftless.rendererSelector" . | fromYaml }}
{{- $_ := set $labels "app.kubernetes.io/name" "driftless-renderer" }}
{{- $_ := set $labels "app.kubernetes.io/instance" .Release.Name }}
{{- merge $labels (include "driftless.labels" . | fromYaml) | toYaml }}
{{- end }}

{{- /* A webhook would add a cloud identity to every container: these annotations limit it to the
       controller's, unless the values name others. */ -}}
{{- define "driftless.identityAnnotations" -}}
{{- $others := list }}
{{- if eq .Values.renderer.mode "sidecar" }}
{{- $others = append $others "renderer" }}
{{- end }}
{{- $all := $others }}
{{- range concat .Values.controller.initContainers .Values.controller.extraContainers }}
{{- $all = append $all .name }}
{{- end }}
{{- $said := merge dict (include "driftless.texts" .Values.controller.podAnnotations | fromYaml) (include "driftless.texts" .Values.global.podAnnotations | fromYaml) }}
{{- $annotations := dict }}
{{- range $key, $separator := dict "eks.amazonaws.com/skip-containers" "," "azure.workload.identity/skip-containers" ";" }}
{{- $names := hasKey $said $key | ternary (concat (splitList $separator (get $said $key | default "") | compact) $others) $all | uniq }}
{{- if $names }}
{{- $_ := set $annotations $key (join $separator $names) }}
{{- end }}
{{- end }}
{{- toYaml $annotations }}
{{- end }}

{{- /* Labels of kube-state-metrics that select the renderers of this release, for an alert. */ -}}
{{- define "driftless.rendererSeries" -}}
{{- $pod := printf "%s-[0-9]+" (include "driftless.fullname" .) }}
{{- if eq .Values.renderer.mode "deployment" }}
{{- $pod = printf "%s-[a-z0-9]+-[a-z0-9]{5}" (include "driftless.rendererName" .) }}
{{- else if .Values.controller.dynamicClusterDistribution }}
{{- $pod = printf "%s-[a-z0-9]+-[a-z0-9]{5}" (include "driftless.fullname" .) }}
{{- end }}
{{- printf "namespace=%q, pod=~%q, container=\"renderer\"" (include "driftless.namespace" .) $pod }}
{{- end }}

{{- /* Errors about the renderer that the schema cannot detect. */ -}}
{{- define "driftless.validateRenderer" -}}
{{- $renderer := .Values.renderer }}
{{- if not $renderer.mode }}
{{- fail "renderer.mode is not set: it is one of sidecar, deployment, none. (After an upgrade with --reuse-values from a version without a renderer: use --values or --reset-then-reuse-values)" }}
{{- end }}
{{- if and (eq $renderer.mode "none") (not $renderer.acceptRenderingBesideCredentials) }}
{{- fail "renderer.mode: none renders tenants' sources in the container that holds the controller's credentials: code that escapes from helm, kustomize or jsonnet has them all. Use sidecar or deployment, or accept it with renderer.acceptRenderingBesideCredentials: true" }}
{{- end }}
{{- range concat .Values.controller.extraArgs }}
{{- if regexMatch "^--renderer(-[a-z]+)?(=|$)" . }}
{{- fail (printf "controller.extraArgs: %s would bypass the renderer of the chart: use renderer.mode instead" .) }}
{{- end }}
{{- end }}
{{- range concat .Values.global.env .Values.controller.env }}
{{- if hasPrefix "DRIFTLESS_RENDERER" .name }}
{{- fail (printf "controller.env: %s would bypass the renderer of the chart: use renderer.mode instead" .name) }}
{{- end }}
{{- end }}
{{- if eq $renderer.mode "sidecar" }}
{{- $user := include "driftless.rendererUser" . }}
{{- if and $user (eq $user (include "driftless.controllerUser" .)) }}
{{- fail (printf "renderer.securityContext.runAsUser is %s, which is also the controller's user: the renderer needs a user of its own" $user) }}
{{- end }}
{{- /* The group of the socket's directory may use it: the group of the volumes, or else the
       renderer's. */}}
{{- $pod := include "driftless.podSecurityContext" . | fromYaml }}
{{- $group := default $pod.runAsGroup .Values.controller.containerSecurityContext.runAsGroup }}
{{- if and (not $pod.fsGroup) $group $renderer.securityContext.runAsGroup (ne (toString $group) (toString $renderer.securityContext.runAsGroup)) }}
{{- fail "without a group for volumes (global.securityContext.fsGroup) the controller cannot open the renderer's socket: give both containers the same group (renderer.securityContext.runAsGroup), or leave both to the platform (null)" }}
{{- end }}
{{- end }}
{{- if eq .Values.controller.name "renderer" }}
{{- fail "controller.name: renderer is the name of another container of the pod" }}
{{- end }}
{{- $tls := $renderer.deployment.tls }}
{{- if and (eq $renderer.mode "deployment") (ne (empty $tls.serverSecret) (empty $tls.clientSecret)) }}
{{- fail "renderer.deployment.tls: name both Secrets, serverSecret and clientSecret, or none: both certificates must come from one CA" }}
{{- end }}
{{- include "driftless.validateMounts" . }}
{{- end }}

{{- /* Refuses volumes of the controller in other containers. */ -}}
{{- define "driftless.validateMounts" -}}
{{- $own := include "driftless.ownVolumes" . | fromJsonArray }}
{{- range $list := list "initContainers" "extraContainers" }}
{{- range $container := get $.Values.controller $list }}
{{- range $container.volumeMounts }}
{{- if has .name $own }}
{{- fail (printf "controller.%s: %s mounts the volume %s, which is for the controller and its renderer only: give it a volume of its own (controller.volumes)" $list $container.name .name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $volumes := ternary .Values.renderer.deployment.volumes .Values.controller.volumes (eq .Values.renderer.mode "deployment") }}
{{- range $mount := .Values.renderer.volumeMounts }}
{{- if or (has $mount.name $own) (eq $mount.name "plugins") }}
{{- fail (printf "renderer.volumeMounts: the volume %s is not for the renderer" $mount.name) }}
{{- end }}
{{- range $volumes }}
{{- if and (eq .name $mount.name) (or (hasKey . "secret") (hasKey . "projected") (hasKey . "hostPath") (hasKey . "csi")) }}
{{- fail (printf "renderer.volumeMounts: the volume %s may hold a Secret, a token or files of the node, and tenants' sources are rendered there: use a ConfigMap, an emptyDir or a PersistentVolumeClaim" .name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
