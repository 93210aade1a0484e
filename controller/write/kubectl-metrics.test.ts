import { beforeEach, describe, expect, it } from '@jest/globals';
import { withLastApplied } from '#diff';
import { apiResource } from '#kube';
import { defaultSettings, trackedApp } from '#model';
import type { KubeObject } from '#model';
import { eventually, FakeClock } from '#support';
import type { ApplyOptions } from '#sync';
import { PromMetrics } from '#telemetry';
import { FakeApi } from '../testing/fake-api.ts';
import type { CallInterference } from '../testing/fake-api.ts';
import { uncheckedCall, unpaced } from '../testing/pace.ts';
import { KubectlMetrics } from './kubectl-metrics.ts';
import { GuardedWriter } from './writer.ts';

const signal = new AbortController().signal;
const how: ApplyOptions = { serverSide: false, force: false, replace: false, validate: true };
const target: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'apps' },
  data: { key: '1' },
};
const changed = { ...target, data: { key: '2' } };
const space: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } };

let api: FakeApi;
let metrics: PromMetrics;
beforeEach(() => {
  api = new FakeApi('https://c', [
    apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced'),
    apiResource('v1', 'Namespace', 'namespaces', 'cluster'),
  ]);
  metrics = new PromMetrics();
});

function writer(interference: CallInterference = {}): GuardedWriter {
  return new GuardedWriter({
    cluster: { discovery: () => api.discovery, observe: () => undefined },
    client: api.client(interference),
    fenced: (inner, send) => send(uncheckedCall(inner)),
    denied: () => undefined,
    appOf: (object) => trackedApp(object, defaultSettings.tracking),
    pace: unpaced,
    clock: new FakeClock(),
    kubectl: new KubectlMetrics(metrics, 'pod-1'),
  });
}

/** Values of a family by command; commands at 0 are left out. */
async function valuesOf(family: string): Promise<Readonly<Record<string, number>>> {
  const sample = new RegExp(`^${family}\\{hostname="pod-1",command="(\\w+)"\\} (\\d+)$`, 'gm');
  const found = [...(await metrics.expose()).matchAll(sample)].map(([, command = '', value]) => [
    command,
    Number(value),
  ]);
  expect(found.map(([command]) => command)).toEqual(['apply', 'create', 'replace']);
  return Object.fromEntries(found.filter(([, value]) => value !== 0)) as Record<string, number>;
}

const total = 'argocd_kubectl_exec_total';
const pending = 'argocd_kubectl_exec_pending';

describe(total, () => {
  const replacing = { ...how, replace: true };

  it.each<readonly [string, (w: GuardedWriter) => Promise<unknown>, Readonly<Record<string, number>>]>([
    ['a new object, as an apply', (w) => w.apply(target, null, how, signal), { apply: 1 }],
    ['a changed object', (w) => w.apply(changed, api.put(withLastApplied(target)), how, signal), { apply: 1 }],
    [
      'an unchanged object, for which kubectl would run too',
      (w) => w.apply(target, api.put(withLastApplied(target)), how, signal),
      { apply: 1 },
    ],
    [
      'a server-side apply',
      (w) => w.apply(changed, api.put(target), { ...how, serverSide: true }, signal),
      { apply: 1 },
    ],
    ['a replaced object', (w) => w.apply(changed, api.put(target), replacing, signal), { replace: 1 }],
    [
      'a forced replacement',
      (w) => w.apply(changed, api.put(target), { ...replacing, force: true }, signal),
      { replace: 1 },
    ],
    ['a replacement of nothing, as a creation', (w) => w.apply(target, null, replacing, signal), { create: 1 }],
    ['a hook', (w) => w.create(target, signal), { create: 1 }],
    [
      'no update of a Namespace, for which kubectl would not run',
      (w) => w.apply(space, api.put(space), replacing, signal),
      {},
    ],
    ['no deletion', (w) => w.delete(api.put(target), 'Background', signal), {}],
  ])('counts %s', async (_what, write, expected) => {
    await write(writer());
    expect(await valuesOf(total)).toEqual(expected);
    expect(await valuesOf(pending)).toEqual({});
  });

  it('counts a refused write', async () => {
    const refuse = (call: string): void => {
      if (call.startsWith('create')) throw new Error('refused');
    };
    await expect(writer({ before: refuse }).apply(target, null, how, signal)).rejects.toThrow('refused');
    expect(await valuesOf(total)).toEqual({ apply: 1 });
    expect(await valuesOf(pending)).toEqual({});
  });
});

describe(pending, () => {
  it('is the number of writes in flight, by command', async () => {
    const answers: (() => void)[] = [];
    const w = writer({
      before: (call) => (call.startsWith('get') ? undefined : new Promise((resolve) => answers.push(resolve))),
    });
    const named = (name: string): KubeObject => ({ ...target, metadata: { name, namespace: 'apps' } });
    const writes = [
      w.apply(named('a'), null, how, signal),
      w.apply(named('b'), null, how, signal),
      w.apply({ ...named('c'), data: { key: '2' } }, api.put(named('c')), { ...how, replace: true }, signal),
    ];
    await eventually(() => expect(answers).toHaveLength(3));
    expect(await valuesOf(pending)).toEqual({ apply: 2, replace: 1 });
    for (const answer of answers) answer();
    await Promise.all(writes);
    expect(await valuesOf(pending)).toEqual({});
    expect(await valuesOf(total)).toEqual({ apply: 2, replace: 1 });
  });
});
