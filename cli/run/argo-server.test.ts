import { expect, it } from '@jest/globals';
import { eventually, FakeClock } from '#support';
import { argoServerLookup } from './argo-server.ts';

it('finds the Service of Argo CD under each of its names, and when it leaves', async () => {
  const clock = new FakeClock();
  const hosts = new Set(['argo-cd-argocd-server.argo.svc']);
  const asked: string[] = [];
  const resolve = (host: string): Promise<void> => {
    asked.push(host);
    return hosts.has(host) ? Promise.resolve() : Promise.reject(new Error('ENOTFOUND'));
  };
  const hasServer = argoServerLookup({ namespace: 'argo', clock, isInCluster: true, resolve });
  expect(hasServer()).toBe(false);
  await eventually(() => expect(hasServer()).toBe(true));
  expect(asked).toHaveLength(3);
  hosts.clear();
  await clock.advance(300_001);
  await eventually(() => expect(hasServer()).toBe(false));
});

it('asks nothing outside of a cluster', () => {
  const clock = new FakeClock();
  const resolve = (): never => {
    throw new Error('asked');
  };
  expect(argoServerLookup({ namespace: 'argo', clock, isInCluster: false, resolve })()).toBe(false);
});
