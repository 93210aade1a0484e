import { at, deepEqual, messageOf, parseGoBool } from '#base';
import type { Json } from '#base';
import { fingerprint } from '#diff';
import { healthOf } from '#health';
import { faultOf } from '#kube';
import { annotationOf, annotations, groupOf, jsonOf, resourceKey, trackedApp, versionOf } from '#model';
import type { GroupKind, HealthStatus, KubeObject, ResourceKey, Settings } from '#model';
import { Body } from './body.ts';
import { customLabelsOf, detailsOf, infoOf } from './details.ts';
import type { Details } from './details.ts';
import { bodyRule } from './filter.ts';
import { claimTemplates, ownersOf } from './owners.ts';
import { SharedValues } from './shared-values.ts';
import type { BodyFilter, LiveOwner, LiveRow } from './types.ts';

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

/** What few objects have. */
interface Extras {
  readonly images: readonly string[];
  readonly claims: readonly string[];
  readonly details: Details | undefined;
  readonly fault: string | undefined;
  readonly deleting: boolean;
}

/** What all objects of a kind have in common. */
interface NodeKind {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
  readonly kindText: string;
}

/**
 * A node as the store keeps it: what its neighbours see, and what the store needs. There may be a million: what is the same is shared, what can be
 * derived is, and what few nodes have is one member for all of it. The whole object is kept as text.
 */
export class StoredNode implements Omit<LiveRow, 'parents' | 'owners' | 'app'> {
  /** One text with the store's. */
  key: ResourceKey;
  readonly #kind: NodeKind;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Seconds since 1970 where that says all. */
  readonly #createdAt: string | number;
  readonly health: HealthStatus | null;
  /** Owners with uids; changes when an inferred owner comes or goes. */
  ownerRefs: readonly LiveOwner[];
  /** Number of the last list that had it. */
  seen = 0;
  /** Its number in the store. */
  row = -1;
  /** Its place in the order of everything that came into the store. */
  stamp = 0;
  readonly app: string | undefined;
  /** Hash of what matters to an application; undefined when nobody compares it. */
  readonly fingerprint: string | undefined;
  readonly #extras: Extras | undefined;
  /** The whole object: tracked roots only, and of those the ones whose application this replica works for. */
  readonly body: Body | undefined;
  /** The whole object as it was fetched on demand, by API version. Lives as long as this version of the object. */
  fetched: Map<string, Body> | undefined = undefined;

  constructor(reading: Reading, shared: SharedValues) {
    const { object, ownerRefs, app, keepsBody } = reading;
    const { metadata } = object;
    this.#kind = kindOf(object, shared);
    this.namespace = shared.text(metadata.namespace ?? '');
    const { group, kind } = this.#kind;
    this.key = resourceKey(group, kind, this.namespace, metadata.name ?? '');
    this.uid = metadata.uid ?? '';
    this.resourceVersion = metadata.resourceVersion ?? '';
    this.#createdAt = compactTime(metadata.creationTimestamp ?? '');
    this.health = reading.health === null ? null : shared.value(reading.health);
    this.ownerRefs = ownerRefs.length === 0 ? none : ownerRefs;
    this.app = app === undefined ? undefined : shared.text(app);
    this.fingerprint = reading.fingerprint;
    this.#extras = extrasOf(reading, shared);
    this.body = app !== undefined && keepsBody ? new Body(object) : undefined;
  }

  get group(): string {
    return this.#kind.group;
  }

  get kind(): string {
    return this.#kind.kind;
  }

  get version(): string {
    return this.#kind.version;
  }

  /** `group/kind`. */
  get kindText(): string {
    return this.#kind.kindText;
  }

  get name(): string {
    return this.key.slice(this.#kind.kindText.length + this.namespace.length + 2);
  }

  get createdAt(): string {
    return typeof this.#createdAt === 'string' ? this.#createdAt : timeOf(this.#createdAt);
  }

  get deleting(): boolean {
    return this.#extras?.deleting ?? false;
  }

  get images(): readonly string[] {
    return this.#extras?.images ?? none;
  }

  /** Volume claim templates (StatefulSets). */
  get claims(): readonly string[] {
    return this.#extras?.claims ?? none;
  }

  get details(): Details | undefined {
    return this.#extras?.details;
  }

  /** Why there is more to the object than could be read: then it has no body, and whoever needs it asks the server. */
  get fault(): string | undefined {
    return this.#extras?.fault;
  }
}

function kindOf({ apiVersion, kind }: KubeObject, shared: SharedValues): NodeKind {
  const group = groupOf(apiVersion);
  return shared.value({ group, kind, version: versionOf(apiVersion), kindText: `${group}/${kind}` });
}

function extrasOf({ object, details, fault }: Reading, shared: SharedValues): Extras | undefined {
  const extras = {
    images: imagesOf(object),
    claims: claimTemplates(object),
    details,
    fault,
    deleting: object.metadata.deletionTimestamp !== undefined,
  };
  const { images, claims, deleting } = extras;
  if (images.length + claims.length === 0 && details === undefined && fault === undefined && !deleting)
    return undefined;
  return {
    ...extras,
    images: shared.value(images),
    details: details === undefined ? undefined : sharing(details, shared),
  };
}

/** What the pods of one owner have in common. */
function sharing(details: Details, shared: SharedValues): Details {
  const { pod, networking, items } = details;
  return {
    ...details,
    ...(items === undefined ? {} : { items: shared.value(items) }),
    ...(networking === undefined ? {} : { networking: shared.value(networking) }),
    ...(pod === undefined
      ? {}
      : {
          pod: {
            ...pod,
            reason: shared.text(pod.reason),
            node: shared.text(pod.node),
            requests: shared.value(pod.requests),
          },
        }),
  };
}

/** As API servers write them: whole seconds of UTC. Anything else stays as it is. */
function compactTime(text: string): string | number {
  const seconds = text.length === 20 ? Date.parse(text) / 1000 : Number.NaN;
  return Number.isInteger(seconds) && timeOf(seconds) === text ? seconds : text;
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
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

/** Ingestion under some settings. Scope decides where owners live. */
export function ingestWith(
  settings: Settings,
  isNamespaced: (gk: GroupKind) => boolean | undefined,
  bodies?: BodyFilter,
): Ingest {
  const keepsBodyOf = bodyRule(bodies);
  const customLabels = customLabelsOf(settings);
  const shared = new SharedValues();
  return (object) => {
    const ownerRefs = ownersOf(object, isNamespaced);
    const claimed = trackedApp(object, settings.tracking);
    const place = { object, ownerRefs, app: ownerRefs.length === 0 ? claimed : undefined };
    const fault = faultOf(object);
    if (fault !== undefined) return unreadable(place, fault, shared);
    try {
      const reading = {
        ...place,
        keepsBody: claimed !== undefined && keepsBodyOf(claimed),
        health: healthOf(object, settings),
        fingerprint: needsFingerprint(object, claimed, settings) ? fingerprint(object, settings) : undefined,
        details: detailsOf(object, customLabels),
        fault: undefined,
      };
      return new StoredNode(reading, shared);
    } catch (error) {
      return unreadable(place, messageOf(error), shared);
    }
  };
}

/** A node without a body: a tenant may store what no reader of ours can take, and everybody else's objects are in the same list. */
function unreadable(
  place: Pick<Reading, 'object' | 'ownerRefs' | 'app'>,
  fault: string,
  shared: SharedValues,
): StoredNode {
  const health: HealthStatus = { status: 'Unknown', message: `the object cannot be read: ${fault}` };
  return new StoredNode(
    { ...place, keepsBody: false, health, fingerprint: undefined, details: undefined, fault },
    shared,
  );
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
