import type { ApiRequest } from '../request.ts';
import type { CostRow, RecentEvent } from '../types.ts';
import { addUp, sorted } from './costs.ts';

type PageBody = Readonly<Record<string, unknown>>;

/** One page of the parts of several replicas; the first is our own. */
export function mergePages(request: ApiRequest, bodies: readonly PageBody[]): PageBody {
  const [own = {}] = bodies;
  const all = (member: string): readonly unknown[] =>
    bodies.flatMap((body) => (body[member] ?? []) as readonly unknown[]);
  switch (request.page) {
    case 'ownership':
      return { ...own, conditions: all('conditions') };
    case 'cluster': {
      const named = bodies.find((body) => body['server'] !== undefined) ?? own;
      const { server, names } = named;
      return { server, names, owners: all('owners'), handOvers: own['handOvers'] };
    }
    case 'costs': {
      const windows = bodies.map((body) => Number(body['windowMs'] ?? 0));
      return {
        subject: request.subject,
        windowMs: Math.max(0, ...windows),
        items: sorted(addUp(all('items') as readonly CostRow[])),
        ...(request.subject === 'kinds' ? { rules: mergedRules(bodies) } : {}),
      };
    }
    case 'events': {
      const items = (all('items') as readonly RecentEvent[]).toSorted((a, b) =>
        a.at < b.at ? 1 : Number(a.at > b.at) * -1,
      );
      return { items: items.slice(0, maxEvents), oldest: Object.assign({}, ...bodies.map((body) => body['oldest'])) };
    }
    default:
      return { items: all('items') };
  }
}

const maxEvents = 5000;

/** Rules of all replicas; a peer may be of another release. */
function mergedRules(bodies: readonly PageBody[]): readonly unknown[] {
  const rules = bodies.flatMap(({ rules: own }) => (Array.isArray(own) ? (own as readonly PageBody[]) : []));
  return rules.toSorted((a, b) => Number(b['saved'] ?? 0) - Number(a['saved'] ?? 0));
}
