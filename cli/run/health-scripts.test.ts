import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAbortController, systemClock, UsageError } from '#base';
import { createLuaEngine } from '#health';
import type { LuaEngine } from '#health';
import { health } from '../commands/files.ts';
import { healthScriptsOnDemand, readHealthScripts } from './health-scripts.ts';

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

  describe('of a running controller', () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: {} };
    const none = { useOpenLibs: false, knownTypeFields: [] };
    const ofPods = { Pod: { ...none, healthLua: 'return {status = "Suspended", message = "mine"}' } };
    const loader = (): { readonly load: () => Promise<LuaEngine>; readonly count: () => number } => {
      let loads = 0;
      const load = (): Promise<LuaEngine> => {
        loads += 1;
        return createLuaEngine(systemClock);
      };
      return { load, count: () => loads };
    };

    it('load no engine while there is no script', () => {
      const { load, count } = loader();
      const compile = healthScriptsOnDemand('', load);
      expect(compile({ Pod: none })).toMatchObject({ run: expect.any(Function) });
      expect(count()).toBe(0);
    });

    it('load one engine for all scripts, with the first of them', async () => {
      const { load, count } = loader();
      const compile = healthScriptsOnDemand('', load);
      const both = await Promise.all([compile(ofPods), compile(ofPods)]);
      const again = compile(ofPods);
      expect(again).not.toBeInstanceOf(Promise);
      const found = [...both, await again].map((scripts) => scripts.run('', pod));
      expect(found).toEqual(Array(3).fill({ status: 'Suspended', message: 'mine' }));
      expect(count()).toBe(1);
    });

    it('load the engine for a folder with scripts', async () => {
      const { load, count } = loader();
      const scripts = await healthScriptsOnDemand(folder, load)({});
      expect(scripts.run('', pod)).toEqual({ status: 'Healthy', message: 'mine' });
      expect(count()).toBe(1);
    });

    it('load the engine again after a failure', async () => {
      const { load, count } = loader();
      let isBroken = true;
      const compile = healthScriptsOnDemand('', () => (isBroken ? Promise.reject(new Error('no memory')) : load()));
      await expect(compile(ofPods)).rejects.toThrow('no memory');
      isBroken = false;
      expect((await compile(ofPods)).run('', pod)).toEqual({ status: 'Suspended', message: 'mine' });
      expect(count()).toBe(1);
    });
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
