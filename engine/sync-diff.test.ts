import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { widgetCrd } from '#support';
import { diffRules } from './diff.ts';
import { kubeConfigOf, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';
import { openWriter, planSync, runSync, serverSideDiff } from './sync.ts';
import type { OpenedSyncWriter, ServerDiff, SyncInputs, SyncWriter } from './sync.ts';

const configMap = (name: string, data: object = { of: name }): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
const job = (image: string): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'job' },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image }] } } },
});
const modes: readonly (readonly [string, NonNullable<SyncInputs['options']>])[] = [
  ['client-side', {}],
  ['server-side', { serverSideApply: true }],
  ['Replace', { replace: true }],
];

describe('serverSideDiff', () => {
  let sim: SimCluster;
  let writer: OpenedSyncWriter;
  let requests: string[];

  beforeEach(async () => {
    sim = await startCluster({ workloads: { enabled: false, delayMs: 0 } });
    writer = await openWriter({ kubeConfig: kubeConfigOf(sim), fieldManager: 'team-agent' });
    requests = [];
    sim.onRequest(({ verb, resource, name, dryRun }) => {
      if (!['get', 'list', 'watch'].includes(verb)) requests.push(`${verb} ${resource}/${name}${dryRun ? '' : ' (!)'}`);
    });
  });

  afterEach(async () => {
    await writer.close();
    await sim.close();
  });

  const diff = (inputs: Partial<SyncInputs>): Promise<readonly ServerDiff[]> =>
    serverSideDiff({ targets: [], writer, namespace: 'default', ...inputs });

  it.each(modes)('finds what the sync would change, by dry runs only (%s)', async (_mode, options) => {
    const before = [configMap('same'), configMap('changed'), configMap('dropped', { a: 'a', b: 'b' }), job('a:1')];
    await runSync({ targets: before, writer, namespace: 'default', options });
    requests = [];
    const targets = [
      configMap('same'),
      configMap('changed', { of: 'other' }),
      configMap('dropped', { a: 'a' }),
      job('a:2'),
      configMap('new'),
      configMap('bad', { 'no key!': 'x' }),
      { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'unknown' } },
      { ...configMap('check'), metadata: { name: 'check', annotations: { 'argocd.argoproj.io/hook': 'PreSync' } } },
    ];
    const found = await diff({ targets, options });
    expect(found.map(({ name, change, diff: difference }) => [name, change, difference?.paths])).toEqual([
      ['same', 'unchanged', []],
      ['changed', 'changed', ['/data/of']],
      ['dropped', 'changed', ['/data/b']],
      ['job', 'refused', undefined],
      ['new', 'created', []],
      ['bad', 'refused', undefined],
      ['unknown', 'refused', undefined],
    ]);
    const messages = Object.fromEntries(found.map(({ name, message = '' }) => [name, message]));
    expect(messages['job']).toContain('field is immutable');
    expect(messages['bad']).toContain('no key!');
    expect(messages['unknown']).toBe('the server could not find the requested resource');
    const [created] = found.filter(({ name }) => name === 'new');
    expect(created?.diff).toMatchObject({
      modified: true,
      normalizedLive: null,
      predictedLive: { data: { of: 'new' } },
    });
    expect(requests.filter((request) => request.endsWith('(!)'))).toEqual([]);
    expect(requests).toContain(`${options.replace === true ? 'update' : 'patch'} configmaps/changed`);
    expect(sim.store.get('', 'ConfigMap', 'default', 'new')).toBeUndefined();
  });

  it('agrees with the sync after a switch from client-side to server-side apply', async () => {
    await runSync({ targets: [configMap('a', { kept: '1', dropped: '1' })], writer, namespace: 'default' });
    const inputs = { targets: [configMap('a', { kept: '1' })], options: { serverSideApply: true } };
    expect(await diff(inputs)).toMatchObject([{ change: 'changed', diff: { paths: ['/data/dropped'] } }]);
    await runSync({ ...inputs, writer, namespace: 'default' });
    expect(await diff(inputs)).toMatchObject([
      { name: 'a', kind: 'ConfigMap', namespace: 'default', change: 'unchanged' },
    ]);
  });

  it('leaves out what is not selected, and ignores what the rules ignore', async () => {
    await runSync({ targets: [configMap('a'), configMap('b')], writer, namespace: 'default' });
    const targets = [configMap('a', { of: 'x' }), configMap('b', { of: 'x' })];
    const found = await diff({ targets, isSelected: ({ metadata }) => metadata.name === 'b' });
    expect(found.map(({ name, change }) => [name, change])).toEqual([['b', 'changed']]);
    const ignoreDifferences = [{ group: '', kind: 'ConfigMap', name: 'b', jsonPointers: ['/data/of'] }];
    const ignoring = await diff({ targets, diff: diffRules({ ignoreDifferences }) });
    expect(ignoring.map(({ change }) => change)).toEqual(['changed', 'unchanged']);
  });

  const service = (port: number): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port }] },
  });

  it.each([
    ['a list item with another key', { serverSideApply: true }, { serverSideApply: true }],
    ['a switch to server-side apply', {}, { serverSideApply: true }],
    ['client-side apply', {}, {}],
  ])('has the refusal of the server where other writes precede the apply: %s', async (_what, first, options) => {
    await runSync({ targets: [service(80)], writer, namespace: 'default', options: first });
    requests = [];
    const [valid] = await diff({ targets: [service(81)], options });
    expect(valid).toMatchObject({ change: 'changed' });
    const [invalid] = await diff({ targets: [service(70_000)], options });
    expect(invalid).toMatchObject({ change: 'refused', message: expect.stringContaining('between 1 and 65535') });
    expect(requests.filter((request) => request.endsWith('(!)'))).toEqual([]);
    const report = await runSync({ targets: [service(70_000)], writer, namespace: 'default', options });
    expect(report).toMatchObject({ phase: 'Failed', message: expect.stringContaining('70000') });
  });

  it.each(modes)('refuses a namespace that is missing and that nothing creates (%s)', async (_mode, options) => {
    const targets = [{ ...configMap('lost'), metadata: { name: 'lost', namespace: 'missing' } }];
    const message = 'namespaces "missing" not found';
    expect(await diff({ targets, options })).toMatchObject([{ change: 'refused', message }]);
    const report = await runSync({ targets, writer, options });
    expect(report).toMatchObject({ phase: 'Failed', message: expect.stringContaining(message) });
    const [created] = await diff({ targets, namespace: 'missing', options: { ...options, createNamespace: true } });
    const unvalidated = { change: 'created', unvalidated: true };
    expect(created).toMatchObject({ ...unvalidated, message: 'not validated: Namespace missing is created first' });
    const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'missing' } };
    const [own, inside] = await diff({ targets: [namespace, ...targets], options });
    expect([own?.change, own?.unvalidated, inside?.unvalidated]).toEqual(['created', undefined, true]);
  });

  it('agrees with the plan about objects whose kind the same sync defines', async () => {
    const widget: KubeObject = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one' } };
    const unknown: KubeObject = { ...widget, apiVersion: 'other.example.com/v1' };
    const targets = [widgetCrd(), widget, unknown];
    const plan = await planSync({ targets, writer, namespace: 'default' });
    const changes = await diff({ targets });
    expect(changes.map(({ change, message }) => [change, message])).toEqual([
      ['created', undefined],
      ['created', 'not validated: the definition of its kind is created first'],
      ['refused', 'the server could not find the requested resource'],
    ]);
    const problems = new Map(plan.map(({ group, problem }) => [group, problem]));
    expect(changes.map(({ group, change }) => [group, change === 'refused'])).toEqual(
      changes.map(({ group }) => [group, problems.get(group) !== undefined]),
    );
    const patient = await diff({ targets: [unknown], options: { skipDryRunOnMissing: true } });
    expect(patient).toMatchObject([{ change: 'created', unvalidated: true }]);
  });

  it('refuses a writer of your own, which sends no dry runs', async () => {
    const refuse = (): Promise<never> => Promise.reject(new Error('it must not be called'));
    const calls = { get: refuse, apply: refuse, create: refuse, delete: refuse, patchMetadata: refuse };
    const own: SyncWriter = { ...calls, discovery: writer.discovery, denied: () => undefined };
    const message = 'writer must be that of openWriter';
    await expect(diff({ writer: own })).rejects.toMatchObject({ code: 'USAGE', message });
  });
});
