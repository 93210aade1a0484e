import { isObject, stringifyJson, systemClock } from '#base';
import type { Json, JsonObject } from '#base';
import type { ApiDiscovery } from '#kube';
import { gvkOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { planSync, readSyncOptions } from '#sync';
import type { ClusterWriter, SyncRequest } from '#sync';
import { failureOf, textOf } from '../area.ts';
import type { Area, Verdict } from '../area.ts';
import type { Draw } from '../draw.ts';
import type { OracleAnswer } from '../oracle.ts';

const versions: readonly (readonly [apiVersion: string, kind: string, isNamespaced: boolean])[] = [
  ...['ConfigMap', 'Secret', 'ServiceAccount', 'Service', 'Pod', 'PersistentVolumeClaim'].map(
    (kind) => ['v1', kind, true] as const,
  ),
  ...['LimitRange', 'ResourceQuota'].map((kind) => ['v1', kind, true] as const),
  ...['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet'].map((kind) => ['apps/v1', kind, true] as const),
  ...['Job', 'CronJob'].map((kind) => ['batch/v1', kind, true] as const),
  ...['Role', 'RoleBinding'].map((kind) => ['rbac.authorization.k8s.io/v1', kind, true] as const),
  ...['ClusterRole', 'ClusterRoleBinding'].map((kind) => ['rbac.authorization.k8s.io/v1', kind, false] as const),
  ...[['networking.k8s.io/v1', 'Ingress', true] as const, ['networking.k8s.io/v1', 'IngressClass', false] as const],
  ...[['networking.k8s.io/v1', 'NetworkPolicy', true] as const, ['v1', 'Namespace', false] as const],
  ...[
    ['apiextensions.k8s.io/v1', 'CustomResourceDefinition', false] as const,
    ['example.com/v1', 'Widget', true] as const,
  ],
  ...[['apiregistration.k8s.io/v1', 'APIService', false] as const, ['v1', 'PersistentVolume', false] as const],
  ...[['storage.k8s.io/v1', 'StorageClass', false] as const, ['policy/v1', 'PodDisruptionBudget', true] as const],
  ...[['autoscaling/v2', 'HorizontalPodAutoscaler', true] as const],
];

const waves = ['0', '1', '-1', '5', '10', '-10', '2', '+3', '007', 'x', '', '1.5', '9223372036854775807'];
const hookTypes = [
  'PreSync',
  'Sync',
  'PostSync',
  'SyncFail',
  'Skip',
  'PreSync,PostSync',
  'Sync, PostSync',
  'presync',
  'PreSync,Nope',
  '',
];
const helmHooks = [
  'pre-install',
  'post-install',
  'pre-upgrade',
  'post-upgrade',
  'crd-install',
  'test',
  'pre-delete',
  'pre-install,pre-upgrade',
  'pre-rollback',
  'post-delete',
];

function annotationsOf(draw: Draw, isHook: boolean): JsonObject {
  return {
    ...(draw.chance(0.5) ? { 'argocd.argoproj.io/sync-wave': draw.pick(waves) } : {}),
    ...(isHook && draw.chance(0.7) ? { 'argocd.argoproj.io/hook': draw.pick(hookTypes) } : {}),
    ...(isHook && draw.chance(0.3) ? { 'helm.sh/hook': draw.pick(helmHooks) } : {}),
    ...(draw.chance(isHook ? 0.3 : 0.05) ? { 'helm.sh/hook-weight': draw.pick(waves) } : {}),
    ...(draw.chance(0.15)
      ? {
          'argocd.argoproj.io/sync-options': draw.pick([
            'PruneLast=true',
            'Prune=false',
            'PruneLast=false',
            'Replace=true,PruneLast=true',
            ' PruneLast=true ',
          ]),
        }
      : {}),
  };
}

function object(index: number, draw: Draw, isHook: boolean): JsonObject {
  const [apiVersion, kind, isNamespaced] = draw.pick(versions);
  const name =
    kind === 'Namespace' && index === 0 ? draw.pick(['prod', 'other']) : `${draw.pick(['a', 'b', 'Z', 'm-'])}${index}`;
  const metadata: JsonObject = {
    name,
    ...(isNamespaced && draw.chance(0.5) ? { namespace: draw.pick(['prod', 'other']) } : {}),
    annotations: annotationsOf(draw, isHook),
  };
  const spec = { group: 'example.com', names: { kind: 'Widget' } };
  return kind === 'CustomResourceDefinition' ? { apiVersion, kind, metadata, spec } : { apiVersion, kind, metadata };
}

function syncCase(draw: Draw): Json {
  const pairs = draw.some([0, 7], (i): readonly [target: Json, live: Json] => {
    const side = object(i, draw, false);
    const live = isObject(side['metadata'])
      ? { ...side, metadata: { ...side['metadata'], namespace: side['metadata']['namespace'] ?? 'prod', uid: `u${i}` } }
      : side;
    return draw.pick([
      [side, null],
      [side, live],
      [null, live],
    ]);
  });
  return {
    targets: pairs.map(([target]) => target),
    lives: pairs.map(([, live]) => live),
    hooks: draw.some([0, 3], (i) => object(20 + i, draw, true)).filter(isHookLike),
    namespace: 'prod',
    pruneLast: draw.chance(0.25),
    skipHooks: draw.chance(0.1),
  };
}

/** Only what Argo CD takes for a hook comes among the hooks. */
function isHookLike(hook: JsonObject): boolean {
  const metadata = hook['metadata'];
  const notes = isObject(metadata) && isObject(metadata['annotations']) ? metadata['annotations'] : {};
  const types = textOf(notes['argocd.argoproj.io/hook']);
  return /PreSync|Sync|PostSync|SyncFail/.test(types) && !/Nope|Skip/.test(types);
}

const served = versions.map(([apiVersion, kind, namespaced]): ApiResource => {
  const { group, version } = gvkOf({ apiVersion, kind, metadata: {} });
  return {
    group,
    version,
    kind,
    resource: `${kind.toLowerCase()}s`,
    verbs: ['get', 'list'],
    subresources: [],
    shortNames: [],
    namespaced,
  };
});
const discovery: ApiDiscovery = { preferred: served, served, apiVersions: [], failedGroups: new Map() };
const never = (): never => {
  throw new Error('a plan writes nothing');
};
const writer: ClusterWriter = {
  discovery,
  ...{ get: never, apply: never, create: never, delete: never, patchMetadata: never },
  denied: () => undefined,
};

function requestOf(input: Json): SyncRequest {
  const { targets, lives, hooks, pruneLast, skipHooks, namespace } = input as unknown as {
    readonly targets: readonly (KubeObject | null)[];
    readonly lives: readonly (KubeObject | null)[];
    readonly hooks: readonly KubeObject[];
    readonly namespace: string;
    readonly pruneLast: boolean;
    readonly skipHooks: boolean;
  };
  const facts = { pruneConfirmed: false, waveDelayMs: 0 };
  return {
    resources: targets.map((target, i) => ({ target, live: lives[i] ?? null, modified: true })),
    hooks,
    ...{ liveHooks: [], results: [], revision: 'abcdef0123', startedAt: 0, attempt: 'x' },
    options: { ...readSyncOptions({ prune: true }, facts), pruneLast, skipHooks },
    destinationNamespace: namespace,
    isSelected: () => true,
    health: () => null,
    canPrune: () => true,
    otherOwner: () => undefined,
    namespaceModifier: () => null,
    writer,
    waveAppliedAt: () => 0,
    releaseSlotWhile: (work) => work,
    warn: () => undefined,
    clock: systemClock,
    signal: new AbortController().signal,
  };
}

async function judge(input: Json, answer: OracleAnswer): Promise<Verdict> {
  const planned = await planSync(requestOf(input));
  const ours = planned.map(({ phase, wave, kind, name, action }) =>
    [phase, wave, kind, name, ['prune', 'keep'].includes(action)].join(' '),
  );
  const value = failureOf(answer);
  const tasks =
    isObject(value) && Array.isArray(value['tasks']) ? (value['tasks'] as readonly JsonObject[]) : undefined;
  const theirs = tasks?.map(({ phase, wave, kind, name, prune }) =>
    [phase, wave, kind, name, prune].map(textOf).join(' '),
  );
  return { ours, theirs: theirs ?? value };
}

const rows = {
  crd: 'CustomResourceDefinitions that Git has dropped',
  hugeWave: 'sync waves near the limits of 64 bits',
} as const;

function explain(input: Json): string | undefined {
  if (stringifyJson(input).includes('9223372036854775807')) return rows.hugeWave;
  return droppedDefinitions(input).length > 0 ? rows.crd : undefined;
}

function droppedDefinitions(input: Json): readonly Json[] {
  const { targets, lives } = input as unknown as { readonly targets: readonly Json[]; readonly lives: readonly Json[] };
  return lives.filter(
    (live, i) => isObject(live) && live['kind'] === 'CustomResourceDefinition' && !isObject(targets[i]),
  );
}

export const syncArea: Area = { name: 'sync', generate: syncCase, judge, explain };
