import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { eventually } from '#support';
import { addressAttempts } from './hostile/addresses.ts';
import type { HostileAttempt, HostileTargets } from './hostile/attempt.ts';
import { chartAttempts } from './hostile/charts.ts';
import { directoryAttempts } from './hostile/directories.ts';
import { overlayAttempts } from './hostile/overlays.ts';
import { canaries, canariesIn, HostileWorld, realPrograms } from './hostile/world.ts';

const programs = realPrograms();
const mayLeaveOut = env['DRIFTLESS_TOOLS'] !== 'required';
const suite = programs === undefined && mayLeaveOut ? describe.skip : describe;
const title = programs === undefined ? 'hostile sources (needs npm run e2e:setup)' : 'hostile sources';

/**
 * Black-box tests of the isolation of rendering: each attempt is an Application of a restricted
 * project.
 */
suite(title, () => {
  const world = new HostileWorld();
  beforeAll(() => world.start(programs ?? ''), 60_000);
  afterAll(() => world.stop(), 60_000);

  it('finds canaries in plain text and in base64', () => {
    for (const canary of canaries) {
      expect(canariesIn(`x ${canary} y`)).toEqual([canary]);
      for (const before of ['', 'a', 'ab'])
        expect(canariesIn(Buffer.from(`${before}${canary}: yz`).toString('base64'))).toEqual([canary]);
    }
  });

  it('reaches no file, variable, socket or address of the controller', async () => {
    const attempts = [...honest(world.targets), ...allAttempts(world.targets)];
    for (let from = 0; from < attempts.length; from += batchSize) {
      for (const attempt of attempts.slice(from, from + batchSize)) await world.apply(attempt);
      await eventually(async () => expect(await undecided(world)).toEqual([]), 300_000);
    }
    const published = await world.published();
    for (const name of ['dir', 'helm', 'overlay', 'jsonnet'])
      expect([name, published['/api/v1/configmaps']?.includes(`OWN-${name}`)]).toEqual([name, true]);
    const found = Object.entries(published).flatMap(([place, text]) =>
      text.split('\n').flatMap((line) => canariesIn(line).map((canary) => `${place}: ${canary}`)),
    );
    expect({ found: await blame(found, world), visits: world.visits }).toEqual({ found: [], visits: [] });
  }, 1_200_000);
});

/**
 * Applications at once: more would time out while they wait for the render slots of their project.
 */
const batchSize = 40;

async function undecided(world: HostileWorld): Promise<readonly string[]> {
  const applications = await world.applications();
  if (applications.length === 0) throw new Error('no Application was created');
  return applications.filter((application) => !isDecided(application)).map(nameOf);
}

const nameOf = (object: JsonObject): string => (object['metadata'] as { readonly name: string }).name;

interface AttemptStatus {
  readonly conditions?: readonly unknown[];
  readonly operationState?: { readonly phase?: string };
  readonly sync?: { readonly status?: string };
}

/**
 * Whether an attempt was refused or its operation ended. Exceeding a deadline is no result, except
 * for bombs.
 */
function isDecided(application: JsonObject): boolean {
  const { conditions, operationState, sync } = (application['status'] ?? {}) as AttemptStatus;
  if (conditions !== undefined && conditions.length > 0)
    return nameOf(application).includes('bomb') || !JSON.stringify(conditions).includes('took longer than');
  if (sync?.status === 'Synced') return true;
  return ['Succeeded', 'Failed', 'Error'].includes(operationState?.phase ?? '');
}

/** Names the objects that contain the canaries. */
async function blame(found: readonly string[], world: HostileWorld): Promise<readonly string[]> {
  if (found.length === 0) return [];
  const lists = await Promise.all(
    ['/apis/argoproj.io/v1alpha1/applications', '/api/v1/configmaps', '/api/v1/secrets', '/api/v1/events'].map((path) =>
      world.api.list<JsonObject>(path),
    ),
  );
  const objects = lists.flat().filter((object) => canariesIn(JSON.stringify(object)).length > 0);
  const lines = world.controller.stdout.split('\n').filter((line) => canariesIn(line).length > 0);
  return [...objects.map((object) => JSON.stringify(object).slice(0, 2000)), ...lines.slice(0, 20)];
}

function allAttempts(targets: HostileTargets): HostileAttempt[] {
  return [
    ...directoryAttempts(targets),
    ...overlayAttempts(targets),
    ...chartAttempts(targets),
    ...addressAttempts(targets),
  ];
}

/** An honest Application of each kind of source: if they fail, the attempts prove nothing. */
function honest({ repository }: HostileTargets): HostileAttempt[] {
  const manifest = (name: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: honest}\ndata: {own: OWN-${name}}\n`;
  const chart = 'apiVersion: v2\nname: c\nversion: 1.0.0\n';
  return [
    { name: 'honest-dir', files: { 'a.yaml': manifest('dir') } },
    { name: 'honest-helm', files: { 'Chart.yaml': chart, 'templates/a.yaml': manifest('helm') } },
    {
      name: 'honest-overlay',
      files: { 'kustomization.yaml': 'resources: [a.yaml]\n', 'a.yaml': manifest('overlay') },
    },
    {
      name: 'honest-jsonnet',
      files: {
        'a.jsonnet':
          "{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'honest'}, data: {own: 'OWN-' + 'jsonnet'}}",
      },
    },
    { name: 'honest-two', sources: [{ repoURL: repository, path: 'dir-ok' }] },
  ];
}
