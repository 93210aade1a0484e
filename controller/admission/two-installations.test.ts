import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { defaultSettings } from '#model';
import { automated, configMap, FakeWorld } from '../testing/fake-world.ts';
import { cascade } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);

// T-PRUNE-4
describe('two installations on one cluster', () => {
  /** A second hub, with its own Git and controller, that manages the same cluster. */
  function installation(id: string, objects: readonly KubeObject[]): FakeWorld {
    const one =
      at.worlds.length === 1 && at.world.settings.tracking.installationId === ''
        ? at.world
        : new FakeWorld(at.clock, at.world.dest);
    if (one !== at.world) at.worlds.push(one);
    one.settings = { ...defaultSettings, tracking: { ...defaultSettings.tracking, installationId: id } };
    one.git.push(first, objects);
    one.application(automated, { metadata: { name: 'demo', namespace: 'argocd' } });
    return one;
  }

  // T-PRUNE-4
  it('with Applications of the same name neither prune nor delete objects of each other', async () => {
    const blue = installation('blue', [configMap('one'), configMap('two')]);
    const green = installation('green', [configMap('three'), configMap('four')]);
    blue.replica();
    green.replica();
    await at.clock.advance(600_000);
    expect(at.names()).toEqual(['four', 'one', 'three', 'two']);
    expect([blue, green].map(({ app }) => app.status?.resources?.map(({ name }) => name))).toEqual([
      ['one', 'two'],
      ['four', 'three'],
    ]);
    green.git.push(second, [configMap('three')]);
    await at.clock.advance(300_000);
    expect(at.names()).toEqual(['one', 'three', 'two']);
    blue.edit((object) => ({ metadata: { ...object.metadata, finalizers: [cascade] } }));
    blue.hub.delete('Application', 'demo');
    await at.clock.advance(60_000);
    expect(blue.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.names()).toEqual(['three']);
  });
});
