import { isObject, ownMember, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { milliQuantity } from '#diff';
import { isTrackable, trackedApp, withTracking } from '#model';
import type { KubeObject, TrackingSettings } from '#model';
import { distribute } from '#sharding';
import type { ShardedCluster, ShardingAlgorithm } from '#sharding';
import { failureOf, textOf } from '../area.ts';
import type { Area, Verdict } from '../area.ts';
import type { Draw } from '../draw.ts';
import { mutateOnce } from '../mutate.ts';
import type { OracleAnswer } from '../oracle.ts';
import { customExamples, kindExamples } from './manifests.ts';

const rows = {
  crd: 'a CustomResourceDefinition whose manifest names a namespace',
  negative: 'negative quantities below the precision of a quantity',
} as const;

const labelKeys = ['app.kubernetes.io/instance', 'argocd.argoproj.io/instance', 'example.com/app'];

function trackedObject(draw: Draw): JsonObject {
  const base = draw.chance(0.2) ? draw.pick(customExamples) : draw.pick(kindExamples).raw;
  const id = draw.pick([
    'app:apps/Deployment:default/x',
    'ns_app:/ConfigMap:/x',
    'bad',
    ':/ConfigMap:a/b',
    'a:b:c',
    'a:/K:n/x:y',
    'a:/K/z:n/x',
    '',
  ]);
  const metadata: Record<string, Json> = { name: 'x' };
  if (draw.chance(0.6)) metadata['namespace'] = draw.pick(['default', '', 'other']);
  if (draw.chance(0.7))
    metadata['annotations'] = {
      ...(draw.chance(0.8) ? { 'argocd.argoproj.io/tracking-id': id } : {}),
      ...(draw.chance(0.5) ? { 'argocd.argoproj.io/installation-id': draw.pick(['i', 'j', '']) } : {}),
    };
  if (draw.chance(0.5)) metadata['labels'] = { [draw.pick(labelKeys)]: draw.pick(['app', '', 'other']) };
  return { ...base, metadata };
}

function trackingCase(draw: Draw): Json {
  return {
    object: trackedObject(draw),
    live: trackedObject(draw),
    app: draw.pick(['app', 'ns_app', 'x'.repeat(63), `${'y'.repeat(62)}--z`, `${'a'.repeat(60)}....b`, 'Ü', 'a']),
    namespace: draw.pick(['default', 'other', '']),
    method: draw.pick(['label', 'annotation', 'annotation+label', 'annotation+label']),
    labelKey: draw.pick(labelKeys),
    installationId: draw.pick(['', '', 'i']),
  };
}

function judgeTracking(input: Json, answer: OracleAnswer): Verdict {
  const given = input as unknown as TrackingSettings & {
    readonly object: KubeObject;
    readonly live: KubeObject;
    readonly app: string;
    readonly namespace: string;
  };
  const marked = withTracking(given.object, given.app, given.namespace, given) as unknown as Json;
  const theirs = failureOf(answer);
  const value: Json = isObject(theirs) ? { marked: theirs['marked'] ?? null, app: theirs['app'] ?? '' } : theirs;
  return { ours: { marked, app: trackedApp(given.live, given) ?? '' }, theirs: value };
}

/** The repo-server does not mark CustomResourceDefinitions; the function itself would. */
function explainTracking(input: Json): string | undefined {
  const { object, live } = input as unknown as { readonly object: KubeObject; readonly live: KubeObject };
  return [object, live].every(isTrackable) ? undefined : rows.crd;
}

export const trackingArea: Area = {
  name: 'tracking',
  generate: trackingCase,
  judge: judgeTracking,
  explain: explainTracking,
};

function shardingCase(draw: Draw): Json {
  const count = draw.pick([1, 2, 3, 5, 8, 20, 60]);
  const cluster = (i: number): JsonObject => ({
    id: draw.pick([`id-${i}`, `${String(i).padStart(3, '0')}-é`, `${draw.below(1e9)}-${i}`]),
    server: `https://c${i}.example.com`,
    name: `c${i}`,
    ...(draw.chance(0.1) ? { shard: draw.below(6) } : {}),
  });
  return {
    algorithm: draw.pick(['legacy', 'legacy', 'round-robin']),
    replicas: draw.pick([1, 2, 3, 4, 7, 16]),
    clusters: Array.from({ length: count }, (_, i) => cluster(i)),
  };
}

function judgeSharding(input: Json, answer: OracleAnswer): Verdict {
  const given = input as unknown as {
    readonly algorithm: ShardingAlgorithm;
    readonly replicas: number;
    readonly clusters: readonly ShardedCluster[];
  };
  const table = distribute(given.algorithm, given.clusters, new Map(), given.replicas);
  return { ours: Object.fromEntries([...table].sort()), theirs: failureOf(answer) };
}

export const shardingArea: Area = {
  name: 'sharding',
  generate: shardingCase,
  judge: judgeSharding,
  explain: () => undefined,
};

const suffixes = [
  '',
  '',
  'm',
  'k',
  'M',
  'G',
  'Ki',
  'Mi',
  'Gi',
  'Ti',
  'Pi',
  'Ei',
  'n',
  'u',
  'e3',
  'E-2',
  'E',
  'e+1',
  'K',
  'mi',
  'kB',
];

function quantityCase(draw: Draw): Json {
  const digits = (): string =>
    draw.pick([
      '0',
      '1',
      '5',
      '100',
      '007',
      '1.5',
      '.5',
      '1.',
      '0.001',
      '0.0000000001',
      '999999',
      '9223372036854775807',
      '1e3',
      '',
      '1_000',
      '-0',
      '٣',
    ]);
  const text = `${draw.pick(['', '', '', '-', '+', ' ', '\u00a0'])}${digits()}${draw.pick(suffixes)}${draw.pick(['', '', '', ' ', '\t'])}`;
  return { text: draw.chance(0.1) ? stringifyJson(mutateOnce({ text }, draw)) : text };
}

function judgeQuantity(input: Json, answer: OracleAnswer): Verdict {
  // An absent quantity and null are zero.
  const text = (isObject(input) ? ownMember(input, 'text') : null) ?? 0;
  const milli = milliQuantity(typeof text === 'string' || typeof text === 'number' ? text : '');
  if (answer.kind === 'error') return { ours: { valid: milli !== undefined }, theirs: { valid: false } };
  const value = failureOf(answer);
  const theirs = isObject(value) ? Number(value['milli']) : 0;
  // The original saturates at 64 bits.
  const isHuge = Math.abs(theirs) > Number.MAX_SAFE_INTEGER || Math.abs(milli ?? 0) > Number.MAX_SAFE_INTEGER;
  return {
    ours: { valid: milli !== undefined, milli: isHuge ? 0 : (milli ?? null) },
    theirs: { valid: true, milli: isHuge ? 0 : theirs },
  };
}

/** The original rounds a negative amount below its precision to a positive one. */
function explainQuantity(input: Json, { ours, theirs }: Verdict): string | undefined {
  if (!isObject(input) || !isObject(ours) || !isObject(theirs)) return undefined;
  const isNegative = textOf(input['text']).trim().startsWith('-');
  return isNegative && ours['valid'] === theirs['valid'] ? rows.negative : undefined;
}

export const quantityArea: Area = {
  name: 'quantity',
  generate: quantityCase,
  judge: judgeQuantity,
  explain: explainQuantity,
};
