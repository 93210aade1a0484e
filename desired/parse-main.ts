/**
 * Parses one untrusted text, and exits: a process of its own, started by the renderer, so that a
 * text which takes much time or memory blocks nothing else. Input: a line of JSON that describes
 * the text, then the text. Output: lines of JSON; for a file of manifests one per object, for the
 * index of a chart repository one with the versions of the chart.
 */
import { answerOfIndex } from './fetch/charts/chart-index.ts';
import { answerOf } from './generate/manifest-reader.ts';
import type { ManifestFile } from './generate/documents.ts';

type ParseHead = Omit<ManifestFile, 'content'> | { readonly chart: string };

const parts: Buffer[] = [];
process.stdin.on('data', (part: Buffer) => parts.push(part));
process.stdin.on('end', () => {
  const input = Buffer.concat(parts);
  const end = input.indexOf('\n');
  const head = JSON.parse(input.toString('utf8', 0, end)) as ParseHead;
  const content = input.subarray(end + 1);
  process.stdout.write('chart' in head ? answerOfIndex(content, head.chart) : answerOf({ ...head, content }));
});
