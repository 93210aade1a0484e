type PlainJson = null | boolean | number | string | readonly PlainJson[] | { readonly [key: string]: PlainJson };

const instant = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

/**
 * Masks values that differ between runs: UIDs, versions, times, ages, tokens, allocated addresses,
 * random name suffixes. They become `<uid>`, `<time>` …, so that their presence is still compared.
 */
export function normal(value: unknown): PlainJson {
  return walk(value as PlainJson, '');
}

function walk(value: PlainJson, key: string): PlainJson {
  if (typeof value === 'string') return text(value, key);
  if (key === 'nodePort' && typeof value === 'number') return '<nodePort>';
  if (Array.isArray(value)) {
    const items = (value as readonly PlainJson[]).map((item) => walk(item, key));
    // The server sorts entries by second, so the order of writes in quick succession is random.
    return key === 'managedFields' ? items.sort((a, b) => (managerOf(a) < managerOf(b) ? -1 : 1)) : items;
  }
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).map(([name, member]) => [name, walk(member, name)] as const);
  // Descriptions of columns are not part of the API contract.
  const isColumn = 'format' in value && 'priority' in value;
  return Object.fromEntries(
    members.map(([name, member]) => [name, isColumn && name === 'description' ? '<text>' : member]),
  );
}

function managerOf(entry: PlainJson): string {
  const { operation, manager, subresource = '', apiVersion } = entry as Readonly<Record<string, PlainJson>>;
  return JSON.stringify([operation, manager, subresource, apiVersion]);
}

/** Masks such values inside a text. */
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

export interface AnswerDifference {
  /** JSON pointer into the answer. */
  readonly at: string;
  readonly expected: unknown;
  readonly found: unknown;
}

/** The deepest places where two JSON values differ. */
export function differences(expected: unknown, found: unknown, at = ''): AnswerDifference[] {
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
