import type { JsonObject } from '#base';
import { compareState } from '#compare';
import type { CompareFacts } from '#compare';
import { diffObjects } from '#diff';
import { appKey, defaultSettings, keyOf } from '#model';
import type { KubeObject } from '#model';
import { medianSeconds } from './harness.ts';
import type { BenchContext, Benchmark } from './harness.ts';

const numberedNames = (count: number, prefix: string): readonly string[] =>
  Array.from({ length: count }, (_name, i) => `${prefix}${i}`);

/** About two hundred fields. */
function largeDeployment(replicas: number, variables: number): KubeObject {
  const containers = numberedNames(5, 'c').map((name, i) => ({
    name,
    image: `registry.example.com/team/${name}:1`,
    env: numberedNames(variables, 'VARIABLE_').map((variable) => ({ name: variable, value: variable })),
    ports: [8080, 9090].map((port) => ({ containerPort: port + i, protocol: 'TCP', name: `p${port + i}` })),
    resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m', memory: '128Mi' } },
    readinessProbe: { httpGet: { path: '/', port: 8080, scheme: 'HTTP' }, periodSeconds: 10, timeoutSeconds: 1 },
    volumeMounts: numberedNames(2, 'v').map((volume) => ({ name: volume, mountPath: `/${volume}` })),
  }));
  const labels = { app: 'web' };
  const volumes = numberedNames(2, 'v').map((name) => ({ name, emptyDir: {} }));
  const spec = {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers, volumes } },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec,
  };
}

/** The fieldsV1 that server-side apply records for a value; lists by their keys. */
function ownedFields(value: unknown): JsonObject {
  if (Array.isArray(value))
    return Object.fromEntries(
      value.map((item: Record<string, unknown>) => [`k:${keyIn(item)}`, { '.': {}, ...ownedFields(item) }]),
    );
  if (typeof value !== 'object' || value === null) return {};
  // A selector is atomic.
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [`f:${key}`, key === 'selector' ? {} : ownedFields(member)]),
  );
}

function keyIn({ containerPort, protocol, mountPath, name }: Record<string, unknown>): string {
  if (containerPort !== undefined) return JSON.stringify({ containerPort, protocol });
  return JSON.stringify(mountPath === undefined ? { name } : { mountPath });
}

function appliedServerSide(target: KubeObject): KubeObject {
  const fieldsV1 = { 'f:spec': ownedFields(target['spec']) };
  const entry = {
    manager: 'argocd-controller',
    operation: 'Apply',
    apiVersion: 'apps/v1',
    fieldsType: 'FieldsV1',
    fieldsV1,
  };
  return { ...target, metadata: { ...target.metadata, managedFields: [entry] } };
}

/** Milliseconds for one comparison of a Deployment with server-side apply. */
async function structuredMilliseconds(context: BenchContext, target: KubeObject): Promise<number> {
  const live = appliedServerSide(largeDeployment(2, 8));
  const rules = { settings: defaultSettings, ignoreDifferences: [], serverSideApply: true };
  const times = context.smoke ? 10 : 300;
  const seconds = await medianSeconds(context.smoke ? 1 : 5, () => {
    for (let i = 0; i < times; i += 1) diffObjects(target, live, rules);
  });
  return (seconds / times) * 1000;
}

function manySmall(count: number): CompareFacts {
  const targets = numberedNames(count, 'config-').map((name): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop' },
    data: { key: '1' },
  }));
  const live = targets.map((target) => ({
    ...target,
    metadata: { ...target.metadata, uid: 'u', resourceVersion: '1' },
  }));
  const source = { repoURL: 'https://git.example.com/x', path: 'p' };
  return {
    app: {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name: 'demo', namespace: 'argocd' },
      spec: { source, destination: { server: 'https://c', namespace: 'shop' } },
    },
    key: appKey('argocd', 'demo'),
    instance: 'demo',
    settings: defaultSettings,
    rendered: {
      targets,
      revisions: ['1'],
      sourceTypes: ['Directory'],
      conditions: [],
      failed: false,
      mayHaveChanges: true,
    },
    live: {
      objects: new Map(live.map((object) => [keyOf(object), object])),
      degraded: [],
      conditions: [],
      failed: false,
    },
    requested: ['1'],
    isNamespaced: () => true,
    permitted: () => true,
    permittedKind: () => true,
    persistResourceHealth: false,
  };
}

/** Cost of a comparison: one large object by managed fields, an Application of many small ones. */
export const compareBenchmark: Benchmark = {
  name: 'compare',
  about:
    'milliseconds for a 200-field Deployment by managed fields: unchanged, changed, with a field removed from Git (goal: 1); and for a full comparison of 1,000 small resources (goal: 150)',
  async run(context) {
    const same = await structuredMilliseconds(context, largeDeployment(2, 8));
    const changed = await structuredMilliseconds(context, largeDeployment(3, 8));
    const dropped = await structuredMilliseconds(context, largeDeployment(2, 7));
    const facts = manySmall(context.smoke ? 10 : 1000);
    const full = await medianSeconds(context.smoke ? 1 : 5, () => void compareState(facts));
    return {
      structured_same_milliseconds: same,
      structured_changed_milliseconds: changed,
      structured_dropped_milliseconds: dropped,
      full_1k_milliseconds: full * 1000,
    };
  },
};
