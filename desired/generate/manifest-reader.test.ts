import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, yieldToLoop } from '#base';
import { createInProcessRunner } from '../index.ts';
import type { CommandRunner } from '../command/types.ts';
import { ParseProcess } from '../command/parse-process.ts';
import { ManifestError } from '../errors.ts';
import { defaultLimits } from '../limits.ts';
import type { DesiredLimits } from '../limits.ts';
import { renderBench } from '../testing/repository.ts';
import type { RenderBench } from '../testing/repository.ts';
import { objectsOf } from './documents.ts';
import type { ManifestFile } from './documents.ts';
import { ManifestReader, parseSmallYaml } from './manifest-reader.ts';

const program = resolve('dist/desired/parse-main.js');
const signal = new AbortController().signal;
const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n';
const manyKeys = (count: number): string =>
  `${head}data:\n${Array.from({ length: count }, (_, i) => `  key${i}: "${i}"`).join('\n')}\n`;
const file = (text: string, more: Partial<ManifestFile> = {}): ManifestFile => ({
  path: 'app/a.yaml',
  name: 'a.yaml',
  content: Buffer.from(text),
  ...more,
});

function readerWith(limits: Partial<DesiredLimits> = {}): { readonly reader: ManifestReader; readonly ran: string[] } {
  const runner = createInProcessRunner({ clock: systemClock, env: {} });
  const ran: string[] = [];
  const commands: CommandRunner = {
    runCommand: (argv, options) => {
      ran.push(argv.at(-1) ?? '');
      return runner.runCommand(argv, options);
    },
  };
  const process = new ParseProcess({ commands, limits: { ...defaultLimits, ...limits }, program });
  return { reader: new ManifestReader(process), ran };
}

beforeAll(() => {
  if (!existsSync(program)) throw new Error('dist/ is missing: run npm run build before this test');
});

describe('14.1: files of manifests', () => {
  it('14.1: a big one is read by another process, and this one goes on meanwhile', async () => {
    const { reader, ran } = readerWith();
    const big = file(`${manyKeys(60_000)}---\n${head}data: {big: 12345678901234567890}\n`);
    let turns = 0;
    const reading = { done: false };
    const counting = (async () => {
      for (; !reading.done; turns += 1) await yieldToLoop();
    })();
    const objects = await reader.objectsOf(big, signal).finally(() => (reading.done = true));
    await counting;
    expect(objects).toEqual(objectsOf(big));
    expect(ran).toEqual([program]);
    // Read on this thread it would be one turn.
    expect(turns).toBeGreaterThan(100);
  });

  it('14.1: a small one is read here, unless it has merges', async () => {
    const { reader, ran } = readerWith();
    await reader.objectsOf(file(manyKeys(2000)), signal);
    expect(ran).toEqual([]);
    const merges = Array.from(
      { length: 60 },
      (_, i) => `  a${i + 1}: &a${i + 1} {<<: *a${i}, k${i}: ${'v'.repeat(150)}}`,
    );
    const text = `${head}x:\n  a0: &a0 {k: v}\n${merges.join('\n')}\n`;
    expect(await reader.objectsOf(file(text), signal)).toEqual(objectsOf(file(text)));
    expect(ran).toEqual([program]);
  });

  it('14.1: what is wrong with a big one is said in the same words', async () => {
    const { reader } = readerWith();
    const broken = file(`${manyKeys(20_000)}---\nkind: ConfigMap\nmetadata: {name: b}\n`);
    let expected = '';
    try {
      objectsOf(broken);
    } catch (error) {
      expected = (error as Error).message;
    }
    expect(expected).toContain('apiVersion is missing');
    await expect(reader.objectsOf(broken, signal)).rejects.toThrow(new ManifestError(expected));
  });

  it.each<[string, Partial<DesiredLimits>, string]>([
    ['time', { parseTimeoutMs: 1 }, 'Failed to unmarshal "app/a.yaml": reading it takes longer than 0.001 s; split it'],
    [
      'output',
      { maxToolBytes: 1000 },
      'Failed to unmarshal "app/a.yaml": unfolded it has more than 1000 bytes; split it',
    ],
    [
      'memory',
      { maxToolMemoryBytes: 1000 },
      'Failed to unmarshal "app/a.yaml": reading it takes more than 1000 bytes of memory',
    ],
  ])('14.1: one that takes too much %s is a fault of that file', async (_name, limits, message) => {
    await expect(readerWith(limits).reader.objectsOf(file(manyKeys(100_000)), signal)).rejects.toThrow(message);
  });

  it('14.1: who stops waiting gets the reason', async () => {
    const stop = new AbortController();
    const reading = readerWith().reader.objectsOf(file(manyKeys(100_000)), stop.signal);
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });
});

describe('14.1: files that are small by their nature', () => {
  let bench: RenderBench;
  beforeAll(() => {
    bench = renderBench();
  });
  afterAll(() => bench.close());

  it('14.1: are not read when they are not', async () => {
    expect(() => parseSmallYaml(`a: ${'x'.repeat(300_000)}`)).toThrow('and at most 262144 are read');
    const files = { 'app/a.yaml': head, 'app/.argocd-source.yaml': `directory: {}\n${'# x\n'.repeat(100_000)}` };
    await expect(bench.render(bench.repository(files), { path: 'app' })).rejects.toThrow(
      'error while parsing source parameters: .argocd-source.yaml: it has 400014 characters',
    );
  });
});
