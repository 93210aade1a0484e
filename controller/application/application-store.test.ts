import { expect, it } from '@jest/globals';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

it('a constantly written Application does not occupy a processor: its neighbour gets a turn', async () => {
  at.world.application(automated);
  at.world.application({}, { metadata: { name: 'neighbour' } });
  let tries = 0;
  let before: number | undefined;
  const disturb = (call: string): void => {
    if (call === 'patch Application neighbour') before ??= tries;
    if (before !== undefined || !call.startsWith('replace Application')) return;
    tries += 1;
    at.world.edit((object) => ({ metadata: { ...object.metadata, annotations: { tries: String(tries) } } }));
    if (tries > 200) throw new Error('the neighbour got no turn');
  };
  await at.start({ config: { statusProcessors: 1 }, hub: { before: disturb } });
  expect(before).toBeLessThanOrEqual(20);
  expect(before).toBeGreaterThan(4);
});
