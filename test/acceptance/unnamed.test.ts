import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Application } from '#model';
import { config } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

const hook = 'metadata: {annotations: {argocd.argoproj.io/hook: PreSync}, generateName: up-}';
const warnings = ({ status }: Application): readonly string[] =>
  (status?.conditions ?? []).filter(({ type }) => type === 'UnnamedResourceWarning').map(({ message }) => message);

it('names the file of an object without a name, and compares the others', async () => {
  repo.commit({
    'app/a.yaml': config('a'),
    'app/b.yaml': `${config('b')}---\n# nothing\n---\napiVersion: v1\nkind: Secret\n`,
    'app/hook.yaml': `apiVersion: v1\nkind: ConfigMap\n${hook}\n`,
  });
  await world.replica();
  world.application('demo', repo.source());
  const app = await world.until('demo', (one) => {
    expect(one.status?.sync?.status).toBe('OutOfSync');
    expect(warnings(one)).toHaveLength(1);
  });
  expect(warnings(app)).toEqual([
    'The Secret in app/b.yaml, object 2 has no metadata.name. A sync refuses it, unless it is replaced (Replace=true): give it a name, or leave the file out',
  ]);
  const seen = app.status?.resources?.map(({ kind, name, status }) => [kind, name, status]);
  expect(seen).toContainEqual(['ConfigMap', 'a', 'OutOfSync']);

  // The other objects can be synced, and the condition ends with its cause.
  world.sync('demo', { resources: [{ kind: 'ConfigMap', name: 'a' }] });
  await world.until('demo', () => expect(world.live('', 'ConfigMap', 'a')).toBeDefined());
  repo.commit({ 'app/b.yaml': config('b') });
  world.refresh('demo');
  await world.until('demo', (one) => expect(warnings(one)).toEqual([]), 60_000);
});
