import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { RecordingTracer } from '../telemetry/testing/index.ts';
import { automated, configMap, FakeWorld } from './testing/fake-world.ts';

let clock: FakeClock;
let world: FakeWorld;
let tracer: RecordingTracer;

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  tracer = new RecordingTracer();
  world.git.push('a'.repeat(40), [configMap('one')]);
});
afterEach(() => world.close(clock));

const app = {
  'argocd.app.name': 'demo',
  'argocd.app.namespace': 'argocd',
  'argocd.app.project': 'default',
};

async function start(): Promise<void> {
  world.replica({ tracer });
  await clock.advance(10_000);
}

describe('traces', () => {
  it('have one for each refresh, with its reason and level, and a span for each stage', async () => {
    world.application();
    await start();
    const [refresh] = tracer.named('controller.Refresh');
    expect(refresh).toMatchObject({
      parent: undefined,
      isEnded: true,
      attributes: {
        ...app,
        'argocd.app.comparison_level': expect.any(Number),
        'argocd.app.refresh_reason': expect.stringMatching(/./),
        'argocd.app.sync_status': 'OutOfSync',
        'argocd.app.health': 'Missing',
      },
    });
    expect(tracer.children(refresh)).toEqual([
      'controller.GetRepoObjs',
      'controller.live',
      'controller.diff',
      'controller.tree',
      'controller.publish',
      'controller.persistAppStatus',
    ]);
  });

  it('have one for each step of an operation, with the comparison and the applied wave', async () => {
    world.application(automated);
    await start();
    const passes = tracer.named('controller.Operation');
    expect(passes[0]).toMatchObject({ parent: undefined, attributes: app });
    expect(passes.at(-1)?.attributes).toMatchObject({ 'argocd.operation.phase': 'Succeeded' });
    const [step] = tracer.named('controller.SyncAppState');
    expect(step?.parent).toBe(passes[0]);
    expect(tracer.children(step)).toEqual([
      'controller.GetRepoObjs',
      'controller.live',
      'controller.diff',
      'controller.applyWave',
    ]);
    expect(tracer.spans.filter(({ isEnded, failure }) => !isEnded || failure !== undefined)).toEqual([]);
  });

  it('show a failed operation and its message', async () => {
    world.application({}, { operation: { sync: { revision: 'f'.repeat(40) } } });
    await start();
    const failed = tracer.named('controller.Operation').filter(({ failure }) => failure !== undefined);
    const { phase, message } = world.app.status?.operationState ?? {};
    expect(['Error', 'Failed']).toContain(phase);
    expect(failed.map(({ failure }) => failure)).toEqual([message]);
  });

  it('have the name of Argo CD for a deletion', async () => {
    world.application(automated, { metadata: { finalizers: ['resources-finalizer.argocd.argoproj.io'] } });
    await start();
    world.edit((object) => ({
      metadata: { ...object.metadata, deletionTimestamp: new Date(clock.now()).toISOString() },
    }));
    await clock.advance(10_000);
    expect(tracer.named('controller.finalizeApplicationDeletion')[0]).toMatchObject({
      parent: undefined,
      attributes: app,
    });
  });
});
