import { valueAt, deepEqual, messageOf, parseGoBool } from '#base';
import type { Json } from '#base';
import { fingerprint } from '#diff';
import { healthOf } from '#health';
import { faultOf } from '#kube';
import {
  annotationOf,
  annotations,
  fieldManager,
  groupOf,
  jsonOf,
  keyOf,
  resourceKey,
  trackedApp,
  tracksItself,
  versionOf,
} from '#model';
import type { GroupKind, HealthStatus, KubeObject, ResourceKey, Settings } from '#model';
import { ObjectBody } from './object-body.ts';
import { sizeOfRow } from './row-size.ts';
import { customLabelsOf, detailsOf, infoOf } from './details.ts';
import type { ObjectDetails } from './details.ts';
import { bodyRule } from './body-rule.ts';
import { claimTemplates, ownersOf } from './owners.ts';
import { SharedValues } from './shared-values.ts';
import type { BodyFilter, LiveOwner, LiveRow } from '../types.ts';

/** Fields read from an object once. */
interface ObjectFacts {
  readonly object: KubeObject;
  readonly ownerRefs: readonly LiveOwner[];
  readonly app: string | undefined;
  readonly isWhole: boolean;
  readonly health: HealthStatus | null;
  readonly fingerprint: string | undefined;
  readonly details: ObjectDetails | undefined;
  readonly kept: Json | undefined;
  readonly fault: string | undefined;
  readonly foreignEditSeconds: number;
}

/** Fields that few objects have. */
interface RareFields {
  readonly images: readonly string[];
  readonly claims: readonly string[];
  readonly details: ObjectDetails | undefined;
  readonly kept: Json | undefined;
  readonly fault: string | undefined;
  readonly deleting: boolean;
}

/** Fields that all objects of a kind share. */
interface NodeKind {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
  readonly kindText: string;
}

/**
 * An object as the store keeps it. There may be a million, so equal values are shared, derived
 * fields are computed, and rare fields are grouped. Whole objects are kept as text.
 */
export class StoredNode implements Omit<LiveRow, 'parents' | 'owners' | 'app' | 'kept'> {
  /** The same string instance as the key in the store. */
  key: ResourceKey;
  readonly #kind: NodeKind;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Seconds since 1970 if the timestamp has that precision. */
  readonly #createdAt: string | number;
  readonly health: HealthStatus | null;
  /** Owners with UIDs, and inferred owners; changes when an inferred owner is added or removed. */
  ownerRefs: readonly LiveOwner[];
  /** Number of the last list that included it. */
  lastList = 0;
  /** Row number in the store; -1 before it is stored. */
  row = -1;
  /** Position in the order of all writes to the store. */
  stamp = 0;
  readonly app: string | undefined;
  /** Hash of the fields relevant to Applications; undefined if it is not needed. */
  readonly fingerprint: string | undefined;
  /** See {@link foreignEditSeconds}; 0 for objects that no Application tracks. */
  readonly foreignEditSeconds: number;
  readonly #extras: RareFields | undefined;
  /** The whole object: of tracked roots of owned Applications, and of {@link KeepsWhole}. */
  body: ObjectBody | undefined;
  /** Whole objects fetched on demand, by API version; dropped with this version of the object. */
  fetched: Map<string, ObjectBody> | undefined = undefined;
  /** Estimated memory without whole objects. */
  readonly rowBytes: number;

  constructor(reading: ObjectFacts, shared: SharedValues) {
    const { object, ownerRefs, app, isWhole } = reading;
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
    this.foreignEditSeconds = reading.foreignEditSeconds;
    this.#extras = extrasOf(reading, shared);
    this.body = isWhole ? new ObjectBody(object) : undefined;
    const { images, claims, details, kept, fault } = this;
    this.rowBytes = sizeOfRow({
      texts: [this.key, this.uid, this.resourceVersion],
      owners: this.ownerRefs,
      values: [this.app, images, claims, details, kept, fault, this.health?.message],
    });
  }

  /** Estimated memory of the whole objects. */
  get bodyBytes(): number {
    let bytes = this.body?.bytes ?? 0;
    for (const body of this.fetched?.values() ?? none) bytes += body.bytes;
    return bytes;
  }

  /** Drops the whole objects; queries then read them from the server. */
  dropBody(): void {
    this.body = undefined;
    this.fetched = undefined;
  }

  /**
   * Whether it may be a root of its Application. Claims with an owner are not: those of a
   * StatefulSet have the labels of its templates, and their data must outlive it.
   */
  get isRoot(): boolean {
    return this.ownerRefs.length === 0 || (this.app !== undefined && !isClaim(this));
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

  /** Names of volume claim templates (StatefulSets). */
  get claims(): readonly string[] {
    return this.#extras?.claims ?? none;
  }

  get details(): ObjectDetails | undefined {
    return this.#extras?.details;
  }

  /** Facts that the owner of the caches keeps of the object. */
  get kept(): Json | undefined {
    return this.#extras?.kept;
  }

  /**
   * Why the object cannot be fully read. Such a node has no body; queries read it from the server.
   */
  get fault(): string | undefined {
    return this.#extras?.fault;
  }
}

function kindOf({ apiVersion, kind }: KubeObject, shared: SharedValues): NodeKind {
  const group = groupOf(apiVersion);
  return shared.value({ group, kind, version: versionOf(apiVersion), kindText: `${group}/${kind}` });
}

function extrasOf({ object, details, kept, fault }: ObjectFacts, shared: SharedValues): RareFields | undefined {
  const extras = {
    images: imagesOf(object),
    claims: claimTemplates(object),
    details,
    kept,
    fault,
    deleting: object.metadata.deletionTimestamp !== undefined,
  };
  const { images, claims, deleting } = extras;
  const isEmpty = images.length + claims.length === 0 && details === undefined && kept === undefined;
  if (isEmpty && fault === undefined && !deleting) return undefined;
  return {
    ...extras,
    images: shared.value(images),
    details: details === undefined ? undefined : shareDetails(details, shared),
  };
}

/** Shares details that are equal for all Pods of an owner. */
function shareDetails(details: ObjectDetails, shared: SharedValues): ObjectDetails {
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

/** API servers write whole seconds in UTC. Other timestamps are kept as text. */
function compactTime(text: string): string | number {
  const seconds = text.length === 20 ? Date.parse(text) / 1000 : Number.NaN;
  return Number.isInteger(seconds) && timeOf(seconds) === text ? seconds : text;
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

/**
 * An immutable copy of a node. Members are assigned one by one: a tree may have tens of thousands
 * of rows, and spreading is ten times slower.
 * @param parents keys of the existing owners.
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
  if (node.kept !== undefined) row.kept = node.kept;
  if (node.details !== undefined) {
    const info = infoOf(node.details);
    if (info.length > 0) row.info = info;
    if (node.details.networking !== undefined) row.networkingInfo = node.details.networking;
  }
  return row;
}

/**
 * Converts an object to a node; pure. Unreadable objects get a node with `fault`, identity, owners
 * and Application.
 */
export type NodeReader = (object: KubeObject) => StoredNode;

const none: readonly never[] = [];

/** Whether to keep an object whole that no Application tracks. Must not throw. */
export type KeepsWhole = (key: ResourceKey) => boolean;

export interface NodeReaderOptions {
  readonly bodies?: BodyFilter | undefined;
  /** Facts to keep of an object. Must not throw. */
  readonly keep?: ((object: KubeObject) => Json | undefined) | undefined;
  readonly keepsWhole?: KeepsWhole | undefined;
}

/** @param isNamespaced decides whether owners of a kind have the object's namespace or none. */
export function createNodeReader(
  settings: Settings,
  isNamespaced: (gk: GroupKind) => boolean | undefined,
  { bodies, keep, keepsWhole }: NodeReaderOptions = {},
): NodeReader {
  const keepsBodyOf = bodyRule(bodies);
  const customLabels = customLabelsOf(settings);
  const shared = new SharedValues();
  return (object) => {
    const ownerRefs = ownersOf(object, isNamespaced);
    const claimed = trackedApp(object, settings.tracking);
    const isRoot = ownerRefs.length === 0 || tracksItself(object, settings.tracking);
    const place = { object, ownerRefs, app: isRoot ? claimed : undefined };
    const fault = faultOf(object);
    if (fault !== undefined) return unreadableNode(place, fault, shared);
    try {
      const reading = {
        ...place,
        isWhole: (place.app !== undefined && keepsBodyOf(place.app)) || keepsWhole?.(keyOf(object)) === true,
        health: healthOf(object, settings),
        fingerprint: needsFingerprint(object, claimed, settings) ? fingerprint(object, settings) : undefined,
        details: detailsOf(object, customLabels),
        kept: keep?.(object),
        fault: undefined,
        foreignEditSeconds: place.app === undefined ? 0 : foreignEditSeconds(object),
      };
      return new StoredNode(reading, shared);
    } catch (error) {
      return unreadableNode(place, messageOf(error), shared);
    }
  };
}

/**
 * A node without a body. A tenant may store objects that cannot be read; other tenants' objects in
 * the same list must not be affected.
 */
function unreadableNode(
  place: Pick<ObjectFacts, 'object' | 'ownerRefs' | 'app'>,
  fault: string,
  shared: SharedValues,
): StoredNode {
  const health: HealthStatus = { status: 'Unknown', message: `the object cannot be read: ${fault}` };
  return new StoredNode(
    {
      ...place,
      isWhole: false,
      health,
      fingerprint: undefined,
      details: undefined,
      kept: undefined,
      fault,
      foreignEditSeconds: 0,
    },
    shared,
  );
}

/**
 * When a client other than this controller last set a field, in seconds since 1970; 0 if none did.
 * By managedFields, without those of the status.
 */
function foreignEditSeconds({ metadata }: KubeObject): number {
  let newest = '';
  for (const { manager, subresource, time } of metadata.managedFields ?? [])
    if (manager !== fieldManager && subresource !== 'status' && typeof time === 'string' && time > newest)
      newest = time;
  const ms = Date.parse(newest);
  return Number.isNaN(ms) ? 0 : Math.floor(ms / 1000);
}

/**
 * Whether two nodes of an object have the same fields. Inferred owners have no UID and are ignored,
 * because only the stored node has them.
 */
export function hasSameFacts(before: StoredNode, after: StoredNode): boolean {
  const told = after.ownerRefs.every(({ key, uid }) => before.ownerRefs.some((o) => o.key === key && o.uid === uid));
  const kept = before.ownerRefs.filter(({ uid }) => uid !== '').length;
  const named = after.ownerRefs.filter(({ uid }) => uid !== '').length;
  return told && kept === named && deepEqual(factsOf(before), factsOf(after));
}

function factsOf(node: StoredNode): Json {
  const { version, createdAt, health, deleting, images, claims, app, details, kept, fingerprint, fault } = node;
  return jsonOf([version, createdAt, health, deleting, images, claims, { app, details, kept, fingerprint, fault }]);
}

/**
 * Whether an update is irrelevant to all Applications: same health and fingerprint (Argo CD:
 * skipResourceUpdate).
 */
export function isNoopForApps(before: StoredNode, after: StoredNode): boolean {
  if (before.uid !== after.uid || before.app !== after.app) return false;
  if (before.health?.status !== after.health?.status) return false;
  return before.fingerprint !== undefined && before.fingerprint === after.fingerprint;
}

/** Whether it is a PersistentVolumeClaim. */
export function isClaim({ group, kind }: Pick<StoredNode, 'group' | 'kind'>): boolean {
  return kind === 'PersistentVolumeClaim' && group === '';
}

/** Whether an update repeats the same version with the same Application and health status. */
export function isRepeated(before: StoredNode, after: StoredNode): boolean {
  return isSameVersion(before, after) && before.app === after.app && before.health?.status === after.health?.status;
}

/**
 * Whether two nodes of one version have the same content: a restored server reuses versions.
 * Without whole objects, their fields count, unless a query has read the object of the first one.
 */
export function hasSameContent(before: StoredNode, after: StoredNode): boolean {
  if (before.body !== undefined || after.body !== undefined)
    return before.body !== undefined && after.body !== undefined && before.body.equals(after.body);
  return before.fetched === undefined && hasSameFacts(before, after);
}

/** Whether both were read from the same version of the same object. */
export function isSameVersion(before: StoredNode, after: StoredNode): boolean {
  return before.uid === after.uid && before.resourceVersion === after.resourceVersion && after.resourceVersion !== '';
}

function needsFingerprint(object: KubeObject, app: string | undefined, settings: Settings): boolean {
  if (!settings.ignoreResourceUpdatesEnabled) return false;
  if (app !== undefined || (object.kind === 'Application' && groupOf(object.apiVersion) === 'argoproj.io')) return true;
  return parseGoBool(annotationOf(object, annotations.ignoreResourceUpdates)) === true;
}

/** Distinct images of a Pod, init containers first. */
function imagesOf(object: KubeObject): readonly string[] {
  if (object.kind !== 'Pod' || object.apiVersion !== 'v1') return none;
  const images = new Set<string>();
  for (const field of ['initContainers', 'containers']) {
    const containers = valueAt(object['spec'] as Json | undefined, field);
    if (!Array.isArray(containers)) continue;
    for (const container of containers as readonly Json[]) {
      const image = valueAt(container, 'image');
      if (typeof image === 'string' && image !== '') images.add(image);
    }
  }
  return [...images];
}
