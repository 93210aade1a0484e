import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ManagedPair } from '#compare';
import { defaultSettings } from '#model';
import type { KubeObject, ResourceIgnoreDifferences, Settings } from '#model';
import { FakeClock } from '#support';
import type { ApplyOptions, ClusterWriter } from '#sync';
import { respectingWriter } from './respect.ts';
import { automated, FakeWorld } from '../testing/fake-world.ts';

const respecting = { syncPolicy: { ...automated.syncPolicy, syncOptions: ['RespectIgnoreDifferences=true'] } };
const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const config = (name: string, data: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
function settingsWith(rule: Omit<ResourceIgnoreDifferences, 'kind'>): Settings {
  return {
    ...defaultSettings,
    version: JSON.stringify(rule),
    overrides: { ConfigMap: { useOpenLibs: false, knownTypeFields: [], ignoreDifferences: rule } },
    raw: { 'resource.customizations.ignoreDifferences.ConfigMap': '' },
  };
}

let clock: FakeClock;
let world: FakeWorld;
let stop: (() => Promise<void>) | undefined;

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
});
afterEach(async () => {
  const ended = stop?.();
  await clock.advance(2000);
  await ended;
});

async function start(): Promise<void> {
  const replica = world.replica();
  stop = () => replica.stop();
  await clock.advance(2000);
}
async function push(commit: string, ...objects: KubeObject[]): Promise<void> {
  world.git.push(commit, objects);
  await clock.advance(200_000);
}
const dataOf = (name: string): unknown => world.dest.get('ConfigMap', name)?.['data'];
function change(name: string, data: Record<string, string>): void {
  const live = world.dest.get('ConfigMap', name);
  if (live !== undefined) world.dest.put({ ...live, data });
}
const updates = (name: string): string[] => world.dest.calls.filter((call) => call === `patch ConfigMap ${name}`);

describe('RespectIgnoreDifferences=true', () => {
  it.each<[string, Partial<Settings>, object]>([
    ['the Application', {}, { ignoreDifferences: [{ kind: 'ConfigMap', jqPathExpressions: ['.data.tuned'] }] }],
    ['argocd-cm', settingsWith({ jsonPointers: ['/data/tuned'] }), {}],
  ])('applies changes from Git and keeps ignored fields, with rules of %s', async (_where, over, spec) => {
    world.settings = { ...defaultSettings, ...over };
    world.application({ ...respecting, ...spec });
    world.git.push(first, [config('one', { tuned: '1', other: '1' })]);
    await start();
    // There was no live value to keep.
    expect(dataOf('one')).toEqual({ tuned: '1', other: '1' });
    change('one', { tuned: '9', other: '1' });
    await push(second, config('one', { tuned: '2', other: '2' }));
    expect(dataOf('one')).toEqual({ tuned: '9', other: '2' });
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced', revision: second } });
    expect(world.app.status?.operationState).toMatchObject({ phase: 'Succeeded' });
    expect(world.app.status?.conditions).toBeUndefined();
  });

  it('applies the whole manifest without the option', async () => {
    world.application({
      ...automated,
      ignoreDifferences: [{ kind: 'ConfigMap', jsonPointers: ['/data/tuned'] }],
    });
    world.git.push(first, [config('one', { tuned: '1', other: '1' })]);
    await start();
    change('one', { tuned: '9', other: '1' });
    await push(second, config('one', { tuned: '2', other: '2' }));
    expect(dataOf('one')).toEqual({ tuned: '2', other: '2' });
  });

  it('sends what the kind of apply requires', async () => {
    const [target, live] = [config('one', { other: '2' }), config('one', { tuned: '9', other: '1' })];
    const sent: KubeObject[] = [];
    const inner = {
      apply: async (object: KubeObject, present: KubeObject | null, { buildTarget }: ApplyOptions) =>
        sent.push(
          present === null || buildTarget === undefined
            ? object
            : await buildTarget(present, new AbortController().signal),
        ),
    } as unknown as ClusterWriter;
    const pair = { target, live, hook: false, diff: { undecided: false, faults: [] } } as unknown as ManagedPair;
    const rules = { settings: settingsWith({ jsonPointers: ['/data/tuned'] }), ignoreDifferences: [] };
    const writer = respectingWriter(inner, [pair], rules);
    const apply = async (
      how: Partial<ApplyOptions>,
      present: KubeObject | null = live,
      object = target,
    ): Promise<unknown> => {
      const plain = { serverSide: false, force: false, replace: false, validate: true };
      await writer.apply(object, present, { ...plain, ...how }, new AbortController().signal);
      return sent.at(-1)?.['data'];
    };
    // A patch keeps live fields it omits; a full replacement must include them.
    expect(await apply({})).toEqual({ other: '2' });
    expect(await apply({ serverSide: true })).toEqual({ other: '2' });
    expect(await apply({ replace: true })).toEqual({ tuned: '9', other: '2' });
    expect(await apply({ force: true })).toEqual({ tuned: '9', other: '2' });
    expect(await apply({ force: true, serverSide: true })).toEqual({ other: '2' });
    expect(await apply({ replace: true }, null)).toEqual({ other: '2' });
    expect(await apply({ replace: true }, config('strange', { tuned: '9' }))).toEqual({ other: '2' });
  });
});

it('does not send an object whose jq ignore rules exceed the work limit', async () => {
  const [target, live] = [config('one', { other: '2' }), config('one', { tuned: '9', other: '1' })];
  const sent: KubeObject[] = [];
  const inner = {
    apply: async (_target: KubeObject, present: KubeObject, { buildTarget }: ApplyOptions) =>
      sent.push(await buildTarget!(present, new AbortController().signal)),
  } as unknown as ClusterWriter;
  const pair = { target, live, hook: false, diff: { undecided: false, faults: [] } } as unknown as ManagedPair;
  const how = { serverSide: false, force: false, replace: true, validate: true };
  const settings = settingsWith({ jqPathExpressions: ['.data.tuned'] });
  const apply = (left: number): Promise<unknown> =>
    respectingWriter(inner, [pair], { settings, ignoreDifferences: [], work: { left } }).apply(
      target,
      live,
      how,
      new AbortController().signal,
    );
  await apply(1000);
  expect(sent.map(({ data }) => data)).toEqual([{ tuned: '9', other: '2' }]);
  await expect(apply(3)).rejects.toThrow(/^not applied, because it may overwrite .* together exceed the work limit/);
  expect(sent).toHaveLength(1);
});

describe('a rule that cannot be evaluated', () => {
  const odd = { jqPathExpressions: ['.data | select($n)'], jsonPointers: ['/data/tuned'] };
  const ruleFault =
    'not applied, because it may overwrite what should be ignored: The jqPathExpression ".data | select($n)" in argocd-cm resource.customizations.ignoreDifferences.ConfigMap uses the variable $n, which is not known. Fix or remove the rule';

  it('leaves resources under it alone during self-heal, and heals the others', async () => {
    world.settings = settingsWith({});
    world.application(automated);
    const secret = { ...config('s', { key: 'MQ==' }), kind: 'Secret' };
    world.git.push(first, [config('one', { tuned: '1', other: '1' }), config('two', { key: '1' }), secret]);
    await start();
    world.settings = settingsWith(odd);
    change('one', { tuned: '9', other: '9' });
    const live = world.dest.get('Secret', 's')!;
    world.dest.put({ ...live, data: { key: 'OQ==' } });
    await clock.advance(600_000);
    expect(dataOf('one')).toEqual({ tuned: '9', other: '9' });
    expect(world.dest.get('Secret', 's')?.['data']).toEqual({ key: 'MQ==' });
    expect(world.app.status?.sync?.status).toBe('Unknown');
    expect(world.app.status?.resources?.map(({ name, status }) => [name, status])).toEqual([
      ['one', 'Unknown'],
      ['two', 'Synced'],
      ['s', 'Synced'],
    ]);
    expect(world.app.status?.conditions?.map(({ type }) => type)).toEqual(['IgnoreRuleWarning']);
  });

  it('fails a sync for that resource by name, applies the others, and recovers once the rule is fixed', async () => {
    world.settings = settingsWith(odd);
    world.application({ syncPolicy: { automated: {} } });
    world.git.push(first, [config('one', { key: '1' }), config('two', { key: '1' })]);
    await start();
    expect(world.app.status?.sync?.status).toBe('Synced');
    const before = updates('one').length;
    world.hub.put({ ...world.app, spec: { ...world.app.spec, syncPolicy: {} } } as unknown as KubeObject);
    change('one', { key: '9' });
    world.git.push(second, [config('one', { key: '1' }), config('three', { key: '1' })]);
    world.hub.put({ ...world.app, operation: { sync: { revision: second } } } as unknown as KubeObject);
    await clock.advance(200_000);
    const state = world.app.status?.operationState;
    expect(state).toMatchObject({
      phase: 'Failed',
      message: `one or more synchronization tasks completed unsuccessfully, reason: ${ruleFault}`,
    });
    expect(state?.syncResult?.resources?.map(({ name, status, message }) => [name, status, message])).toEqual(
      expect.arrayContaining([
        ['one', 'SyncFailed', ruleFault],
        ['three', 'Synced', 'configmap/three created'],
      ]),
    );
    expect(dataOf('one')).toEqual({ key: '9' });
    expect(updates('one')).toHaveLength(before);

    world.settings = settingsWith({ jqPathExpressions: ['.data.tuned'] });
    world.hub.put({ ...world.app, operation: { sync: { revision: second } } } as unknown as KubeObject);
    await clock.advance(200_000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(dataOf('one')).toEqual({ key: '1' });
    expect(world.app.status?.conditions).toBeUndefined();
  });
});
