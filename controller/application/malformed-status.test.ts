import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newAbortController } from '#base';
import type { Json, JsonObject } from '#base';
import { appKeyOf } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { cascade } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';
import type { ApplicationReport } from '../report/application-facts.ts';

/** Statuses that people or programs write where no schema refuses them. */
const at = tidyStage();
const sha = 'a'.repeat(40);

const listFields = ['conditions', 'history', 'resources'] as const;
const objectFields = ['sync', 'health', 'summary'] as const;
const otherFields = [
  'reconciledAt',
  'sourceType',
  'sourceTypes',
  'resourceHealthSource',
  'controllerNamespace',
] as const;
const stateFields = ['operation', 'message', 'startedAt', 'finishedAt', 'retryCount', 'syncResult'] as const;

let explain: () => Promise<ApplicationReport | undefined>;

beforeEach(() => {
  explain = () => Promise.resolve(undefined);
});

/** An Application that is synced, and whose status is then changed. */
async function begin(change: (status: JsonObject) => Json): Promise<void> {
  at.renew();
  at.world.git.push(sha, [configMap('one')]);
  at.world.application(automated);
  const { controller } = at.world.replica();
  explain = () => controller.report.details(appKeyOf(at.world.app), newAbortController().signal);
  await at.clock.advance(5000);
  at.world.edit((object) => ({ status: change(object['status'] as JsonObject) }));
}

const stored = (): JsonObject | undefined =>
  at.world.hub.get('Application', 'demo')?.['status'] as JsonObject | undefined;
const events = (): readonly string[] =>
  [...at.world.hub.objects.values()].flatMap((object) =>
    object.kind === 'Event' && object['reason'] === 'StatusRepaired' ? [object['message'] as string] : [],
  );

const withState = (status: JsonObject, change: JsonObject): JsonObject => ({
  ...status,
  operationState: { ...(status['operationState'] as JsonObject), ...change },
});

describe('a status with a member of the wrong type', () => {
  it.each<[string, Json]>([
    ...listFields.flatMap((name): [string, Json][] => [
      [name, 'text'],
      [name, {}],
      [name, [null]],
      [name, [5, 'x']],
      [name, [{ type: 5, status: [], id: 'x', name: {} }]],
    ]),
    ...objectFields.flatMap((name): [string, Json][] => [
      [name, 5],
      [name, []],
      [name, { status: 5, revisions: 'x', images: 7 }],
    ]),
    ...otherFields.map((name): [string, Json] => [name, { x: 1 }]),
  ])('%s %j is repaired, and an Event says so', async (name, value) => {
    await begin((status) => ({ ...status, [name]: value }));
    await at.pass(5);
    expect(stored()?.[name]).not.toEqual(value);
    expect(events()).toEqual([expect.stringContaining(`status.${name}`)]);
    expect([at.conditions(), at.phase(), at.world.app.status?.sync?.status]).toEqual([[], 'Succeeded', 'Synced']);
    expect((await explain())?.resources.synced).toBe(1);
  });

  it.each(stateFields)('operationState.%s of an ended operation is repaired, and no sync begins', async (name) => {
    await begin((status) => withState(status, { [name]: ['x'] }));
    const { calls } = at.world.dest;
    const before = calls.length;
    await at.pass(30);
    expect(events()).toEqual([expect.stringContaining('status.operationState')]);
    expect(calls.slice(before).filter((call) => /^(?:create|patch|replace|delete) /.test(call))).toEqual([]);
    expect((await explain())?.lastOperation?.phase).toBe('Succeeded');
  });

  it('is no reason to delete an object whose deletion nobody has confirmed', async () => {
    await begin((status) => ({ ...status, resources: [{ kind: 'ConfigMap', name: 5 }] }));
    at.setDeleting([cascade]);
    const before = at.world.dest.calls.length;
    await at.clock.advance(0);
    expect(at.world.dest.calls.slice(before).filter((call) => call.startsWith('delete'))).toEqual([]);
    await at.pass(60);
    expect(at.isGone()).toBe(true);
  });

  it('is announced once, also while its source cannot be read', async () => {
    await begin((status) => ({ ...status, resources: [5] }));
    at.world.git.failure = new Error('no route to Git');
    await at.pass(5);
    await at.clock.advance(600_000);
    expect(events()).toHaveLength(1);
  });

  it('never ends a pass, whatever it is, and writes nothing to the cluster', async () => {
    const names = [...listFields, ...objectFields, ...otherFields, 'sourceHydrator'];
    const edit = fc.oneof(
      fc.tuple(fc.constantFrom(...names), fc.jsonValue()).map(([name, value]) => ({ [name]: value })),
      fc.tuple(fc.constantFrom(...stateFields), fc.jsonValue()).map(([name, value]) => ({ state: { [name]: value } })),
    );
    await fc.assert(
      fc.asyncProperty(edit, async (change) => {
        const { state, ...members } = change as { readonly state?: JsonObject };
        await begin((status) => ({ ...(state === undefined ? status : withState(status, state)), ...members }));
        const before = at.world.dest.calls.length;
        await expect(explain()).resolves.toHaveProperty('resources.synced');
        await at.pass(5);
        await expect(explain()).resolves.toHaveProperty('resources.synced');
        expect(at.conditions().filter((text) => text.includes('cannot be processed'))).toEqual([]);
        const writes = at.world.dest.calls.slice(before).filter((call) => /^(?:create|delete) /.test(call));
        expect(writes).toEqual([]);
        await at.world.close(at.clock);
      }),
    );
  });
});
