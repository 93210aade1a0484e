import { parseYamlDocuments } from '#base';
import type { KubeObject } from '#model';

/**
 * Valid manifests of each family of built-in kinds, as people write them: without defaults, with
 * quantities in odd forms and list items without all their keys. And a custom resource with keyed
 * lists, sets, defaults and atomic maps.
 */
const namespacedText = `
apiVersion: v1
kind: ConfigMap
metadata: { name: config, labels: { a: b }, annotations: { note: x } }
data: { key: "1", other: "2" }
---
apiVersion: v1
kind: Secret
metadata: { name: secret }
stringData: { password: hidden }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: account }
automountServiceAccountToken: false
---
apiVersion: v1
kind: Service
metadata: { name: service }
spec:
  selector: { app: web }
  ports: [{ port: 80, targetPort: 8080, name: http }, { port: 81, targetPort: metrics, name: other, protocol: UDP }]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: claim }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1024Mi } }, storageClassName: fast }
---
apiVersion: v1
kind: LimitRange
metadata: { name: limits }
spec: { limits: [{ type: Container, default: { cpu: 1000m, memory: 0.5Gi }, defaultRequest: { cpu: 0.1 } }] }
---
apiVersion: v1
kind: ResourceQuota
metadata: { name: quota }
spec: { hard: { pods: 10, requests.cpu: 4000m } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  strategy: { rollingUpdate: { maxSurge: 1 } }
  template:
    metadata: { labels: { app: web }, annotations: { checksum: abc } }
    spec:
      containers:
        - name: web
          image: "nginx:1"
          args: [-v, debug]
          ports: [{ containerPort: 8080 }, { containerPort: 9090, name: metrics }]
          env: [{ name: A, value: "1" }, { name: B, valueFrom: { fieldRef: { fieldPath: metadata.name } } }]
          resources: { limits: { cpu: 1000m, memory: 1024Mi }, requests: { cpu: 0.5 } }
          readinessProbe: { httpGet: { path: /, port: 8080 }, periodSeconds: 5 }
          volumeMounts: [{ name: data, mountPath: /data }, { name: config, mountPath: /config, readOnly: true }]
          securityContext: { runAsNonRoot: true, capabilities: { drop: [ALL] } }
        - { name: side, image: "busybox:1" }
      initContainers: [{ name: init, image: "busybox:1", command: [sh, -c, "true"] }]
      volumes: [{ name: data, emptyDir: { sizeLimit: 0.5Gi } }, { name: config, configMap: { name: config } }]
      tolerations: [{ key: k, operator: Exists }]
      nodeSelector: { disk: ssd }
      topologySpreadConstraints:
        - { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: { matchLabels: { app: web } } }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  serviceName: db
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec: { terminationGracePeriodSeconds: 60, containers: [{ name: db, image: "postgres:16" }] }
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec: { hostNetwork: true, containers: [{ name: agent, image: "agent:1", ports: [{ containerPort: 9100 }] }] }
---
apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly }
spec:
  schedule: "0 3 * * *"
  suspend: true
  jobTemplate:
    spec:
      backoffLimit: 2
      template: { spec: { restartPolicy: Never, containers: [{ name: run, image: "busybox:1" }] } }
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: web }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: web }
  minReplicas: 2
  maxReplicas: 5
  metrics: [{ type: Resource, resource: { name: cpu, target: { type: Utilization, averageUtilization: 80 } } }]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web }
spec:
  rules:
    - host: example.com
      http: { paths: [{ path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }] }
  tls: [{ hosts: [example.com], secretName: tls }]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: web }
spec:
  podSelector: { matchLabels: { app: web } }
  policyTypes: [Ingress]
  ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: web }
spec: { minAvailable: 50%, selector: { matchLabels: { app: web } } }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader }
rules: [{ apiGroups: [""], resources: [pods, configmaps], verbs: [get, list] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: reader }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ kind: ServiceAccount, name: account, namespace: somewhere }]
---
apiVersion: e2e.driftless.io/v1
kind: Widget
metadata: { name: widget }
spec:
  ports: [{ port: 80 }, { port: 81, protocol: UDP, name: x }]
  tags: [a, b]
  all: [1, 2]
  whole: { app: web }
  nested: { deep: other }
`;

const clusterText = `
apiVersion: v1
kind: Namespace
metadata: { name: space, labels: { team: a } }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: role }
rules: [{ apiGroups: [apps], resources: [deployments], verbs: [get] }, { nonResourceURLs: [/metrics], verbs: [get] }]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: class }
provisioner: example.com/fast
parameters: { type: ssd }
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: { name: priority }
value: 1000
description: important
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: hook }
webhooks:
  - name: hook.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    clientConfig: { service: { name: hook, namespace: default } }
    namespaceSelector: { matchLabels: { nothing: has-this } }
    rules: [{ apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps] }]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gadgets.e2e.driftless.io }
spec:
  group: e2e.driftless.io
  scope: Namespaced
  names: { plural: gadgets, kind: Gadget }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
`;

/** The CRD of the custom resource of the corpus. */
export const widgetDefinition = parseYamlDocuments(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.e2e.driftless.io }
spec:
  group: e2e.driftless.io
  scope: Namespaced
  names: { plural: widgets, kind: Widget }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                color: { type: string, default: red }
                ports:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [port, protocol]
                  items:
                    type: object
                    required: [port]
                    properties: { port: { type: integer }, protocol: { type: string, default: TCP }, name: { type: string } }
                tags: { type: array, x-kubernetes-list-type: set, items: { type: string } }
                all: { type: array, items: { type: integer } }
                whole: { type: object, x-kubernetes-map-type: atomic, additionalProperties: { type: string } }
                nested: { type: object, default: {}, properties: { deep: { type: string, default: value } } }
`)[0] as unknown as KubeObject;

/** The corpus for a namespace. Names of cluster-scoped objects get the namespace as a suffix. */
export function corpus(namespace: string): readonly KubeObject[] {
  const read = (text: string): readonly KubeObject[] => parseYamlDocuments(text) as unknown as readonly KubeObject[];
  const inside = read(namespacedText).map((object) => ({ ...object, metadata: { ...object.metadata, namespace } }));
  const beside = read(clusterText).map((object) => {
    if (object.kind === 'CustomResourceDefinition') return object;
    return { ...object, metadata: { ...object.metadata, name: `${object.metadata.name ?? ''}-${namespace}` } };
  });
  return [...inside, ...beside];
}
