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
const warnings = ({ status }: Application, of = 'UnnamedResourceWarning'): readonly string[] =>
  (status?.conditions ?? []).filter(({ type }) => type === of).map(({ message }) => message);

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

it('names a file that is ignored although it has some keys of a manifest, and its document', async () => {
  repo.commit({
    'app/a.yaml': config('a'),
    'app/kindless.yaml': 'apiVersion: v1\nmetadata: {name: b}\n',
    'app/broken.yaml': 'kind: ConfigMap\napiVersion: v1\ndata: [\n',
    'app/values.yaml': 'replicas: 3\n',
  });
  await world.replica();
  world.application('demo', repo.source());
  const app = await world.until('demo', (one) => expect(warnings(one, 'IgnoredFileWarning')).toHaveLength(2));
  expect(warnings(app, 'IgnoredFileWarning')).toEqual([
    expect.stringMatching(/^The file is ignored, as it is no manifest: app\/broken\.yaml: document 1: .*With prune/),
    "The file is ignored, as it is no manifest: app/kindless.yaml: document 1: Object 'Kind' is missing. With prune, objects that it had are deleted",
  ]);
  repo.commit({ 'app/kindless.yaml': config('b'), 'app/broken.yaml': null });
  world.refresh('demo');
  await world.until('demo', (one) => expect(warnings(one, 'IgnoredFileWarning')).toEqual([]), 60_000);
});
