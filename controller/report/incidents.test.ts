import { describe, expect, it } from '@jest/globals';
import { DriftlessError, newAbortController } from '#base';
import { appKeyOf } from '#model';
import { PromMetrics } from '#telemetry';
import { configMap } from '../testing/fake-world.ts';
import { cascade, hook } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';
import type { ApplicationReport } from './application-facts.ts';

const at = tidyStage();

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);

function drift(value: string): void {
  const live = at.world.dest.get('ConfigMap', 'one');
  if (live === undefined) throw new Error('nothing is there');
  at.world.dest.put({ ...live, data: { key: value } });
}

// T-OBS-1
describe('an incident appears in a metric, and `explain` names the cause', () => {
  interface Incident {
    readonly what: string;
    readonly make: () => void;
    /** The outcome of a write to the cluster. */
    readonly call?: (call: string) => void;
    readonly metric: RegExp;
    readonly answer: string;
  }
  const degraded = {
    group: '',
    kind: 'ConfigMap',
    version: 'v1',
    state: 'degraded',
    message: 'watch failed',
    objects: 2,
  } as const;
  const incidents: readonly Incident[] = [
    {
      what: 'a repository that cannot be read',
      make: () => (at.world.git.failure = new DriftlessError('X', 'https://git/x is away')),
      metric: /argocd_app_info\{.*name="demo".*sync_status="Unknown".*\} 1/,
      answer: 'https://git/x is away',
    },
    {
      what: 'a cluster that does not answer',
      make: () => (at.world.dest.unreachable = 'failed to get server version: refused'),
      metric: /argocd_app_info\{.*sync_status="Unknown".*\} 1/,
      answer: 'failed to sync cluster https://dest: failed to get server version: refused',
    },
    {
      what: 'a kind that cannot be watched',
      make: () => (at.world.degraded = [degraded]),
      metric: /argocd_app_info\{.*name="demo".*sync_status="(?:Unknown|OutOfSync|Synced)".*\} 1/,
      answer: 'The live state of /ConfigMap is not up to date, nothing of this kind is pruned: watch failed',
    },
    {
      what: 'an object that the cluster refuses',
      make: () => at.world.edit(() => ({ operation: { sync: {} } })),
      call: (call) => {
        if (call.endsWith('ConfigMap one')) throw new DriftlessError('X', 'quota exceeded');
      },
      metric: /argocd_app_sync_total\{.*name="demo".*phase="Failed".*\} 1/,
      answer: 'quota exceeded',
    },
    {
      what: 'a hook that does not end',
      make: () => {
        const annotations = hook('PreSync');
        at.world.git.push(second, [
          { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'long', annotations }, spec: {} },
        ]);
        at.world.edit(() => ({ operation: { sync: {} } }));
      },
      metric: /argocd_app_info\{.*name="demo".*operation="sync".*\} 1/,
      answer: 'waiting for completion of hook batch/Job/long',
    },
    {
      what: 'a blocked deletion',
      make: () => {
        const live = at.world.dest.get('ConfigMap', 'one')!;
        at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: ['example.com/slow'] } });
        at.setDeleting([cascade]);
      },
      metric: /argocd_app_info\{.*name="demo".*operation="delete".*\} 1/,
      answer: 'waiting for the deletion of ConfigMap apps/one (finalizers: example.com/slow)',
    },
  ];

  // T-OBS-1
  it.each(incidents)('$what', async ({ make, call, metric, answer }) => {
    let isOn = false;
    const metrics = new PromMetrics();
    at.world.git.push(first, [configMap('one')]);
    at.world.application();
    at.world.edit(() => ({ operation: { sync: {} } }));
    const { controller } = at.world.replica({ metrics, dest: { before: (text) => (isOn ? call?.(text) : undefined) } });
    await at.clock.advance(5000);
    const shown = async (): Promise<ApplicationReport | undefined> =>
      controller.report.details(appKeyOf(at.world.app), newAbortController().signal);
    const texts = async (): Promise<string> => JSON.stringify([await shown(), at.world.app.status?.conditions]);
    expect(await texts()).not.toContain(answer);
    isOn = true;
    make();
    drift('theirs');
    await at.clock.advance(1_200_000);
    expect(await texts()).toContain(JSON.stringify(answer).slice(1, -1));
    expect(await metrics.expose()).toMatch(metric);
    expect((await shown())?.lastPass?.cause.message).toMatch(/./);
  });
});
