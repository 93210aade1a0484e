import { at, deepEqual, parseGoBool } from '#base';
import type { Json } from '#base';
import { fingerprint } from '#diff';
import { healthOf } from '#health';
import { annotationOf, annotations, groupOf, resourceKey, trackedApp, versionOf } from '#model';
import type { GroupKind, HealthStatus, KubeObject, ResourceKey, Settings } from '#model';
import { bodyRule } from './filter.ts';
import { claimTemplates, ownersOf } from './owners.ts';
import type { Owner } from './owners.ts';
import type { BodyFilter, LiveRow } from './types.ts';

/** What an object says about itself, read once. */
interface Reading {
  readonly object: KubeObject;
  readonly ownerRefs: readonly Owner[];
  readonly app: string | undefined;
  readonly keepsBody: boolean;
  readonly health: HealthStatus | null;
  readonly fingerprint: string | undefined;
}

/**
 * A node as the store keeps it: what its neighbours see, and what the store needs. There may be a million: members that most nodes lack
 * are set on those that have them only, what is the same is shared, and what can be derived is.
 */
export class StoredNode implements LiveRow {
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
  ownerRefs: readonly Owner[];
  /** Volume claim templates (StatefulSets). */
  readonly claims: readonly string[];
  /** Number of the last list that had it. */
  seen = 0;
  readonly app?: string;
  /** Hash of what matters to an application; absent when nobody compares it. */
  readonly fingerprint?: string;
  /** The whole object: tracked roots only, and of those the ones whose application this replica works for. */
  readonly body?: KubeObject;
  /** The whole object as it was fetched on demand, by API version. Lives as long as this version of the object. */
  fetched?: Map<string, KubeObject>;

  constructor({ object, ownerRefs, app, keepsBody, health, fingerprint }: Reading) {
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
    if (app !== undefined) this.app = app;
    if (app !== undefined && keepsBody) this.body = object;
  }

  get owners(): readonly ResourceKey[] {
    return this.ownerRefs.length === 0 ? none : this.ownerRefs.map((owner) => owner.key);
  }
}

/** What others see of a node: a copy. */
export function rowOf(node: StoredNode): LiveRow {
  const { key, group, kind, namespace, name, version, uid, resourceVersion, createdAt } = node;
  const { owners, app, health, deleting, images } = node;
  return {
    ...{ key, group, kind, namespace, name, version, uid, resourceVersion, createdAt },
    ...{ owners, health, deleting, images },
    ...(app === undefined ? {} : { app }),
  };
}

/** Reads an object into a node. Pure; never throws for what the object holds. */
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
  return (object) => {
    const ownerRefs = ownersOf(object, isNamespaced);
    const claimed = trackedApp(object, settings.tracking);
    return new StoredNode({
      object,
      ownerRefs,
      app: ownerRefs.length === 0 ? claimed : undefined,
      keepsBody: claimed !== undefined && keepsBodyOf(claimed),
      health: shared(healthOf(object, settings)),
      fingerprint: needsFingerprint(object, claimed, settings) ? fingerprint(object, settings) : undefined,
    });
  };
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
