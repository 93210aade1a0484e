import { afterEach, beforeEach, expect } from '@jest/globals';
import { FakeClock } from '#support';
import { FakeWorld } from './fake-world.ts';

export interface TestStage {
  readonly clock: FakeClock;
  readonly world: FakeWorld;
  /** The world, and others that a test adds in the same time: all are closed. */
  readonly worlds: FakeWorld[];
  /** Starts a replica and gives it time for a first pass. */
  start(options?: Parameters<FakeWorld['replica']>[0]): Promise<void>;
  /** Advances second by second, since long lists need several turns of the event loop. */
  pass(seconds: number): Promise<void>;
  /** Names of the objects on the cluster, sorted. */
  names(): readonly string[];
  /** Deletes an Application that has these finalizers. */
  setDeleting(finalizers: readonly string[], name?: string): void;
  /** Asks for the end of the operation in progress, as `argocd app terminate-op` does. */
  terminate(): void;
  /** Phase of the last operation; `none` without one. */
  phase(): string;
  /** The conditions of the Application, as `TYPE: MESSAGE`. */
  conditions(): readonly string[];
  /** Whether the Application is deleted. */
  isGone(): boolean;
  /** Begins with an empty world at the begin of time, for a test of several runs. */
  renew(): void;
}

interface StageNow {
  readonly clock: FakeClock;
  readonly world: FakeWorld;
  readonly worlds: FakeWorld[];
}

/**
 * Gives each test of a file its own world in virtual time, set up by `prepare` and closed
 * afterwards.
 */
export function stage(prepare: (world: FakeWorld) => void = () => undefined): TestStage {
  const make = (): StageNow => {
    const clock = new FakeClock();
    const world = new FakeWorld(clock);
    return { clock, world, worlds: [world] };
  };
  let now = make();
  beforeEach(() => {
    now = make();
    prepare(now.world);
  });
  afterEach(async () => {
    for (const world of now.worlds) await world.close(now.clock);
  });
  return {
    get clock() {
      return now.clock;
    },
    get world() {
      return now.world;
    },
    get worlds() {
      return now.worlds;
    },
    start: async (options = {}) => {
      now.world.replica(options);
      await now.clock.advance(2000);
    },
    pass: async (seconds) => {
      for (let i = 0; i < seconds; i += 1) await now.clock.advance(1000);
    },
    names: () => [...now.world.dest.objects.values()].map(({ metadata }) => metadata.name ?? '').sort(),
    setDeleting: (finalizers, name = 'demo') => {
      now.world.edit((object) => ({ metadata: { ...object.metadata, finalizers } }), name);
      now.world.hub.delete('Application', name);
    },
    terminate: () => {
      now.world.edit((object) => {
        const status = object['status'] as { operationState: object };
        return { status: { ...status, operationState: { ...status.operationState, phase: 'Terminating' } } };
      });
    },
    phase: () => now.world.app.status?.operationState?.phase ?? 'none',
    conditions: () => (now.world.app.status?.conditions ?? []).map(({ type, message }) => `${type}: ${message}`),
    isGone: () => now.world.hub.get('Application', 'demo') === undefined,
    renew: () => {
      now = make();
    },
  };
}

/** A {@link stage} that also expects every timer to be gone at the end. */
export function tidyStage(prepare?: (world: FakeWorld) => void): TestStage {
  const at = stage(prepare);
  afterEach(() => {
    expect(at.clock.pending).toBe(0);
  });
  return at;
}
