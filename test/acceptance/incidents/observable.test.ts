import { describe, expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import type { Controller } from '#controller';
import { PromMetrics } from '#telemetry';
import { automated, configMap, stage } from '../../../controller/testing/index.ts';
import { explained as explainedBy, factsOf } from './explained.ts';
import type { Explained } from './explained.ts';

const at = stage();
const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
const deletionFinalizer = 'resources-finalizer.argocd.argoproj.io';

/** What `driftless explain demo` prints, read through the read API of a replica that owns all. */
function explained(controller: Controller): Promise<Explained> {
  return explainedBy(factsOf(controller, at.clock));
}

interface Incident {
  readonly what: string;
  readonly make: () => void;
  /** The outcome of a write to the cluster. */
  readonly call?: (call: string) => void;
  /** A series that only the incident causes. */
  readonly metric: RegExp;
  readonly verdict: 'waiting' | 'broken';
  readonly culprit: string;
}

const incidents: readonly Incident[] = [
  {
    what: 'a repository that cannot be read',
    make: () => (at.world.git.failure = new DriftlessError('X', 'https://git/x is away')),
    metric: /argocd_app_info\{.*name="demo".*sync_status="Unknown".*\} 1/,
    verdict: 'broken',
    culprit: 'https://git/x is away',
  },
  {
    what: 'a cluster that does not answer',
    make: () => (at.world.dest.unreachable = 'failed to get server version: refused'),
    metric: /argocd_app_info\{.*name="demo".*sync_status="Unknown".*\} 1/,
    verdict: 'broken',
    culprit: 'failed to sync cluster https://dest: failed to get server version: refused',
  },
  {
    what: 'an object that the cluster refuses',
    make: () => {
      at.world.dest.put({ ...at.world.dest.get('ConfigMap', 'one')!, data: { key: 'theirs' } });
      at.world.edit(() => ({ operation: { sync: {} } }));
    },
    call: (call) => {
      if (call.endsWith('ConfigMap one')) throw new DriftlessError('X', 'quota exceeded');
    },
    metric: /argocd_app_sync_total\{.*name="demo".*phase="Failed".*\} 1/,
    verdict: 'broken',
    culprit: 'quota exceeded',
  },
  {
    what: 'a hook that does not end',
    make: () => {
      const annotations = { 'argocd.argoproj.io/hook': 'PreSync' };
      const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'long', annotations }, spec: {} };
      at.world.git.push(second, [job]);
      at.world.edit(() => ({ operation: { sync: {} } }));
    },
    metric: /argocd_app_info\{.*name="demo".*operation="sync".*\} 1/,
    verdict: 'waiting',
    // However often the Application was compared since then.
    culprit: 'completion of hook batch/Job/long, without a time limit, since 00:00:05 UTC',
  },
  {
    what: 'an object that cannot be deleted',
    make: () => {
      const live = at.world.dest.get('ConfigMap', 'one')!;
      at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: ['example.com/slow'] } });
      at.setDeleting([deletionFinalizer]);
    },
    metric: /argocd_app_info\{.*name="demo".*operation="delete".*\} 1/,
    verdict: 'broken',
    culprit: 'ConfigMap apps/one (finalizers: example.com/slow)',
  },
];

// T-OBS-1
describe('an incident is visible in a metric and in the read API, which names the culprit:', () => {
  it.each(incidents)('$what', async ({ make, call, metric, verdict, culprit }) => {
    let isOn = false;
    const metrics = new PromMetrics();
    at.world.git.push(first, [configMap('one')]);
    at.world.application();
    at.world.edit(() => ({ operation: { sync: {} } }));
    const { controller } = at.world.replica({ metrics, dest: { before: (text) => (isOn ? call?.(text) : undefined) } });
    await at.clock.advance(5000);
    const before = await explained(controller);
    expect(before.verdict).toBe('healthy');
    expect(before.text).not.toContain(culprit);
    expect(await metrics.expose()).not.toMatch(metric);
    isOn = true;
    make();
    await at.clock.advance(1_200_000);
    const after = await explained(controller);
    expect(after.text).toContain(culprit);
    expect(after.verdict).toBe(verdict);
    expect(await metrics.expose()).toMatch(metric);
  });
});

// T-OBS-2
describe('an owned Application that was not compared for three resyncs', () => {
  const resyncMs = 120_000;

  it('is a metric above 0, and the read API says what it waits for', async () => {
    const metrics = new PromMetrics();
    const overdue = async (): Promise<string | undefined> =>
      /^driftless_applications_overdue\{dest_server="https:\/\/dest"\} (.*)$/m.exec(await metrics.expose())?.[1];
    at.world.git.push(first, [configMap('one')]);
    at.world.application(automated);
    const { controller } = at.world.replica({ metrics });
    await at.clock.advance(5000);
    expect(await overdue()).toBe('0');
    expect((await explained(controller)).verdict).toBe('healthy');
    at.world.ready = false;
    await at.clock.advance(4 * resyncMs);
    expect(await overdue()).toBe('1');
    expect(await explained(controller)).toMatchObject({ verdict: 'waiting', text: expect.stringContaining('cluster') });
    at.world.ready = true;
    await at.clock.advance(resyncMs);
    expect(await overdue()).toBe('0');
  });
});
