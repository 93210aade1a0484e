import type { KubeApiError } from '#kube';

/** Counts trials by their result, and collects wrong ones. */
export class TrialTally {
  readonly counts = new Map<string, number>();
  /** Refusals by the server, by kind of reason. */
  readonly refusals = new Map<string, number>();
  /** Missed differences and false ones: `<comparison>: <trial> <path>`. */
  readonly wrong: string[] = [];

  count(what: string): void {
    add(this.counts, what);
  }

  refused(what: string, error: KubeApiError): void {
    add(this.counts, `${what}, refused`);
    add(this.refusals, sortOf(error));
  }

  text(): string {
    const lines = (of: ReadonlyMap<string, number>): string =>
      [...of]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([what, number]) => `  ${number} ${what}\n`)
        .join('');
    return `${lines(this.counts)}  refused, because of:\n${lines(this.refusals)}`;
  }
}

function add(map: Map<string, number>, key: string): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}

/** Kubernetes' words for kinds of field errors. */
const sorts = [
  'immutable',
  'Forbidden',
  'Required value',
  'Unsupported value',
  'Duplicate value',
  'Invalid value',
  'Too many',
  'Too long',
  'Not found',
  'duplicate entries',
];

function sortOf(error: KubeApiError): string {
  const known = sorts.find((sort) => error.message.includes(sort));
  return known ?? `${error.status} ${error.message.replaceAll(/"[^"]*"/g, '"…"').slice(0, 90)}`;
}
