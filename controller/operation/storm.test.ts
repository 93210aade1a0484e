import { describe, expect, it } from '@jest/globals';
import { asApplication } from '#model';
import type { Application } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { stage } from '../testing/stage.ts';

const at = stage();
const requestMs = 20;
const source = { repoURL: 'https://git/x', path: 'p' };

const nameOf = (i: number): string => `app-${i}`;

/** Each request takes a while; those of a dead process hang. */
function slow(isDead: () => boolean = () => false): { readonly before: () => Promise<void> } {
  return { before: () => (isDead() ? new Promise(() => undefined) : at.clock.sleep(requestMs)) };
}

const refreshRequest = { 'argocd.argoproj.io/refresh': 'normal' };
const workers = { statusProcessors: 2, operationProcessors: 2 };

/** Applications of one object, all Synced, without a replica. */
async function synced(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const sha = String(i).padStart(40, '0');
    at.world.git.commits.set(sha, [configMap(nameOf(i))]);
    at.world.application(
      { ...automated, source: { ...source, targetRevision: sha } },
      { metadata: { name: nameOf(i) } },
    );
  }
  const first = at.world.replica();
  await at.pass(20);
  const ended = first.stop();
  await at.pass(2);
  await ended;
  expect(apps(count).map(({ status }) => status?.sync?.status)).toEqual(Array(count).fill('Synced'));
}

function apps(count: number): readonly Application[] {
  return Array.from({ length: count }, (_, i) => {
    const object = at.world.hub.get('Application', nameOf(i));
    if (object === undefined) throw new Error(`no Application ${nameOf(i)}`);
    return asApplication(object);
  });
}

function drift(count: number): void {
  for (let i = 0; i < count; i += 1) {
    const live = at.world.dest.get('ConfigMap', nameOf(i));
    if (live === undefined) throw new Error(`no ConfigMap ${nameOf(i)}`);
    at.world.dest.put({ ...live, data: { key: 'changed by hand' } });
  }
}

const valueOf = (i: number): unknown =>
  (at.world.dest.get('ConfigMap', nameOf(i))?.['data'] as { key?: string } | undefined)?.key;

const writesSince = (calls: number): readonly string[] =>
  at.world.dest.calls.slice(calls).filter((call) => /^(?:patch|apply|replace) /.test(call));

/** The running operation, sync status, phase and self-heal attempts of each. */
const outcomes = (count: number): readonly unknown[] =>
  apps(count).map(({ operation, status }) => {
    const state = status?.operationState;
    return [operation, status?.sync?.status, state?.phase, state?.operation.sync?.autoHealAttemptsCount];
  });

/** Repairs and ends of operations in their order. */
function watched(): readonly ('repair' | 'record')[] {
  const seen: ('repair' | 'record')[] = [];
  at.world.dest.onEvent(({ object }) => {
    if (object.kind === 'ConfigMap' && (object['data'] as { key?: string }).key === '1') seen.push('repair');
  });
  const running = new Set<string>();
  at.world.hub.onEvent(({ object }) => {
    if (object.kind !== 'Application') return;
    const name = object.metadata.name ?? '';
    const { operation, status } = asApplication(object);
    if (operation !== undefined) running.add(name);
    else if (status?.operationState?.phase === 'Succeeded' && running.delete(name)) seen.push('record');
  });
  return seen;
}

describe('changes of many Applications at once', () => {
  it('are repaired before the records tell of it, each once', async () => {
    const count = 40;
    await synced(count);
    at.world.replica({ hub: slow(), dest: slow(), config: workers });
    await at.pass(10);
    const seen = watched();
    const before = at.world.dest.calls.length;
    drift(count);
    await at.pass(20);
    expect(seen.filter((what) => what === 'repair')).toHaveLength(count);
    expect(seen.filter((what) => what === 'record')).toHaveLength(count);
    const repairedFirst = seen.slice(0, seen.indexOf('record')).length;
    expect(repairedFirst).toBeGreaterThan(count / 2);
    expect(writesSince(before)).toHaveLength(count);
    expect(outcomes(count)).toEqual(Array(count).fill([undefined, 'Synced', 'Succeeded', 1]));
  });

  it.each([
    [
      'refreshes',
      (name: string) =>
        at.world.edit(({ metadata }) => ({ metadata: { ...metadata, annotations: refreshRequest } }), name),
    ],
    ['deletes', (name: string) => at.setDeleting(['test/finalizer'], name)],
  ])('are recorded at once for a user who %s the Application', async (_what, ask) => {
    const count = 60;
    await synced(count);
    at.world.replica({ hub: slow(), dest: slow(), config: workers });
    await at.pass(10);
    const seen = watched();
    drift(count);
    const isParked = (app: Application, i: number): boolean => app.operation !== undefined && valueOf(i) === '1';
    while (!seen.includes('repair') || !apps(count).some(isParked)) await at.clock.advance(10);
    const name = nameOf(apps(count).findIndex(isParked));
    await at.clock.advance(100);
    expect(seen).not.toContain('record');
    ask(name);
    await at.clock.advance(200);
    expect(seen.filter((what) => what === 'record')).toEqual(['record']);
    const repaired = seen.filter((what) => what === 'repair').length;
    expect(repaired).toBeLessThan(count / 2);
  });

  it('of few Applications are recorded at once', async () => {
    await synced(3);
    at.world.replica({ hub: slow(), dest: slow(), config: workers });
    await at.pass(10);
    const seen = watched();
    drift(3);
    await at.pass(2);
    expect(seen.indexOf('record')).toBeLessThan(seen.lastIndexOf('repair'));
    expect(seen).toHaveLength(6);
  });

  it.each([1, 5, 15])('are recorded by the next replica, if one dies after %d repairs', async (repairs) => {
    const count = 20;
    await synced(count);
    const calls = at.world.dest.calls.length;
    let seen: readonly string[] = [];
    const dying = slow(() => seen.length >= repairs);
    const dead = at.world.replica({ hub: dying, dest: dying, config: workers });
    await at.pass(10);
    seen = watched();
    drift(count);
    await at.pass(10);
    const isRepaired = (_app: unknown, i: number): boolean => valueOf(i) === '1';
    const unrecorded = apps(count).filter(isRepaired);
    expect(unrecorded.length).toBeGreaterThanOrEqual(repairs);
    expect(unrecorded.map(({ operation }) => operation?.initiatedBy?.automated)).toEqual(unrecorded.map(() => true));
    const stopped = dead.stop();
    await at.pass(60);
    await stopped.catch(() => undefined);
    at.world.replica({ config: workers });
    await at.pass(60);
    expect(apps(count).filter(isRepaired)).toHaveLength(count);
    expect(outcomes(count)).toEqual(Array(count).fill([undefined, 'Synced', 'Succeeded', 1]));
    expect(writesSince(calls)).toHaveLength(count);
  });
});
