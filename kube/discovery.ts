import { at, DeadlineExceeded, isAbort, isObject, mapLimit, messageOf } from '#base';
import type { Json, JsonObject } from '#base';
import { apiVersionOf } from '#model';
import type { ApiResource } from '#model';
import { KubeApiError, KubeProtocolError } from './errors.ts';
import type { ApiDiscovery } from './types.ts';

/** Gets one document of the server. */
export type GetDocument = (path: string, accept: string) => Promise<Json>;

const plain = 'application/json';
const aggregated = `application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,${plain}`;
const parallelGroups = 10;

interface Version {
  readonly version: string;
  readonly resources: readonly ApiResource[];
}

interface Group {
  readonly group: string;
  readonly preferred: string;
  /** In server order. */
  readonly versions: readonly Version[];
}

/**
 * What the server serves, in two requests where it knows aggregated discovery (since 1.26), else one per group version. Groups that
 * cannot be read now (an extension API server that is down) are named in `failedGroups` ("*": all but core); the rest is complete.
 * @throws what the first request threw when nothing could be read at all.
 */
export async function discover(get: GetDocument): Promise<ApiDiscovery> {
  const failedGroups = new Map<string, string>();
  const groups: Group[] = [];
  const errors: unknown[] = [];
  for (const root of ['/api', '/apis']) {
    try {
      const answer = await getRoot(get, root);
      groups.push(
        ...(at(answer, 'kind') === 'APIGroupDiscoveryList'
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
  return discovery(groups, failedGroups);
}

/** Servers before 1.26 ignore what they do not know; some proxies answer 406. */
async function getRoot(get: GetDocument, path: string): Promise<Json> {
  try {
    return await get(path, aggregated);
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 406) return get(path, plain);
    throw error;
  }
}

function fromAggregated(list: Json, failedGroups: Map<string, string>): Group[] {
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
    // A resource may answer with objects of another group (scale subresources do); its own group is where it is served.
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

/** Old-style discovery: an index, then one document per group version. */
async function fromIndex(
  get: GetDocument,
  root: string,
  index: Json,
  failedGroups: Map<string, string>,
): Promise<Group[]> {
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
      const answer = await get(`${root}/${apiVersionOf(group, version)}`, plain);
      return { group, version, resources: foldSubresources(group, version, objectsAt(answer, 'resources')) };
    } catch (error) {
      if (isAbort(error) || (error instanceof KubeApiError && error.status === 401)) throw error;
      // Behind the server another one may hang, or talk nonsense.
      const isOfGroup = [KubeApiError, KubeProtocolError, DeadlineExceeded].some((one) => error instanceof one);
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

function discovery(groups: readonly Group[], failedGroups: ReadonlyMap<string, string>): ApiDiscovery {
  const apiVersions = new Set<string>();
  const versions = groups.flatMap((group) => group.versions.map((version) => ({ ...version, group: group.group })));
  for (const { group, version, resources } of versions) {
    // As Argo CD tells charts and clients of them: what can be listed and watched.
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
 * Per resource the group's preferred version where that serves it, else the first version that does (client-go:
 * discovery.ServerPreferredResources).
 */
function preferredOf(group: Group): readonly ApiResource[] {
  const chosen = new Map<string, ApiResource>();
  for (const { version, resources } of group.versions)
    for (const resource of resources)
      if (version === group.preferred || !chosen.has(resource.resource)) chosen.set(resource.resource, resource);
  return [...chosen.values()];
}

function objectsAt(value: Json, ...path: readonly string[]): JsonObject[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? (found as readonly Json[]).filter(isObject) : [];
}

function texts(value: Json, ...path: readonly string[]): string[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? (found as readonly Json[]).filter((item) => typeof item === 'string') : [];
}

function text(value: Json, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}
