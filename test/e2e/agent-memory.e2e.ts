/** @seconds 300 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mapLimit } from '#base';
import { eventually, Program } from '#support';
import { childrenOf, memoryOf } from '../../bench/process-tree.ts';
import { startServers } from './support/index.ts';
import type { Server, Servers } from './support/index.ts';

const objects = 1000;
const foreignPods = 40_000;
const mebibyte = 1024 * 1024;
/** 99 to 105 on Node 20, and 120 to 128 in the first process, which lists all kinds once. */
const maxRestingMb = 120;
const maxFirstMb = 135;

const configMap = (name: string, namespace: string, value: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { app: 'shop' } },
  data: { value, text: 'x'.repeat(200) },
});

const pod = (index: number): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `foreign-${index}`, namespace: 'foreign', labels: { app: 'theirs' } },
  spec: { containers: [{ name: 'main', image: 'example.com/theirs:1' }] },
});

describe('the memory of driftless agent', () => {
  let world: Servers<'target'>;
  let target: Server;
  let agent: Program;
  let folder: string;

  beforeAll(async () => {
    world = await startServers({ names: ['target'] });
    ({ target } = world.servers);
    for (const namespace of ['shop', 'foreign']) await target.kubectl(['create', 'namespace', namespace]);
    await target.kubectl(['create', 'serviceaccount', 'default', '-n', 'foreign']);
    const numbers = Array.from({ length: foreignPods }, (_, index) => index);
    await mapLimit(numbers, 32, (index) => target.api.create('/api/v1/namespaces/foreign/pods', pod(index)));
    folder = join(world.folder, 'folder');
    mkdirSync(folder);
    for (let index = 0; index < objects; index += 1) release(`settings-${index}`, 'first');
    agent = start();
  }, 300_000);

  function start(): Program {
    const source = ['--repo', folder, '--interval=40s', '--self-heal', '--prune'];
    const own = ['--cache-dir', join(world.folder, 'cache'), '--metrics-port=0', '--output=json'];
    return new Program(['agent', '--kubeconfig', target.kubeconfig, ...source, ...own]);
  }

  afterAll(async () => {
    await agent.stop('SIGTERM');
    await world.close();
  }, 60_000);

  function release(name: string, value: string): void {
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(configMap(name, 'shop', value)));
  }

  const pid = (): number => agent.child.pid ?? 0;
  const restingMb = (): number => Math.round(memoryOf(pid()).rssBytes / mebibyte);

  /** Garbage of a sync is collected, and helpers end, when both are calm for some seconds. */
  async function isOneSmallProcess(maxMb: number): Promise<void> {
    await eventually(() => {
      expect(childrenOf(pid())).toEqual([]);
      expect(restingMb()).toBeLessThan(maxMb);
    }, 90_000);
    process.stdout.write(
      `agent: ${restingMb()} MiB of RSS in one process, with ${objects} objects beside ${foreignPods} Pods\n`,
    );
  }

  it('is that of one small process after the first sync of 1,000 objects', async () => {
    await eventually(() => expect(agent.stdout).toMatch(/"sync":"Synced".*"operation":"Succeeded/), 100_000);
    expect(await target.api.list('/api/v1/namespaces/shop/configmaps')).toHaveLength(objects);
    await isOneSmallProcess(maxFirstMb);
  }, 240_000);

  it('is less after a restart, because its record names the kinds to read', async () => {
    await agent.stop('SIGTERM');
    agent = start();
    await eventually(() => expect(agent.stdout).toContain('"sync":"Synced"'), 100_000);
    await isOneSmallProcess(maxRestingMb);
  }, 240_000);

  it('is that again after the next commit, for which its helpers start once more', async () => {
    let most = 0;
    const watching = setInterval(() => (most = Math.max(most, childrenOf(pid()).length)), 20);
    release('settings-1', 'second');
    await eventually(async () => {
      const found = await target.api.get<{ data: unknown }>('/api/v1/namespaces/shop/configmaps/settings-1');
      expect(found?.data).toMatchObject({ value: 'second' });
    }, 90_000).finally(() => clearInterval(watching));
    expect(most).toBeGreaterThan(0);
    await isOneSmallProcess(maxRestingMb);
  }, 200_000);
});
