import type { ApiFault, ProxiedRequest } from './api-proxy.ts';

interface GroupList {
  readonly items?: readonly { readonly metadata: { readonly name: string } }[];
  readonly groups?: readonly { readonly name: string }[];
}

/**
 * A fault of an {@link ApiProxy}: groups of new CustomResourceDefinitions are served late, as by a
 * busy or replicated control plane.
 *
 * @param delayMsOf how long a group stays hidden after the server has served it; 0: not at all.
 */
export function slowDiscovery(delayMsOf: (group: string) => number): (request: ProxiedRequest) => ApiFault | undefined {
  const seenAt = new Map<string, number>();
  const isHidden = (group: string): boolean => {
    const delayMs = delayMsOf(group);
    return delayMs > 0 && performance.now() < (seenAt.get(group) ?? Number.POSITIVE_INFINITY) + delayMs;
  };
  const isServed = (group: string): boolean => {
    if (!seenAt.has(group)) seenAt.set(group, performance.now());
    return !isHidden(group);
  };
  const rewrite = (body: Record<string, unknown>): GroupList => {
    const { items, groups } = body as GroupList;
    return {
      ...body,
      ...(items && { items: items.filter(({ metadata }) => isServed(metadata.name)) }),
      ...(groups && { groups: groups.filter(({ name }) => isServed(name)) }),
    };
  };
  return ({ path }) => {
    if (path === '/apis') return { rewrite };
    const [, , group = ''] = path.startsWith('/apis/') ? path.split('/') : [];
    return isHidden(group) ? { status: 404, contentType: 'text/plain', text: '404 page not found\n' } : undefined;
  };
}
