export type RequestVerb = 'Create' | 'Delete' | 'Get' | 'List' | 'Patch' | 'Update' | 'Watch' | 'Unknown';

/** Facts about a request in its URL, for metrics. */
export interface RequestFacts {
  readonly verb: RequestVerb;
  /** Plural name of the resource; '' for discovery, schemas and the version. */
  readonly kind: string;
  /** '' for cluster-scoped resources and lists of all namespaces. */
  readonly namespace: string;
}

const writeVerbs: Readonly<Record<string, RequestVerb>> = {
  POST: 'Create',
  DELETE: 'Delete',
  PATCH: 'Patch',
  PUT: 'Update',
};

/**
 * Reads the verb, resource and namespace from a request, with Argo CD's names (util/metrics/kubectl
 * and argoproj/pkg kubeclientmetrics). A subresource counts as its resource; Argo CD shows the
 * name of the object as the kind.
 *
 * @param path below the server's URL, with query.
 */
export function requestFacts(method: string, path: string): RequestFacts {
  const [route = '', query = ''] = path.split('?');
  const segments = segmentsAfterVersion(route);
  const isNamespaced = segments[0] === 'namespaces' && segments.length > 2;
  const [kind = ''] = isNamespaced ? segments.slice(2) : segments;
  const namespace = isNamespaced ? (segments[1] ?? '') : '';
  return { verb: writeVerbs[method] ?? readVerb(method, segments, query), kind, namespace };
}

/** Collections have an odd number of segments: `pods`, `namespaces/x/pods`. */
function readVerb(method: string, segments: readonly string[], query: string): RequestVerb {
  if (method !== 'GET') return 'Unknown';
  // Five and more: a subresource, such as the log of a Pod.
  if (segments.length > 4 || segments.length % 2 === 0) return 'Get';
  return /(?:^|&)watch=true(?:&|$)/.test(query) ? 'Watch' : 'List';
}

/** Segments behind `/api/v1` or `/apis/<group>/<version>`; none for other paths. */
function segmentsAfterVersion(route: string): readonly string[] {
  const [root, ...segments] = route.split('/').filter((segment) => segment !== '');
  if (root === 'api') return segments.slice(1);
  return root === 'apis' ? segments.slice(2) : [];
}
