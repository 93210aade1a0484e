import type { KubeObject } from '#model';
import type { KindDefinition } from '../types.ts';

/** One group, version and kind that is served, and where its objects lie. */
export interface ServedKind extends KindDefinition {
  /** Group and kind of the shelf: all versions of a kind share one. */
  readonly shelf: string;
  /** The version in which objects are stored. */
  readonly storageVersion: string;
  /** Fields by which a CRD allows to select, as JSON paths. */
  readonly selectable?: readonly string[];
  /** Name of the CustomResourceDefinition. */
  readonly crd?: string;
  /** Of a CRD: a version that warns. */
  readonly deprecation?: string;
}

export function shelfOf(group: string, kind: string): string {
  return `${group}/${kind}`;
}

/**
 * The kinds that are served at this moment, by URL and by name. Built-in ones are there from the start; CustomResourceDefinitions add and
 * remove theirs. `epoch` grows with every change: documents that are made from the registry are kept per epoch.
 */
export class Registry {
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
    return this.#byKind.get(shelfOf(group, kind));
  }

  /** In order of group registration, then version preference. */
  all(): readonly ServedKind[] {
    return [...this.#byResource.values()];
  }

  /** One per kind, in its storage version. */
  stored(): readonly ServedKind[] {
    return [...this.#byKind.values()];
  }

  /** Serves exactly these kinds for a CRD, instead of those of before; an empty list ends it. */
  setCrd(name: string, kinds: readonly ServedKind[]): void {
    for (const old of this.#crds.get(name) ?? []) {
      this.#byResource.delete(`${old.group}/${old.version}/${old.resource}`);
      this.#byKind.delete(old.shelf);
    }
    if (kinds.length === 0) this.#crds.delete(name);
    else this.#crds.set(name, kinds);
    for (const kind of kinds) this.#put(kind);
    this.#epoch += 1;
  }

  #put(kind: ServedKind): void {
    this.#byResource.set(`${kind.group}/${kind.version}/${kind.resource}`, kind);
    if (kind.version === kind.storageVersion || !this.#byKind.has(kind.shelf)) this.#byKind.set(kind.shelf, kind);
  }
}

/** What the server warns of, whatever is asked of these kinds. */
const deprecations: Readonly<Record<string, string>> = {
  '/Endpoints': 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
};

function servedBuiltin(kind: KindDefinition, all: readonly KindDefinition[]): ServedKind {
  const first = all.find((other) => other.group === kind.group && other.kind === kind.kind) ?? kind;
  const shelf = shelfOf(kind.group, kind.kind);
  const deprecation = deprecations[shelf];
  return { ...kind, shelf, storageVersion: first.version, ...(deprecation === undefined ? {} : { deprecation }) };
}

/** The object under a kind's own apiVersion; versions of a CRD differ in nothing else (conversion strategy None). */
export function inVersion(object: KubeObject, apiVersion: string): KubeObject {
  if (object.apiVersion === apiVersion) return object;
  const known = converted.get(object)?.get(apiVersion);
  if (known !== undefined) return known;
  const { kind, metadata, ...rest } = object;
  const result: KubeObject = { ...rest, kind, apiVersion, metadata };
  const versions = converted.get(object) ?? new Map<string, KubeObject>();
  converted.set(object, versions.set(apiVersion, result));
  return result;
}

const converted = new WeakMap<KubeObject, Map<string, KubeObject>>();
