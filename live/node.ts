import { at, deepEqual, messageOf, parseGoBool } from '#base';
import type { Json } from '#base';
import { fingerprint } from '#diff';
import { healthOf } from '#health';
import { faultOf } from '#kube';
import { annotationOf, annotations, groupOf, jsonOf, resourceKey, trackedApp, versionOf } from '#model';
import type { GroupKind, HealthStatus, KubeObject, ResourceKey, Settings } from '#model';
import { customLabelsOf, detailsOf, infoOf } from './details.ts';
import type { Details } from './details.ts';
import { bodyRule } from './filter.ts';
import { claimTemplates, ownersOf } from './owners.ts';
import type { BodyFilter, LiveRow, LiveOwner } from './types.ts';

/** What an object says about itself, read once. */
interface Reading {
  readonly object: KubeObject;
  readonly ownerRefs: readonly LiveOwner[];
  readonly app: string | undefined;
  readonly keepsBody: boolean;
  readonly health: HealthStatus | null;
  readonly fingerprint: string | undefined;
  readonly details: Details | undefined;
  readonly fault: string | undefined;
}

/**
 * A node as the store keeps it: what its neighbours see, and what the store needs. There may be a million: members that most nodes lack
 * are set on those that have them only, what is the same is shared, and what can be derived is.
 */
export class StoredNode implements Omit<LiveRow, 'parents' | 'owners'> {
  readonly key: ResourceKey;
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAt: string;
  readonly health: HealthStatus | null;
  readonly deleting: boolean;
  readonly images: readonly string[];
  /** Owners with uids; changes when an inferred owner comes or goes. */
  ownerRefs: readonly LiveOwner[];
  /** Volume claim templates (StatefulSets). */
  readonly claims: readonly string[];
  /** Number of the last list that had it. */
  seen = 0;
  readonly app?: string;
  readonly details?: Details;
  /** Why there is more to the object than could be read: then it has no body, and whoever needs it asks the server. */
  readonly fault?: string;
  /** Hash of what matters to an application; absent when nobody compares it. */
  readonly fingerprint?: string;
  /** The whole object: tracked roots only, and of those the ones whose application this replica works for. */
  readonly body?: KubeObject;
  /** The whole object as it was fetched on demand, by API version. Lives as long as this version of the object. */
  fetched?: Map<string, KubeObject>;

  constructor({ object, ownerRefs, app, keepsBody, health, fingerprint, details, fault }: Reading) {
    const { metadata } = object;
    this.group = groupOf(object.apiVersion);
    this.kind = object.kind;
    this.namespace = metadata.namespace ?? '';
    this.name = metadata.name ?? '';
    this.key = resourceKey(this.group, this.kind, this.namespace, this.name);
    this.version = versionOf(object.apiVersion);
    this.uid = metadata.uid ?? '';
    this.resourceVersion = metadata.resourceVersion ?? '';
    this.createdAt = metadata.creationTimestamp ?? '';
    this.health = health;
    this.deleting = metadata.deletionTimestamp !== undefined;
    this.images = imagesOf(object);
    this.ownerRefs = ownerRefs.length === 0 ? none : ownerRefs;
    this.claims = claimTemplates(object);
    if (fingerprint !== undefined) this.fingerprint = fingerprint;
    if (details !== undefined) this.details = details;
    if (fault !== undefined) this.fault = fault;
    if (app !== undefined) this.app = app;
    if (app !== undefined && keepsBody) this.body = object;
  }
}

/**
 * What others see of a node: a copy. Member by member, because a tree may have tens of thousands of rows and spreading costs ten times as much.
 * @param parents keys of the owners that exist.
 */
export function rowOf(node: StoredNode, parents: readonly ResourceKey[]): LiveRow {
  const row: { -readonly [K in keyof LiveRow]: LiveRow[K] } = {
    key: node.key,
    group: node.group,
    kind: node.kind,
    namespace: node.namespace,
    name: node.name,
    version: node.version,
    uid: node.uid,
    resourceVersion: node.resourceVersion,
    createdAt: node.createdAt,
    owners: node.ownerRefs,
    parents,
    health: node.health,
    deleting: node.deleting,
    images: node.images,
  };
  if (node.app !== undefined) row.app = node.app;
  if (node.details !== undefined) {
    const info = infoOf(node.details);
    if (info.length > 0) row.info = info;
    if (node.details.networking !== undefined) row.networkingInfo = node.details.networking;
  }
  return row;
}

/** Reads an object into a node. Pure. Of what cannot be read there is the place, the owners and the application: see `fault`. */
export type Ingest = (object: KubeObject) => StoredNode;

const none: readonly never[] = [];
const healthy: HealthStatus = { status: 'Healthy' };

/** Ingestion under some settings. Scope decides where owners live. */
export function ingestWith(
  settings: Settings,
  isNamespaced: (gk: GroupKind) => boolean | undefined,
  bodies?: BodyFilter,
): Ingest {
  const keepsBodyOf = bodyRule(bodies);
  const customLabels = customLabelsOf(settings);
  return (object) => {
    const ownerRefs = ownersOf(object, isNamespaced);
    const claimed = trackedApp(object, settings.tracking);
    const place = { object, ownerRefs, app: ownerRefs.length === 0 ? claimed : undefined };
    const fault = faultOf(object);
    if (fault !== undefined) return unreadable(place, fault);
    try {
      return new StoredNode({
        ...place,
        keepsBody: claimed !== undefined && keepsBodyOf(claimed),
        health: shared(healthOf(object, settings)),
        fingerprint: needsFingerprint(object, claimed, settings) ? fingerprint(object, settings) : undefined,
        details: detailsOf(object, customLabels),
        fault: undefined,
      });
    } catch (error) {
      return unreadable(place, messageOf(error));
    }
  };
}

/** A node without a body: a tenant may store what no reader of ours can take, and everybody else's objects are in the same list. */
function unreadable(place: Pick<Reading, 'object' | 'ownerRefs' | 'app'>, fault: string): StoredNode {
  const health: HealthStatus = { status: 'Unknown', message: `the object cannot be read: ${fault}` };
  return new StoredNode({ ...place, keepsBody: false, health, fingerprint: undefined, details: undefined, fault });
}

/**
 * Whether two readings of one object are the same. Owners that the store has found out itself are in `before` only, and have no uid.
 */
export function isSameReading(before: StoredNode, after: StoredNode): boolean {
  const told = after.ownerRefs.every(({ key, uid }) => before.ownerRefs.some((o) => o.key === key && o.uid === uid));
  const kept = before.ownerRefs.filter(({ uid }) => uid !== '').length;
  const named = after.ownerRefs.filter(({ uid }) => uid !== '').length;
  return told && kept === named && deepEqual(factsOf(before), factsOf(after));
}

function factsOf(node: StoredNode): Json {
  const { version, createdAt, health, deleting, images, claims, app, details, fingerprint, fault } = node;
  return jsonOf([version, createdAt, health, deleting, images, claims, { app, details, fingerprint, fault }]);
}

/** True when an update cannot matter to any application: equal health and equal, known fingerprints (Argo CD: skipResourceUpdate). */
export function isSameToApps(before: StoredNode, after: StoredNode): boolean {
  if (before.uid !== after.uid || before.app !== after.app) return false;
  if (before.health?.status !== after.health?.status) return false;
  return before.fingerprint !== undefined && before.fingerprint === after.fingerprint;
}

/** True when nothing is new: the same version of the same object, read as before (settings may have changed how). */
export function isRepeated(before: StoredNode, after: StoredNode): boolean {
  return isSameVersion(before, after) && before.app === after.app && before.health?.status === after.health?.status;
}

/** True when the two were read from the same version of the same object. */
export function isSameVersion(before: StoredNode, after: StoredNode): boolean {
  return before.uid === after.uid && before.resourceVersion === after.resourceVersion && after.resourceVersion !== '';
}

function needsFingerprint(object: KubeObject, app: string | undefined, settings: Settings): boolean {
  if (!settings.ignoreResourceUpdatesEnabled) return false;
  if (app !== undefined || (object.kind === 'Application' && groupOf(object.apiVersion) === 'argoproj.io')) return true;
  return parseGoBool(annotationOf(object, annotations.ignoreResourceUpdates)) === true;
}

/** A million healthy objects share one value. */
function shared(health: HealthStatus | null): HealthStatus | null {
  return health !== null && deepEqual(health as unknown as Json, healthy as unknown as Json) ? healthy : health;
}

/** Distinct images of a Pod's containers, init containers first. */
function imagesOf(object: KubeObject): readonly string[] {
  if (object.kind !== 'Pod' || object.apiVersion !== 'v1') return none;
  const images = new Set<string>();
  for (const field of ['initContainers', 'containers']) {
    const containers = at(object['spec'] as Json | undefined, field);
    if (!Array.isArray(containers)) continue;
    for (const container of containers as readonly Json[]) {
      const image = at(container, 'image');
      if (typeof image === 'string' && image !== '') images.add(image);
    }
  }
  return [...images];
}
