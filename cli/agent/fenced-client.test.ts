import { describe, expect, it } from '@jest/globals';
import { apiResource } from '#kube';
import type { CallOptions, KubeClient } from '#kube';
import { fencedClient } from './fenced-client.ts';

const maps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
const at = { namespace: 'shop', name: 'one' };
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: at };
const { signal } = new AbortController();

/** Calls `beforeSend` as a client does before each attempt. */
function recordingClient(sent: string[]): KubeClient {
  const send =
    (verb: string) =>
    (...args: readonly unknown[]): Promise<unknown> => {
      (args.at(-1) as CallOptions).beforeSend?.();
      sent.push(verb);
      return Promise.resolve(object);
    };
  const verbs = ['get', 'list', 'create', 'replace', 'patch', 'delete'];
  const client = Object.fromEntries(verbs.map((verb) => [verb, send(verb)]));
  return { ...client, server: 'https://api', impersonate: () => recordingClient(sent) } as unknown as KubeClient;
}

function writesOf(client: KubeClient): readonly (() => Promise<unknown>)[] {
  return [
    () => client.create(maps, object, { signal }),
    () => client.replace(maps, object, { signal }),
    () => client.patch(maps, at, { type: 'merge', body: {} }, { signal }),
    () => client.delete(maps, at, { signal }),
  ];
}

describe('a fenced client', () => {
  it('refuses each write once the check does, also as another user, and still reads', async () => {
    const sent: string[] = [];
    let isHeld = true;
    const check = (): void => {
      if (!isHeld) throw new Error('lost');
    };
    const plain = fencedClient(recordingClient(sent), { check, revisionStored: () => Promise.resolve() });
    for (const client of [plain, plain.impersonate('system:serviceaccount:shop:sync')]) {
      const writes = writesOf(client);
      for (const write of writes) await write();
      isHeld = false;
      for (const write of writes) await expect(async () => write()).rejects.toThrow('lost');
      await client.get(maps, at, { signal });
      isHeld = true;
    }
    const all = ['create', 'replace', 'patch', 'delete', 'get'];
    expect(sent).toEqual([...all, ...all]);
  });

  it('runs the check of the caller, too', async () => {
    const record = { check: () => undefined, revisionStored: () => Promise.resolve() };
    const client = fencedClient(recordingClient([]), record);
    const beforeSend = (): void => {
      throw new Error('not the owner');
    };
    await expect(async () => client.delete(maps, at, { signal, beforeSend })).rejects.toThrow('not the owner');
  });

  it('sends no write before the record names its commit, and none if that fails', async () => {
    const sent: string[] = [];
    let settle: (error?: Error) => void = () => undefined;
    const revisionStored = (): Promise<void> =>
      new Promise((resolve, reject) => {
        settle = (error) => (error === undefined ? resolve() : reject(error));
      });
    const plain = fencedClient(recordingClient(sent), { check: () => undefined, revisionStored });
    for (const client of [plain, plain.impersonate('system:serviceaccount:shop:sync')]) {
      const writes = writesOf(client);
      for (const write of writes) {
        const refused = write();
        settle(new Error('the record cannot be written'));
        await expect(refused).rejects.toThrow('the record cannot be written');
        sent.splice(0);
        const written = write();
        await client.get(maps, at, { signal });
        expect(sent).toEqual(['get']);
        settle();
        await written;
        expect(sent).toHaveLength(2);
      }
    }
  });
});
