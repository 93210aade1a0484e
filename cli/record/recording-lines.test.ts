import { Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { maxRecordingLine } from '#controller';
import { recordingLines } from './recording-lines.ts';

async function read(chunks: Iterable<string>): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of recordingLines('-', Readable.from(chunks, { objectMode: false }))) lines.push(line);
  return lines;
}

it('joins lines over the borders of chunks, and keeps a last one without an end', async () => {
  expect(await read(['{"a"', ':1}\n{"b":2}\n', '{"c', '":3}'])).toEqual(['{"a":1}', '{"b":2}', '{"c":3}']);
});

it('refuses an endless line by its number before all of it is read', async () => {
  let chunks = 0;
  const endless = function* (): Generator<string> {
    yield '{"type":"header"}\n';
    for (; ; chunks += 1) yield 'x'.repeat(1024 * 1024);
  };
  await expect(read(endless())).rejects.toThrow('line 2: it is longer than 32 MB');
  expect(chunks * 1024 * 1024).toBeLessThan(2 * maxRecordingLine);
});

it('names a file that cannot be read', async () => {
  const lines = recordingLines('/nonexistent/recording.ndjson', Readable.from([]));
  await expect(lines.next()).rejects.toThrow('cannot read /nonexistent/recording.ndjson: ');
});
