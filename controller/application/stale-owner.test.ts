import { expect, it } from '@jest/globals';
import type { ApplicationStatus } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one')]));

/** The status that a replica stores if it knows the present version. */
async function statusByOwner(): Promise<ApplicationStatus | undefined> {
  at.world.application();
  await at.start();
  const { status } = at.world.app;
  at.renew();
  at.world.git.push('a'.repeat(40), [configMap('one')]);
  return status;
}

it('a new owner that knows an old version writes nothing over the status of the former one', async () => {
  const status = await statusByOwner();
  expect(status?.sync?.status).toBe('OutOfSync');
  const former = { ...status, health: { ...status?.health, lastTransitionTime: '1969-12-31T00:00:00Z' } };
  at.world.application();
  let patches = 0;
  const overtake = (call: string): void => {
    if (!call.startsWith('patch Application')) return;
    patches += 1;
    if (patches === 1) at.world.edit(() => ({ status: former }));
  };
  await at.start({ hub: { before: overtake } });
  expect(patches).toBe(1);
  expect(at.world.app.status).toEqual(former);
});

it('an automated sync that was decided for an older spec does not begin', async () => {
  at.world.application(automated);
  let starts = 0;
  const overtake = (call: string): void => {
    if (!call.startsWith('replace Application')) return;
    starts += 1;
    if (starts === 1) at.world.edit((object) => ({ spec: { ...(object['spec'] as object), syncPolicy: {} } }));
  };
  await at.start({ hub: { before: overtake } });
  await at.pass(30);
  expect([starts, at.names(), at.phase(), at.world.app.status?.sync?.status]).toEqual([1, [], 'none', 'OutOfSync']);
});
