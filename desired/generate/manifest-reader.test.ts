import { describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import { ownThreadBytes, ParseProcess } from '../command/parse-process.ts';
import { defaultLimits } from '../limits.ts';
import type { Renderer } from '../render/types.ts';
import type { ManifestFile } from './documents.ts';
import { ManifestReader } from './manifest-reader.ts';

const signal = new AbortController().signal;
const comment = `#${' '.repeat(ownThreadBytes)}\n`;

function bigFile(path: string): ManifestFile {
  const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n${comment}`;
  return { path, name: 'a.yaml', content: Buffer.from(text) };
}

/** Notes the files that are parsed. */
function notingRenderer(parsed: string[], fails: (path: string) => boolean = () => false): Renderer {
  return {
    name: 'noting',
    run: () => Promise.resolve(),
    version: () => Promise.resolve(undefined),
    render: ({ steps: [step] }) => {
      const head =
        Buffer.from(step?.stdin ?? '')
          .toString('utf8')
          .split('\n', 1)[0] ?? '';
      const { path } = JSON.parse(head) as { readonly path: string };
      parsed.push(path);
      const answer = fails(path) ? '{"failure":"broken"}\n' : '{"object":{"kind":"ConfigMap"}}\n';
      const stdout = Buffer.from(answer);
      return Promise.resolve({ steps: [{ exitCode: 0, signal: null, stdout, stderr: '' }] });
    },
  };
}

function readerWith(renderer: Renderer): ManifestReader {
  return new ManifestReader(new ParseProcess({ renderer, clock: systemClock, limits: defaultLimits }));
}

async function readAll(reader: ManifestReader, source: string, count: number): Promise<void> {
  const files = Array.from({ length: count }, (_, i) => bigFile(`${source}/${i}`));
  for await (const { objects } of reader.read(files, signal)) expect(objects).toHaveLength(1);
}

describe('sources with big files', () => {
  it('are read one after the other, so that each ends before its deadline', async () => {
    const parsed: string[] = [];
    const reader = readerWith(notingRenderer(parsed));
    const sources = ['a', 'b', 'c', 'd'];
    // A repository each: a project's repositories take turns.
    await Promise.all(sources.map((name) => readAll(reader.forShare({ project: 'p', repository: name }), name, 3)));
    const lastOf = (name: string): number => parsed.indexOf(`${name}/2`);
    expect(parsed).toHaveLength(12);
    // Two turns run at once: the third source begins when one of the first two has ended.
    expect(Math.min(lastOf('a'), lastOf('b'))).toBeLessThan(parsed.indexOf('c/0'));
    expect(Math.min(lastOf('b'), lastOf('c'))).toBeLessThan(parsed.indexOf('d/0'));
  });

  it('give their turn back when a file is wrong, or the caller stops', async () => {
    const parsed: string[] = [];
    const reader = readerWith(notingRenderer(parsed, (path) => path === 'broken/1'));
    for (let i = 0; i < 3; i += 1) await expect(readAll(reader, 'broken', 3)).rejects.toThrow('broken');
    for (let i = 0; i < 3; i += 1)
      for await (const { file } of reader.read([bigFile('left/0'), bigFile('left/1')], signal)) {
        expect(file.path).toBe('left/0');
        break;
      }
    await readAll(reader, 'last', 1);
    expect(parsed.at(-1)).toBe('last/0');
  });
});
