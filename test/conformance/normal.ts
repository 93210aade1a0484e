type Plain = null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain };

const instant = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

/**
 * An answer without what differs from one run to the next: UIDs, versions, times, ages, tokens, addresses that are given out, random name endings.
 * What is masked stays visible as `<uid>`, `<time>` ...: whether it is there at all is compared.
 */
export function normal(value: unknown): Plain {
  return walk(value as Plain, '');
}

function walk(value: Plain, key: string): Plain {
  if (typeof value === 'string') return text(value, key);
  if (key === 'nodePort' && typeof value === 'number') return '<nodePort>';
  if (Array.isArray(value)) {
    const items = (value as readonly Plain[]).map((item) => walk(item, key));
    // Sorted by second: the order of what was written one after the other depends on when the second ended.
    return key === 'managedFields' ? items.sort((a, b) => (managerOf(a) < managerOf(b) ? -1 : 1)) : items;
  }
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).map(([name, member]) => [name, walk(member, name)] as const);
  // What explains a column is nobody's contract, and theirs is long.
  const isColumn = 'format' in value && 'priority' in value;
  return Object.fromEntries(
    members.map(([name, member]) => [name, isColumn && name === 'description' ? '<text>' : member]),
  );
}

function managerOf(entry: Plain): string {
  const { operation, manager, subresource = '', apiVersion } = entry as Readonly<Record<string, Plain>>;
  return JSON.stringify([operation, manager, subresource, apiVersion]);
}

/** The same of one text. */
export function normalText(value: string): string {
  return text(value, '');
}

function text(value: string, key: string): string {
  if (key === 'resourceVersion' && /^\d+$/.test(value)) return value === '0' ? value : '<version>';
  if (key === 'continue' && value !== '') return '<token>';
  if (key === 'storageVersionHash') return '<hash>';
  if (key === 'serverAddress') return '<address>';
  return value
    .replace(uuid, '<uid>')
    .replace(instant, '<time>')
    .replace(/^(gen[a-z]*-)[bcdfghjklmnpqrstvwxz2456789]{5}$/, '$1<suffix>')
    .replace(/"(gen[a-z]*-)[bcdfghjklmnpqrstvwxz2456789]{5}"/g, '"$1<suffix>"')
    .replace(/\b10\.96\.\d+\.\d+\b/g, '<address>')
    .replace(/^\d+s$/, '<age>')
    .replace(/Invalid value: "(?:\{|map\[).*"(?=: )/s, 'Invalid value: "<object>"')
    .replace(/(resourceVersion: ")\d+/g, '$1<version>')
    .replace(/(kube-api-access-)[a-z0-9]{5}/, '$1<suffix>')
    .replace(/(ResourceVersion in record \()\d+/, '$1<version>')
    .replace(/(resource version: )\d+ \(\d+\)/, '$1<version> (<version>)')
    .replace(/(resource version: )\d+, current: \d+/, '$1<version>, current: <version>');
}

export interface Difference {
  /** JSON pointer into the answer. */
  readonly at: string;
  readonly expected: unknown;
  readonly found: unknown;
}

/** Where two plain values differ, as deep as they can be compared. */
export function differences(expected: unknown, found: unknown, at = ''): Difference[] {
  if (Object.is(expected, found)) return [];
  if (!isBranch(expected) || !isBranch(found) || Array.isArray(expected) !== Array.isArray(found)) {
    return [{ at, expected, found }];
  }
  if (Array.isArray(expected) && Array.isArray(found) && expected.length !== found.length) {
    return [{ at, expected, found }];
  }
  const keys = [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort();
  return keys.flatMap((key) =>
    differences(
      (expected as Record<string, unknown>)[key],
      (found as Record<string, unknown>)[key],
      `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    ),
  );
}

function isBranch(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
