/** Values that differ between two runs of the same commands: addresses, times and random names. */
const accidents: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?Z| ?[+-]\d\d:?\d\d(?: [A-Z]{3,4})?)?/g, '<time>'],
  [/[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d [+-]\d{4} \d{4}/g, '<time>'],
  [/127\.0\.0\.1:\d+/g, '<address>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uid>'],
  // ReplicaSets and pods of a Deployment.
  [/\b(web|api)-[a-z0-9]{5,10}-[a-z0-9]{5}\b/g, '$1-<pod>'],
  [/\b(web|api)-[0-9a-f]{6,10}\b/g, '$1-<replicas>'],
  [/EndpointSlice(.*?)web-[a-z0-9]{5}\b/g, 'EndpointSlice$1web-<slice>'],
  [/^Duration: .*$/gm, 'Duration: <duration>'],
  [/resourceVersion: "?\d+"?/g, 'resourceVersion: <version>'],
  [/ip: 10\.96\.\d+\.\d+|10\.96\.\d+\.\d+/g, '<ip>'],
];

/**
 * An output for comparison: random values masked, and single blanks, as column widths vary with
 * values.
 */
export function normalised(text: string): string {
  let found = text;
  for (const [pattern, name] of accidents) found = found.replaceAll(pattern, name);
  const lines = found.split('\n').map((line) => line.replaceAll(/[ \t]+/g, ' ').trimEnd());
  return inOrder(lines).join('\n').trim();
}

/**
 * Sorts the rows of resource tables. Results within a wave are in the order of the server's
 * answers, and the CLI prints roots of a tree in random order. Rows below a root stay with it.
 */
function inOrder(lines: readonly string[]): readonly string[] {
  const sorted: string[] = [];
  let rows: string[] | undefined;
  const end = (): void => {
    sorted.push(...(rows ?? []).sort());
    rows = undefined;
  };
  for (const line of lines) {
    if (line === '') end();
    const last = rows?.length ?? 0;
    if (rows === undefined) sorted.push(line);
    else if (/^ ?[└├│]/.test(line) && last > 0) rows[last - 1] = `${rows[last - 1] ?? ''}\n${line}`;
    else rows.push(line);
    if (/^(?:GROUP KIND|KIND\/NAME)/.test(line)) {
      end();
      rows = [];
    }
  }
  end();
  return sorted;
}

/**
 * The part of a waiting command's output that describes the operation. A varying number of changes
 * comes before it, and resources in a varying state after it. Without such a part: all of it.
 */
export function operationOf(text: string): string {
  const at = text.lastIndexOf('\nOperation: ');
  if (at < 0) return text;
  const end = text.indexOf('\n\n', at);
  return text.slice(at + 1, end < 0 ? undefined : end);
}
