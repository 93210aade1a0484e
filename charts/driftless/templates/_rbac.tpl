{{- /* Rules. Each matches calls of the program; the table in README.md explains them. */ -}}

{{- /* In the controller's own namespace. */ -}}
{{- define "driftless.ownRules" -}}
- apiGroups: ['']
  resources: [configmaps]
  resourceNames: [argocd-cm, argocd-gpg-keys-cm]
  verbs: [list, watch]
- apiGroups: ['']
  resources: [configmaps]
  resourceNames: [argocd-app-controller-shard-cm, driftless-ownership]
  verbs: [get, list, watch, update, delete]
- apiGroups: ['']
  resources: [configmaps]
  resourceNames: [driftless-settings]
  verbs: [get, update]
- apiGroups: ['']
  resources: [configmaps]
  resourceNames: [argocd-cmd-params-cm]
  verbs: [get]
- apiGroups: ['']
  resources: [configmaps]
  verbs: [create]
- apiGroups: ['']
  resources: [secrets]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [{{ ternary "deployments" "statefulsets" .Values.controller.dynamicClusterDistribution }}]
  resourceNames: [{{ include "driftless.fullname" . | quote }}]
  verbs: [list, watch]
{{- if ne (include "driftless.fullname" .) "argocd-application-controller" }}
- apiGroups: [apps]
  resources: [statefulsets, deployments]
  resourceNames: [argocd-application-controller]
  verbs: [get]
{{- end }}
- apiGroups: [argoproj.io]
  resources: [applications]
  {{- if include "driftless.applicationNamespaces" . | fromJsonArray }}
  verbs: [get, patch, update]
  {{- else }}
  verbs: [get, list, watch, patch, update]
  {{- end }}
- apiGroups: [argoproj.io]
  resources: [appprojects]
  verbs: [list, watch, patch]
- apiGroups: ['']
  resources: [events]
  verbs: [create]
{{- end }}

{{- /* Shadow mode: in the namespace of the existing Argo CD. */ -}}
{{- define "driftless.shadowRules" -}}
- apiGroups: ['']
  resources: [configmaps]
  resourceNames: [argocd-cm]
  verbs: [list, watch]
- apiGroups: ['']
  resources: [configmaps]
  resourceNames: [driftless-settings, argocd-cmd-params-cm]
  verbs: [get]
- apiGroups: ['']
  resources: [secrets]
  verbs: [list, watch]
- apiGroups: [argoproj.io]
  resources: [{{ include "driftless.applicationNamespaces" . | fromJsonArray | empty | ternary "applications, appprojects" "appprojects" }}]
  verbs: [list, watch]
{{- end }}

{{- /* In each further namespace with Applications. */ -}}
{{- define "driftless.applicationRules" -}}
- apiGroups: [argoproj.io]
  resources: [applications]
  verbs: [get, patch, update]
- apiGroups: ['']
  resources: [events]
  verbs: [create]
{{- end }}

{{- /* Managed objects: reading and changing them. */ -}}
{{- define "driftless.readRules" -}}
- apiGroups: ['*']
  resources: ['*']
  verbs: [get, list, watch]
{{- end }}
{{- define "driftless.writeRules" -}}
- apiGroups: ['*']
  resources: ['*']
  verbs: [create, update, patch, delete]
{{- if .Values.rbac.grantRoles }}
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, clusterroles]
  verbs: [escalate, bind]
{{- end }}
{{- end }}
{{- define "driftless.namespacedWriteRules" -}}
- apiGroups: ['*']
  resources: ['*']
  verbs: [create, update, patch, delete]
{{- if .Values.rbac.grantRoles }}
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles]
  verbs: [escalate, bind]
{{- end }}
{{- end }}
{{- define "driftless.impersonationRules" -}}
- apiGroups: ['']
  resources: [serviceaccounts]
  verbs: [impersonate]
{{- end }}

{{- /* The read API asks the API server who a caller is, and what it may read. */ -}}
{{- define "driftless.reviewRules" -}}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}

{{- define "driftless.impersonates" -}}
{{- if or .Values.rbac.impersonation (eq (toString (get .Values.configs.cm "application.sync.impersonation.enabled")) "true") }}true{{ end }}
{{- end }}

{{- /* True for the name of one namespace: no glob, no regular expression. */ -}}
{{- define "driftless.plainNamespaces" -}}
{{- $plain := true }}
{{- range . }}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" .) }}
{{- $plain = false }}
{{- end }}
{{- end }}
{{- if $plain }}true{{ end }}
{{- end }}

{{- /* Rules in the whole cluster. */ -}}
{{- define "driftless.clusterRules" -}}
{{- if include "driftless.inClusterEnabled" . }}
{{ include "driftless.readRules" . }}
{{- if .Values.controller.shadow.enabled }}
{{- else if kindIs "bool" .Values.rbac.clusterWrite }}
{{- if .Values.rbac.clusterWrite }}
{{ include "driftless.writeRules" . }}
{{- end }}
{{- else if .Values.rbac.clusterWrite }}
{{ toYaml .Values.rbac.clusterWrite }}
{{- end }}
{{- end }}
{{- $namespaces := include "driftless.applicationNamespaces" . | fromJsonArray }}
{{- if $namespaces }}
- apiGroups: [argoproj.io]
  resources: [applications]
  verbs: [list, watch]
{{- if not (or .Values.controller.shadow.enabled (include "driftless.plainNamespaces" $namespaces)) }}
{{ include "driftless.applicationRules" . }}
{{- end }}
{{- end }}
{{- if and (include "driftless.impersonates" .) (not .Values.controller.shadow.enabled) }}
{{ include "driftless.impersonationRules" . }}
{{- end }}
{{- if ne (include "driftless.apiPort" .) "0" }}
{{ include "driftless.reviewRules" . }}
{{- end }}
{{- with .Values.rbac.extraClusterRules }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* A Role and its binding: (dict "root" $ "suffix" … "namespace" … "rules" …), for the controller
       or for another "account" of its namespace. */ -}}
{{- define "driftless.role" -}}
{{- $name := include "driftless.nameIn" . | quote }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
  namespace: {{ .namespace | quote }}
  labels:
    {{- include "driftless.labels" .root | nindent 4 }}
rules:
  {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ .namespace | quote }}
  labels:
    {{- include "driftless.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ default (include "driftless.serviceAccountName" .root) .account | quote }}
    namespace: {{ include "driftless.namespace" .root | quote }}
{{- end }}
