import { describe, expect, it } from '@jest/globals';
import { inClusterServer } from '#model';
import type { Settings } from '#model';
import { vacancyMs } from './cluster-secrets.ts';
import { createSettingsWriter } from './settings-writer.ts';
import { FakeHub } from './testing/fake-hub.ts';
import { isNoWider, put, seen, start, url } from './testing/tried-secret.ts';
import type { RunningStore, TriedSecret } from './testing/tried-secret.ts';
import { isSameValue } from './values.ts';

type Data = Readonly<Record<string, string>>;

/** An object that we read: what it permits must not grow. */
interface TriedObject {
  readonly title: string;
  readonly kind: 'Secret' | 'ConfigMap';
  readonly name: string;
  readonly data: Data;
  readonly write: (hub: FakeHub, data: Data, more?: object) => void;
  /** Returns what the object permits; undefined if it is unreadable, so that it permits nothing. */
  readonly permits: (store: SettingsStore) => Promise<object>;
  readonly isWider: (before: object, now: object) => boolean;
  /** Absent: a key that we do not read. */
  readonly largeKey?: string;
  /** After a deletion of an hour: it is an edit. */
  readonly endsWithDeletion: boolean;
}

type SettingsStore = RunningStore['store'];

const repository = { url, type: 'git', proxy: 'http://proxy:1', enableLfs: 'true', username: 'u', password: 'p' };
const secrets: readonly (readonly [string, TriedSecret, boolean])[] = [
  ['cluster', { type: 'cluster', narrow: { server: 'https://a', name: 'a', namespaces: 'red', config: '{}' } }, false],
  ['the in-cluster', { type: 'cluster', narrow: { server: inClusterServer, name: 'own', namespaces: 'red' } }, true],
  ...(['repository', 'repo-creds', 'repository-write', 'repo-write-creds'] as const).map(
    (type) => [type, { type, narrow: repository }, true] as const,
  ),
];

const key = 'resource.exclusions';
const excluded = (settings: Settings): object => ({
  // Nothing is written while a setting that narrows every write is unreadable and unknown.
  isOpen:
    !settings.unreadable.some(({ kind, isKept }) => kind === undefined && !isKept) && settings.exclusions.length === 0,
});

const objects: readonly TriedObject[] = [
  ...secrets.map(([title, secret, endsWithDeletion]): TriedObject => ({
    title: `Secret of ${title}`,
    kind: 'Secret',
    name: 's',
    data: secret.narrow,
    write: (hub, data, more) => put(hub, secret, data, more),
    permits: (store) => Promise.resolve(seen(store, secret)),
    isWider: (before, now) => !isNoWider(before, now),
    endsWithDeletion,
  })),
  {
    title: 'ConfigMap argocd-cm',
    kind: 'ConfigMap',
    name: 'argocd-cm',
    data: { [key]: '- kinds: [Secret]\n', url: 'https://argocd.example.com' },
    write: (hub, data, more) => hub.put('ConfigMap', 'argocd-cm', data, { more: { ...more } }),
    permits: (store) => Promise.resolve(excluded(store.settings())),
    isWider: (_before, now) => isSameValue(now, { isOpen: true }),
    endsWithDeletion: false,
  },
  {
    title: 'ConfigMap argocd-gpg-keys-cm',
    kind: 'ConfigMap',
    name: 'argocd-gpg-keys-cm',
    data: { A: 'key a', B: 'key b' },
    largeKey: 'A',
    write: (hub, data, more) => hub.put('ConfigMap', 'argocd-gpg-keys-cm', data, { more: { ...more } }),
    permits: (store) => store.gpgKeys(new AbortController().signal),
    // Keys permit: an unknown one must not appear. gpg refuses a text that is no key.
    isWider: (before, now) => Object.keys(now).some((id) => !Object.hasOwn(before, id)),
    endsWithDeletion: false,
  },
];

const large = 'x'.repeat(1 << 20);
const notText = Buffer.from([0xff, 0xfe, 0xff]).toString('base64');

interface BadInput {
  readonly title: string;
  readonly act: (hub: FakeHub, object: TriedObject) => void;
}

const encoded = ({ kind, data }: TriedObject): Data =>
  kind === 'ConfigMap' ? data : Object.fromEntries(Object.entries(data).map(([name, text]) => [name, btoa(text)]));

/** Each key in turn with this value. */
const eachKey = (object: TriedObject, value: unknown, title: string): readonly BadInput[] =>
  Object.keys(object.data).map((name) => ({
    title: `${name} ${title}`,
    act: (hub) => object.write(hub, {}, { data: { ...encoded(object), [name]: value } }),
  }));

function badInputs(object: TriedObject): readonly BadInput[] {
  const isSecret = object.kind === 'Secret';
  const asBinary = (name: string): BadInput => ({
    title: `${name} is not UTF-8`,
    act: (hub) =>
      object.write(hub, {}, { data: { ...object.data, [name]: undefined }, binaryData: { [name]: notText } }),
  });
  return [
    { title: 'emptied', act: (hub) => object.write(hub, {}) },
    { title: 'without data', act: (hub) => object.write(hub, {}, { data: undefined }) },
    { title: 'with a list as data', act: (hub) => object.write(hub, {}, { data: ['a'] }) },
    { title: '1 MiB longer', act: (hub) => object.write(hub, { ...object.data, [object.largeKey ?? 'other']: large }) },
    ...[5, true, {}, []].flatMap((value) => eachKey(object, value, `of another type (${JSON.stringify(value)})`)),
    ...(isSecret ? eachKey(object, notText, 'is not UTF-8') : [key].filter((one) => one in object.data).map(asBinary)),
    ...(isSecret ? eachKey(object, '%%%', 'is no base64') : []),
  ];
}

const deletions: readonly number[] = [100, 5000, 3_600_000];

/** Object, replica and rule of one case. */
async function withStore(
  object: TriedObject,
  body: (at: RunningStore, hub: FakeHub, before: object) => Promise<void>,
): Promise<void> {
  const hub = new FakeHub();
  object.write(hub, object.data);
  const running = await start(hub, createSettingsWriter(hub.client()));
  // The settings in force are kept for a restart.
  await running.clock.advance(5000);
  const before = await object.permits(running.store);
  await body(running, hub, before);
  object.write(hub, object.data);
  await running.clock.advance(vacancyMs);
  // It recovers.
  expect(await object.permits(running.store)).toEqual(before);
  await running.stop();
}

describe('a Secret or ConfigMap with bad content', () => {
  it.each(objects.map((object) => [object.title, object] as const))(
    '%s: permits nothing more, at run time and for a replica that starts then',
    async (_title, object) => {
      for (const { title, act } of badInputs(object))
        await withStore(object, async ({ store, clock }, hub, before) => {
          act(hub, object);
          await clock.settle();
          expect([title, object.isWider(before, await object.permits(store))]).toEqual([title, false]);
          const isUnnamed = object.name === 's' && object.data['url'] !== undefined;
          const second = await start(hub);
          // At a start nothing tells which repository a Secret without a URL has.
          const isKnown = !isUnnamed || !/^(emptied|with|url)/.test(title);
          if (isKnown)
            expect([title, object.isWider(before, await object.permits(second.store))]).toEqual([title, false]);
          await second.stop();
        });
    },
    60_000,
  );

  it.each(objects.flatMap((object) => deletions.map((ms) => [object.title, ms, object] as const)))(
    '%s: is deleted for %d ms',
    async (_title, ms, object) => {
      await withStore(object, async ({ store, clock }, hub, before) => {
        hub.remove(object.kind, object.name);
        for (let at = 0; at < ms; at += ms / 10) {
          const isEdit = object.endsWithDeletion && at > vacancyMs;
          if (!isEdit) expect(object.isWider(before, await object.permits(store))).toBe(false);
          await clock.advance(ms / 10);
        }
      });
    },
    60_000,
  );

  it.each(objects.map((object) => [object.title, object] as const))(
    '%s: changes 100 times a second, while another replica starts',
    async (_title, object) => {
      const inputs = badInputs(object).filter(({ title }) => !title.includes('MiB'));
      await withStore(object, async ({ store, clock, lines }, hub, before) => {
        let second: RunningStore | undefined;
        for (let i = 0; i < 1000; i += 1) {
          if (i % 3 === 0) object.write(hub, object.data);
          else if (i % 50 === 1) hub.remove(object.kind, object.name);
          else inputs[i % inputs.length]?.act(hub, object);
          await clock.advance(10);
          const now = await object.permits(store);
          if (object.isWider(before, now)) throw new Error(`it permits more after change ${i}: ${JSON.stringify(now)}`);
          if (i === 501) second = await start(hub);
        }
        await second?.stop();
        // The log does not grow with the changes.
        expect(lines.length).toBeLessThan(100);
      });
    },
    60_000,
  );

  it('of 1 MiB again and again is not kept', async () => {
    const [object] = objects;
    if (object === undefined) throw new Error('no object');
    await withStore(object, async ({ store, clock }, hub) => {
      for (let i = 0; i < 200; i += 1) {
        object.write(hub, { ...object.data, config: `${i}${large}` });
        await clock.settle();
      }
      expect(JSON.stringify(store.problems()).length).toBeLessThan(1000);
    });
  });
});
