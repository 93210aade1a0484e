import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiResource, isConflict, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import { eventually } from '#support';
import { joinFleet } from '../../engine/sharding.ts';
import type { FleetDocuments, FleetMember } from '../../engine/sharding.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';

const configMap = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
const items = Array.from({ length: 12 }, (_, i) => `item-${i}`);
/** Longer than the test may take: nothing is noticed by a renewal. */
const heartbeatMs = 60_000;

/** Two ConfigMaps of a namespace. */
function documentsIn(client: KubeClient, namespace: string): FleetDocuments {
  const contentOf = (object: KubeObject): string => (object['data'] as { content: string }).content;
  return {
    async read(name, signal) {
      try {
        const object = await client.get(configMap, { namespace, name }, { signal });
        return { content: contentOf(object), version: object.metadata.resourceVersion ?? '' };
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async write(name, content, version, signal) {
      const metadata = { namespace, name, ...(version !== undefined && { resourceVersion: version }) };
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { content } };
      try {
        const written =
          version === undefined
            ? await client.create(configMap, object, { signal })
            : await client.replace(configMap, object, { signal });
        return written.metadata.resourceVersion;
      } catch (error) {
        if (isConflict(error)) return undefined;
        throw error;
      }
    },
  };
}

describe('a fleet over two ConfigMaps that it does not watch, on a real API server', () => {
  let world: Servers<'target'>;
  let client: KubeClient;
  const members: FleetMember[] = [];

  beforeAll(async () => {
    world = await startServers({ names: ['target'] });
    client = clientOf(world.servers.target);
    await world.servers.target.kubectl(['create', 'namespace', 'fleet']);
  }, 120_000);

  afterAll(async () => {
    await Promise.all(members.map((member) => member.leave()));
    await client.close();
    await world.close();
  }, 60_000);

  /** Waits until each item has one owner among the members; never sees two. */
  async function owned(by: readonly FleetMember[], wanted: readonly string[]): Promise<number> {
    const since = performance.now();
    await eventually(() => {
      const counts = wanted.map((item) => members.filter((member) => member.owns(item)).length);
      if (Math.max(...counts) > 1) throw new Error(`two owners: ${counts.join()}`);
      expect(wanted.filter((item) => by.every((member) => !member.owns(item)))).toEqual([]);
    });
    return Math.round(performance.now() - since);
  }

  it('gives first and new items, and those of members that leave, to owners without waiting for a renewal', async () => {
    for (const name of ['one', 'two', 'three'])
      members.push(joinFleet({ documents: documentsIn(client, 'fleet'), name, members: 3, heartbeatMs }));
    for (const member of members) member.setItems(items);
    const first = await owned(members, items);
    await eventually(() => expect(members.every((member) => items.some((item) => member.owns(item)))).toBe(true));
    const more = [...items, 'new'];
    for (const member of members) member.setItems(more);
    const added = await owned(members, more);
    const [one, two, three] = members as [FleetMember, FleetMember, FleetMember];
    const left: number[] = [];
    for (const [leaving, rest] of [
      [one, [two, three]],
      [three, [two]],
    ] as const) {
      const leave = leaving.leave();
      left.push(await owned(rest, more));
      await leave;
    }
    process.stderr.write(`first items ${first} ms, a new item ${added} ms, after leaving ${left.join(' and ')} ms\n`);
    expect(Math.max(first, added, ...left)).toBeLessThan(heartbeatMs / 6);
  });
});
