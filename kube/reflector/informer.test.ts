import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '#base';
import type { KubeObject } from '#model';
import { silentLogger } from '#telemetry';
import { FakeClock } from '#support';
import { markAsHead } from '../requests/head.ts';
import { createInformer, KubeApiError } from '../index.ts';
import type { Informer, InformerEvent, WatchEvent } from '../index.ts';
import { configMaps, object, ScriptedSource, testLifetimes } from '../testing/index.ts';

interface Running {
  readonly clock: FakeClock;
  readonly source: ScriptedSource;
  readonly informer: Informer;
  /** Events of a listener: "added a@1", "updated a@1->2". */
  readonly heard: string[];
  readonly stop: () => Promise<void>;
}

const lifetimes = testLifetimes();

const tag = (item: KubeObject): string => item.metadata.resourceVersion ?? '?';
function eventText(event: InformerEvent): string {
  const name = event.object.metadata.name ?? '';
  return event.type === 'updated'
    ? `updated ${name}@${tag(event.old)}->${tag(event.object)}`
    : `${event.type} ${name}@${tag(event.object)}`;
}

/** @param items the objects of the first list, or the error that it fails with. */
async function start(
  items: readonly KubeObject[] | Error = [],
  options: Partial<Parameters<typeof createInformer>[0]> = {},
): Promise<Running> {
  const clock = new FakeClock();
  const source = new ScriptedSource();
  source.answers = [items instanceof Error ? items : { items, resourceVersion: '10' }];
  const informer = createInformer({
    client: source,
    resource: configMaps,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    ...options,
  });
  const heard: string[] = [];
  informer.onEvent((event) => heard.push(eventText(event)));
  const stop = lifetimes.run(informer, clock);
  await clock.settle();
  return { clock, source, informer, heard, stop };
}

const event = (type: 'ADDED' | 'MODIFIED' | 'DELETED', item: KubeObject): WatchEvent => ({ type, object: item });

async function relist(
  { source, clock }: Running,
  resourceVersion: string,
  items: readonly KubeObject[],
): Promise<void> {
  source.answers = [{ items, resourceVersion }];
  source.last.send(new KubeApiError({ code: 410, reason: 'Expired', message: 'too old' }, 'GET x'));
  await clock.advance(5_000);
}

describe('an informer', () => {
  it('has all objects after its first list, and reports synced', async () => {
    const { informer, heard } = await start([
      object('a', '1'),
      { ...object('b', '2'), metadata: { name: 'b', uid: 'u' } },
    ]);
    expect(informer.synced()).toBe(true);
    expect(informer.state()).toEqual({ state: 'synced' });
    expect(informer.get('default/a')?.metadata.resourceVersion).toBe('1');
    expect(informer.get('b')?.metadata.uid).toBe('u');
    expect(informer.list()).toHaveLength(2);
    expect(heard).toEqual(['added a@1', 'added b@?']);
  });

  it('keeps the last known object if only the head can be read, and all other objects', async () => {
    const r = await start([object('a', '1'), object('b', '2')]);
    await relist(r, '30', [object('a', '1'), markAsHead(object('b', '20'), 'too deep'), object('c', '21')]);
    r.source.last.send(event('MODIFIED', markAsHead(object('c', '31'), 'too deep')));
    r.source.last.send(event('MODIFIED', object('a', '32')));
    await r.clock.settle();
    expect(r.informer.list().map((item) => `${item.metadata.name ?? ''}@${tag(item)}`)).toEqual([
      'a@32',
      'b@2',
      'c@21',
    ]);
    r.source.last.send(event('MODIFIED', object('b', '33')));
    await r.clock.settle();
    expect(tag(r.informer.get('default/b') ?? object('b', ''))).toBe('33');
  });

  it('keeps and announces our own write if a list has the object unreadable', async () => {
    const r = await start([object('a', '1')]);
    r.informer.writeBack(object('a', '20'));
    await relist(r, '30', [markAsHead(object('a', '21'), 'too deep')]);
    expect(tag(r.informer.get('default/a') ?? object('a', ''))).toBe('20');
    expect(r.heard).toEqual(['added a@1', 'updated a@1->20']);
  });

  it('is not synced while the first list fails', async () => {
    const { informer } = await start(new KubeApiError({ code: 403, reason: 'Forbidden', message: 'no' }, 'GET x'));
    expect(informer.synced()).toBe(false);
    expect(informer.state()).toMatchObject({ state: 'forbidden', message: 'no' });
  });

  it('announces known objects to late listeners, and nothing to removed ones', async () => {
    const { informer, source, clock } = await start([object('a', '1')]);
    const late: string[] = [];
    const leave = informer.onEvent((e) => late.push(eventText(e)));
    source.last.send(event('MODIFIED', object('a', '11')));
    await clock.settle();
    leave();
    source.last.send(event('DELETED', object('a', '12')));
    await clock.settle();
    expect(late).toEqual(['added a@1', 'updated a@1->11']);
  });

  // T-JS-7
  it('isolates listeners from each other', async () => {
    const { informer, source, heard, clock } = await start();
    const first: string[] = [];
    informer.onEvent(() => {
      throw new Error('bug');
    });
    informer.onEvent((e) => first.push(eventText(e)));
    source.last.send(event('ADDED', object('a', '11')), event('ADDED', object('b', '12')));
    await clock.settle();
    expect(first).toEqual(['added a@11', 'added b@12']);
    expect(heard).toEqual(first);
  });

  it('announces a deletion and an addition for an equal name with a new UID, by event and by list', async () => {
    const running = await start([object('a', '1')]);
    const { source, heard, clock, informer } = running;
    source.last.send(event('MODIFIED', object('a', '11', { uid: 'second' })));
    await clock.settle();
    await relist(running, '30', [object('a', '25', { uid: 'third' })]);
    expect(heard).toEqual(['added a@1', 'deleted a@1', 'added a@11', 'deleted a@11', 'added a@25']);
    expect(informer.get('default/a')?.metadata.uid).toBe('third');
  });

  it('announces only differences after a new list, missed deletions too', async () => {
    const running = await start([object('same', '1'), object('changed', '2'), object('gone', '3')]);
    running.heard.length = 0;
    await relist(running, '30', [object('same', '1'), object('changed', '20'), object('new', '21')]);
    expect(running.heard.sort()).toEqual(['added new@21', 'deleted gone@3', 'updated changed@2->20']);
  });

  it('resyncs every stored object with itself', async () => {
    const { heard, clock, informer } = await start([object('a', '1'), object('b', '2')], { resyncMs: 60_000 });
    heard.length = 0;
    let same = 0;
    informer.onEvent((e) => (same += e.type === 'updated' && e.object === e.old ? 1 : 0));
    await clock.advance(59_000);
    expect(heard).toEqual([]);
    await clock.advance(61_000);
    expect(heard).toEqual(['updated a@1->1', 'updated b@2->2', 'updated a@1->1', 'updated b@2->2']);
    expect(same).toBe(4);
  });

  it('stores transformed objects', async () => {
    const strip = (item: KubeObject): KubeObject => ({ ...item, metadata: { ...item.metadata, managedFields: [] } });
    const big = object('a', '1', { managedFields: [{ manager: 'x' }] });
    const { informer, source, clock } = await start([big], { transform: strip });
    source.last.send(event('ADDED', object('b', '11', { managedFields: [{ manager: 'y' }] })));
    await clock.settle();
    expect(informer.list().map((item) => item.metadata.managedFields)).toEqual([[], []]);
  });
});

describe('own writes', () => {
  it('are in the store at once; their echo is not a change', async () => {
    const { informer, source, heard, clock } = await start([object('a', '1')]);
    informer.writeBack(object('a', '11'));
    expect(informer.get('default/a')?.metadata.resourceVersion).toBe('11');
    expect(heard).toEqual(['added a@1']);
    source.last.send(event('MODIFIED', object('a', '11')), event('MODIFIED', object('a', '12')));
    await clock.settle();
    expect(heard).toEqual(['added a@1', 'updated a@11->11', 'updated a@11->12']);
  });

  it('never hide a change of another client just before', async () => {
    const { informer, source, heard, clock } = await start([object('a', '9')]);
    informer.writeBack(object('a', '11'));
    source.last.send(event('MODIFIED', object('a', '10')));
    await clock.settle();
    expect(heard.at(-1)).toBe('updated a@9->10');
    expect(informer.get('default/a')?.metadata.resourceVersion).toBe('11');
    source.last.send(event('MODIFIED', object('a', '11')));
    await clock.settle();
    expect(heard.at(-1)).toBe('updated a@11->11');
  });

  it('never hide it in a list either', async () => {
    const running = await start([object('a', '9')]);
    running.informer.writeBack(object('a', '11'));
    await relist(running, '11', [object('a', '11')]);
    expect(running.heard.at(-1)).toBe('updated a@9->11');
  });

  it('are not reverted by an older list, and do not vanish with it', async () => {
    const running = await start([object('a', '9')]);
    running.source.onList = () => {
      running.informer.writeBack(object('a', '40'));
      running.informer.writeBack(object('mine', '41', { uid: 'mine' }));
    };
    await relist(running, '30', [object('a', '9')]);
    expect(running.informer.get('default/a')?.metadata.resourceVersion).toBe('40');
    expect(running.informer.get('default/mine')?.metadata.resourceVersion).toBe('41');
    expect(running.heard).toEqual(['added a@9', 'added mine@41']);
  });

  it('have no effect if they are late: older ones, and those of deleted objects', async () => {
    const { informer, source, heard, clock } = await start([object('a', '9'), object('b', '8')]);
    source.last.send(event('MODIFIED', object('a', '18014398509481985')), event('DELETED', object('b', '12')));
    await clock.settle();
    informer.writeBack(object('a', '18014398509481984'));
    informer.writeBack(object('b', '11'));
    expect(informer.get('default/a')?.metadata.resourceVersion).toBe('18014398509481985');
    expect(informer.get('default/b')).toBeUndefined();
    expect(heard.at(-1)).toBe('deleted b@12');
  });

  it('cause a relist if a restored server answers them: older twice, or of a deleted object that lives', async () => {
    const { informer, source, clock } = await start([object('a', '90', { uid: 'a' }), object('stale', '91')]);
    source.answers = [{ items: [object('a', '52', { uid: 'a' })], resourceVersion: '52' }];
    informer.writeBack(object('a', '51', { uid: 'a' }));
    await clock.advance(1_000);
    expect(source.lists).toHaveLength(1);
    informer.writeBack(object('a', '52', { uid: 'a' }));
    await clock.advance(1_000);
    expect(informer.list().map(tag)).toEqual(['52']);
    source.last.send(event('DELETED', object('a', '53', { uid: 'a' })));
    await clock.advance(30_000);
    source.answers = [{ items: [object('a', '54', { uid: 'a' })], resourceVersion: '54' }];
    informer.writeBack(object('a', '54', { uid: 'a' }));
    await clock.advance(1_000);
    expect([source.lists.length, informer.list().map(tag)]).toEqual([3, ['54']]);
  });

  it('replace the old object if it was recreated', async () => {
    const { informer, heard } = await start([object('a', '9')]);
    informer.writeBack(object('a', '12', { uid: 'second' }));
    expect(heard).toEqual(['added a@9', 'deleted a@9', 'added a@12']);
  });

  it('yield to the watch if versions are not numbers', async () => {
    const { informer, source, clock } = await start([object('a', 'x1')]);
    informer.writeBack(object('a', 'x2'));
    expect(informer.get('default/a')?.metadata.resourceVersion).toBe('x2');
    source.last.send(event('MODIFIED', object('a', 'x3')));
    await clock.settle();
    expect(informer.get('default/a')?.metadata.resourceVersion).toBe('x3');
  });

  it('in any interleaving with events end at the last version, and miss no change of other clients', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
        fc.infiniteStream(fc.nat(3)),
        async (mine, lag) => {
          const { informer, source, clock, stop } = await start([object('a', '10')]);
          const seen = new Set<string>();
          let last = '';
          informer.onEvent((e) => {
            seen.add(tag(e.object));
            last = tag(e.object);
          });
          const pending: WatchEvent[] = [];
          const deliver = async (count: number): Promise<void> => {
            source.last.send(...pending.splice(0, count));
            await clock.settle(2);
          };
          for (const [i, own] of mine.entries()) {
            const next = object('a', String(11 + i));
            pending.push(event('MODIFIED', next));
            await deliver(Number(lag.next().value));
            if (own) informer.writeBack(next);
          }
          await deliver(pending.length);
          const end = String(10 + mine.length);
          expect(informer.get('default/a')?.metadata.resourceVersion).toBe(end);
          expect(last).toBe(end);
          for (const [i, own] of mine.entries()) if (!own) expect(seen).toContain(String(11 + i));
          await stop();
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('a server that is restored to an earlier state', () => {
  it('is mirrored in store and listeners after the next list, whatever its versions and our writes before', async () => {
    const running = await start([object('a', '9'), object('b', '900'), object('same', '5')]);
    running.informer.writeBack(object('a', '940'));
    running.informer.writeBack(object('mine', '941', { uid: 'mine' }));
    running.heard.length = 0;
    await relist(running, '30', [object('a', '12'), object('b', '7', { uid: 'second' }), object('same', '5')]);
    expect(running.informer.list().map(whole).sort()).toEqual(['a@12 uid-a', 'b@7 second', 'same@5 uid-same']);
    expect(running.heard).toEqual(['updated a@9->12', 'deleted b@900', 'added b@7', 'deleted mine@941']);
  });

  it('has an object with the version of another state announced as new, not as an echo', async () => {
    const running = await start([object('a', '9', { labels: { is: 'then' } })]);
    running.heard.length = 0;
    await relist(running, '30', [object('a', '9', { labels: { is: 'now' } })]);
    expect(running.heard).toEqual(['deleted a@9', 'added a@9']);
    expect(running.informer.get('default/a')?.metadata.labels).toEqual({ is: 'now' });
    running.informer.writeBack(object('a', '31'));
    expect(running.informer.get('default/a')?.metadata.resourceVersion).toBe('31');
  });

  it('accepts our writes to an object that was deleted and is back', async () => {
    const running = await start([object('a', '9')]);
    running.source.last.send(event('DELETED', object('a', '20')));
    await running.clock.settle();
    await relist(running, '12', [object('a', '9')]);
    running.informer.writeBack(object('a', '13'));
    expect(running.informer.get('default/a')?.metadata.resourceVersion).toBe('13');
  });

  it('accepts our writes to an object that an event shows again, and a confirmed write hides no other', async () => {
    const { informer, source, clock } = await start([object('a', '9'), object('b', '9')]);
    source.last.send(event('DELETED', object('a', '20')), event('ADDED', object('a', '9')));
    await clock.settle();
    informer.writeBack(object('a', '13'));
    informer.writeBack(object('b', '21'));
    source.last.send(event('MODIFIED', object('b', '21')), event('ADDED', object('b', '8', { uid: 'earlier' })));
    await clock.settle();
    expect(informer.list().map(whole).sort()).toEqual(['a@13 uid-a', 'b@8 earlier']);
  });

  it('keeps our write during a list without it only if it is newer than the list', async () => {
    const running = await start([object('a', '9')]);
    running.source.onList = () => {
      running.informer.writeBack(object('before', '25'));
      running.informer.writeBack(object('after', '31'));
    };
    await relist(running, '30', [object('a', '9')]);
    expect(running.informer.list().map(whole).sort()).toEqual(['a@9 uid-a', 'after@31 uid-after']);
  });

  it('ignores a late response about an object that was replaced since', async () => {
    const { informer, heard } = await start([object('b', '9', { uid: 'second' })]);
    heard.length = 0;
    informer.writeBack(object('b', '7', { uid: 'first' }));
    expect([informer.list().map(whole), heard]).toEqual([['b@9 second'], []]);
    informer.writeBack(object('b', '11', { uid: 'third' }));
    expect(heard).toEqual(['deleted b@9', 'added b@11']);
  });

  it('ignores an older event of an object that ours has replaced', async () => {
    const { informer, source, heard, clock } = await start([object('a', '9')]);
    informer.writeBack(object('a', '12', { uid: 'ours' }));
    heard.length = 0;
    source.last.send(event('MODIFIED', object('a', '10')), event('DELETED', object('a', '11')));
    source.last.send(event('ADDED', object('a', '12', { uid: 'ours' })));
    await clock.settle();
    expect(heard).toEqual(['updated a@12->12']);
  });

  it('equals store and listeners after the next list, with our writes at any time', async () => {
    const deed = fc.record({
      act: fc.constantFrom('put', 'own', 'own', 'delete', 'save', 'restore', 'list', 'events'),
      name: fc.constantFrom('a', 'b'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { maxLength: 15 }), async (deeds) => {
        const running = await start([]);
        const { informer, source, clock, stop } = running;
        const heard = new Map<string, string>();
        informer.onEvent((e) => {
          const key = e.object.metadata.name ?? '';
          if (e.type === 'deleted') heard.delete(key);
          else heard.set(key, whole(e.object));
        });
        let [version, serial, position] = [10, 0, 10];
        let objects = new Map<string, KubeObject>();
        let saved = { version, objects };
        let events: WatchEvent[] = [];
        const put = (name: string): KubeObject => {
          version += 1;
          serial += 1;
          const old = objects.get(name);
          // The label distinguishes states with equal versions.
          const extra = { uid: old?.metadata.uid ?? `uid-${serial}`, labels: { serial: String(serial) } };
          const next = object(name, String(version), extra);
          objects.set(name, next);
          events.push(event(old === undefined ? 'ADDED' : 'MODIFIED', next));
          return next;
        };
        const list = async (): Promise<void> => {
          events = [];
          position = version;
          await relist(running, String(version), [...objects.values()]);
          // Servers that refuse many times in a row are queried less and less often.
          await clock.advance(60_000);
        };
        for (const { act, name } of deeds) {
          if (act === 'put') put(name);
          else if (act === 'own') informer.writeBack(put(name));
          else if (act === 'delete' && objects.has(name)) {
            version += 1;
            const last = objects.get(name) ?? object(name, '0');
            events.push(
              event('DELETED', { ...last, metadata: { ...last.metadata, resourceVersion: String(version) } }),
            );
            objects.delete(name);
          } else if (act === 'save') saved = { version, objects: new Map(objects) };
          else if (act === 'restore') {
            version = saved.version;
            objects = new Map(saved.objects);
            events = [];
          } else if (act === 'list') await list();
          else if (act === 'events') {
            const due = events.filter(
              (e) => e.type === 'BOOKMARK' || Number(tag((e as { object: KubeObject }).object)) > position,
            );
            events = [];
            position = Math.max(position, version);
            source.last.send(...due);
            await clock.settle();
          }
        }
        await list();
        const truth = [...objects.values()].map(whole).sort();
        expect(informer.list().map(whole).sort()).toEqual(truth);
        expect([...heard.values()].sort()).toEqual(truth);
        await stop();
      }),
      { numRuns: 200 },
    );
  });
});

function whole({ metadata }: KubeObject): string {
  const serial = metadata.labels?.['serial'];
  return `${metadata.name ?? ''}@${metadata.resourceVersion ?? ''} ${metadata.uid ?? ''}${serial === undefined ? '' : ` ${serial}`}`;
}

describe('the audit of the cache', () => {
  const withUid = (name: string, version: string, uid = name): KubeObject => {
    const made = object(name, version);
    return { ...made, metadata: { ...made.metadata, uid } };
  };
  const kept = ({ informer }: Running): string[] =>
    informer
      .list()
      .map((item) => `${item.metadata.name ?? ''}@${tag(item)}`)
      .sort();
  const metadataLists = ({ source }: Running): number =>
    source.lists.filter((list) => list.metadataOnly === true).length;
  const fullLists = (r: Running): number => r.source.lists.length - metadataLists(r);

  it('repairs a lost event within half an hour', async () => {
    const r = await start([withUid('a', '1'), withUid('b', '2'), withUid('c', '3')]);
    r.source.answers = [{ items: [withUid('b', '12'), withUid('c', '3'), withUid('d', '13')], resourceVersion: '20' }];
    await r.clock.advance(1_600_000);
    expect(kept(r)).toEqual(['a@1', 'b@2', 'c@3']);
    await r.clock.advance(400_000);
    expect(kept(r)).toEqual(['b@12', 'c@3', 'd@13']);
    expect(r.heard.slice(3).sort()).toEqual(['added d@13', 'deleted a@1', 'updated b@2->12']);
  });

  it('costs one metadata-only list per half hour if nothing was lost', async () => {
    const r = await start([withUid('a', '1')]);
    await r.clock.advance(11 * 1_890_000 - 60_000);
    expect([fullLists(r), metadataLists(r)]).toEqual([1, expect.any(Number)]);
    expect(metadataLists(r)).toBeGreaterThanOrEqual(10);
    expect(metadataLists(r)).toBeLessThanOrEqual(11);
  });

  it('finds another object with an equal version within twelve rounds', async () => {
    const r = await start([withUid('a', '1')]);
    r.source.answers = [{ items: [{ ...withUid('a', '1'), data: { key: 'after' } }], resourceVersion: '20' }];
    await r.clock.advance(13 * 1_890_000);
    expect(r.informer.get('default/a')?.['data']).toEqual({ key: 'after' });
  });

  it.each([
    ['is told of a change a moment later', (r: Running) => r.source.last.send(event('MODIFIED', withUid('a', '12')))],
    [
      'gets another object under the same name',
      (r: Running) =>
        r.source.last.send(event('DELETED', withUid('a', '11')), event('ADDED', withUid('a', '12', 'a2'))),
    ],
    ['has written it itself meanwhile', (r: Running) => r.informer.writeBack(withUid('a', '12'))],
  ])('lists nothing again when it %s', async (_what, tell) => {
    const r = await start([withUid('a', '1')]);
    r.source.answers = [{ items: [withUid('a', '11')], resourceVersion: '20' }];
    r.source.onList = () => {
      r.source.onList = () => undefined;
      tell(r);
    };
    await r.clock.advance(2_000_000);
    expect([fullLists(r), metadataLists(r)]).toEqual([1, 1]);
    expect(kept(r)).toEqual(['a@12']);
  });

  it('does not relist for an object that was created and deleted meanwhile', async () => {
    const r = await start([withUid('a', '1')]);
    r.source.answers = [{ items: [withUid('a', '1'), withUid('short', '11')], resourceVersion: '20' }];
    r.source.onList = () => {
      r.source.onList = () => undefined;
      r.source.last.send(event('ADDED', withUid('short', '11')), event('DELETED', withUid('short', '12')));
    };
    await r.clock.advance(2_000_000);
    expect([fullLists(r), metadataLists(r)]).toEqual([1, 1]);
    expect(kept(r)).toEqual(['a@1']);
  });

  it('ignores a failed comparison, and is disabled by 0', async () => {
    const r = await start([withUid('a', '1')]);
    r.source.answers = [new KubeApiError({ code: 500, reason: 'InternalError', message: 'no' }, 'GET x')];
    await r.clock.advance(2_000_000);
    expect([kept(r), r.informer.state()]).toEqual([['a@1'], { state: 'synced' }]);
    const none = await start([withUid('a', '1')], { auditMs: 0 });
    none.source.answers = [{ items: [], resourceVersion: '20' }];
    await none.clock.advance(100_000_000);
    expect(kept(none)).toEqual(['a@1']);
  });
});
