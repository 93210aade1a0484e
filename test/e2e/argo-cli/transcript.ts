/** What differs between two runs of the same commands and means nothing: where things run, when, and the names that are drawn by lot. */
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

/** The text of a command as it can be compared: without accidents, and with single blanks, as columns are as wide as what stands in them. */
export function normalised(text: string): string {
  let found = text;
  for (const [pattern, name] of accidents) found = found.replaceAll(pattern, name);
  const lines = found.split('\n').map((line) => line.replaceAll(/[ \t]+/g, ' ').trimEnd());
  return inOrder(lines).join('\n').trim();
}

/**
 * Tables of resources, row by row in the order of their texts. What belongs to one wave is applied at once, and its results stand in the order in
 * which the server answered; the CLI shows the roots of a tree in any order. What is below a root stays there.
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

/** Commands that wait print a line for every change that they see, as many as they happen to see: what counts is the end. */
export function conclusion(text: string): string {
  const at = text.lastIndexOf('\nName: ');
  return at < 0 ? text : text.slice(at + 1);
}

/** As if every object that is on its way had arrived. */
export function atRest(text: string): string {
  return text.replaceAll(/\bProgressing\b/g, 'Healthy');
}
