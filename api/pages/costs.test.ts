import { expect, it } from '@jest/globals';
import type { CostsResponse, CostSubject } from '#api';
import { ReadApi, fullViewer, parseApiRequest } from '#api';
import { automated, configMap, stage } from '../../controller/testing/index.ts';
import { factsOf } from '../../test/acceptance/incidents/explained.ts';

const at = stage();

it('counts the renderings of an Application, and names what a deleted one has cost', async () => {
  at.world.git.push('a'.repeat(40), [configMap('one')]);
  at.world.application(automated);
  const { controller } = at.world.replica();
  await at.clock.advance(5000);
  const api = new ReadApi({ clock: at.clock, peers: () => [], facts: factsOf(controller, at.clock) });
  const costs = async (subject: CostSubject): Promise<CostsResponse['items']> => {
    const caller = { viewer: fullViewer, isPeer: false };
    const request = parseApiRequest(`/api/v1/costs/${subject}`);
    return ((await api.answer(request, caller, new AbortController().signal)) as CostsResponse).items;
  };
  const [row] = await costs('apps');
  expect(row).toMatchObject({ name: 'argocd/demo' });
  expect(row?.renders).toBeGreaterThan(0);
  expect(await costs('projects')).toMatchObject([{ name: 'default' }]);
  at.world.hub.delete('Application', 'demo');
  await at.clock.advance(5000);
  expect(await costs('projects')).toMatchObject([{ name: '(deleted Applications)' }]);
  expect((await costs('clusters')).map(({ name }) => name)).not.toContain('');
});
