// Files in Git of the Applications of the switch-over tests: kinds and spellings that are hard to
// compare. A data table.

/** A Deployment whose quantities, ports and empty values the server normalizes. */
const web = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  revisionHistoryLimit: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      hostNetwork: false
      imagePullSecrets: []
      containers:
      - name: web
        image: nginx:1
        env:
        - {name: EMPTY, value: ""}
        - {name: COLOUR, valueFrom: {configMapKeyRef: {name: settings, key: colour}}}
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: "0.5", memory: 512Mi}}
        readinessProbe: {httpGet: {path: /, port: 80}}
        volumeMounts: [{name: settings, mountPath: /etc/web}]
      volumes:
      - {name: settings, configMap: {name: settings}}
`;

const service = `apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 80}]
`;

export const settings = (colour: string): string => `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {note: 'a < b && c > d'}}
data: {colour: ${colour}, "on": "yes"}
`;

/** In plain text in Git, as stringData: the server stores it in `data`. */
export const secretValue = 'correct-horse-battery';
const secret = `apiVersion: v1
kind: Secret
metadata: {name: credentials}
type: Opaque
stringData: {password: ${secretValue}}
`;

const access = `apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web}]
`;

const clusterRole = (name: string): string => `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ${name}}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ${name}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ${name}}
subjects: [{kind: ServiceAccount, name: web, namespace: shop}]
`;

export const crd = (plural: string, kind: string): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ${plural}, singular: ${kind.toLowerCase()}, kind: ${kind}}
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
            properties: {size: {type: integer, default: 1}, tags: {type: array, items: {type: string}}}
`;

export const instance = (kind: string, name: string): string => `apiVersion: example.com/v1
kind: ${kind}
metadata: {name: ${name}}
spec: {tags: [a, b]}
`;

const database = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "postgres:16"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`;

const job = (name: string, annotations: string): string => `apiVersion: batch/v1
kind: Job
metadata: {name: ${name}, annotations: {${annotations}}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}
`;

/** A finished hook that is deleted only before the next sync. */
export const hookThatStays = job(
  'migrate',
  'argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation',
);
/** A hook that was deleted when it had succeeded. */
export const hookThatGoes = job(
  'smoke',
  'argocd.argoproj.io/hook: PostSync, argocd.argoproj.io/hook-delete-policy: HookSucceeded',
);

/** Created with Replace=true: it lacks the last-applied annotation. */
export const replaced = `apiVersion: v1
kind: ConfigMap
metadata: {name: replaced, annotations: {argocd.argoproj.io/sync-options: Replace=true}}
data: {made: by-replace}
`;

/** The files of the Application with many kinds. */
export const shop = {
  'access.yaml': access,
  'cluster.yaml': clusterRole('shop-nodes'),
  'crd.yaml': crd('widgets', 'Widget'),
  'database.yaml': database,
  'job.yaml': job('once', 'note: "no hook"'),
  'secret.yaml': secret,
  'service.yaml': service,
  'settings.yaml': settings('blue'),
  'web.yaml': web,
  'widget.yaml': instance('Widget', 'first'),
};

/** The files of simple Applications. */
export const simple = {
  'settings.yaml': settings('blue'),
  'access.yaml': access,
  'web.yaml': web,
  'service.yaml': service,
};
