import { hashText } from '#base';
import type { Json, JsonObject } from '#base';
import { apiVersionOf } from '#model';
import type { SchemaBook } from '../../types.ts';
import type { KindRegistry, ServedKind } from './registry.ts';

/** The version that the simulator reports: the source of its built-in kinds. */
export const serverVersion = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.3',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'go1.26.0',
  compiler: 'gc',
  platform: 'linux/amd64',
} as const;

interface GroupVersions {
  readonly group: string;
  /** Preferred first. */
  readonly versions: readonly string[];
}

interface DiscoverySubresource {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

const readWrite = ['get', 'patch', 'update'];

/** The subresources of a kind, in the order of discovery. */
export function subresourcesOf(kind: ServedKind): readonly DiscoverySubresource[] {
  const self = { group: kind.group, version: kind.version, kind: kind.kind };
  const result: DiscoverySubresource[] = [];
  if (kind.groupKind === '/Pod') {
    result.push({ name: 'eviction', group: 'policy', version: 'v1', kind: 'Eviction', verbs: ['create'] });
    result.push({ ...self, name: 'log', verbs: ['get'] });
  }
  if (kind.groupKind === '/Namespace') result.push({ ...self, name: 'finalize', verbs: ['update'] });
  if (kind.scaleSubresource !== undefined)
    result.push({ name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: readWrite });
  if (kind.statusSubresource) result.push({ ...self, name: 'status', verbs: readWrite });
  return result;
}

/**
 * GA before beta before alpha, higher numbers first (apimachinery:
 * version.CompareKubeAwareVersionStrings).
 */
export function compareKubeVersions(a: string, b: string): number {
  const rank = (version: string): readonly number[] => {
    const found = /^v([0-9]+)(?:(alpha|beta)([0-9]+))?$/.exec(version);
    if (found === null) return [0, 0, 0];
    const stage = found[2] === undefined ? 3 : found[2] === 'beta' ? 2 : 1;
    return [stage, Number(found[1]), Number(found[3] ?? 0)];
  };
  const left = rank(a);
  const right = rank(b);
  for (let i = 0; i < 3; i += 1) {
    const difference = (right[i] ?? 0) - (left[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

function groupsOf(kinds: readonly ServedKind[]): readonly GroupVersions[] {
  const versions = new Map<string, Set<string>>();
  for (const { group, version } of kinds) versions.set(group, (versions.get(group) ?? new Set<string>()).add(version));
  return [...versions].map(([group, all]) => ({ group, versions: [...all].sort(compareKubeVersions) }));
}

/** Discovery and OpenAPI documents, rebuilt only after a change of the registry. */
export class DiscoveryDocuments {
  readonly #registry: KindRegistry;
  readonly #book: SchemaBook;
  #epoch = -1;
  readonly #made = new Map<string, string>();

  constructor(registry: KindRegistry, book: SchemaBook) {
    this.#registry = registry;
    this.#book = book;
  }

  /** `/api`: the versions of the core group. */
  core(host: string): JsonObject {
    const serverAddressByClientCIDRs = [{ clientCIDR: '0.0.0.0/0', serverAddress: host }];
    return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs };
  }

  /** `/apis`. */
  groups(): JsonObject {
    const named = groupsOf(this.#registry.all()).filter(({ group }) => group !== '');
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map((entry) => groupEntry(entry)) };
  }

  /** `/apis/<group>`; undefined if there is no such group. */
  group(name: string): JsonObject | undefined {
    const found = groupsOf(this.#registry.all()).find(({ group }) => group === name && name !== '');
    return found === undefined ? undefined : { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(found) };
  }

  /** `/api/v1`, `/apis/<group>/<version>`; undefined if the version serves nothing. */
  resources(group: string, version: string): JsonObject | undefined {
    const kinds = this.#kinds(group, version);
    if (kinds.length === 0) return undefined;
    return {
      kind: 'APIResourceList',
      // Only the list of the core group, the oldest, has no apiVersion.
      ...(group === '' ? {} : { apiVersion: 'v1' }),
      groupVersion: apiVersionOf(group, version),
      resources: kinds.flatMap((kind) => resourceEntries(kind)),
    };
  }

  /** Aggregated discovery: all of `/api` or `/apis` in one document. */
  aggregated(core: boolean): { readonly text: string; readonly etag: string } {
    const text = this.#once(`aggregated ${core}`, () => {
      const groups = groupsOf(this.#registry.all()).filter(({ group }) => (group === '') === core);
      const items = groups.map((entry) => this.#aggregatedGroup(entry));
      const head = { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {} };
      return JSON.stringify({ ...head, items });
    });
    return { text, etag: `"${this.#once(`etag ${core}`, () => hashText(text).toUpperCase())}"` };
  }

  /** `/openapi/v3`: the paths of the documents, each with the hash of its current content. */
  openApiIndex(): string {
    return this.#once('openapi', () => {
      const paths: Record<string, Json> = {};
      for (const { group, versions } of groupsOf(this.#registry.all())) {
        for (const version of versions) {
          const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
          const hash = hashText(this.openApi(group, version) ?? '').toUpperCase();
          paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` };
        }
      }
      return JSON.stringify({ paths });
    });
  }

  /** The OpenAPI v3 document of one group version; undefined if the version serves nothing. */
  openApi(group: string, version: string): string | undefined {
    const kinds = this.#kinds(group, version);
    if (kinds.length === 0) return undefined;
    return this.#once(`openapi ${group}/${version}`, () => JSON.stringify(this.#book.openApiV3(kinds)));
  }

  openApiV2(): string {
    return this.#once('openapi v2', () => JSON.stringify(this.#book.openApiV2(this.#registry.all())));
  }

  #kinds(group: string, version: string): readonly ServedKind[] {
    return this.#registry.all().filter((kind) => kind.group === group && kind.version === version);
  }

  #once(key: string, make: () => string): string {
    if (this.#epoch !== this.#registry.epoch) {
      this.#made.clear();
      this.#epoch = this.#registry.epoch;
    }
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#made.set(key, made);
    return made;
  }

  #aggregatedGroup({ group, versions }: GroupVersions): Json {
    return {
      metadata: { ...(group === '' ? {} : { name: group }), creationTimestamp: null },
      versions: versions.map((version) => ({
        version,
        resources: this.#kinds(group, version).map((kind) => aggregatedResource(kind)),
        freshness: 'Current',
      })),
    };
  }
}

function groupEntry({ group, versions }: GroupVersions): JsonObject {
  const entries = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: entries, preferredVersion: entries[0] ?? null };
}

function resourceEntries(kind: ServedKind): readonly JsonObject[] {
  const common = { name: kind.resource, singularName: kind.singular, namespaced: kind.namespaced, kind: kind.kind };
  const main = {
    ...common,
    verbs: kind.verbs,
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    ...(kind.verbs.includes('list') ? { storageVersionHash: hashText(kind.groupKind).slice(0, 11) + '=' } : {}),
  };
  const parts = subresourcesOf(kind).map((part) => {
    const foreign = part.group !== kind.group || part.version !== kind.version;
    return {
      name: `${kind.resource}/${part.name}`,
      singularName: '',
      namespaced: kind.namespaced,
      ...(foreign ? { group: part.group, version: part.version } : {}),
      kind: part.kind,
      verbs: part.verbs,
    };
  });
  return [main, ...parts];
}

function aggregatedResource(kind: ServedKind): Json {
  const parts = subresourcesOf(kind).map((part) => ({
    subresource: part.name,
    responseKind: responseKind(kind, part),
    verbs: part.verbs,
  }));
  return {
    resource: kind.resource,
    responseKind: responseKind(kind, kind),
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: kind.verbs,
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    ...(parts.length === 0 ? {} : { subresources: parts }),
  };
}

/** Built-in kinds leave group and version empty if they equal those of the list. */
function responseKind(kind: ServedKind, part: Pick<DiscoverySubresource, 'group' | 'version' | 'kind'>): Json {
  const own = !kind.custom && part.group === kind.group && part.version === kind.version;
  return { group: own ? '' : part.group, version: own ? '' : part.version, kind: part.kind };
}
