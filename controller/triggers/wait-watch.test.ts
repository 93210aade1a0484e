import { describe, expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import { KubeApiError } from '#kube';
import { appKeyOf } from '#model';
import type { ConditionType, KubeObject } from '#model';
import { PromMetrics } from '#telemetry';
import type { Controller } from '../assembly/types.ts';
import { waitCauses } from '../shared/waits.ts';
import type { WaitCause } from '../shared/waits.ts';
import { automated, configMap } from '../testing/fake-world.ts';
import { cascade, hook, wave } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();
const first = 'a'.repeat(40);
const limitSeconds = 600;

const job = (annotations: Record<string, string>): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'job', annotations },
  spec: { template: {} },
});
const manual = (operation: object): void => at.world.edit(() => ({ operation }));
const shown = (type = 'WaitingWarning'): readonly string[] =>
  (at.world.app.status?.conditions ?? []).filter((one) => one.type === type).map(({ message }) => message);

interface WaitCase {
  readonly name: string;
  /** Prepares what waits; the Application is automated, without an operation, and Synced. */
  readonly wait: () => void | Promise<void>;
  readonly text: string;
  /** Lets it go on. */
  readonly release: () => void;
  /** The condition that names it; WaitingWarning if absent. */
  readonly condition?: ConditionType;
}

let refuses = false;
const refusing = {
  before: (call: string): void => {
    if (refuses && call.startsWith('create'))
      throw new KubeApiError({ code: 403, reason: 'Forbidden', message: 'no' }, 'x');
  },
};

/** A case for each cause, or why it cannot last for minutes. */
const casesOfCauses: Readonly<Record<WaitCause, readonly WaitCase[] | string>> = {
  cluster: [
    {
      name: 'a sync whose cluster has no cache',
      wait: () => {
        at.world.ready = false;
        manual({ sync: { revision: first } });
      },
      text: 'The operation has made no progress for five minutes: waiting for the cache of cluster https://dest',
      release: () => {
        at.world.ready = true;
      },
    },
    {
      name: 'a comparison whose cluster has no cache',
      wait: () => {
        at.world.ready = false;
        at.world.git.push('b'.repeat(40), [configMap('two')]);
      },
      text: 'The comparison has made no progress for five minutes: waiting for the cache of cluster https://dest',
      release: () => {
        at.world.ready = true;
      },
    },
    {
      name: 'a requested refresh whose cluster has no cache',
      wait: () => {
        at.world.ready = false;
        at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
      },
      text: 'The requested refresh has made no progress for five minutes: waiting for the cache of cluster https://dest',
      release: () => {
        at.world.ready = true;
      },
    },
  ],
  settings:
    'a SettingsError shows it at once, and a Secret that is gone is given up after 33 s (blocked-deletion.test.ts)',
  source: [
    {
      name: 'a comparison whose source cannot be read',
      wait: () => {
        at.world.git.server = 'refuses';
        at.world.git.push('b'.repeat(40), [configMap('two')]);
      },
      text: 'The source cannot be read since ',
      release: () => {
        at.world.git.server = 'answers';
      },
      condition: 'SourceUnavailableWarning',
    },
  ],
  turn: [
    {
      name: 'a requested refresh whose rendering does not end',
      wait: () => {
        const rendered = new Promise<void>((resolve) => (endRendering = resolve));
        at.world.git.takes = () => rendered;
        at.world.git.push('b'.repeat(40), [configMap('one')]);
        at.world.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
      },
      text: 'The requested refresh has made no progress for five minutes: waiting for its comparison',
      release: () => {
        at.world.git.takes = undefined;
        endRendering();
      },
    },
  ],
  hook: [
    {
      name: 'a hook that does not end',
      wait: () => at.world.git.push('b'.repeat(40), [configMap('two'), job(hook('PreSync'))]),
      text: 'minutes: waiting for completion of hook batch/Job/job',
      release: () => endOperation(),
    },
  ],
  health: [
    {
      name: 'a sync whose wave does not get healthy',
      wait: () => at.world.git.push('b'.repeat(40), [job(wave(0)), configMap('two', '1', wave(1))]),
      text: 'The operation has made no progress for five minutes: waiting for healthy state of batch/Job/job',
      release: () => endOperation(),
    },
  ],
  wave: 'the delay between waves is seconds',
  window: [
    {
      name: 'a sync that a window forbids',
      wait: () => {
        const window = { kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'] } as const;
        at.world.project('default', { syncWindows: [window] });
        manual({ sync: { revision: first } });
      },
      text: 'The operation has made no progress for five minutes: ',
      release: () => at.world.project('default'),
    },
  ],
  retry: [
    {
      name: 'a retry without end',
      wait: () => {
        refuses = true;
        at.world.git.push('b'.repeat(40), [configMap('one'), configMap('two')]);
        at.world.edit((object) => ({
          spec: { ...(object['spec'] as object), syncPolicy: { ...automated.syncPolicy, retry: { limit: -1 } } },
        }));
      },
      text: 'Retrying attempt #',
      release: () => {
        refuses = false;
      },
    },
  ],
  'object deletion': [
    {
      name: 'a deletion of an object that another controller holds',
      wait: () => {
        hold('one');
        at.setDeleting([cascade]);
      },
      text: 'waiting for the deletion of ConfigMap apps/one (finalizers: example.com/held) for more than five minutes',
      release: () => free('one'),
      condition: 'DeletionError',
    },
  ],
  confirmation: [
    {
      name: 'a deletion that waits for its confirmation',
      wait: async () => {
        const one = at.world.dest.get('ConfigMap', 'one')!;
        const annotations = { ...one.metadata.annotations, 'argocd.argoproj.io/sync-options': 'Delete=confirm' };
        at.world.dest.put({ ...one, metadata: { ...one.metadata, annotations } });
        await at.pass(10);
        at.setDeleting([cascade]);
      },
      text: 'The deletion has made no progress for five minutes: waiting for the deletion to be confirmed',
      release: () =>
        at.world.annotate({ 'argocd.argoproj.io/deletion-approved': new Date(at.clock.now()).toISOString() }),
    },
  ],
  'running operation':
    'a deletion terminates it, and reports a failure to do so after a minute (deletion-wins.test.ts)',
  'delete hook': 'a DeletionError names it after five minutes (blocked-deletion.test.ts)',
  'foreign finalizer': [
    {
      name: 'a deletion that another controller holds',
      wait: () => at.setDeleting(['example.com/other']),
      text: 'The deletion has made no progress for five minutes: waiting for finalizers of other controllers: example.com/other',
      release: () => at.world.edit((object) => ({ metadata: { ...object.metadata, finalizers: [] } })),
    },
  ],
  'rate limit': 'it ends within seconds',
  'automated sync': 'its backoff has a limit, and a ContestedResourceWarning shows a pause',
};
const cases = Object.entries(casesOfCauses).flatMap(([cause, list]) =>
  typeof list === 'string' ? [] : list.map((one) => ({ cause: cause as WaitCause, ...one })),
);
let endRendering: () => void = () => undefined;

function endOperation(): void {
  at.world.git.push('c'.repeat(40), [configMap('one')]);
  at.world.edit((object) => {
    const status = object['status'] as { operationState: object };
    return { status: { ...status, operationState: { ...status.operationState, phase: 'Terminating' } } };
  });
}

/** The wait as `explain` shows it: the blocker of the operation or deletion, and the texts. */
async function explained(controller: Controller): Promise<{ readonly types: unknown; readonly text: string }> {
  const key = appKeyOf(at.world.app);
  const { waiting, lastOperation, lastPass } =
    (await controller.report.details(key, newAbortController().signal)) ?? {};
  const texts = [waiting?.what, lastOperation?.blockedBy?.message, lastPass?.result, lastPass?.message];
  return { types: lastOperation?.blockedBy?.type, text: texts.join(' ') };
}

const oldest = async (metrics: PromMetrics): Promise<number> =>
  Math.max(
    ...[...(await metrics.expose()).matchAll(/^driftless_oldest_wait_seconds\{.*\} (.*)$/gm)].map(([, value]) =>
      Number(value),
    ),
  );

describe('nothing waits silently:', () => {
  it.each(cases)('$name', async ({ cause, wait, text, release, condition }) => {
    refuses = false;
    at.world.git.push(first, [configMap('one')]);
    at.world.application(automated);
    const metrics = new PromMetrics();
    const { controller } = at.world.replica({ metrics, dest: refusing });
    await at.clock.advance(2000);
    await wait();
    await at.pass(limitSeconds);
    expect(shown(condition)).toEqual([expect.stringContaining(text)]);
    expect(await oldest(metrics)).toBeGreaterThan(300);
    const { types, text: seen } = await explained(controller);
    const { operation, metadata } = at.world.app;
    const { blocker } = waitCauses[cause];
    if (metadata.deletionTimestamp !== undefined) expect(types).toBe(blocker === 'other' ? 'finalizer' : blocker);
    else if (operation !== undefined) expect(types).toBe(blocker);
    expect(seen).toMatch(/waiting for|running|sync window|refuses connections|cannot be read|attempt/);
    release();
    await at.pass(300);
    if (at.world.hub.get('Application', 'demo') !== undefined) expect(shown()).toEqual([]);
  });

  it('the age of a wait outlives the replica', async () => {
    at.world.git.push(first, [configMap('one'), job(hook('PreSync'))]);
    at.world.application(automated);
    const replica = at.world.replica();
    await at.pass(200);
    expect(shown()).toEqual([]);
    const ended = replica.stop();
    await at.pass(5);
    await ended;
    const metrics = new PromMetrics();
    await at.start({ metrics });
    await at.pass(120);
    expect(await oldest(metrics)).toBeGreaterThan(300);
    expect(shown()).toEqual([expect.stringContaining('waiting for completion of hook batch/Job/job')]);
  });

  it('one message is stored once, and by the next replica as well', async () => {
    at.world.git.push(first, [configMap('one'), job(hook('PreSync'))]);
    at.world.application(automated);
    const replica = at.world.replica();
    await at.pass(limitSeconds);
    const before = at.world.writes().length;
    await at.pass(limitSeconds);
    expect(at.world.writes().length - before).toBeLessThanOrEqual(1);
    const ended = replica.stop();
    await at.pass(5);
    await ended;
    await at.start();
    await at.pass(60);
    expect(shown()).toHaveLength(1);
  });
});

function hold(name: string): void {
  const one = at.world.dest.get('ConfigMap', name)!;
  at.world.dest.put({ ...one, metadata: { ...one.metadata, finalizers: ['example.com/held'] } });
}

function free(name: string): void {
  const one = at.world.dest.get('ConfigMap', name)!;
  at.world.dest.put({ ...one, metadata: { ...one.metadata, finalizers: [] } });
}
