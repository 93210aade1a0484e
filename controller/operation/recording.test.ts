import { expect, it } from '@jest/globals';
import type { ManagedPair } from '#compare';
import { keyOf } from '#model';
import type { KubeObject } from '#model';
import type { ClusterWriter } from '#sync';
import { configMap } from '../testing/fake-world.ts';
import { recordingWriter } from './recording.ts';

const signal = new AbortController().signal;
const how = { serverSide: false, force: false, replace: false, validate: true };

const withUid = (name: string, uid = `uid-${name}`): KubeObject => {
  const object = configMap(name);
  return { ...object, metadata: { ...object.metadata, namespace: 'apps', uid } };
};

const pairOf = (live: KubeObject | null, target: KubeObject | null, hook = false): ManagedPair =>
  ({ key: keyOf(live ?? withUid('new')), live, target, hook, own: true }) as unknown as ManagedPair;

it('records what the server has accepted for managed objects, and nothing about hooks', async () => {
  const [kept, extra, moved, hook] = [withUid('kept'), withUid('extra'), withUid('moved'), withUid('hook')];
  const outcomes: Partial<ClusterWriter> = {
    apply: (target, live) =>
      target.metadata.name === 'refused'
        ? Promise.reject(new Error('refused'))
        : Promise.resolve({ object: live ?? withUid('new'), message: '' }),
    delete: (live) => Promise.resolve(live.metadata.name === 'moved' ? 'changed' : 'accepted'),
  };
  const pairs = [
    pairOf(kept, configMap('kept')),
    pairOf(extra, null),
    pairOf(moved, null),
    pairOf(hook, configMap('hook'), true),
    pairOf(null, configMap('new')),
  ];
  const seen: string[] = [];
  const writer = recordingWriter(outcomes as ClusterWriter, pairs, ({ key, uid, stored, target }) =>
    seen.push(`${key} ${uid} ${stored === null ? 'deleted' : 'written'} ${target === null ? 'extra' : 'declared'}`),
  );
  for (const object of [kept, moved, hook]) await writer.apply(object, object, how, signal);
  await writer.apply(configMap('new'), null, how, signal);
  await expect(writer.apply(configMap('refused'), null, how, signal)).rejects.toThrow('refused');
  for (const object of [extra, moved, hook]) await writer.delete(object, 'Foreground', signal);
  expect(seen).toEqual([
    '/ConfigMap/apps/kept uid-kept written declared',
    '/ConfigMap/apps/moved uid-moved written extra',
    '/ConfigMap/apps/new uid-new written declared',
    '/ConfigMap/apps/extra uid-extra deleted extra',
  ]);
});
