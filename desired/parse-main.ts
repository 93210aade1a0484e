/**
 * Reads one foreign text, and ends: a process of its own, started by the helper, so that a text which takes long or much memory stops nothing
 * else. In: a line of JSON that says what it is, then the text. Out: lines of JSON, for a file of manifests one for each object, for the index
 * of a chart repository one with the versions of the chart.
 */
import { answerOfIndex } from './fetch/chart-index.ts';
import { answerOf } from './generate/manifest-reader.ts';
import type { ManifestFile } from './generate/documents.ts';

type Head = Omit<ManifestFile, 'content'> | { readonly chart: string };

const parts: Buffer[] = [];
process.stdin.on('data', (part: Buffer) => parts.push(part));
process.stdin.on('end', () => {
  const input = Buffer.concat(parts);
  const end = input.indexOf('\n');
  const head = JSON.parse(input.toString('utf8', 0, end)) as Head;
  const content = input.subarray(end + 1);
  process.stdout.write('chart' in head ? answerOfIndex(content, head.chart) : answerOf({ ...head, content }));
});
