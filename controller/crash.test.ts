import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { configMap, FakeWorld } from './testing/fake-world.ts';

/**
 * T-OP-1: a process may die at any moment. Each run kills the replica at one of its calls to an API server (either before the server has
 * acted, or after it has and before the answer arrived), lets it make no further call, starts another one, and looks at the end: it must be
 * the same as without the crash, and no resource may have been made twice.
 */
const wave = (n: number): Record<string, string> => ({ 'argocd.argoproj.io/sync-wave': String(n) });
const sha = 'a'.repeat(40);
const hook = { 'argocd.argoproj.io/hook': 'PostSync' };
const once = { ...hook, 'argocd.argoproj.io/hook-delete-policy': 'HookSucceeded' };

function makeWorld(clock: FakeClock): FakeWorld {
  const world = new FakeWorld(clock);
  world.git.push(sha, [
    configMap('first', '1', wave(0)),
    configMap('second', '1', wave(1)),
    configMap('done', '1', hook),
    configMap('once', '1', once),
  ]);
  return world;
}

/** Makes every call hang from the n-th on: what a dead process looks like from outside. */
function death(
  at: number,
  moment: 'before' | 'after',
): { readonly before: () => Promise<void>; readonly after: () => Promise<void>; calls: () => number } {
  let calls = 0;
  let dead = false;
  const never = new Promise<void>(() => undefined);
  return {
    calls: () => calls,
    before: () => {
      calls += 1;
      if (dead || (moment === 'before' && calls > at)) {
        dead = true;
        return never;
      }
      return Promise.resolve();
    },
    after: () => {
      if (dead || (moment === 'after' && calls > at)) {
        dead = true;
        return never;
      }
      return Promise.resolve();
    },
  };
}

interface Scenario {
  readonly name: string;
  readonly begin: (world: FakeWorld) => void;
  readonly end: (world: FakeWorld) => void;
}

const scenarios: readonly Scenario[] = [
  {
    name: 'a sync with waves and a hook, asked by a person',
    begin: (world) => {
      world.application({}, { operation: { sync: { revision: sha } } });
    },
    end: (world) => {
      expect(world.app.operation).toBeUndefined();
      expect(world.app.status?.operationState).toMatchObject({ phase: 'Succeeded' });
      expect(world.app.status?.history?.map((entry) => [entry.id, entry.revision])).toEqual([[0, sha]]);
      expect(world.app.status?.sync?.status).toBe('Synced');
      expect(['first', 'second'].map((name) => world.dest.get('ConfigMap', name)?.kind)).toEqual([
        'ConfigMap',
        'ConfigMap',
      ]);
      expect(world.dest.get('ConfigMap', 'done')?.metadata.finalizers ?? []).toEqual([]);
    },
  },
  {
    name: 'an automated sync',
    begin: (world) => {
      world.application({ syncPolicy: { automated: { prune: true, selfHeal: true } } });
    },
    end: (world) => {
      expect(world.app.operation).toBeUndefined();
      expect(world.app.status?.operationState).toMatchObject({ phase: 'Succeeded' });
      expect(world.app.status?.history?.map((entry) => [entry.id, entry.revision])).toEqual([[0, sha]]);
      expect(world.app.status?.sync?.status).toBe('Synced');
    },
  },
  {
    name: 'a cascade deletion',
    begin: (world) => {
      for (const name of ['first', 'second'])
        world.dest.put({
          ...configMap(name, '1', {
            ...wave(name === 'first' ? 0 : 1),
            'argocd.argoproj.io/tracking-id': `demo:/ConfigMap:apps/${name}`,
          }),
          metadata: {
            name,
            namespace: 'apps',
            annotations: {
              ...wave(name === 'first' ? 0 : 1),
              'argocd.argoproj.io/tracking-id': `demo:/ConfigMap:apps/${name}`,
            },
          },
        });
      world.application(
        {},
        {
          metadata: {
            name: 'demo',
            namespace: 'argocd',
            finalizers: ['resources-finalizer.argocd.argoproj.io'],
            deletionTimestamp: '2026-01-01T00:00:00Z',
          },
        },
      );
    },
    end: (world) => {
      expect(world.hub.get('Application', 'demo')).toBeUndefined();
      expect(world.dest.get('ConfigMap', 'first')).toBeUndefined();
      expect(world.dest.get('ConfigMap', 'second')).toBeUndefined();
    },
  },
];

/** Runs the scenario with a first replica that dies at call `at`, then a second one; returns how many calls the first made. */
async function run(scenario: Scenario, at: number, moment: 'before' | 'after'): Promise<number> {
  const clock = new FakeClock();
  const world = makeWorld(clock);
  scenario.begin(world);
  const fate = death(at, moment);
  world.replica({ hub: fate, dest: fate });
  await clock.advance(20_000);
  const calls = fate.calls();
  const second = world.replica();
  await clock.advance(120_000);
  scenario.end(world);
  const made = world.dest.calls.filter((call) => /^create ConfigMap (?:first|second|done|once)$/.test(call));
  expect(made).toHaveLength(new Set(made).size);
  const ended = second.stop();
  await clock.advance(2000);
  await ended;
  return calls;
}

describe.each(scenarios)('$name', (scenario) => {
  it.each(['before', 'after'] as const)(
    'ends as it should, wherever the process dies %s the server acts (T-OP-1)',
    async (moment) => {
      const total = await run(scenario, Number.POSITIVE_INFINITY, moment);
      expect(total).toBeGreaterThan(4);
      for (let at = 0; at < total; at += 1) {
        try {
          await run(scenario, at, moment);
        } catch (error) {
          throw new Error(`the process died at call ${at} of ${total}`, { cause: error });
        }
      }
    },
  );
});
