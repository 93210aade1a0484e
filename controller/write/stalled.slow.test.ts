import { afterEach, describe, expect, it } from '@jest/globals';
import { DeadlineExceeded, newAbortController } from '#base';
import { automated, configMap } from '../testing/fake-world.ts';
import { stage } from '../testing/stage.ts';

let over = newAbortController();
// Runs before the replicas stop: hanging requests would delay them.
afterEach(() => over.abort());

const at = stage();
const stuck = 'https://stuck';
const count = 60;
const limitMs = 30_000;
let answers = false;

/** Starts operations of many Applications on a cluster that answers no writes. */
async function start(): Promise<void> {
  const { world, clock } = at;
  over = newAbortController();
  answers = false;
  world.addCluster(stuck);
  const before = async (call: string): Promise<void> => {
    if (answers || !/^(?:create|patch|replace|delete) /.test(call)) return;
    await clock.sleep(limitMs, over.signal);
    throw new DeadlineExceeded(call, limitMs);
  };
  world.replica({ config: { statusProcessors: 20, operationProcessors: 10 }, others: { before } });
  for (let i = 0; i < count; i += 1) {
    const sha = String(i).padStart(40, '0');
    world.git.commits.set(sha, [configMap(`c-${i}`), configMap(`d-${i}`)]);
    const source = { repoURL: 'https://git/x', path: 'p', targetRevision: sha };
    const destination = { server: stuck, namespace: 'apps' };
    world.application({ ...automated, source, destination }, { metadata: { name: `app-${i}` } });
  }
  await clock.advance(5000);
}

const phases = (): readonly (string | undefined)[] =>
  Array.from({ length: count }, (_, i) => at.world.applicationOf(`app-${i}`).status?.operationState?.phase);

describe('operations on a cluster that answers no writes', () => {
  it('continue when it answers again', async () => {
    await start();
    expect(new Set(phases())).toEqual(new Set(['Running']));
    answers = true;
    await at.clock.advance(limitMs + 60_000);
    expect(at.world.others.get(stuck)?.objects.size).toBe(2 * count);
    expect(new Set(phases())).toEqual(new Set(['Succeeded']));
  });

  it('cost the hub almost nothing while they wait', async () => {
    await start();
    const before = at.world.hub.calls.length;
    await at.clock.advance(20_000);
    expect(at.world.hub.calls.length - before).toBeLessThan(count);
  });

  it('can be terminated', async () => {
    await start();
    for (let i = 0; i < count; i += 1)
      at.world.edit(({ status }) => {
        const { operationState } = status as { readonly operationState: object };
        return { status: { ...(status as object), operationState: { ...operationState, phase: 'Terminating' } } };
      }, `app-${i}`);
    const left = (): number => phases().filter((phase) => phase === 'Terminating').length;
    // All but those whose writes are in flight end before the cluster answers.
    await at.clock.advance(limitMs / 2);
    expect(left()).toBeLessThanOrEqual(4);
    await at.clock.advance(120_000);
    expect(left()).toBe(0);
  });
});
