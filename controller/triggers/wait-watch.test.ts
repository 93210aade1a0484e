import { describe, expect, it } from '@jest/globals';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { PromMetrics } from '#telemetry';
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
const held = (name: string): KubeObject => {
  const object = configMap(name);
  return { ...object, metadata: { ...object.metadata, finalizers: ['example.com/held'] } };
};
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
  readonly condition?: string;
}

let refuses = false;
const refusing = {
  before: (call: string): void => {
    if (refuses && call.startsWith('create'))
      throw new KubeApiError({ code: 403, reason: 'Forbidden', message: 'no' }, 'x');
  },
};

const cases: readonly WaitCase[] = [
  {
    name: 'a sync whose wave does not get healthy',
    wait: () => at.world.git.push('b'.repeat(40), [job(wave(0)), configMap('two', '1', wave(1))]),
    text: 'The operation has made no progress for five minutes: waiting for healthy state of batch/Job/job',
    release: () => endOperation(),
  },
  {
    name: 'a hook that does not end',
    wait: () => at.world.git.push('b'.repeat(40), [configMap('two'), job(hook('PreSync'))]),
    text: 'minutes: waiting for completion of hook batch/Job/job',
    release: () => endOperation(),
  },
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
    name: 'a sync that a window forbids',
    wait: () => {
      const window = { kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'] } as const;
      at.world.project('default', { syncWindows: [window] });
      manual({ sync: { revision: first } });
    },
    text: 'The operation has made no progress for five minutes: ',
    release: () => at.world.project('default'),
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
  {
    name: 'a deletion that another controller holds',
    wait: () => at.setDeleting(['example.com/other']),
    text: 'The deletion has made no progress for five minutes: waiting for finalizers of other controllers: example.com/other',
    release: () => at.world.edit((object) => ({ metadata: { ...object.metadata, finalizers: [] } })),
  },
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
];

function endOperation(): void {
  at.world.git.push('c'.repeat(40), [configMap('one')]);
  at.world.edit((object) => {
    const status = object['status'] as { operationState: object };
    return { status: { ...status, operationState: { ...status.operationState, phase: 'Terminating' } } };
  });
}

describe('nothing waits silently:', () => {
  it.each(cases)('$name', async ({ wait, text, release }) => {
    refuses = false;
    at.world.git.push(first, [configMap('one')]);
    at.world.application(automated);
    const metrics = new PromMetrics();
    await at.start({ metrics, dest: refusing });
    await wait();
    await at.pass(limitSeconds);
    expect(shown()).toEqual([expect.stringContaining(text)]);
    const [oldest = 0] = [...(await metrics.expose()).matchAll(/^driftless_oldest_wait_seconds\{.*\} (.*)$/gm)]
      .map(([, value]) => Number(value))
      .sort((a, b) => b - a);
    expect(oldest).toBeGreaterThan(300);
    release();
    await at.pass(300);
    if (at.world.hub.get('Application', 'demo') !== undefined) expect(shown()).toEqual([]);
  });

  it('a deletion of an object that is held has its own condition', async () => {
    at.world.git.push(first, [configMap('one')]);
    at.world.application(automated);
    await at.start();
    at.world.dest.put({ ...at.world.dest.get('ConfigMap', 'one')!, ...merged(at.world.dest.get('ConfigMap', 'one')!) });
    at.setDeleting([cascade]);
    await at.pass(limitSeconds);
    expect([shown().length, shown('DeletionError').length]).toEqual([0, 1]);
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

function merged(object: KubeObject): Partial<KubeObject> {
  return { metadata: { ...object.metadata, ...held('one').metadata, annotations: object.metadata.annotations ?? {} } };
}
