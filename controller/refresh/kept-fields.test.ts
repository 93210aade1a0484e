import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const revision = 'a'.repeat(40);
const name = 'one';
const at = tidyStage();

/** Makes the API server store another value than is sent, as a mutating webhook does. */
function mutating(): () => void {
  const { dest } = at.world;
  const put = dest.put.bind(dest);
  dest.put = (object: KubeObject) =>
    put(object.kind === 'ConfigMap' && object.metadata.name === name ? { ...object, data: { key: 'theirs' } } : object);
  return () => {
    dest.put = put;
  };
}

function kept(): readonly string[] {
  return at.conditions().filter((text) => text.startsWith('ContestedResourceWarning: '));
}

async function sync(): Promise<void> {
  at.world.edit(() => ({ operation: { sync: { revision } } }));
  await at.pass(5);
  expect(at.phase()).toBe('Succeeded');
}

describe('a field that the API server keeps', () => {
  it.each([
    ['without automated sync', {}],
    ['with automated sync, but without self-heal', { syncPolicy: { automated: {} } }],
    ['with self-heal', automated],
  ])('is named by a condition after the first sync %s, also after a restart', async (_how, spec) => {
    at.world.git.push(revision, [configMap(name), configMap('two')]);
    const stop = mutating();
    at.world.application(spec);
    const first = at.world.replica();
    await at.pass(2);
    await sync();
    const texts = [expect.stringMatching(/ConfigMap apps\/one: the API server .* keeps \/data\/key different/)];
    expect(kept()).toEqual(texts);
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');

    await Promise.all([first.stop(), at.clock.advance(2000)]);
    at.world.replica();
    await at.pass(10);
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
    await at.pass(5);
    expect(kept()).toEqual(texts);

    stop();
    await sync();
    expect(at.world.app.status?.sync?.status).toBe('Synced');
    expect(kept()).toEqual([]);
  });

  it('has no condition where a person has changed the object after the sync', async () => {
    at.world.git.push(revision, [configMap(name), configMap('two')]);
    at.world.application({});
    await at.start();
    await sync();
    at.world.dest.put({ ...at.world.dest.get('ConfigMap', name)!, data: { key: 'by hand' } });
    await at.pass(5);
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');
    expect(kept()).toEqual([]);
  });
});
