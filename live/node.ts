import { at, deepEqual } from '#base';
import type { Json } from '#base';
import { DiffRulesError, fingerprint } from '#diff';
import { healthOf } from '#health';
import { annotationOf, annotations, groupOf, resourceKey, trackedApp, versionOf } from '#model';
import type { GroupKind, HealthStatus, KubeObject, ResourceKey, Settings } from '#model';
import { claimTemplates, ownersOf } from './owners.ts';
import type { Owner } from './owners.ts';
import type { LiveNode } from './types.ts';

/** A node as the store keeps it: what its neighbours see, and what the store needs. */
export interface StoredNode extends LiveNode {
  /** Owners with uids; changes when an inferred owner comes or goes. */
  ownerRefs: readonly Owner[];
  owners: readonly ResourceKey[];
  /** Hash of what matters to an application; absent when nobody compares it. */
  readonly fingerprint?: string;
  /** The whole object: tracked roots only. */
  readonly body?: KubeObject;
  /** The whole object as it was fetched on demand, by API version. Lives as long as this version of the object. */
  fetched?: Map<string, KubeObject>;
  /** Volume claim templates (StatefulSets). */
  readonly claims: readonly string[];
  /** Number of the last list that had it. */
  seen: number;
}

/** Reads an object into a node. Pure; never throws for what the object holds. */
export type Ingest = (object: KubeObject) => StoredNode;

const none: readonly never[] = [];
const healthy: HealthStatus = { status: 'Healthy' };

/** Ingestion under some settings. Scope decides where owners live. */
export function ingestWith(settings: Settings, isNamespaced: (gk: GroupKind) => boolean | undefined): Ingest {
  return (object) => {
    const { metadata } = object;
    const group = groupOf(object.apiVersion);
    const namespace = metadata.namespace ?? '';
    const name = metadata.name ?? '';
    const ownerRefs = ownersOf(object, isNamespaced);
    const claimed = trackedApp(object, settings.tracking);
    const app = ownerRefs.length === 0 ? claimed : undefined;
    const hash = needsFingerprint(object, claimed, settings) ? hashOf(object, settings) : {};
    return {
      key: resourceKey(group, object.kind, namespace, name),
      group,
      kind: object.kind,
      namespace,
      name,
      version: versionOf(object.apiVersion),
      uid: metadata.uid ?? '',
      resourceVersion: metadata.resourceVersion ?? '',
      createdAt: metadata.creationTimestamp ?? '',
      ownerRefs: ownerRefs.length === 0 ? none : ownerRefs,
      owners: ownerRefs.length === 0 ? none : ownerRefs.map((owner) => owner.key),
      health: shared(healthOf(object, settings.overrides)),
      deleting: metadata.deletionTimestamp !== undefined,
      images: imagesOf(object),
      claims: claimTemplates(object),
      seen: 0,
      ...(app === undefined ? {} : { app, body: object }),
      ...hash,
    };
  };
}

/** True when an update cannot matter to any application: equal health and equal, known fingerprints (Argo CD: skipResourceUpdate). */
export function isSameToApps(before: StoredNode, after: StoredNode): boolean {
  if (before.uid !== after.uid || before.app !== after.app) return false;
  if (before.health?.status !== after.health?.status) return false;
  return before.fingerprint !== undefined && before.fingerprint === after.fingerprint;
}

/** True when the two were read from the same version of the same object. */
export function isSameVersion(before: StoredNode, after: StoredNode): boolean {
  return before.uid === after.uid && before.resourceVersion === after.resourceVersion && after.resourceVersion !== '';
}

function needsFingerprint(object: KubeObject, app: string | undefined, settings: Settings): boolean {
  if (!settings.ignoreResourceUpdatesEnabled) return false;
  if (app !== undefined || (object.kind === 'Application' && groupOf(object.apiVersion) === 'argoproj.io')) return true;
  const asked = annotationOf(object, annotations.ignoreResourceUpdates) ?? '';
  return ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(asked);
}

/** An ignore rule that cannot be understood hides nothing: every update then counts as a change. */
function hashOf(object: KubeObject, settings: Settings): { readonly fingerprint?: string } {
  try {
    return { fingerprint: fingerprint(object, settings) };
  } catch (error) {
    if (error instanceof DiffRulesError) return {};
    throw error;
  }
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
