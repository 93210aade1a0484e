import { describe, expect, it } from '@jest/globals';
import { automated, configMap, server } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const applications = 25;
const rounds = 10;
const objects = ['one', 'two', 'three', 'four'].map((name) => configMap(name));
const at = tidyStage(({ git }) => git.push('a'.repeat(40), objects));

const drifted = (): number =>
  [...at.world.dest.objects.values()].filter(
    ({ kind, ...rest }) => kind === 'ConfigMap' && (rest as { data?: { key?: string } }).data?.key !== '1',
  ).length;

function driftAll(round: number): void {
  for (const object of at.world.dest.objects.values())
    if (object.kind === 'ConfigMap') at.world.dest.put({ ...object, data: { key: `by hand ${round}` } });
}

describe('while Git refuses connections for an hour', () => {
  it('1,000 drifts are repaired, also those of a restart in the middle', async () => {
    for (let i = 0; i < applications; i += 1)
      at.world.application(
        { ...automated, destination: { server, namespace: `n${i}` } },
        { metadata: { name: `d${i}`, namespace: 'argocd' } },
      );
    let replica = at.world.replica();
    await at.pass(60);
    const { size } = at.world.dest.objects;
    expect([size >= applications * objects.length, drifted()]).toEqual([true, 0]);
    at.world.git.server = 'refuses';
    for (let round = 0; round < rounds; round += 1) {
      if (round === rounds / 2) {
        const ended = replica.stop();
        await at.pass(5);
        await ended;
        driftAll(round);
        replica = at.world.replica();
      } else driftAll(round);
      await at.pass(30);
      expect([round, drifted()]).toEqual([round, 0]);
      await at.pass(330);
    }
    at.world.git.server = 'answers';
    await at.pass(120);
    const conditions = Array.from(
      { length: applications },
      (_, i) => at.world.applicationOf(`d${i}`).status?.conditions,
    );
    expect(conditions.flatMap((list) => list ?? [])).toEqual([]);
  }, 600_000);
});
