import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
import { automated, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

const text = { type: 'string' };
const step = { type: 'object', properties: { name: text, weight: { type: 'integer', default: 1 }, note: text } };
const spec = {
  type: 'object',
  properties: { paused: { type: 'boolean' }, mode: { ...text, default: 'on' }, steps: { type: 'array', items: step } },
};
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Gadget', singular: 'gadget', plural: 'gadgets', listKind: 'GadgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      },
    ],
  },
};

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
  world.cluster.store.create(definition);
});
afterEach(() => world.close());

const gadget = (content: string): string =>
  `apiVersion: example.com/v1\nkind: Gadget\nmetadata: { name: a }\nspec: ${content}\n`;
const live = (): unknown => world.live('example.com', 'Gadget', 'a')?.['spec'];
const full = gadget('{ paused: true, steps: [{ name: a, note: x }] }');

describe('a custom resource that is applied client-side after a switch', () => {
  const specOf = (syncOptions: readonly string[], isAutomated = true): object => ({
    syncPolicy: { ...(isAutomated ? automated.syncPolicy : {}), syncOptions },
  });

  it.each(['ServerSideApply=true', 'Replace=true'])('from %s loses what Git drops', async (option) => {
    repo.commit({ 'app/a.yaml': full });
    await world.replica();
    world.application('demo', { ...repo.source(), ...specOf([option]) });
    await world.until('demo', synced, 60_000);
    expect(live()).toEqual({ paused: true, mode: 'on', steps: [{ name: 'a', weight: 1, note: 'x' }] });
    world.edit('demo', (app) => Object.assign((app as unknown as { spec: object }).spec, specOf([])));
    repo.commit({ 'app/a.yaml': gadget('{ steps: [{ note: x }] }') });
    world.refresh('demo', 'hard');
    const isGone = (app: Application): void => {
      synced(app);
      expect(live()).toEqual({ mode: 'on', steps: [{ weight: 1, note: 'x' }] });
    };
    await world.until('demo', isGone, 60_000);
  });

  it('from Replace stays Synced with the defaults of its definition', async () => {
    repo.commit({ 'app/a.yaml': full });
    await world.replica();
    world.application('demo', { ...repo.source(), ...specOf(['Replace=true'], false) });
    world.sync('demo', { syncOptions: ['Replace=true'] });
    await world.until('demo', synced, 60_000);
    world.edit('demo', (app) => Object.assign((app as unknown as { spec: object }).spec, specOf([], false)));
    for (const type of ['hard', 'normal'] as const) {
      world.refresh('demo', type);
      await world.until('demo', (app) => {
        expect(app.metadata.annotations ?? {}).not.toHaveProperty(['argocd.argoproj.io/refresh']);
        if (app.status?.sync?.status !== 'Synced')
          process.stdout.write(
            `DEBUG ${type} ${JSON.stringify(world.live('example.com', 'Gadget', 'a'))} ${JSON.stringify(app.status)}\n`,
          );
        synced(app);
      });
    }
  });
});
