import { stringifyJson } from '#base';
import type { JsonObject } from '#base';

/** A kind of object in the repository. */
export type ItemKind = (typeof itemKinds)[number];

/** Kinds in the generated repository. Hooks are Jobs with an annotation. */
export const itemKinds = [
  'ConfigMap',
  'Secret',
  'Deployment',
  'Service',
  'ServiceAccount',
  'Role',
  'StatefulSet',
  'PersistentVolumeClaim',
  'NetworkPolicy',
  'CronJob',
  'Job',
  'Ingress',
  'PodDisruptionBudget',
  'Widget',
] as const;

/** An object of an Application, as the plan describes it. */
export interface ItemPlan {
  readonly kind: ItemKind;
  /** Annotations below argocd.argoproj.io: `sync-wave`, `hook`, `sync-options`, … */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** How an item stands in Git; undefined: not there. */
export type ItemState = 'blue' | 'red' | 'refused' | 'failing' | 'endless';

export interface WantedItem extends ItemPlan {
  readonly name: string;
  readonly state: ItemState;
}

/** REST paths of the kinds, below `/apis` or `/api`, without the namespace. */
export const itemPaths: Readonly<Record<ItemKind, readonly [group: string, resource: string]>> = {
  ConfigMap: ['api/v1', 'configmaps'],
  Secret: ['api/v1', 'secrets'],
  Deployment: ['apis/apps/v1', 'deployments'],
  Service: ['api/v1', 'services'],
  ServiceAccount: ['api/v1', 'serviceaccounts'],
  Role: ['apis/rbac.authorization.k8s.io/v1', 'roles'],
  StatefulSet: ['apis/apps/v1', 'statefulsets'],
  PersistentVolumeClaim: ['api/v1', 'persistentvolumeclaims'],
  NetworkPolicy: ['apis/networking.k8s.io/v1', 'networkpolicies'],
  CronJob: ['apis/batch/v1', 'cronjobs'],
  Job: ['apis/batch/v1', 'jobs'],
  Ingress: ['apis/networking.k8s.io/v1', 'ingresses'],
  PodDisruptionBudget: ['apis/policy/v1', 'poddisruptionbudgets'],
  Widget: ['apis/example.com/v1', 'widgets'],
};

/** The definition of the custom kind, with a list that is merged by its keys. */
export const widgetDefinition: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  color: { type: 'string', enum: ['blue', 'red'] },
                  size: { type: 'integer', default: 3 },
                  parts: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: { name: { type: 'string' }, count: { type: 'integer' } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

/** The manifest of an item. */
export function manifestOf({ kind, name, state, annotations = {} }: WantedItem): JsonObject {
  const marks = Object.entries(annotations).map(([key, value]) => [`argocd.argoproj.io/${key}`, value]);
  const metadata = { name, ...(marks.length === 0 ? {} : { annotations: Object.fromEntries(marks) as JsonObject }) };
  const apiVersion = itemPaths[kind][0].replace(/^apis?\//, '');
  return { apiVersion, kind, metadata, ...bodies[kind](name, state) };
}

const isRed = (state: ItemState): boolean => state !== 'blue';

function pods(name: string, state: ItemState): JsonObject {
  const fails = state === 'failing' ? { annotations: { 'sim.driftless.io/fail': 'ImagePullBackOff' } } : {};
  const main = { name: 'main', image: `example/web:${state === 'blue' ? 1 : 2}`, ports: [{ containerPort: 80 }] };
  const second = { name: 'second', image: 'example/side:1', env: [{ name: 'COLOR', value: state }] };
  const containers = isRed(state) ? [main, second] : [main];
  return { metadata: { labels: { app: name }, ...fails }, spec: { containers } };
}

function workload(name: string, state: ItemState): JsonObject {
  const replicas = state === 'refused' ? -1 : isRed(state) ? 2 : 1;
  return { replicas, selector: { matchLabels: { app: name } }, template: pods(name, state) };
}

function job(name: string, state: ItemState): JsonObject {
  const { metadata, spec } = pods(name, state === 'failing' ? 'failing' : 'blue') as Record<string, JsonObject>;
  const template = { ...(metadata === undefined ? {} : { metadata }), spec: { ...spec, restartPolicy: 'Never' } };
  const suspend = state === 'endless' ? { suspend: true } : {};
  // The pods of a Job may not change.
  const parallel = state === 'red' ? { parallelism: 2 } : {};
  return { backoffLimit: state === 'refused' ? -1 : 0, ...parallel, ...suspend, template };
}

const bodies: Readonly<Record<ItemKind, (name: string, state: ItemState) => JsonObject>> = {
  ConfigMap: (_name, state) => ({
    data: state === 'refused' ? { 'not a key!': 'x' } : { color: state, ...(isRed(state) ? { more: 'a' } : {}) },
  }),
  Secret: (_name, state) => ({
    ...(state === 'refused' ? { data: { token: 'not base64!' } } : { data: { token: base64(state) } }),
  }),
  Deployment: (name, state) => ({ spec: workload(name, state) }),
  Service: (name, state) => ({
    spec: {
      selector: { app: name },
      ports: [{ name: 'web', port: state === 'refused' ? 123_456 : isRed(state) ? 81 : 80 }],
    },
  }),
  ServiceAccount: (_name, state) => (isRed(state) ? { automountServiceAccountToken: false } : {}),
  Role: (_name, state) => ({
    rules: [
      { apiGroups: [''], resources: ['pods'], verbs: state === 'refused' ? [] : isRed(state) ? ['get'] : ['list'] },
    ],
  }),
  StatefulSet: (name, state) => ({ spec: { serviceName: name, ...workload(name, state) } }),
  PersistentVolumeClaim: (_name, state) => ({
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: isRed(state) ? '2Gi' : '1024Mi' } },
      ...(state === 'refused' ? { volumeMode: 'None' } : {}),
    },
  }),
  NetworkPolicy: (name, state) => ({
    spec: {
      podSelector: { matchLabels: { app: name } },
      ingress: [{ ports: [{ port: state === 'refused' ? 123_456 : isRed(state) ? 81 : 80 }] }],
    },
  }),
  CronJob: (name, state) => ({
    spec: {
      schedule: state === 'refused' ? 'never' : isRed(state) ? '0 1 1 1 *' : '0 2 1 1 *',
      jobTemplate: { spec: job(name, 'blue') },
    },
  }),
  Job: (name, state) => ({ spec: job(name, state) }),
  Ingress: (name, state) => ({
    spec: {
      rules: [
        {
          host: state === 'refused' ? 'NO host' : `${state}.example.com`,
          http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name, port: { number: 80 } } } }] },
        },
      ],
    },
  }),
  PodDisruptionBudget: (name, state) => ({
    spec: {
      maxUnavailable: state === 'refused' ? -1 : isRed(state) ? '50%' : 1,
      selector: { matchLabels: { app: name } },
    },
  }),
  Widget: (_name, state) => ({
    spec: {
      color: state === 'refused' ? 'green' : isRed(state) ? 'red' : 'blue',
      parts: isRed(state) ? [{ name: 'a', count: 1 }, { name: 'b' }] : [{ name: 'a' }],
    },
  }),
};

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** How an Application's folder is rendered. */
export type SourceType = 'folder' | 'kustomize' | 'helm' | 'jsonnet';

const files: Readonly<Record<SourceType, (manifests: readonly JsonObject[]) => Record<string, string>>> = {
  folder: (manifests) => ({ 'all.yaml': documents(manifests) }),
  kustomize: (manifests) => ({
    'all.yaml': documents(manifests),
    'kustomization.yaml': stringifyJson({
      resources: ['all.yaml'],
      labels: [{ pairs: { team: 'blue' }, includeSelectors: false }],
    }),
  }),
  helm: (manifests) => ({
    'Chart.yaml': 'apiVersion: v2\nname: chart\nversion: 1.0.0\n',
    'values.yaml': 'team: blue\n',
    'templates/all.yaml': documents(manifests.map(withTemplate)),
  }),
  jsonnet: (manifests) => ({ 'all.jsonnet': stringifyJson(manifests) }),
};

/** The files of an Application's folder. An empty folder has a file that is no manifest. */
export function filesOf(type: SourceType, items: readonly WantedItem[]): Record<string, string> {
  return { 'README.md': 'An Application.\n', ...files[type](items.map(manifestOf)) };
}

function documents(manifests: readonly JsonObject[]): string {
  return manifests.map((manifest) => `---\n${stringifyJson(manifest)}\n`).join('');
}

function withTemplate(manifest: JsonObject): JsonObject {
  const metadata = manifest['metadata'] as JsonObject;
  return {
    ...manifest,
    metadata: { ...metadata, labels: { team: '{{ .Values.team }}', release: '{{ .Release.Name }}' } },
  };
}
