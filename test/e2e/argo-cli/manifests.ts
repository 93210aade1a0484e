/** Manifests of the Applications of these tests. */
export const service = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`;

export function deployment(name: string, replicas: number, image = 'nginx:1.27'): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec: { containers: [{ name: main, image: "${image}", resources: { requests: { cpu: 100m } } }] }
`;
}

export function settings(name: string, color: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { color: ${color} }\n`;
}

export const secret = `apiVersion: v1
kind: Secret
metadata: { name: token }
stringData: { token: hunter2 }
`;

/** A hook that never ends: its Job is suspended. */
export const endlessHook = `apiVersion: batch/v1
kind: Job
metadata: { name: wait, annotations: { argocd.argoproj.io/hook: PreSync } }
spec:
  suspend: true
  template: { spec: { restartPolicy: Never, containers: [{ name: main, image: "busybox:1" }] } }
`;

/** A manifest that the API server rejects. */
export const invalid = `apiVersion: v1
kind: Service
metadata: { name: refused }
spec: { ports: [{ port: 123456 }] }
`;

export function applicationSet(name: string, spec: string): string {
  return `apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: { name: ${name}, namespace: argocd }\nspec:\n${spec}`;
}
