import { expect, it } from '@jest/globals';
import type { LiveCluster } from '#live';
import { appKeyOf } from '#model';
import type { AppKey, Application } from '#model';
import { FakeClock } from '#support';
import { Takeovers } from './takeovers.ts';

const reconciledAt = '2026-01-01T00:00:10Z';

function application(name: string, resources: unknown): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: 'argocd' },
    spec: { destination: {} },
    status: { reconciledAt, resources },
  } as Application;
}

it.each<[string, unknown]>([
  ['null', null],
  ['a number', 7],
  ['a list with null', [null]],
])('an Application whose status.resources is %s delays no other one', async (_what, resources) => {
  const clock = new FakeClock();
  const apps = [application('broken', resources), application('whole', [])];
  const byKey = new Map<AppKey, Application>(apps.map((app) => [appKeyOf(app), app]));
  const requested: string[] = [];
  const takeovers = new Takeovers({
    live: { cluster: () => Promise.resolve({ foreignEditSeconds: () => 0 } as unknown as LiveCluster) },
    clock,
    serverOf: () => 'https://dest',
    own: (key) => byKey.get(key),
    compare: ({ metadata }, priority) => requested.push(`${metadata.name ?? ''} ${priority}`),
  });
  takeovers.start(new AbortController().signal);
  for (const app of apps) takeovers.add(app);
  await clock.advance(100);
  expect(requested).toEqual(['broken resync', 'whole resync']);
});
