import { canonicalJson, deepEqual, DriftlessError, formatPointer, isObject, messageOf, omit } from '#base';
import type { Json, JsonObject } from '#base';
import { findResource, isNotFound, KubeApiError, KubeConnectionError } from '#kube';
import type { ApiDiscovery, KubeClient } from '#kube';
import { annotations, gkOf, jsonOf, versionOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import type { ComparisonKind, SyncMethod } from '../../controller/testing/index.ts';
import { changedAt, isList, valueAtPath } from '../e2e/kinds/index.ts';
import { createWith, isAsCreated, isOtherTool } from './first-sync.ts';
import type { FirstSync } from './first-sync.ts';
import type { Mutation } from './mutations.ts';

/** The result of a case. The last three are defects: `out of sync for ever` names no reason. */
export type Outcome =
  | 'equal'
  | 'equal after a second sync'
  | 'refused with reason'
  | 'kept by the server, with a condition'
  | 'invalid manifest'
  | 'synced and different'
  | 'unknown and applied'
  | 'out of sync for ever';

/** One change of one manifest, and how it is applied before and after it. */
export interface MatrixCase {
  readonly manifest: KubeObject;
  readonly mutation: Mutation;
  readonly before: FirstSync;
  readonly method: SyncMethod;
  readonly kind: ComparisonKind;
  /** Whether an annotation of the object names the method, instead of the Application's options. */
  readonly isAnnotated: boolean;
}

/** Whether an object is as its manifest wants it. */
export interface MatrixComparison {
  readonly status: 'Synced' | 'OutOfSync' | 'Unknown';
  /** The reason for Unknown, or the paths that differ. */
  readonly why: string;
  /** The condition that explains why it stays OutOfSync after a sync that stored `object`. */
  readonly conditionAfter?: (object: KubeObject) => string | undefined;
}

/** Compares and syncs the object of a case. */
export interface MatrixSync {
  target(manifest: KubeObject): KubeObject;
  compare(
    target: KubeObject,
    live: KubeObject,
    how: { readonly method: SyncMethod; readonly kind: ComparisonKind },
  ): Promise<MatrixComparison>;
  /** @throws the refusal of the API server. */
  sync(target: KubeObject, live: KubeObject | null, method: SyncMethod): Promise<KubeObject>;
}

export interface MatrixDeps {
  readonly client: KubeClient;
  readonly discovery: ApiDiscovery;
  readonly sync: MatrixSync;
  /** Whether the fields of a tool stay. Those of the others are taken over. */
  readonly isForeign: (first: FirstSync, method: SyncMethod) => boolean;
  readonly signal: AbortSignal;
  /** Part of all names: deleted objects of an earlier run may wait for finalizers for ever. */
  readonly run: string;
  /** The namespace of the cases, and an empty one for comparisons. */
  readonly namespaces: { readonly cases: string; readonly fresh: string };
}

export interface Verdict {
  readonly outcome: Outcome;
  /** The first difference, or the refusal. */
  readonly detail: string;
}

/** Runs cases: after a sync, the live object must be what a creation of the manifest makes. */
export class RemovalMatrix {
  readonly #deps: MatrixDeps;
  readonly #sync: MatrixSync;
  #count = 0;

  constructor(deps: MatrixDeps) {
    this.#deps = deps;
    this.#sync = deps.sync;
  }

  async run(one: MatrixCase): Promise<Verdict> {
    this.#count += 1;
    const [first, second] = [one.mutation.before(), one.mutation.after()].map((object) =>
      withMethod(this.#placed(object), one),
    ) as [KubeObject, KubeObject];
    const resource = this.#resource(first);
    if (resource === undefined) return { outcome: 'invalid manifest', detail: 'not served' };
    const fresh = await this.#fresh(resource, second);
    if (fresh instanceof KubeApiError) return { outcome: 'invalid manifest', detail: fresh.message };
    let live: KubeObject;
    try {
      live = await this.#begin(one.before, resource, first);
    } catch (error) {
      if (error instanceof KubeConnectionError) throw error;
      return { outcome: 'invalid manifest', detail: messageOf(error) };
    }
    try {
      return await this.#judge(one, { target: second, live, fresh });
    } finally {
      await this.#remove(resource, live);
    }
  }

  async #begin(before: FirstSync, resource: ApiResource, object: KubeObject): Promise<KubeObject> {
    if (!isOtherTool(before)) return this.#sync.sync(object, null, before);
    return createWith(this.#deps.client, before, { resource, object, signal: this.#deps.signal });
  }

  async #judge(
    one: MatrixCase,
    { target, live, fresh }: Readonly<Record<'target' | 'live' | 'fresh', KubeObject>>,
  ): Promise<Verdict> {
    const { before: first, method, kind, isAnnotated } = one;
    const how = { method: isAnnotated ? ('client' as const) : method, kind };
    const equalOr = (outcome: Outcome, now: KubeObject): Verdict =>
      verdictOf(this.#deps.isForeign(first, method), {
        outcome,
        ...asJudged(one, { now, fresh, before: live, target }),
      });
    const before = await this.#sync.compare(target, live, how);
    if (before.status === 'Synced') return equalOr('synced and different', live);
    // Unknown with the server's reason: the sync must then be refused too.
    const unknown = before.status === 'OutOfSync' ? undefined : before.why;
    let stored = live;
    let after = before;
    // A second sync, as self-heal makes it, may still be needed after a server-side apply, which
    // removes an empty map of the manifest with the last member that the manifest drops.
    const outcomes = ['equal', 'equal after a second sync'] as const;
    for (const outcome of method === 'server' ? outcomes : outcomes.slice(0, 1)) {
      try {
        stored = await this.#sync.sync(target, stored, method);
      } catch (error) {
        // A deletion that never ends, with Force and a finalizer, has a reason too.
        if (error instanceof DriftlessError && !(error instanceof KubeConnectionError) && error.message !== '')
          return { outcome: 'refused with reason', detail: error.message };
        throw error;
      }
      if (unknown !== undefined) return { outcome: 'unknown and applied', detail: unknown };
      after = await this.#sync.compare(target, stored, how);
      if (after.status === 'Synced') {
        const verdict = equalOr('synced and different', stored);
        return verdict.outcome === 'equal' ? { ...verdict, outcome } : verdict;
      }
    }
    const condition = after.conditionAfter?.(stored);
    if (condition !== undefined) return { outcome: 'kept by the server, with a condition', detail: condition };
    return { outcome: 'out of sync for ever', detail: after.why };
  }

  #resource(object: KubeObject): ApiResource | undefined {
    return findResource(this.#deps.discovery, gkOf(object), versionOf(object.apiVersion));
  }

  #placed(manifest: KubeObject): KubeObject {
    const { name = '' } = manifest.metadata;
    const unique = `${name}-${this.#deps.run}${this.#count}`;
    const metadata = omit({ ...manifest.metadata, name: unique }, 'finalizers');
    const isNamespaced = this.#resource(manifest)?.namespaced === true;
    const placed = isNamespaced ? { ...metadata, namespace: this.#deps.namespaces.cases } : omit(metadata, 'namespace');
    return this.#sync.target({ ...manifest, metadata: placed });
  }

  /** Stores the manifest under another namespace, as a fresh creation. */
  async #fresh(resource: ApiResource, target: KubeObject): Promise<KubeObject | KubeApiError> {
    const { signal, namespaces, client } = this.#deps;
    const metadata = resource.namespaced
      ? { ...target.metadata, namespace: namespaces.fresh }
      : { ...target.metadata, name: `${target.metadata.name ?? ''}-fresh` };
    try {
      return await client.create(
        resource,
        { ...target, metadata },
        { signal, dryRun: true, fieldValidation: 'Strict' },
      );
    } catch (error) {
      if (error instanceof KubeApiError) return error;
      throw error;
    }
  }

  async #remove(resource: ApiResource, { metadata: { name = '', namespace = '' } }: KubeObject): Promise<void> {
    const { signal, client } = this.#deps;
    try {
      await client.delete(resource, { name, namespace }, { signal, propagationPolicy: 'Background' });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

const optionOf: Readonly<Record<SyncMethod, string>> = {
  client: 'ServerSideApply=false',
  server: 'ServerSideApply=true',
  replace: 'Replace=true',
  force: 'Force=true',
  'force replace': 'Force=true,Replace=true',
};

function withMethod(target: KubeObject, { method, isAnnotated }: MatrixCase): KubeObject {
  if (!isAnnotated) return target;
  const notes = { ...target.metadata.annotations, [annotations.syncOptions]: optionOf[method] };
  return { ...target, metadata: { ...target.metadata, annotations: notes } };
}

/**
 * The server chooses imagePullPolicy once, from the first image, and the labels of a Job without
 * labels, from its template. No manager owns them. So where the manifest lacks them and the object
 * is not replaced, the old choice stays.
 */
function asJudged(
  { mutation: { path }, method }: Pick<MatrixCase, 'mutation' | 'method'>,
  objects: JudgedObjects,
): JudgedObjects {
  const steps = path.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  const target = jsonOf(objects.target);
  const policy = [...steps.slice(0, -1), 'imagePullPolicy'];
  const isPolicy = steps.at(-1) === 'image' && valueAtPath(target, policy) === undefined;
  const isLabels = objects.target.kind === 'Job' && path.startsWith('spec.template.metadata');
  const chosen = isPolicy ? policy : ['metadata', 'labels'];
  if (isReplacement(method) || !(isPolicy || (isLabels && valueAtPath(target, chosen) === undefined))) return objects;
  const bare = (object: KubeObject): KubeObject => changedAt(jsonOf(object), chosen, undefined) as KubeObject & Json;
  return { now: bare(objects.now), fresh: bare(objects.fresh), before: bare(objects.before), target: objects.target };
}

function isReplacement(method: SyncMethod): boolean {
  return method === 'replace' || method === 'force replace';
}

type JudgedObjects = Readonly<Record<'now' | 'fresh' | 'before' | 'target', KubeObject>>;

function verdictOf(
  isForeign: boolean,
  { outcome, now, ...rest }: { readonly outcome: Outcome } & JudgedObjects,
): Verdict {
  const states = { live: contentOf(now), fresh: contentOf(rest.fresh), before: contentOf(rest.before) };
  return isAsCreated(isForeign, { ...states, target: contentOf(rest.target) })
    ? { outcome: 'equal', detail: '' }
    : { outcome, detail: firstDifference(states.live, states.fresh, []) };
}

const ofTheServer = [
  ...['managedFields', 'resourceVersion', 'generation', 'creationTimestamp', 'uid', 'name', 'namespace'],
  ...['deletionTimestamp', 'deletionGracePeriodSeconds', 'finalizers'],
];

/** Fields that the server allocates, generates or keeps, whatever a manifest drops. */
const allocated: Readonly<Record<string, readonly string[]>> = {
  Service: ['clusterIP', 'clusterIPs', 'healthCheckNodePort', 'ipFamilies', 'ipFamilyPolicy'],
  Job: ['selector'],
  Namespace: ['finalizers'],
};

const generatedAnnotations = ['deprecated.daemonset.template.generation', 'kubernetes.io/limit-ranger'];
/** The server adds it to a new Node only. */
const taintOfNewNodes = 'node.kubernetes.io/not-ready';

const generatedLabels = [
  'kubernetes.io/metadata.name',
  ...['controller-uid', 'job-name', 'batch.kubernetes.io/controller-uid', 'batch.kubernetes.io/job-name'],
];

/** The volume of a Pod for its ServiceAccount, whose name is random. */
const tokenVolume = /"kube-api-access-[a-z0-9]{5}"/g;

function contentOf(object: KubeObject): Json {
  const whole = JSON.parse(JSON.stringify(jsonOf(object)).replaceAll(tokenVolume, '"kube-api-access"')) as JsonObject;
  const notes = omit(
    (object.metadata.annotations ?? {}) as Record<string, Json>,
    annotations.lastApplied,
    annotations.trackingId,
    ...generatedAnnotations,
  );
  const labels = labelsOf(object.metadata.labels ?? {});
  const metadata = Object.fromEntries(
    Object.entries(object.metadata as Record<string, Json>).filter(([key]) => !ofTheServer.includes(key)),
  );
  const spec = isObject(whole['spec']) ? specOf(object.kind, whole['spec'], object.metadata.uid !== undefined) : {};
  return {
    ...omit(whole as Record<string, Json>, 'status'),
    ...(object.kind === 'Endpoints' ? { subsets: sortedItems(whole['subsets'] ?? []) } : {}),
    ...spec,
    metadata: { ...metadata, labels, annotations: notes },
  };
}

/**
 * The API server repacks the subsets of Endpoints and sorts them, so that no manifest can set an
 * order. Comparisons ignore it too, as in Argo CD; a creation and an update are sorted alike.
 */
function sortedItems(value: Json): Json {
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, sortedItems(member ?? null)]));
  if (!isList(value)) return value;
  return value.map(sortedItems).sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
}

function specOf(kind: string, spec: JsonObject, isStored: boolean): JsonObject {
  const kept = Object.entries(spec).filter(([key]) => allocated[kind]?.includes(key) !== true);
  const ports = kind === 'Service' && Array.isArray(spec['ports']) ? { ports: spec['ports'].map(withoutNodePort) } : {};
  const template = kind === 'Job' && isObject(spec['template']) ? { template: templateOf(spec['template']) } : {};
  const taints =
    kind === 'Node' && Array.isArray(spec['taints']) ? { taints: spec['taints'].filter(isOfManifest) } : {};
  const rest = Object.fromEntries<Json>(kept.map(([key, value]) => [key, value ?? null]));
  const strategy =
    kind === 'StatefulSet' && isStored && isObject(spec['updateStrategy'])
      ? { updateStrategy: strategyOf(spec['updateStrategy']) }
      : {};
  const whole = { ...rest, ...ports, ...template, ...taints, ...strategy };
  return { spec: kind === 'ResourceSlice' ? withoutTimes(whole) : omit(whole, ...emptyTaints(whole)) };
}

/** No rollingUpdate means its defaults, which the server writes only where the type is missing. */
function strategyOf(strategy: JsonObject): JsonObject {
  if (strategy['type'] !== 'RollingUpdate' || strategy['rollingUpdate'] !== undefined) return strategy;
  return { ...strategy, rollingUpdate: { partition: 0, maxUnavailable: 1 } };
}

function isOfManifest(taint: Json): boolean {
  return !isObject(taint) || taint['key'] !== taintOfNewNodes;
}

function emptyTaints({ taints }: { readonly taints?: Json }): readonly 'taints'[] {
  return Array.isArray(taints) && taints.length === 0 ? ['taints'] : [];
}

/** The times when taints of devices were added, which the server fills in. */
function withoutTimes(spec: Readonly<Record<string, Json>>): Json {
  return JSON.parse(JSON.stringify(spec), (key, value: Json) => (key === 'timeAdded' ? undefined : value)) as Json;
}

function templateOf(template: JsonObject): JsonObject {
  const { metadata } = template;
  if (!isObject(metadata) || !isObject(metadata['labels'])) return template;
  const labels = labelsOf(metadata['labels']);
  const rest = omit(metadata as Record<string, Json>, 'labels');
  return { ...template, metadata: Object.keys(labels).length === 0 ? rest : { ...rest, labels } };
}

function labelsOf(labels: JsonObject): JsonObject {
  return omit(labels as Record<string, Json>, ...generatedLabels);
}

function withoutNodePort(port: Json): Json {
  return isObject(port) ? omit(port as Record<string, Json>, 'nodePort') : port;
}

function firstDifference(left: Json | undefined, right: Json | undefined, path: readonly string[]): string {
  if (isObject(left) && isObject(right)) {
    const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
    const key = keys.find((name) => !deepEqual(left[name], right[name]));
    if (key !== undefined) return firstDifference(left[key], right[key], [...path, key]);
  }
  if (Array.isArray(left) && Array.isArray(right) && left.length === right.length) {
    const at = left.findIndex((item: Json, i) => !deepEqual(item, right[i] as Json));
    return firstDifference(left[at] as Json, right[at] as Json, [...path, String(at)]);
  }
  const text = (value: Json | undefined): string =>
    value === undefined ? 'absent' : JSON.stringify(value).slice(0, 120);
  return `${formatPointer(path)}: live ${text(left)}, as created ${text(right)}`;
}
