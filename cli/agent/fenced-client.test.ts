import { describe, expect, it } from '@jest/globals';
import { apiResource } from '#kube';
import type { CallOptions, KubeClient } from '#kube';
import type { GroupKind } from '#model';
import { fencedClient } from './fenced-client.ts';

const maps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
const at = { namespace: 'shop', name: 'one' };
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: at };
const { signal } = new AbortController();
const kinds = { add: () => undefined };

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
    const plain = fencedClient(recordingClient(sent), { check, stored: () => Promise.resolve() }, kinds);
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
    const record = { check: () => undefined, stored: () => Promise.resolve() };
    const client = fencedClient(recordingClient([]), record, kinds);
    const beforeSend = (): void => {
      throw new Error('not the owner');
    };
    await expect(async () => client.delete(maps, at, { signal, beforeSend })).rejects.toThrow('not the owner');
  });

  it('adds the kind of each write to the record before it waits for it', async () => {
    const steps: string[] = [];
    const noted = { add: (added: Iterable<GroupKind>) => void steps.push(...[...added].map(({ kind }) => kind)) };
    const record = {
      check: () => undefined,
      stored: (): Promise<void> => {
        steps.push('stored');
        return Promise.resolve();
      },
    };
    const client = fencedClient(recordingClient(steps), record, noted);
    for (const write of writesOf(client)) await write();
    const order = ['create', 'replace', 'patch', 'delete'].flatMap((verb) => ['ConfigMap', 'stored', verb]);
    expect(steps).toEqual(order);
  });

  it('sends no write before the record names its commit, and none if that fails', async () => {
    const sent: string[] = [];
    let settle: (error?: Error) => void = () => undefined;
    const stored = (): Promise<void> =>
      new Promise((resolve, reject) => {
        settle = (error) => (error === undefined ? resolve() : reject(error));
      });
    const plain = fencedClient(recordingClient(sent), { check: () => undefined, stored }, kinds);
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
