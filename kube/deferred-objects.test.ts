import { describe, expect, it } from '@jest/globals';
import { seededRandom, systemClock } from '#base';
import type { Json } from '#base';
import { deferredPartsOf } from '#model';
import type { KubeObject } from '#model';
import { silentLogger } from '#telemetry';
import { eventually } from '#support';
import { apiResource, createInformer, isExpired } from './index.ts';
import type { InformerEvent, ListPage, WatchEvent } from './index.ts';
import { collect, noSignal, scriptedConnections, testLifetimes } from './testing/index.ts';
import type { Turn } from './testing/index.ts';
import type { DefersMembers } from './types.ts';

const applications = apiResource('argoproj.io/v1alpha1', 'Application', 'applications', 'namespaced');
const { serve, connect } = scriptedConnections();
const lifetimes = testLifetimes();

function application(name: string, version: string, health = 'Healthy'): KubeObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { managedFields: [{ manager: 'm' }], name, namespace: 'argocd', resourceVersion: version, uid: name },
    spec: { destination: { server: 'https://c' }, project: 'default' },
    status: { health: { status: health }, summary: { images: ['ü€'] } },
  };
}

const asJson = (object: KubeObject): Json => object as unknown as Json;
const isDeferred = (object: KubeObject | undefined): boolean =>
  object !== undefined && deferredPartsOf(object) !== undefined;
const all: DefersMembers = () => ({ known: undefined });
const others: DefersMembers = ({ name }) => (name === 'own' ? undefined : { known: undefined });
const withoutPort = (error: unknown): string => String(error).replace(/:\d+\//, '/');
const objectsOf = (events: readonly WatchEvent[]): readonly KubeObject[] =>
  events.flatMap((event) => (event.type === 'BOOKMARK' ? [] : [event.object]));

describe('a watch whose objects keep their status as text', () => {
  const watch = async (play: (turn: Turn) => void, defers?: DefersMembers): Promise<readonly WatchEvent[]> => {
    const server = await serve((turn) => {
      turn.begin();
      play(turn);
    });
    const options = { signal: noSignal, resourceVersion: '5', ...(defers && { defers }) };
    return collect(connect(server).watch(applications, options));
  };

  it('has the same events as another one, wherever the bytes are cut', async () => {
    const play = (turn: Turn): void => {
      turn.event('ADDED', asJson(application('other', '6')));
      const line = Buffer.from(`${JSON.stringify({ type: 'MODIFIED', object: application('other', '7') })}\n`);
      for (const byte of line) turn.write(Uint8Array.of(byte));
      turn.event('MODIFIED', asJson(application('own', '8')));
      turn.write(`{ "object": ${JSON.stringify(application('spaced', '9'))}, "type": "MODIFIED" }\n`);
      turn.event('BOOKMARK', { kind: 'Application', metadata: { resourceVersion: '10' } });
      turn.event('DELETED', asJson(application('other', '11')));
      turn.end();
    };
    const events = await watch(play, others);
    expect(events).toEqual(await watch(play));
    expect(objectsOf(events).map((object) => isDeferred(object))).toEqual([true, true, false, false, false]);
  });

  it('fails as another one does: by an ERROR event, a malformed line, and an object of another kind', async () => {
    const expired = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
    const ending = async (play: (turn: Turn) => void, defers?: DefersMembers): Promise<unknown> =>
      watch(play, defers).catch((error: unknown) => error);
    expect(isExpired(await ending((turn) => turn.event('ERROR', expired), all))).toBe(true);
    const line = JSON.stringify({ type: 'ADDED', object: application('a', '6') });
    const bad = [
      line.slice(0, -1),
      `${line}}`,
      line.replace('Healthy"', 'Healthy'),
      line.replace('Application"', 'Pod"'),
    ];
    for (const text of bad) {
      const play = (turn: Turn): void => turn.write(`${text}\n`);
      const [found, wanted] = [await ending(play, all), await ending(play)];
      expect(found).toMatchObject({ code: 'KUBE_PROTOCOL' });
      expect(withoutPort(found)).toBe(withoutPort(wanted));
    }
  });

  it('takes an object of 1 MiB that changes 50 times', async () => {
    const big = application('big', '6');
    const rows = Array.from({ length: 8000 }, (_, i) => ({ kind: 'ConfigMap', name: `c-${i}`, status: 'Synced', i }));
    const versions = Array.from({ length: 50 }, (_, i) => String(10 + i));
    const events = await watch((turn) => {
      for (const resourceVersion of versions) {
        const status = {
          resources: [...rows, { kind: 'Secret', name: resourceVersion, message: 'x'.repeat(500_000) }],
        };
        turn.event('MODIFIED', asJson({ ...big, metadata: { ...big.metadata, resourceVersion }, status }));
      }
      turn.end();
    }, all);
    expect(objectsOf(events).map(({ metadata }) => metadata.resourceVersion)).toEqual(versions);
    expect(objectsOf(events).every((object) => isDeferred(object))).toBe(true);
    expect(objectsOf(events).at(-1)?.['status']).toMatchObject({ resources: { 8000: { name: '59' } } });
  });
});

describe('a list whose objects keep their status as text', () => {
  it.each([
    ['with', (object: KubeObject) => object],
    ['without', ({ metadata, ...rest }: KubeObject) => ({ metadata, spec: rest['spec'], status: rest['status'] })],
  ])('has the same items as another one, %s apiVersion and kind', async (_how, form) => {
    const items = [form(application('a', '1')), form(application('own', '2')), form(application('b', '3'))];
    const body = { kind: 'ApplicationList', apiVersion: 'argoproj.io/v1alpha1', metadata: { resourceVersion: '9' } };
    const server = await serve((turn) => turn.reply(200, { ...body, items } as unknown as Json));
    const list = (defers?: DefersMembers): Promise<ListPage> =>
      connect(server).list(applications, { signal: noSignal, ...(defers && { defers }) });
    const page = await list(others);
    expect(page).toEqual(await list());
    expect(page.items.map((item) => isDeferred(item))).toEqual([true, false, true]);
  });
});

describe('an informer whose objects keep their status as text', () => {
  it('announces each change with both versions, and keeps an unchanged object when it lists again', async () => {
    let items = [application('a', '1'), application('own', '2')];
    const watches: Turn[] = [];
    const server = await serve((turn) => {
      if (turn.query.get('watch') === 'true') {
        turn.begin();
        watches.push(turn);
      } else turn.reply(200, { kind: 'ApplicationList', metadata: { resourceVersion: '9' }, items } as unknown as Json);
    });
    const clock = systemClock;
    const common = { client: connect(server), resource: applications, clock, random: seededRandom(1), auditMs: 0 };
    const own = new Set(['argocd/own']);
    const informer = createInformer({ ...common, logger: silentLogger, isDeferred: (key) => !own.has(key) });
    const heard: InformerEvent[] = [];
    informer.onEvent((event) => heard.push(event));
    lifetimes.run(informer);
    await eventually(() => expect(watches).toHaveLength(1));
    expect(['argocd/a', 'argocd/own'].map((key) => isDeferred(informer.get(key)))).toEqual([true, false]);

    const changed = application('a', '10', 'Degraded');
    watches[0]?.event('MODIFIED', asJson(changed));
    await eventually(() => expect(heard).toHaveLength(3));
    expect(heard[2]).toEqual({ type: 'updated', old: application('a', '1'), object: changed });
    expect(informer.get('argocd/a')?.['spec']).toBe(heard[0]?.object['spec']);

    own.add('argocd/a');
    watches[0]?.event('MODIFIED', asJson(application('a', '11')));
    await eventually(() => expect(heard).toHaveLength(4));
    expect(isDeferred(informer.get('argocd/a'))).toBe(false);

    own.clear();
    watches[0]?.event('MODIFIED', asJson(application('a', '12')));
    await eventually(() => expect(heard).toHaveLength(5));
    const kept = informer.list();
    items = [application('a', '12'), application('own', '2')];
    watches[0]?.event('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' });
    await eventually(() => expect(watches).toHaveLength(2));
    expect(heard).toHaveLength(5);
    expect(informer.list()).toEqual(kept);
    expect(informer.get('argocd/a')).toBe(kept[0]);
  });
});
