import { expect } from '@jest/globals';
import type { Application } from '#model';

/** Manifests and expectations that acceptance tests share. */
export const deployment = (
  image = 'nginx:1',
  more: { readonly wave?: number; readonly name?: string } = {},
): string => {
  const name = more.name ?? 'web';
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  annotations: { argocd.argoproj.io/sync-wave: "${more.wave ?? 0}" }
spec:
  replicas: 2
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec: { containers: [{ name: ${name}, image: "${image}" }] }
`;
};

export const config = (name: string, value = '1', annotations: Readonly<Record<string, string>> = {}): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  annotations: ${JSON.stringify(annotations)}\ndata:\n  key: "${value}"\n`;

/** A Job that runs as a hook; `fails` makes its pod fail. */
export const hookJob = (name: string, annotations: Readonly<Record<string, string>>, fails = false): string =>
  `apiVersion: batch/v1
kind: Job
metadata:
  name: ${name}
  annotations: ${JSON.stringify(annotations)}
spec:
  backoffLimit: 0
  template:
    metadata: { annotations: { sim.driftless.io/fail: "${fails ? 'Failed' : ''}" } }
    spec: { restartPolicy: Never, containers: [{ name: main, image: "busybox:1" }] }
`;

export const automated = { syncPolicy: { automated: { prune: true, selfHeal: true } } };

export function synced(app: Application): void {
  expect([app.status?.sync?.status, app.status?.health?.status]).toEqual(['Synced', 'Healthy']);
  expect(app.operation ?? null).toBeNull();
}
