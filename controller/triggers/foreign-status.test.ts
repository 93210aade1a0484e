import { beforeEach, expect, it } from '@jest/globals';
import { asApplication } from '#model';
import type { AppKey } from '#model';
import type { ForeignStatusWrite } from '#sharding';
import { FakeClock } from '#support';
import { ForeignStatusWrites } from './foreign-status.ts';

let clock: FakeClock;
let found: ForeignStatusWrite[];
let writing: Promise<string | undefined> | undefined;
let watch: ForeignStatusWrites;

beforeEach(() => {
  clock = new FakeClock();
  found = [];
  writing = undefined;
  const onForeignWrite = (write: ForeignStatusWrite): void => void found.push(write);
  watch = new ForeignStatusWrites({ onForeignWrite, written: () => writing, clock });
});

function app(resourceVersion: string, status: object, metadata: object = {}): ReturnType<typeof asApplication> {
  return asApplication({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'web', namespace: 'argocd', resourceVersion, ...metadata },
    spec: { destination: {} },
    status,
  });
}

const at = (ms: number): string => new Date(clock.now() + ms).toISOString();

it.each<[string, () => object]>([
  ['compares', () => ({ reconciledAt: at(0) })],
  ['starts an operation', () => ({ operationState: { phase: 'Running', startedAt: at(-1000) } })],
  ['ends an operation', () => ({ operationState: { phase: 'Succeeded', finishedAt: at(0) } })],
])('another controller that %s is reported, with its field manager', async (_what, status) => {
  const managedFields = [
    { manager: 'kubectl', time: '2026-01-03T00:00:00Z', fieldsV1: { 'f:spec': {} } },
    { manager: 'argocd-server', time: '2026-01-01T00:00:00Z', fieldsV1: { 'f:status': {} } },
    { manager: 'argocd-application-controller', time: '2026-01-02T00:00:00Z', fieldsV1: { 'f:status': {} } },
  ];
  await watch.observe(app('1', {}), app('2', status(), { managedFields }));
  expect(found).toEqual([{ app: 'argocd/web', manager: 'argocd-application-controller' }]);
});

it.each<[string, () => object]>([
  ['a condition', () => ({ conditions: [{ type: 'UnownedClusterWarning' }] })],
  ['the termination of an operation by a user', () => ({ operationState: { phase: 'Terminating' } })],
  ['a time of a restored backup', () => ({ reconciledAt: at(-600_000) })],
  ['an unreadable time', () => ({ reconciledAt: 'now' })],
])('%s is not reported', async (_what, status) => {
  await watch.observe(app('1', {}), app('2', status()));
  expect(found).toEqual([]);
});

it('our own write is not reported, if the watch shows it before the answer', async () => {
  writing = Promise.resolve('2');
  await watch.observe(app('1', {}), app('2', { reconciledAt: at(0) }));
  expect(found).toEqual([]);
  await watch.observe(app('2', {}), app('3', { reconciledAt: at(1) }));
  expect(found).toHaveLength(1);
});

it('a write of ours that got no answer may be any', async () => {
  writing = Promise.resolve(undefined);
  await watch.observe(app('1', {}), app('2', { reconciledAt: at(0) }));
  expect(found).toEqual([]);
  writing = undefined;
  await watch.observe(app('2', {}), app('3', { reconciledAt: at(1) }));
  expect(found).toHaveLength(1);
});

it('a write of the former owner is not reported, however late a silent watch shows it', async () => {
  const before = at(-40_000);
  watch.own('argocd/web' as AppKey);
  await clock.advance(120_000);
  await watch.observe(app('1', {}), app('2', { reconciledAt: before }));
  await watch.observe(app('1', {}), app('2', { reconciledAt: at(-60_000) }));
  expect(found).toEqual([]);
  await watch.observe(app('2', {}), app('3', { reconciledAt: at(-59_999) }));
  expect(found).toHaveLength(1);
  watch.forget('argocd/web' as AppKey);
  await watch.observe(app('1', {}), app('2', { reconciledAt: before }));
  expect(found).toHaveLength(2);
});
