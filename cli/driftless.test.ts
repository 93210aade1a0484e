import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parseYamlDocuments } from '#base';
import { driftless } from './testing/run-here.ts';

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
