import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { automated, configMap, FakeWorld } from '../testing/fake-world.ts';
import { withManager } from '../testing/fake-api.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage((world) => {
  world.dest.recordsManagers = true;
});

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const minute = 60_000;

const valueOf = (name: string): string | undefined =>
  (at.world.dest.get('ConfigMap', name)?.['data'] as { readonly key?: string } | undefined)?.key;

function overwrite(name: string, value: string, manager: string): void {
  const live = at.world.dest.get('ConfigMap', name);
  if (live === undefined) throw new Error(`${name} is not there`);
  at.world.dest.put(withManager({ ...live, data: { key: value } }, manager));
}

function contested(world = at.world): readonly string[] {
  const conditions = world.app.status?.conditions ?? [];
  return conditions.filter(({ type }) => type === 'ContestedResourceWarning').map(({ message }) => message);
}

/** Writes to ConfigMaps of the cluster since the last call. */
function writesSince(seen: { count: number }): number {
  const calls = at.world.dest.calls.filter((call) => /^(?:create|patch|replace|delete) ConfigMap/.test(call));
  const writes = calls.length - seen.count;
  seen.count = calls.length;
  return writes;
}

/** A program that sets a value again when it differs, until the returned function is called. */
function rival(name: string, value: string, manager: string): () => void {
  return at.world.dest.onEvent(({ type, object }) => {
    const isDone = (object['data'] as { readonly key?: string } | undefined)?.key === value;
    if (type !== 'DELETED' && object.metadata.name === name && !isDone)
      at.clock.timer(1000, () => overwrite(name, value, manager));
  });
}

async function synced(...objects: readonly KubeObject[]): Promise<void> {
  at.world.git.push(first, objects);
  at.world.application(automated);
  await at.start();
  expect(at.world.app.status?.sync?.status).toBe('Synced');
}

/** Lets a rival win until the Application reports it; by default another controller like ours. */
async function contest(manager = 'argocd-controller'): Promise<() => void> {
  await synced(configMap('one'), configMap('two'));
  const stop = rival('one', 'theirs', manager);
  overwrite('one', 'theirs', manager);
  await at.pass(60);
  expect(contested()).toHaveLength(1);
  return stop;
}

describe('another installation with an Application of the same name', () => {
  /** Both hubs manage `demo` on one cluster, without an installationID. */
  function twin(objects: readonly KubeObject[]): FakeWorld {
    const world =
      at.worlds.length === 1 && at.world.hub.get('Application', 'demo') === undefined
        ? at.world
        : new FakeWorld(at.clock, at.world.dest);
    if (world !== at.world) at.worlds.push(world);
    world.git.push(first, objects);
    world.application(automated);
    world.replica();
    return world;
  }

  // T-HEAL-5
  it('does not loop: both say so in a condition, and the writes are few', async () => {
    const blue = twin([configMap('one', 'blue'), configMap('only-blue')]);
    const green = twin([configMap('one', 'green'), configMap('only-green')]);
    const seen = { count: 0 };
    await at.pass(60);
    expect(writesSince(seen)).toBeLessThan(40);
    await at.pass(14 * 60);
    expect(writesSince(seen)).toBeLessThan(10);
    for (const world of [blue, green]) {
      const messages = contested(world).join('\n');
      expect(messages).toMatch(
        /ConfigMap apps\/one: .*argocd-controller.* changes \/data\/key each time it is restored/,
      );
      expect(messages).toMatch(/ConfigMap apps\/only-(?:blue|green): .* recreates it each time it is pruned/);
      expect(messages).toMatch(/installationID/);
    }
    expect(at.names()).toEqual(['one', 'only-blue', 'only-green']);
    // Each writes the shared object once in ten minutes, and nothing else.
    await at.clock.advance(60 * minute);
    expect(writesSince(seen)).toBeLessThanOrEqual(14);
    expect(at.names()).toEqual(['one', 'only-blue', 'only-green']);
  });
});

describe('an object that a person edits twice', () => {
  it('is restored at once each time, without a condition', async () => {
    await synced(configMap('one'), configMap('two'));
    for (const value of ['edited', 'edited again']) {
      overwrite('one', value, 'kubectl-edit');
      await at.clock.advance(100);
      expect(valueOf('one')).toBe('1');
      await at.clock.advance(10_000);
    }
    expect(contested()).toEqual([]);
  });
});

describe('an object that is deleted again and again', () => {
  it('is recreated each time: a deletion does not show who deleted', async () => {
    at.world.git.push(first, [configMap('one'), configMap('two')]);
    at.world.application(automated);
    await at.start({ config: { selfHeal: { backoffMs: 0, factor: 1, capMs: 0, timeoutMs: 0 } } });
    for (let i = 0; i < 20; i += 1) {
      at.world.dest.delete('ConfigMap', 'one');
      await at.clock.advance(2000);
      expect(valueOf('one')).toBe('1');
    }
    expect(contested()).toEqual([]);
  });
});

describe('an object that an autoscaler overwrites', () => {
  it('is named with its writer, and healed at the pace of the backoff', async () => {
    const stop = await contest('autoscaler');
    expect(contested()).toEqual([
      'ConfigMap apps/one: field manager autoscaler changes /data/key each time it is restored. Automated sync goes on, with its backoff. Add the field to ignoreDifferences, or stop the other writer',
    ]);
    const seen = { count: 0 };
    writesSince(seen);
    await at.pass(30 * 60);
    // The longest backoff is five minutes.
    const heals = writesSince(seen);
    expect(heals).toBeGreaterThanOrEqual(5);
    expect(heals).toBeLessThanOrEqual(10);
    stop();
    await at.pass(5 * 60);
    expect(valueOf('one')).toBe('1');
  });
});

describe('an object that another controller overwrites', () => {
  it('is named with its writer, and healed every ten minutes', async () => {
    await contest();
    expect(contested()).toEqual([
      expect.stringMatching(
        /^ConfigMap apps\/one: another controller .* changes \/data\/key .* waits 10 minutes between attempts\. Set/,
      ),
    ]);
    const seen = { count: 0 };
    writesSince(seen);
    await at.pass(30 * 60);
    expect(writesSince(seen)).toBe(3);
    expect(contested()).toHaveLength(1);
  });

  it('does not delay the repair of other objects', async () => {
    await contest();
    for (let i = 0; i < 3; i += 1) {
      expect(valueOf('one')).toBe('theirs');
      overwrite('two', `edited ${i}`, 'kubectl-edit');
      await at.clock.advance(100);
      expect([valueOf('one'), valueOf('two')]).toEqual(['theirs', '1']);
      await at.pass(20);
    }
  });

  it('is recreated at once when it is missing', async () => {
    const stop = await contest();
    stop();
    at.world.dest.delete('ConfigMap', 'one');
    await at.pass(60);
    expect(valueOf('one')).toBe('1');
  });

  it('does not delay a sync by a user', async () => {
    const stop = await contest();
    stop();
    at.world.edit(() => ({ operation: { sync: { revision: first } } }));
    await at.clock.advance(1000);
    expect(valueOf('one')).toBe('1');
  });

  it('does not delay a new revision, and a new manifest ends the contest', async () => {
    const stop = await contest();
    stop();
    at.world.git.push(second, [configMap('one', 'new'), configMap('two')]);
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await at.clock.advance(2000);
    expect(valueOf('one')).toBe('new');
    expect(contested()).toEqual([]);
  });

  it('is over after half an hour without another undo, and healed at once then', async () => {
    const stop = await contest();
    stop();
    await at.clock.advance(10 * minute);
    expect(valueOf('one')).toBe('1');
    expect(contested()).toHaveLength(1);
    await at.clock.advance(33 * minute);
    expect(contested()).toEqual([]);
    overwrite('one', 'theirs', 'argocd-controller');
    await at.clock.advance(2000);
    expect(valueOf('one')).toBe('1');
  });

  it('is over when self-heal is switched off', async () => {
    await contest();
    at.world.edit((object) => ({ spec: { ...(object['spec'] as object), syncPolicy: { automated: {} } } }));
    await at.clock.advance(2000);
    expect(contested()).toEqual([]);
  });
});
