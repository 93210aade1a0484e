import { deepEqual, isObject } from '#base';
import type { Json } from '#base';
import { withLastApplied } from '#diff';
import type { KubeClient } from '#kube';
import type { ApiResource, KubeObject } from '#model';
import { isList } from '../e2e/kinds/index.ts';
import type { SyncMethod } from '../../controller/testing/index.ts';

/** The tool that created an object before a sync; `trimmed`: its managed fields were removed. */
export type OtherTool =
  'kubectl apply' | 'kubectl apply, trimmed' | 'kubectl apply --server-side' | 'Argo CD' | 'Argo CD Replace' | 'Helm';

/** How an object is synced first. */
export type FirstSync = SyncMethod | OtherTool;

export const otherTools: readonly OtherTool[] = [
  'kubectl apply',
  'kubectl apply, trimmed',
  'kubectl apply --server-side',
  'Argo CD',
  'Argo CD Replace',
  'Helm',
];

/** Fields of these stay: neither an annotation nor a manager of ours says that we applied them. */
export const foreignTools: ReadonlySet<FirstSync> = new Set(['kubectl apply --server-side', 'Helm']);

const managers: Readonly<Record<OtherTool, string>> = {
  'kubectl apply': 'kubectl-client-side-apply',
  'kubectl apply, trimmed': 'kubectl-client-side-apply',
  'kubectl apply --server-side': 'kubectl',
  'Argo CD': 'argocd-controller',
  'Argo CD Replace': 'argocd-application-controller',
  Helm: 'helm',
};

export function isOtherTool(first: FirstSync): first is OtherTool {
  return Object.hasOwn(managers, first);
}

/** Creates the object as the tool does. */
export async function createWith(
  client: KubeClient,
  tool: OtherTool,
  {
    resource,
    object,
    signal,
  }: { readonly resource: ApiResource; readonly object: KubeObject; readonly signal: AbortSignal },
): Promise<KubeObject> {
  const options = { signal, fieldManager: managers[tool] };
  if (tool === 'kubectl apply --server-side') {
    const { name = '', namespace = '' } = object.metadata;
    return client.patch(resource, { name, namespace }, { type: 'apply', body: object }, options);
  }
  const isAnnotated = tool !== 'Argo CD Replace' && tool !== 'Helm';
  const stored = await client.create(resource, isAnnotated ? withLastApplied(object) : object, options);
  if (tool !== 'kubectl apply, trimmed') return stored;
  const { name = '', namespace = '' } = object.metadata;
  const body = { metadata: { managedFields: [{}] } };
  return client.patch(resource, { name, namespace }, { type: 'merge', body }, options);
}

/** Contents: live now and before the sync, after a creation of the manifest, and the manifest. */
export interface JudgedStates {
  readonly live: Json;
  readonly fresh: Json;
  readonly before: Json;
  readonly target: Json;
}

/**
 * Whether live is what a creation makes; after a first sync by a foreign manager, also with what
 * only that one set and the manifest has not.
 */
export function isAsCreated(isForeign: boolean, states: JudgedStates): boolean {
  return isForeign ? isWithin(states) : deepEqual(states.live, states.fresh);
}

type StatesInside = { readonly [K in keyof JudgedStates]: Json | undefined };

function isWithin({ live, fresh: created, before, target }: StatesInside): boolean {
  // The server stores no empty map of a manifest, and leaves what others set in it.
  const fresh = created ?? (isObject(target) && Object.keys(target).length === 0 ? {} : undefined);
  if (deepEqual(live ?? null, fresh ?? null)) return true;
  if (live === undefined) return false;
  if (target !== undefined && deepEqual(live, target)) return true;
  if (((target ?? null) === null || isEmptyKeyedList(target, live)) && before !== undefined && isPart(live, before))
    return true;
  if (isObject(live) && isObject(fresh)) {
    const inside = (value: Json | undefined, key: string): Json | undefined =>
      isObject(value) ? value[key] : undefined;
    const statesAt = (key: string): StatesInside => {
      return { live: live[key], fresh: fresh[key], before: inside(before, key), target: inside(target, key) };
    };
    // A default stays away where another manager set what excludes it, as the source of a volume.
    const hasForeign = Object.keys(live).some(
      (key) => inside(target, key) === undefined && !deepEqual(live[key] ?? null, fresh[key] ?? null),
    );
    const isExcluded = ({ live: now, target: wanted }: StatesInside): boolean =>
      hasForeign && now === undefined && wanted === undefined;
    return Object.keys({ ...live, ...fresh })
      .map(statesAt)
      .every((states) => isExcluded(states) || isWithin(states));
  }
  if (!isList(live) || !isList(fresh)) return false;
  const [old, wanted] = [before, target].map((list) => (isList(list) ? list : []));
  const isOneOf = (item: Json, one: Json): boolean =>
    [undefined, ...(old ?? [])].some((was) =>
      (wanted ?? []).some((want) => isWithin({ live: item, fresh: one, before: was, target: want })),
    );
  return (
    live.every((item) => fresh.some((one) => isOneOf(item, one)) || (old ?? []).some((was) => isPart(item, was))) &&
    fresh.every((one) => live.some((item) => isOneOf(item, one)))
  );
}

const listKeys = ['name', 'containerPort', 'port', 'ip', 'mountPath', 'devicePath', 'topologyKey'];

/** An empty list of items that have keys, or of finalizers, says nothing about items of others. */
function isEmptyKeyedList(target: Json | undefined, live: Json): boolean {
  if (!isList(target) || target.length > 0 || !isList(live)) return false;
  const isKeyed = (item: Json): boolean => isObject(item) && listKeys.some((key) => item[key] !== undefined);
  return live.every((item) => isKeyed(item) || (typeof item === 'string' && /^[a-z0-9.]+\/[a-z]+$/.test(item)));
}

/** Live may have lost fields that we removed. */
function isPart(live: Json, before: Json): boolean {
  if (isObject(live) && isObject(before))
    return Object.keys(live).every((key) => before[key] !== undefined && isPart(live[key] ?? null, before[key]));
  if (isList(live) && isList(before)) return live.every((item) => before.some((was) => isPart(item, was)));
  return deepEqual(live, before);
}
