import type { ApiClient } from '#support';

/** A kind that can be listed, watched and deleted, at the version that the server prefers. */
export interface Served {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
}

interface Version {
  readonly version: string;
  readonly resources?: readonly {
    readonly resource: string;
    readonly responseKind?: { readonly kind: string };
    readonly scope: 'Namespaced' | 'Cluster';
    readonly verbs: readonly string[];
  }[];
}

interface Discovery {
  readonly items: readonly { readonly metadata: { readonly name?: string }; readonly versions: readonly Version[] }[];
}

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const needed = ['list', 'watch', 'delete'];

/** Events are left out: nothing depends on them, and they come by the hundred. */
export async function servedKinds(api: ApiClient): Promise<Served[]> {
  const answers = await Promise.all(
    ['/api', '/apis'].map((path) => api.exchange<Discovery>({ method: 'GET', path, accept })),
  );
  const served = answers
    .flatMap(({ body }) => body?.items ?? [])
    .flatMap(({ metadata, versions }) => versions.flatMap((version) => kindsOf(metadata.name ?? '', version)));
  // The version that the server prefers comes first, and the first stays.
  return [...new Map(served.reverse().map((one) => [`${one.group}/${one.kind}`, one])).values()];
}

function kindsOf(group: string, { version, resources = [] }: Version): Served[] {
  return resources
    .filter(({ verbs }) => needed.every((verb) => verbs.includes(verb)))
    .map(({ resource, responseKind, scope }) => {
      return { group, version, kind: responseKind?.kind ?? '', resource, namespaced: scope === 'Namespaced' };
    })
    .filter(({ kind }) => kind !== '' && kind !== 'Event');
}

export function pathOf(served: Served, namespace: string, name?: string): string {
  const root = served.group === '' ? `/api/${served.version}` : `/apis/${served.group}/${served.version}`;
  const place = served.namespaced && namespace !== '' ? `${root}/namespaces/${namespace}` : root;
  return `${place}/${served.resource}${name === undefined ? '' : `/${name}`}`;
}
