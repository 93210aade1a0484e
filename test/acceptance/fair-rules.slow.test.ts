import { cpuUsage, env, stderr } from 'node:process';
import { expect, it } from '@jest/globals';
import type { ApplicationSpec } from '#model';
import { automated, configMap, stage } from '../../controller/testing/index.ts';

// How much CPU time the ignore rules of other tenants cost the repair of one Application.
const at = stage();

/** Measured: about 0.6 with the budget of rules, 10 without it. */
const maxCostRatio = 2;
const noisy = Array.from({ length: 8 }, (_, i) => `noisy-${i}`);
let round = 0;

const processors = { selfHeal: { backoffMs: 0, factor: 1, capMs: 0, timeoutMs: 0 } };
const commit = (i: number): string => String(i).padStart(40, '0');
const sourceAt = (targetRevision: string): Pick<ApplicationSpec, 'source'> => ({
  source: { repoURL: 'https://git/x', path: 'p', targetRevision },
});
const pointers = (i: number, count: number): string[] => Array.from({ length: count }, (_, n) => `/data/k${i}-${n}`);

function add(name: string, i: number, spec: Partial<ApplicationSpec>): void {
  at.world.git.commits.set(commit(i), [configMap(name)]);
  at.world.application({ ...automated, ...sourceAt(commit(i)), ...spec }, { metadata: { name } });
}

function drift(name: string, value: string): void {
  const live = at.world.dest.get('ConfigMap', name);
  if (live === undefined) throw new Error(`${name} has not been synced`);
  at.world.dest.put({ ...live, data: { key: value } });
}

/** CPU time of `work` in milliseconds. */
async function cpuMs(work: () => unknown): Promise<number> {
  const before = cpuUsage();
  await work();
  const { user, system } = cpuUsage(before);
  return (user + system) / 1000;
}

/** CPU time from the drift of all Applications until the victim is repaired. */
async function repairCpuMs(): Promise<number> {
  round += 1;
  const isRepaired = (): boolean =>
    (at.world.dest.get('ConfigMap', 'victim')?.['data'] as { readonly key: string }).key === '1';
  const spent = await cpuMs(async () => {
    for (const name of noisy) drift(name, `drift-${round}`);
    drift('victim', `drift-${round}`);
    for (let i = 0; i < 200 && !isRepaired(); i += 1) await at.clock.advance(10);
    expect(isRepaired()).toBe(true);
  });
  await at.clock.advance(5000);
  return spent;
}

/** Gives each noisy Application `count` JSON pointers; returns the highest of 3 repair costs. */
async function costWithPointers(count: number): Promise<number> {
  for (const [i, name] of noisy.entries())
    at.world.edit(({ spec }) => {
      const ignoreDifferences = [{ kind: 'ConfigMap', jsonPointers: pointers(i, count) }];
      return { spec: { ...(spec as object), ignoreDifferences } as never };
    }, name);
  await at.clock.advance(5000);
  const costs: number[] = [];
  for (let i = 0; i < 3; i += 1) costs.push(await repairCpuMs());
  return Math.max(...costs);
}

it('eight Applications with 100,000 JSON pointers each cost the repair of another one no more than eight that use their budget of rules', async () => {
  at.world.project('noisy');
  add('victim', 99, {});
  for (const [i, name] of noisy.entries()) add(name, i, { project: 'noisy' });
  at.world.replica({ config: processors });
  await at.clock.advance(5000);
  const withinBudget = await costWithPointers(11_000);
  const beyondBudget = await costWithPointers(100_000);
  if (env['TEST_LOG'] !== undefined)
    stderr.write(`repair: ${beyondBudget} ms of CPU beyond the budget, ${withinBudget} ms within it\n`);
  expect(beyondBudget / withinBudget).toBeLessThan(maxCostRatio);
}, 120_000);
