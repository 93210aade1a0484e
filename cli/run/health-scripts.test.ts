import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAbortController, UsageError } from '#base';
import { health } from '../commands/files.ts';
import { readHealthScripts } from './health-scripts.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'driftless-scripts-'));
  const put = (path: string, text: string): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  put('example.com/_/health.lua', 'return {status = "Suspended", message = obj.kind:lower()}');
  put('Pod/health.lua', 'return {status = "Healthy", message = "mine"}');
  put('example.com/Thing/notes.txt', 'no script');
  put('thing.yaml', 'apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: n}\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('--health-scripts', () => {
  it('reads <group>/<kind>/health.lua, and <kind>/health.lua for core kinds', () => {
    expect(readHealthScripts(folder).map(({ key }) => key)).toEqual(['Pod', 'example.com/_']);
    expect(readHealthScripts('')).toEqual([]);
  });

  it('says which folder it cannot read', () => {
    expect(() => readHealthScripts(join(folder, 'nowhere'))).toThrow(UsageError);
  });

  it('driftless health judges with them', async () => {
    const lines: string[] = [];
    const output = { out: (line: string) => void lines.push(line), err: () => undefined, color: false };
    const argv = ['-f', join(folder, 'thing.yaml'), '--health-scripts', folder];
    const context = { argv, env: {}, output, signal: newAbortController().signal };
    expect(await health(context as unknown as Parameters<typeof health>[0])).toBe(0);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ status: 'Suspended', message: 'thing' });
  });
});
