import type { ApiClient } from '#support';

/** A kind that can be listed, watched and deleted, in the preferred version of the server. */
export interface DiscoveredKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
}

interface VersionDiscovery {
  readonly version: string;
  readonly resources?: readonly {
    readonly resource: string;
    readonly responseKind?: { readonly kind: string };
    readonly scope: 'Namespaced' | 'Cluster';
    readonly verbs: readonly string[];
  }[];
}

interface DiscoveryDocument {
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly VersionDiscovery[];
  }[];
}

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const needed = ['list', 'watch', 'delete'];

/** The kinds of the server without Events, which are many and have no dependents. */
export async function servedKinds(api: ApiClient): Promise<DiscoveredKind[]> {
  const answers = await Promise.all(
    ['/api', '/apis'].map((path) => api.exchange<DiscoveryDocument>({ method: 'GET', path, accept })),
  );
  const served = answers
    .flatMap(({ body }) => body?.items ?? [])
    .flatMap(({ metadata, versions }) => versions.flatMap((version) => kindsOf(metadata.name ?? '', version)));
  // The preferred version comes first in discovery; the reversed list makes it win.
  return [...new Map(served.reverse().map((one) => [`${one.group}/${one.kind}`, one])).values()];
}

function kindsOf(group: string, { version, resources = [] }: VersionDiscovery): DiscoveredKind[] {
  return resources
    .filter(({ verbs }) => needed.every((verb) => verbs.includes(verb)))
    .map(({ resource, responseKind, scope }) => {
      return { group, version, kind: responseKind?.kind ?? '', resource, namespaced: scope === 'Namespaced' };
    })
    .filter(({ kind }) => kind !== '' && kind !== 'Event');
}

export function pathOf(served: DiscoveredKind, namespace: string, name?: string): string {
  const root = served.group === '' ? `/api/${served.version}` : `/apis/${served.group}/${served.version}`;
  const place = served.namespaced && namespace !== '' ? `${root}/namespaces/${namespace}` : root;
  return `${place}/${served.resource}${name === undefined ? '' : `/${name}`}`;
}
