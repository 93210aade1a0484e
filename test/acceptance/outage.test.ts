import { renameSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { automated, config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

function drift(name: string): void {
  const live = world.live('', 'ConfigMap', name)!;
  world.cluster.store.update({ ...live, data: { key: 'by hand' } });
}

const repaired = (name: string): Promise<void> =>
  eventually(() => expect(world.live('', 'ConfigMap', name)).toMatchObject({ data: { key: '1' } }));

describe('drift', () => {
  it('is repaired while the repository is away, also after a requested refresh', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    await world.replica({ repoErrorGraceMs: 0 });
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    renameSync(repo.path, `${repo.path}-away`);
    drift('a');
    await repaired('a');
    world.refresh('demo', 'hard');
    await world.until('demo', ({ status }) => {
      expect(status?.sync?.status).toBe('Unknown');
      expect(status?.conditions?.map(({ type }) => type)).toEqual(['ComparisonError', 'SourceUnavailableWarning']);
    });
    drift('b');
    await repaired('b');
    renameSync(`${repo.path}-away`, repo.path);
    world.refresh('demo');
    await world.until('demo', synced);
    expect(world.app('demo')?.status?.conditions).toBeUndefined();
  });

  it('is repaired while a new commit has one bad file', async () => {
    const good = repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await world.until('demo', synced);
    repo.commit({ 'app/c.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: [' });
    world.refresh('demo');
    await world.until('demo', ({ status }) => {
      expect(status?.conditions?.[0]?.message).toContain('c.yaml');
    });
    drift('a');
    await repaired('a');
    const warning = world.app('demo')?.status?.conditions?.find(({ type }) => type === 'SourceUnavailableWarning');
    expect(warning?.message).toContain(good);
  });
});
