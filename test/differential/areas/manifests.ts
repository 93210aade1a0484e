import { readFileSync } from 'node:fs';
import { isObject, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import { root } from '../root.ts';

function linesOf(path: string): readonly Json[] {
  const text = readFileSync(new URL(path, root), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => parseJson(line));
}

/** Manifests of every built-in kind, and what an API server stores for them. */
export const kindExamples = linesOf('diff/testdata/kinds.ndjson') as unknown as readonly {
  readonly raw: JsonObject;
  readonly stored: JsonObject;
}[];

/** Objects of every kind that has a health check. */
export const healthExamples: readonly JsonObject[] = [
  ...linesOf('health/testing/custom-kinds.jsonl'),
  ...linesOf('health/testing/public-cases.jsonl'),
].flatMap((row) => (Array.isArray(row) ? (row as readonly Json[]).filter(isObject).slice(0, 1) : []));

/** Custom resources with the features that comparisons treat by guess. */
export const customExamples: readonly JsonObject[] = [
  {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', labels: { a: 'b' }, annotations: { note: 'x' } },
    spec: {
      size: 3,
      ratio: 0.5,
      enabled: true,
      cpu: '1000m',
      template: {
        containers: [{ name: 'a', image: 'x:1', resources: { limits: { cpu: '1000m', memory: '1024Mi' } } }],
      },
      items: [
        { name: 'a', value: '1' },
        { name: 'b', value: '2' },
      ],
      tags: ['x', 'y'],
      options: {},
    },
  },
  {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Rollout',
    metadata: { name: 'r' },
    spec: {
      replicas: 2,
      strategy: { canary: { steps: [{ setWeight: 20 }, { pause: {} }] } },
      template: {
        metadata: { labels: { app: 'r' } },
        spec: { containers: [{ name: 'c', image: 'i:1', resources: { requests: { cpu: '0.5' } } }] },
      },
    },
  },
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      names: { kind: 'Widget', plural: 'widgets' },
      scope: 'Namespaced',
      preserveUnknownFields: false,
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  },
];

/** The fields by which Kubernetes merges the items of a list. */
const itemKeys: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [
      ...['containers', 'initContainers', 'ephemeralContainers', 'volumes', 'env', 'imagePullSecrets', 'secrets'],
      ...['webhooks', 'matchConditions', 'resourceClaims', 'schedulingGates', 'validations', 'devices', 'requests'],
    ].map((list) => [list, ['name']]),
  ),
  volumeMounts: ['mountPath'],
  volumeDevices: ['devicePath'],
  hostAliases: ['ip'],
  topologySpreadConstraints: ['topologyKey', 'whenUnsatisfiable'],
  ownerReferences: ['uid'],
  conditions: ['type'],
};

/** The manifest with the keys of all list items, without which no API server accepts it. */
export function withItemKeys(value: Json, list = ''): Json {
  if (Array.isArray(value))
    return (value as readonly Json[]).map((item, i) => withItemKeys(isObject(item) ? keyed(item, list, i) : item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    // Its old name follows serviceAccountName only in an API server.
    Object.entries(value)
      .filter(([key]) => key !== 'serviceAccount')
      .map(([key, member]) => [key, withItemKeys(member ?? null, key)]),
  );
}

function keyed(item: JsonObject, list: string, index: number): JsonObject {
  const keys = (list === 'ports' ? portKeys(item) : itemKeys[list]) ?? [];
  const missing = keys.filter((key) => (item[key] ?? '') === '');
  const values = missing.map((key) => [key, key.toLowerCase().includes('port') ? 8000 + index : `n${index}`]);
  return { ...item, ...(Object.fromEntries(values) as JsonObject) };
}

function portKeys(item: JsonObject): readonly string[] {
  return ['targetPort', 'nodePort', 'port'].some((key) => Object.hasOwn(item, key)) ? ['port'] : ['containerPort'];
}
