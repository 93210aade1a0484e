import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parseYamlDocuments } from '#base';
import { runCommandLine } from './driftless.ts';

async function driftless(...args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  const lines: string[] = [];
  const out = (line: string): void => void lines.push(line);
  const output = { color: false, live: false, out, err: out, progress: out };
  const code = await runCommandLine(args, { env: {}, output, signal: new AbortController().signal });
  return { code, said: lines.join('\n') };
}

it('help COMMAND is the help of the command', async () => {
  expect(await driftless('help', 'top')).toEqual(await driftless('top', '--help'));
  expect((await driftless('help', 'shards', 'plan')).said).toContain('--from-replicas');
  expect(await driftless('help', 'explian')).toEqual({
    code: 2,
    said: expect.stringContaining('did you mean explain?'),
  });
  expect((await driftless('help')).said).toContain('Usage: driftless COMMAND');
});

it('-o yaml prints what -o json prints', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-yaml-'));
  try {
    const path = join(folder, 'clusters.json');
    writeFileSync(path, JSON.stringify([{ id: 'a', server: 'https://a', name: 'one' }]));
    const read = async (format: string): Promise<string> =>
      (await driftless('shards', '--clusters', path, '--replicas', '2', '-o', format)).said;
    expect(parseYamlDocuments(await read('yaml'))).toEqual([JSON.parse(await read('json'))]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
