import { expect, it } from '@jest/globals';
import { newAbortController, OwnershipLost } from '#base';
import { appKey } from '#model';
import type { Ownership } from '#sharding';
import type { SettingsStore } from '#settings';
import { FakeClock } from '#support';
import { OwnershipGuard } from './ownership-guard.ts';

/** A guard whose request never ends by itself, under a lease until `lease.until`. */
function pending() {
  const clock = new FakeClock();
  const lease = { until: clock.monotonic() + 1000 };
  const abandoned = newAbortController();
  const ownership: Pick<Ownership, 'writing' | 'leaseLeftMs'> = {
    writing: (_server, _app, send) => send(() => undefined, abandoned.signal),
    leaseLeftMs: () => Math.max(0, lease.until - clock.monotonic()),
  };
  const deps = { settings: {} as SettingsStore, ownership: ownership as Ownership, clock };
  const guard = new OwnershipGuard(deps, () => true);
  const outcome: unknown[] = [];
  const sent = guard.toCluster('https://a', appKey('argocd', 'a'), newAbortController().signal, ({ signal }) => {
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  });
  sent.catch((error: unknown) => outcome.push(error));
  return { clock, lease, abandoned, outcome };
}

it('a request ends with the lease', async () => {
  const { clock, outcome } = pending();
  await clock.advance(999);
  expect(outcome).toEqual([]);
  await clock.advance(1);
  expect(outcome).toEqual([expect.any(OwnershipLost)]);
});

it('a request during which the lease was renewed ends with the renewed lease', async () => {
  const { clock, lease, outcome } = pending();
  await clock.advance(900);
  lease.until = clock.monotonic() + 1000;
  await clock.advance(999);
  expect(outcome).toEqual([]);
  await clock.advance(1);
  expect(outcome).toEqual([expect.any(OwnershipLost)]);
});

it('a request ends when the shard is released', async () => {
  const { clock, abandoned, outcome } = pending();
  abandoned.abort(new Error('released'));
  await clock.advance(0);
  expect(outcome).toEqual([expect.any(OwnershipLost)]);
});
