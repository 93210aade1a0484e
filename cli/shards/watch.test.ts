import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Shutdown, systemClock, systemRandom } from '#base';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { eventually } from '#support';
import { shards } from './shards.ts';

interface Member {
  readonly slot: number;
  readonly acked: number;
}

/**
 * The two ConfigMaps as the controller writes them: acknowledged epochs, and shard and home of each
 * cluster.
 */
function slotsData(members: readonly Member[]): Readonly<Record<string, string>> {
  const name = ({ slot }: Member): string => `ctl-${slot}`;
  const list = members.map((each) => ({ ShardNumber: each.slot, ControllerName: name(each), HeartbeatTime: null }));
  const more = members.map((each) => ({ ...each, holder: name(each), incarnation: `${name(each)}/0`, renewals: 1 }));
  return { shardControllerMapping: JSON.stringify(list), driftlessMembers: JSON.stringify(more) };
}

function tableData(epoch: number, replicas: number, clusters: readonly (readonly [number, number])[]): object {
  const entries = clusters.map(([shard, home], i) => [
    `https://c${i}`,
    { names: [`c${i}`], shards: [shard], homes: [home] },
  ]);
  const table = {
    epoch,
    replicas,
    algorithm: 'round-robin',
    slots: replicas,
    clusters: Object.fromEntries(entries) as object,
  };
  return { table: JSON.stringify(table) };
}

describe('driftless shards watch', () => {
  let hub: SimCluster;
  let folder: string;
  let out: string[];
  let end: AbortController;
  let ended: Promise<number>;

  beforeEach(async () => {
    hub = await startSimCluster({
      name: 'hub',
      clock: systemClock,
      random: systemRandom,
      workloads: { enabled: false, delayMs: 0 },
    });
    hub.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } });
    folder = mkdtempSync(join(tmpdir(), 'driftless-watch-'));
    writeFileSync(join(folder, 'kubeconfig'), kubeconfigFor([hub]));
    [out, end] = [[], new AbortController()];
    write('argocd-app-controller-shard-cm', slotsData([{ slot: 0, acked: 1000 }]));
    write('driftless-ownership', tableData(1000, 1, [[0, 0], [0, 0]])); // prettier-ignore
  });

  afterEach(async () => {
    end.abort(new Shutdown());
    expect(await ended).toBe(0);
    await hub.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function write(name: string, data: object): void {
    const known = hub.store.get('', 'ConfigMap', 'argocd', name);
    const metadata = { ...known?.metadata, name, namespace: 'argocd' };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    if (known === undefined) hub.store.create(object);
    else hub.store.update(object);
  }

  function watch(args: readonly string[], screen: boolean): void {
    const output = {
      color: false,
      live: screen,
      screen,
      out: (line: string) => void out.push(line),
      err: (line: string) => void out.push(line),
      progress: (line: string) => void out.push(line),
    };
    const argv = ['watch', '--kubeconfig', join(folder, 'kubeconfig'), '-n', 'argocd', ...args];
    ended = shards({ argv, env: { HOME: '/nonexistent' }, output, signal: end.signal });
  }

  /** A second replica starts, fills its caches and takes a cluster over. */
  async function scaleUp(shown: (text: string) => string): Promise<void> {
    const seen = (text: string): Promise<void> => eventually(() => expect(out.join('\n')).toContain(shown(text)));
    await seen('first');
    write('driftless-ownership', tableData(2000, 2, [[0, 0], [0, 1]])); // prettier-ignore
    write('argocd-app-controller-shard-cm', slotsData([{ slot: 0, acked: 2000 }, { slot: 1, acked: 2000 }])); // prettier-ignore
    await seen('fills');
    write('driftless-ownership', tableData(3000, 2, [[0, 0], [1, 1]])); // prettier-ignore
    write('argocd-app-controller-shard-cm', slotsData([{ slot: 0, acked: 3000 }, { slot: 1, acked: 3000 }])); // prettier-ignore
    await seen('settled');
  }

  it('follows a scale-up in lines when it is piped', async () => {
    watch([], false);
    await scaleUp(
      (text) =>
        ({
          first: 'shard 0: ctl-0, settled, 2 clusters',
          fills: 'shard 1: ctl-1, fills caches, 0 clusters, 1 to come',
          settled: 'shard 1: ctl-1, settled, 1 clusters',
        })[text] ?? text,
    );
    expect(out.some((line) => line.endsWith('table 3000 for 2 replicas'))).toBe(true);
    expect(out.every((line) => /^\d{4}-\d\d-\d\dT\S+Z {2}/.test(line))).toBe(true);
  });

  it('follows a scale-up with an object for each change, for machines', async () => {
    watch(['-o', 'json'], false);
    await scaleUp(
      (text) =>
        ({
          first: '"epoch":1000',
          fills: '"isCurrent":true,"parts":0,"coming":1,"leaving":0,"holder":"ctl-1"',
          settled: '"isCurrent":true,"parts":1,"coming":0,"leaving":0,"holder":"ctl-1"',
        })[text] ?? text,
    );
    const last = JSON.parse(out.at(-1) ?? '') as { readonly epoch: number; readonly shards: readonly object[] };
    expect(last).toMatchObject({ epoch: 3000, replicas: 2, time: expect.stringMatching(/Z$/) });
    expect(last.shards).toHaveLength(2);
  });

  it('draws the table again on a terminal', async () => {
    watch([], true);
    await scaleUp(
      (text) =>
        ({ first: 'SHARD   HOLDER', fills: 'fills caches', settled: 'table 3000 for 2 replicas' })[text] ?? text,
    );
    await eventually(() => expect(out.at(-1)).toMatch(/1 {7}ctl-1 +settled +1 +0 +0$/));
    expect(out.every((text) => text.startsWith('\u001b[H\u001b[J'))).toBe(true);
  });
});
