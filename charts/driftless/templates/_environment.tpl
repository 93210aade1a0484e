{{- /* Written by scripts/generate/chart-docs.mjs from cli/options/: change it there. */ -}}
{{- /* Environment variables from Argo CD's two ConfigMaps, as in its own manifests. */ -}}
{{- define "driftless.environment" -}}
- name: ARGOCD_RECONCILIATION_TIMEOUT
  valueFrom:
    configMapKeyRef:
      name: argocd-cm
      key: timeout.reconciliation
      optional: true
- name: ARGOCD_HARD_RECONCILIATION_TIMEOUT
  valueFrom:
    configMapKeyRef:
      name: argocd-cm
      key: timeout.hard.reconciliation
      optional: true
- name: ARGOCD_RECONCILIATION_JITTER
  valueFrom:
    configMapKeyRef:
      name: argocd-cm
      key: timeout.reconciliation.jitter
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.status.processors
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.operation.processors
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_LOGFORMAT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.log.format
      optional: true
- name: ARGOCD_LOG_FORMAT_TIMESTAMP
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: log.format.timestamp
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_LOGLEVEL
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.log.level
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_METRICS_CACHE_EXPIRATION
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.metrics.cache.expiration
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_METRICS_APPLICATION_LABELS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.metrics.application.labels
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_METRICS_APPLICATION_CONDITIONS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.metrics.application.conditions
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_METRICS_CLUSTER_LABELS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.metrics.cluster.labels
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_TIMEOUT_SECONDS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.self.heal.timeout.seconds
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_TIMEOUT_SECONDS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.self.heal.backoff.timeout.seconds
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_FACTOR
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.self.heal.backoff.factor
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_CAP_SECONDS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.self.heal.backoff.cap.seconds
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_COOLDOWN_SECONDS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.self.heal.backoff.cooldown.seconds
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_SYNC_TIMEOUT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.sync.timeout.seconds
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_KUBECTL_PARALLELISM_LIMIT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.kubectl.parallelism.limit
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_PERSIST_RESOURCE_HEALTH
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.resource.health.persist
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_SERVER_SIDE_DIFF
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.diff.server.side
      optional: true
- name: ARGOCD_IGNORE_NORMALIZER_JQ_TIMEOUT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.ignore.normalizer.jq.timeout
      optional: true
- name: ARGOCD_APPLICATION_NAMESPACES
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: application.namespaces
      optional: true
- name: ARGOCD_CONTROLLER_SHARDING_ALGORITHM
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.sharding.algorithm
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_OTLP_ADDRESS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: otlp.address
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_OTLP_INSECURE
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: otlp.insecure
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_OTLP_HEADERS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: otlp.headers
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_OTLP_ATTRS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: otlp.attrs
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_OTLP_SAMPLE_RATIO
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: otlp.sample.ratio
      optional: true
- name: ARGOCD_SYNC_WAVE_DELAY
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.sync.wave.delay.seconds
      optional: true
- name: ARGOCD_REPO_ERROR_GRACE_PERIOD_SECONDS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.repo.error.grace.period.seconds
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: repo.server
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_TIMEOUT_SECONDS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.repo.server.timeout.seconds
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_PLAINTEXT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.repo.server.plaintext
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_STRICT_TLS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.repo.server.strict.tls
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_CA_CERT_PATH
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.repo.server.ca.cert.path
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_CLIENT_CERT_PATH
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.repo.server.client.cert.path
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_CLIENT_CERT_KEY_PATH
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.repo.server.client.cert.key.path
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_COMMIT_SERVER
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: commit.server
      optional: true
- name: ARGOCD_APPLICATION_CONTROLLER_HYDRATION_PROCESSORS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.hydration.processors
      optional: true
- name: ARGOCD_HYDRATOR_ENABLED
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: hydrator.enabled
      optional: true
- name: GRPC_ENABLE_TXT_SERVICE_CONFIG
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.grpc.enable.txt.service.config
      optional: true
- name: ARGOCD_GIT_REQUEST_TIMEOUT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.git.request.timeout
      optional: true
- name: ARGOCD_GIT_LS_REMOTE_PARALLELISM_LIMIT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.git.lsremote.parallelism.limit
      optional: true
- name: ARGOCD_GIT_MODULES_ENABLED
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.enable.git.submodule
      optional: true
- name: ARGOCD_HELM_USER_AGENT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.helm.user.agent
      optional: true
- name: ARGOCD_REPO_SERVER_HELM_MANIFEST_MAX_EXTRACTED_SIZE
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.helm.manifest.max.extracted.size
      optional: true
- name: ARGOCD_REPO_SERVER_DISABLE_HELM_MANIFEST_MAX_EXTRACTED_SIZE
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.disable.helm.manifest.max.extracted.size
      optional: true
- name: ARGOCD_REPO_SERVER_OCI_MANIFEST_MAX_EXTRACTED_SIZE
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.oci.manifest.max.extracted.size
      optional: true
- name: ARGOCD_REPO_SERVER_DISABLE_OCI_MANIFEST_MAX_EXTRACTED_SIZE
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.disable.oci.manifest.max.extracted.size
      optional: true
- name: ARGOCD_REPO_SERVER_OCI_LAYER_MEDIA_TYPES
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.oci.layer.media.types
      optional: true
- name: ARGOCD_REPO_SERVER_MAX_COMBINED_DIRECTORY_MANIFESTS_SIZE
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.max.combined.directory.manifests.size
      optional: true
- name: ARGOCD_REPO_SERVER_PARALLELISM_LIMIT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.parallelism.limit
      optional: true
- name: ARGOCD_REPO_CACHE_EXPIRATION
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.repo.cache.expiration
      optional: true
- name: ARGOCD_REVISION_CACHE_LOCK_TIMEOUT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.revision.cache.lock.timeout
      optional: true
- name: ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.plugin.tar.exclusions
      optional: true
- name: ARGOCD_REPO_SERVER_PLUGIN_USE_MANIFEST_GENERATE_PATHS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.plugin.use.manifest.generate.paths
      optional: true
- name: ARGOCD_REPO_SERVER_ALLOW_OUT_OF_BOUNDS_SYMLINKS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.allow.oob.symlinks
      optional: true
- name: ARGOCD_REPO_SERVER_ENABLE_BUILTIN_GIT_CONFIG
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.enable.builtin.git.config
      optional: true
- name: ARGOCD_REPO_SERVER_INCLUDE_HIDDEN_DIRECTORIES
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.include.hidden.directories
      optional: true
- name: ARGOCD_REPO_SERVER_STREAMED_MANIFEST_MAX_TAR_SIZE
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.streamed.manifest.max.tar.size
      optional: true
- name: ARGOCD_REPO_SERVER_STREAMED_MANIFEST_MAX_EXTRACTED_SIZE
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: reposerver.streamed.manifest.max.extracted.size
      optional: true
- name: ARGOCD_APP_STATE_CACHE_EXPIRATION
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.app.state.cache.expiration
      optional: true
- name: ARGOCD_DEFAULT_CACHE_EXPIRATION
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.default.cache.expiration
      optional: true
- name: REDIS_SERVER
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: redis.server
      optional: true
- name: REDISDB
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: redis.db
      optional: true
- name: REDIS_SENTINEL_HOSTS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: redis.sentinel.hosts
      optional: true
- name: REDIS_SENTINEL_MASTER
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: redis.sentinel.master
      optional: true
- name: REDIS_COMPRESSION
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: redis.compression
      optional: true
- name: ARGOCD_REDIS_KEY_PREFIX
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: redis.key.prefix
      optional: true
- name: ARGOCD_K8S_CLIENT_QPS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.k8s.client.qps
      optional: true
- name: ARGOCD_K8S_CLIENT_BURST
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.k8s.client.burst
      optional: true
- name: ARGOCD_K8S_CLIENT_MAX_IDLE_CONNECTIONS
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.k8s.client.max.idle.connections
      optional: true
- name: ARGOCD_K8S_TCP_TIMEOUT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.k8s.tcp.timeout
      optional: true
- name: ARGOCD_K8S_TCP_KEEPALIVE
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.k8s.tcp.keepalive
      optional: true
- name: ARGOCD_K8S_TCP_IDLE_TIMEOUT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.k8s.tcp.idle.timeout
      optional: true
- name: ARGOCD_K8S_TLS_HANDSHAKE_TIMEOUT
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.k8s.tls.handshake.timeout
      optional: true
- name: ARGOCD_K8SCLIENT_RETRY_MAX
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.k8sclient.retry.max
      optional: true
- name: ARGOCD_K8SCLIENT_RETRY_BASE_BACKOFF
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.k8sclient.retry.base.backoff
      optional: true
- name: ARGOCD_CLUSTER_CACHE_BATCH_EVENTS_PROCESSING
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.cluster.cache.batch.events.processing
      optional: true
- name: ARGOCD_CLUSTER_CACHE_EVENTS_PROCESSING_INTERVAL
  valueFrom:
    configMapKeyRef:
      name: argocd-cmd-params-cm
      key: controller.cluster.cache.events.processing.interval
      optional: true
{{- end }}
{{- /* Known keys of the values below global. */ -}}
{{- define "driftless.globalKeys" -}}
["addPrometheusAnnotations","additionalLabels","affinity","certificateAnnotations","deploymentAnnotations","deploymentStrategy","domain","dualStack","env","hostAliases","image","imagePullSecrets","logging","networkPolicy","nodeSelector","podAnnotations","podLabels","priorityClassName","revisionHistoryLimit","runtimeClassName","securityContext","statefulsetAnnotations","tolerations","topologySpreadConstraints"]
{{- end }}
{{- /* Keys of argocd-cm that become environment variables, so a change needs new pods. */ -}}
{{- define "driftless.environmentKeysOfCm" -}}
["timeout.reconciliation","timeout.hard.reconciliation","timeout.reconciliation.jitter"]
{{- end }}
