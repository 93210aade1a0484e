/** Where the page is: the part of its address after `#`. A link shows the same again. */
export type Route =
  | { readonly page: 'fleet' | 'applications' | 'clusters' | 'time'; readonly query: URLSearchParams }
  | {
      readonly page: 'application';
      readonly namespace: string;
      readonly name: string;
      readonly query: URLSearchParams;
    }
  | { readonly page: 'cluster'; readonly cluster: string; readonly query: URLSearchParams };

export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = splitAt(hash.replace(/^#\/?/, ''), '?');
  const query = new URLSearchParams(search);
  const [page = '', first, second] = path.split('/').map(decoded);
  if (page === 'applications' && first !== undefined && second !== undefined)
    return { page: 'application', namespace: first, name: second, query };
  if (page === 'clusters' && first !== undefined) return { page: 'cluster', cluster: first, query };
  if (page === 'applications' || page === 'clusters' || page === 'time') return { page, query };
  return { page: 'fleet', query };
}

export function applicationLink(namespace: string, name: string, tab = ''): string {
  const search = tab === '' ? '' : `?tab=${encodeURIComponent(tab)}`;
  return `#/applications/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}${search}`;
}

export function clusterLink(cluster: string): string {
  return `#/clusters/${encodeURIComponent(cluster)}`;
}

function splitAt(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
