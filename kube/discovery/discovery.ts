import { valueAt, DeadlineExceeded, isAbort, isObject, mapLimit, messageOf } from '#base';
import type { Json, JsonObject } from '#base';
import { apiVersionOf } from '#model';
import type { ApiResource } from '#model';
import { KubeApiError, KubeProtocolError, KubeSizeError } from '../errors.ts';
import type { ApiDiscovery } from '../types.ts';

/** Gets one document from the server. */
export type GetDocument = (path: string, accept: string) => Promise<Json>;

const plainJsonType = 'application/json';
const aggregatedTypes = `application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,${plainJsonType}`;
const parallelGroups = 10;

interface DiscoveredVersion {
  readonly version: string;
  readonly resources: readonly ApiResource[];
}

interface DiscoveredGroup {
  readonly group: string;
  readonly preferred: string;
  /** In the server's order. */
  readonly versions: readonly DiscoveredVersion[];
}

/**
 * Discovers all served resources: with two requests for aggregated discovery (since 1.26),
 * otherwise with one more per group version. Groups that cannot be read (an extension API server is
 * down) are listed in `failedGroups` ("*" for all but core); the rest is complete.
 * @throws the error of the first request if nothing could be read.
 */
export async function discover(get: GetDocument): Promise<ApiDiscovery> {
  const failedGroups = new Map<string, string>();
  const groups: DiscoveredGroup[] = [];
  const errors: unknown[] = [];
  for (const root of ['/api', '/apis']) {
    try {
      const answer = await getRoot(get, root);
      groups.push(
        ...(valueAt(answer, 'kind') === 'APIGroupDiscoveryList'
          ? fromAggregated(answer, failedGroups)
          : await fromIndex(get, root, answer, failedGroups)),
      );
    } catch (error) {
      if (!(error instanceof KubeApiError) || error.status === 401) throw error;
      errors.push(error);
      failedGroups.set(root === '/api' ? '' : '*', messageOf(error));
    }
  }
  if (groups.length === 0 && errors.length > 0) throw errors[0] as Error;
  return buildDiscovery(groups, failedGroups);
}

/**
 * Gets `/api` or `/apis`, aggregated if possible. Servers before 1.26 ignore the unknown media
 * types and send plain JSON; some proxies answer 406.
 */
async function getRoot(get: GetDocument, path: string): Promise<Json> {
  try {
    return await get(path, aggregatedTypes);
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 406) return get(path, plainJsonType);
    throw error;
  }
}

function fromAggregated(list: Json, failedGroups: Map<string, string>): DiscoveredGroup[] {
  return objectsAt(list, 'items').map((item) => {
    const group = text(item, 'metadata', 'name');
    const versions = objectsAt(item, 'versions').map((entry) => {
      const version = text(entry, 'version');
      if (text(entry, 'freshness') === 'Stale')
        failedGroups.set(group, `${apiVersionOf(group, version)} is stale: its API server does not answer`);
      return { version, resources: objectsAt(entry, 'resources').map((r) => aggregatedResource(group, version, r)) };
    });
    return { group, preferred: versions[0]?.version ?? '', versions };
  });
}

function aggregatedResource(group: string, version: string, entry: JsonObject): ApiResource {
  return {
    // Not the group of `responseKind`: a resource may return objects of another group than the one
    // that serves it.
    group,
    version,
    kind: text(entry, 'responseKind', 'kind'),
    resource: text(entry, 'resource'),
    namespaced: text(entry, 'scope') === 'Namespaced',
    verbs: texts(entry, 'verbs'),
    subresources: objectsAt(entry, 'subresources').map((sub) => text(sub, 'subresource')),
    shortNames: texts(entry, 'shortNames'),
  };
}

/** Unaggregated discovery: an index, then one document per group version. */
async function fromIndex(
  get: GetDocument,
  root: string,
  index: Json,
  failedGroups: Map<string, string>,
): Promise<DiscoveredGroup[]> {
  const wanted =
    root === '/api'
      ? [{ group: '', preferred: texts(index, 'versions')[0] ?? '', versions: texts(index, 'versions') }]
      : objectsAt(index, 'groups').map((group) => ({
          group: text(group, 'name'),
          preferred: text(group, 'preferredVersion', 'version'),
          versions: objectsAt(group, 'versions').map((version) => text(version, 'version')),
        }));
  const jobs = wanted.flatMap((group) => group.versions.map((version) => ({ group: group.group, version })));
  const read = await mapLimit(jobs, parallelGroups, async ({ group, version }) => {
    try {
      const answer = await get(`${root}/${apiVersionOf(group, version)}`, plainJsonType);
      return { group, version, resources: foldSubresources(group, version, objectsAt(answer, 'resources')) };
    } catch (error) {
      if (isAbort(error) || (error instanceof KubeApiError && error.status === 401)) throw error;
      // An extension API server behind this one may hang or send invalid responses.
      const isOfGroup = [KubeApiError, KubeProtocolError, KubeSizeError, DeadlineExceeded].some(
        (one) => error instanceof one,
      );
      if (!isOfGroup) throw error;
      failedGroups.set(group, messageOf(error));
      return undefined;
    }
  });
  return wanted.map(({ group, preferred }) => ({
    group,
    preferred,
    versions: read.filter((found) => found?.group === group).flatMap((found) => (found === undefined ? [] : [found])),
  }));
}

function foldSubresources(group: string, version: string, entries: readonly JsonObject[]): ApiResource[] {
  const names = entries.map((entry) => text(entry, 'name'));
  return entries
    .filter((entry) => !text(entry, 'name').includes('/'))
    .map((entry) => {
      const resource = text(entry, 'name');
      return {
        group,
        version,
        kind: text(entry, 'kind'),
        resource,
        namespaced: entry['namespaced'] === true,
        verbs: texts(entry, 'verbs'),
        subresources: names
          .filter((name) => name.startsWith(`${resource}/`))
          .map((name) => name.slice(resource.length + 1)),
        shortNames: texts(entry, 'shortNames'),
      };
    });
}

function isListed({ verbs }: ApiResource): boolean {
  return verbs.includes('list') && verbs.includes('watch');
}

function buildDiscovery(groups: readonly DiscoveredGroup[], failedGroups: ReadonlyMap<string, string>): ApiDiscovery {
  const apiVersions = new Set<string>();
  const versions = groups.flatMap((group) => group.versions.map((version) => ({ ...version, group: group.group })));
  for (const { group, version, resources } of versions) {
    // As Argo CD passes them to charts and clients: kinds that can be listed and watched.
    for (const { kind } of resources.filter(isListed)) {
      apiVersions.add(apiVersionOf(group, version));
      apiVersions.add(`${apiVersionOf(group, version)}/${kind}`);
    }
  }
  return {
    preferred: groups.flatMap(preferredOf),
    served: versions.flatMap(({ resources }) => resources),
    apiVersions: [...apiVersions].sort(),
    failedGroups,
  };
}

/**
 * For each resource the group's preferred version if that serves it, otherwise the first version
 * that does (client-go: discovery.ServerPreferredResources).
 */
function preferredOf(group: DiscoveredGroup): readonly ApiResource[] {
  const chosen = new Map<string, ApiResource>();
  for (const { version, resources } of group.versions)
    for (const resource of resources)
      if (version === group.preferred || !chosen.has(resource.resource)) chosen.set(resource.resource, resource);
  return [...chosen.values()];
}

function objectsAt(value: Json, ...path: readonly string[]): JsonObject[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? (found as readonly Json[]).filter(isObject) : [];
}

function texts(value: Json, ...path: readonly string[]): string[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? (found as readonly Json[]).filter((item) => typeof item === 'string') : [];
}

function text(value: Json, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === 'string' ? found : '';
}
