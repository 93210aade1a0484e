import type { KubeObject } from '#model';
import type { KindDefinition } from '../../types.ts';

/** One served group, version and kind, and its storage key. */
export interface ServedKind extends KindDefinition {
  /** Group and kind: the storage key that all versions of a kind share. */
  readonly groupKind: string;
  /** The version in which objects are stored. */
  readonly storageVersion: string;
  /** Selectable fields of a CRD, as JSON paths. */
  readonly selectable?: readonly string[];
  /** Name of the CustomResourceDefinition. */
  readonly crd?: string;
  /** The deprecation warning of a CRD version. */
  readonly deprecation?: string;
}

export function groupKindOf(group: string, kind: string): string {
  return `${group}/${kind}`;
}

/**
 * The currently served kinds, by URL and by name: built-in ones permanently, those of
 * CustomResourceDefinitions while the definition exists. `epoch` grows with every change: documents
 * derived from the registry are cached per epoch.
 */
export class KindRegistry {
  #epoch = 0;
  readonly #byResource = new Map<string, ServedKind>();
  readonly #byKind = new Map<string, ServedKind>();
  readonly #crds = new Map<string, readonly ServedKind[]>();

  constructor(builtins: readonly KindDefinition[]) {
    for (const kind of builtins) this.#put(servedBuiltin(kind, builtins));
  }

  get epoch(): number {
    return this.#epoch;
  }

  byResource(group: string, version: string, resource: string): ServedKind | undefined {
    return this.#byResource.get(`${group}/${version}/${resource}`);
  }

  byVersion(group: string, version: string, kind: string): ServedKind | undefined {
    return this.all().find((served) => served.group === group && served.version === version && served.kind === kind);
  }

  /** The kind in its storage version. */
  byKind(group: string, kind: string): ServedKind | undefined {
    return this.#byKind.get(groupKindOf(group, kind));
  }

  /** Ordered by group registration, then version preference. */
  all(): readonly ServedKind[] {
    return [...this.#byResource.values()];
  }

  /** One entry per kind, in its storage version. */
  stored(): readonly ServedKind[] {
    return [...this.#byKind.values()];
  }

  /** Replaces the kinds of a CRD; an empty list stops serving it. */
  setCrd(name: string, kinds: readonly ServedKind[]): void {
    for (const old of this.#crds.get(name) ?? []) {
      this.#byResource.delete(`${old.group}/${old.version}/${old.resource}`);
      this.#byKind.delete(old.groupKind);
    }
    if (kinds.length === 0) this.#crds.delete(name);
    else this.#crds.set(name, kinds);
    for (const kind of kinds) this.#put(kind);
    this.#epoch += 1;
  }

  #put(kind: ServedKind): void {
    this.#byResource.set(`${kind.group}/${kind.version}/${kind.resource}`, kind);
    if (kind.version === kind.storageVersion || !this.#byKind.has(kind.groupKind))
      this.#byKind.set(kind.groupKind, kind);
  }
}

/** Warnings that the server sends with every response about a kind. */
const deprecationWarnings: Readonly<Record<string, string>> = {
  '/Endpoints': 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
};

function servedBuiltin(kind: KindDefinition, all: readonly KindDefinition[]): ServedKind {
  const first = all.find((other) => other.group === kind.group && other.kind === kind.kind) ?? kind;
  const groupKind = groupKindOf(kind.group, kind.kind);
  const deprecation = deprecationWarnings[groupKind];
  return { ...kind, groupKind, storageVersion: first.version, ...(deprecation === undefined ? {} : { deprecation }) };
}

/**
 * The object under another apiVersion; versions of a CRD differ in nothing else (conversion
 * strategy None).
 */
export function inVersion(object: KubeObject, apiVersion: string): KubeObject {
  if (object.apiVersion === apiVersion) return object;
  const known = convertedObjects.get(object)?.get(apiVersion);
  if (known !== undefined) return known;
  const { kind, metadata, ...rest } = object;
  const result: KubeObject = { ...rest, kind, apiVersion, metadata };
  const versions = convertedObjects.get(object) ?? new Map<string, KubeObject>();
  convertedObjects.set(object, versions.set(apiVersion, result));
  return result;
}

const convertedObjects = new WeakMap<KubeObject, Map<string, KubeObject>>();
