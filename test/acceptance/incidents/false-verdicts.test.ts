import { describe, expect, it } from '@jest/globals';
import { explainApplication, fullViewer, parseApiRequest, ReadApi } from '#api';
import type { ApplicationResponse, ReplicaFacts } from '#api';
import { DriftlessError } from '#base';
import type { Controller } from '#controller';
import { automated, configMap, stage } from '../../../controller/testing/index.ts';
import { explained, factsOf } from './explained.ts';

const at = stage();
const signal = new AbortController().signal;
const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];

/** An Application that is Synced and Healthy, and its replica. */
async function synced(spec: object = automated, call: (text: string) => void = () => undefined): Promise<Controller> {
  at.world.git.push(first, [configMap('one')]);
  at.world.application(spec);
  at.world.edit(() => ({ operation: { sync: {} } }));
  const { controller } = at.world.replica({ dest: { before: call } });
  await at.clock.advance(5000);
  return controller;
}

const kind = (name: string, state: string): object => ({
  ...{ group: '', version: 'v1', kind: name, state, message: `${name} is ${state}`, objects: 0, events: 0, bytes: 0 },
});
const watching = (...kinds: readonly object[]): Partial<ReplicaFacts> => ({
  watched: () => [{ info: { server: 'https://dest', state: 'synced' }, kinds }] as never,
});
const failing: Partial<ReplicaFacts> = {
  repositories: () => [{ url: 'https://git/x', failuresInRow: 2, lastFetch: { message: 'away' }, paused: [] }] as never,
};

describe('a fault of a part', () => {
  it('that is not used leaves the Application healthy', async () => {
    const facts = factsOf(await synced(), at.clock, watching(kind('Widget', 'forbidden'), kind('Pod', 'listing')));
    expect(await explained(facts)).toMatchObject({ verdict: 'healthy' });
  });

  it('whose first list is under way makes it wait, and does not break it', async () => {
    const facts = factsOf(await synced(), at.clock, watching(kind('ConfigMap', 'listing')));
    expect(await explained(facts)).toMatchObject({ verdict: 'waiting' });
  });

  it('that is polled, or left out on purpose, does not break it', async () => {
    const controller = await synced();
    for (const state of ['polled', 'left-out'])
      expect(await explained(factsOf(controller, at.clock, watching(kind('ConfigMap', state))))).toMatchObject({
        verdict: 'healthy',
      });
  });

  it('comes after its own fault', async () => {
    const controller = await synced();
    at.world.edit((object) => ({ spec: { ...(object['spec'] as object), project: 'gone' } }));
    await at.clock.advance(300_000);
    const { verdict, reason } = await explained(factsOf(controller, at.clock, failing));
    expect(verdict).toBe('broken');
    expect(reason).toContain('referencing project gone which does not exist');
  });

  it('comes after its failed sync', async () => {
    let isOn = false;
    const controller = await synced(automated, (text) => {
      if (isOn && text.endsWith('ConfigMap two')) throw new DriftlessError('X', 'quota exceeded');
    });
    isOn = true;
    at.world.git.push(second, [configMap('one'), configMap('two')]);
    await at.clock.advance(1_200_000);
    expect((await explained(factsOf(controller, at.clock, failing))).reason).toContain('quota exceeded');
  });
});

describe('an Application is not called fine', () => {
  it('while its owner does not answer', async () => {
    const facts = factsOf(await synced(), at.clock);
    const { holders, ...table } = facts.ownership.facts();
    const owned = new Map([...holders, [0, { holder: 'replica-1' } as never]]);
    at.world.owner = 1;
    const api = new ReadApi({
      clock: at.clock,
      peers: () => [{ name: 'replica-1' }] as never,
      facts: { ...facts, ownership: { ...facts.ownership, facts: () => ({ ...table, holders: owned }) } },
    });
    const request = parseApiRequest('/api/v1/applications/argocd/demo');
    const page = (await api.answer(request, { viewer: fullViewer, isPeer: false }, signal)) as ApplicationResponse;
    const { verdict, reason } = explainApplication(page);
    expect(verdict).toBe('waiting');
    expect(reason).toContain('replica-1, which does not answer: it publishes no address');
  });

  it('while nothing was compared since a hand-over that is older than a resync', async () => {
    await synced();
    at.world.ready = false;
    await at.clock.advance(600_000);
    const { controller } = at.world.replica({ index: 0 });
    await at.clock.advance(1000);
    const { verdict, text } = await explained(factsOf(controller, at.clock));
    expect(verdict).toBe('waiting');
    expect(text).toMatch(/cluster|took it up/);
  });

  it('without an age and a source', async () => {
    const { verdict, reason } = await explained(factsOf(await synced(), at.clock));
    expect(verdict).toBe('healthy');
    expect(reason).toMatch(/^compared \d+m?s ago by replica-0$/);
  });
});

/** Who wrote the ConfigMap last, by its managedFields. */
function written(by: object, data: Readonly<Record<string, string>>): void {
  const live = at.world.dest.get('ConfigMap', 'one')!;
  const managedFields = [{ operation: 'Update', fieldsV1: { 'f:data': { 'f:key': {} } }, ...by }];
  at.world.dest.put({ ...live, metadata: { ...live.metadata, managedFields: managedFields }, data });
}

const manual = { ...automated, syncPolicy: {} };

describe('who changed a field:', () => {
  it('a commit, if the live value is ours', async () => {
    const controller = await synced(manual);
    written({ manager: 'argocd-controller', time: '1970-01-01T00:00:05Z' }, { key: 'one' });
    await at.clock.advance(5000);
    at.world.git.push(second, [{ ...configMap('one'), data: { key: 'two' } }]);
    await at.clock.advance(300_000);
    const { text } = await explained(factsOf(controller, at.clock));
    expect(text).toContain('changed in Git: commit bbbbbbb');
    expect(text).not.toContain('changed by');
  });

  it('kubectl scale, at a time that is unknown', async () => {
    const controller = await synced(manual);
    written({ manager: 'kubectl', subresource: 'scale' }, { key: 'other' });
    await at.clock.advance(5000);
    const { text } = await explained(factsOf(controller, at.clock));
    expect(text).toContain('changed by kubectl (Update scale) at an unknown time');
  });
});

describe('a kind that is refused', () => {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'too-much' } };

  it('by the project is named as what it is, without a namespace', async () => {
    const controller = await synced();
    at.world.project('default', { clusterResourceWhitelist: [] });
    at.world.git.push(second, [configMap('one'), namespace]);
    await at.clock.advance(1_200_000);
    const { verdict, text } = await explained(factsOf(controller, at.clock));
    expect(verdict).toBe('broken');
    expect(text).toContain('Namespace too-much is not permitted in its project');
    expect(text).not.toMatch(/could not be read|apps\/too-much/);
  });

  it('or has no definition is broken, also while the sync is retried', async () => {
    const controller = await synced({
      ...automated,
      syncPolicy: { automated: {}, retry: { limit: 100, backoff: { duration: '10m', maxDuration: '10m' } } },
    });
    at.world.git.push(second, [
      configMap('one'),
      { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } },
    ]);
    await at.clock.advance(400_000);
    const { verdict, reason, row, page } = await explained(factsOf(controller, at.clock));
    expect(page.application.operation).toBe('Running');
    expect(verdict).toBe('broken');
    expect(reason).toContain('Widget.example.com');
    expect(row?.attention).toContain('Widget.example.com');
  });
});

it('the list shows the reason of retries, not the health that follows from it', async () => {
  at.world.git.push(first, [configMap('one')]);
  at.world.application({
    ...automated,
    syncPolicy: { automated: {}, retry: { limit: 100, backoff: { duration: '10m' } } },
  });
  const { controller } = at.world.replica({
    dest: {
      before: (text) => {
        if (text.endsWith('ConfigMap one')) throw new DriftlessError('X', 'quota exceeded');
      },
    },
  });
  await at.clock.advance(60_000);
  const { row, page } = await explained(factsOf(controller, at.clock));
  expect(page.application).toMatchObject({ operation: 'Running', health: 'Missing' });
  expect(row?.attention).toContain('quota exceeded');
});

it('commands of argocd are suggested only where it has a server', async () => {
  const controller = await synced(manual);
  at.world.git.push(second, [{ ...configMap('one'), data: { key: 'two' } }]);
  await at.clock.advance(300_000);
  expect((await explained(factsOf(controller, at.clock))).next).not.toContain('argocd app');
  const beside = factsOf(controller, at.clock, { hasArgoServer: () => true });
  expect((await explained(beside)).next).toContain('argocd app sync demo');
});
