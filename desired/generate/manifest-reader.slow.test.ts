import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom, yieldToLoop } from '#base';
import { createInProcessRenderer, createInProcessRunner, parserCommand, programsFrom } from '../index.ts';
import type { KubeObject } from '#model';
import type { CommandRunner } from '../command/types.ts';
import { ParseProcess } from '../command/parse-process.ts';
import { ManifestError } from '../errors.ts';
import { defaultLimits } from '../limits.ts';
import type { DesiredLimits } from '../limits.ts';
import { renderBench } from '../testing/repository.ts';
import type { RenderBench } from '../testing/repository.ts';
import { objectsOf } from './documents.ts';
import type { ManifestFile } from './documents.ts';
import { ManifestReader } from './manifest-reader.ts';
import { parseSmallYaml } from './small-yaml.ts';

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

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
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
  const parser = parserCommand(program);
  const folder = mkdtempSync(join(tmpdir(), 'reader-'));
  folders.push(folder);
  const renderer = createInProcessRenderer({
    commands,
    programs: programsFrom(() => undefined, parser),
    folder,
    random: systemRandom,
  });
  const process = new ParseProcess({ renderer, clock: systemClock, limits: { ...defaultLimits, ...limits } });
  return { reader: new ManifestReader(process), ran };
}

async function objectsRead(reader: ManifestReader, one: ManifestFile, stop = signal): Promise<readonly KubeObject[]> {
  const found: KubeObject[] = [];
  for await (const { objects } of reader.read([one], stop)) found.push(...objects);
  return found;
}

beforeAll(() => {
  if (!existsSync(program)) throw new Error('dist/ is missing: run npm run build before this test');
});

describe('manifest files', () => {
  it('parses a big file in another process while this one continues', async () => {
    const { reader, ran } = readerWith();
    const big = file(`${manyKeys(60_000)}---\n${head}data: {big: 12345678901234567890}\n`);
    let turns = 0;
    const reading = { done: false };
    const counting = (async () => {
      for (; !reading.done; turns += 1) await yieldToLoop();
    })();
    const objects = await objectsRead(reader, big).finally(() => (reading.done = true));
    await counting;
    expect(objects).toEqual(objectsOf(big));
    expect(ran).toEqual([program]);
    // Parsing on this thread would be a single turn of the event loop.
    expect(turns).toBeGreaterThan(100);
  });

  it('parses a small file here, unless it has merges', async () => {
    const { reader, ran } = readerWith();
    await objectsRead(reader, file(manyKeys(2000)));
    expect(ran).toEqual([]);
    const merges = Array.from(
      { length: 60 },
      (_, i) => `  a${i + 1}: &a${i + 1} {<<: *a${i}, k${i}: ${'v'.repeat(150)}}`,
    );
    const text = `${head}x:\n  a0: &a0 {k: v}\n${merges.join('\n')}\n`;
    expect(await objectsRead(reader, file(text))).toEqual(objectsOf(file(text)));
    expect(ran).toEqual([program]);
  });

  it('reports a fault of a big file with the same message', async () => {
    const { reader } = readerWith();
    const broken = file(`${manyKeys(20_000)}---\nkind: ConfigMap\nmetadata: {name: b}\n`);
    let expected = '';
    try {
      objectsOf(broken);
    } catch (error) {
      expected = (error as Error).message;
    }
    expect(expected).toContain('apiVersion is missing');
    await expect(objectsRead(reader, broken)).rejects.toThrow(new ManifestError(expected));
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
      'Failed to unmarshal "app/a.yaml": reading it takes too much memory (parse needed more than 1000 bytes of memory)',
    ],
  ])('reports a file that takes too much %s as a fault of that file', async (_name, limits, message) => {
    await expect(objectsRead(readerWith(limits).reader, file(manyKeys(100_000)))).rejects.toThrow(message);
  });

  it('rejects with the reason of an aborted signal', async () => {
    const stop = new AbortController();
    const reading = objectsRead(readerWith().reader, file(manyKeys(100_000)), stop.signal);
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });
});

describe('small YAML files', () => {
  let bench: RenderBench;
  beforeAll(() => {
    bench = renderBench();
  });
  afterAll(() => bench.close());

  it('are refused if they are big', async () => {
    expect(() => parseSmallYaml(`a: ${'x'.repeat(300_000)}`)).toThrow('more than the maximum of 262144');
    const files = { 'app/a.yaml': head, 'app/.argocd-source.yaml': `directory: {}\n${'# x\n'.repeat(100_000)}` };
    await expect(bench.render(bench.repository(files), { path: 'app' })).rejects.toThrow(
      'error while parsing source parameters: .argocd-source.yaml: it has 400014 characters',
    );
  });
});
