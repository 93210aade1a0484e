import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ReadApi } from '#api';
import { PromMetrics } from '#telemetry';
import { verdictCauses } from '../../../api/testing/index.ts';
import { verdictExitCodes } from '../../../cli/testing/index.ts';
import { stage } from '../../../controller/testing/index.ts';
import { brokenApplications, prepare } from './broken-applications.ts';
import { explained, factsOf } from './explained.ts';

const at = stage();
const page = readFileSync(join(import.meta.dirname, '../../../docs/troubleshooting.md'), 'utf8');

/** The rows of the table "Verdicts", by cause. */
const rows = new Map(
  [...page.matchAll(/^\| `([a-z-]+)` \| (broken|waiting) \| ([^|]+) \| ([^|]+) \|$/gm)].map(
    ([, cause = '', verdict = '', meaning = '', next = '']) => [cause, { verdict, meaning, next }],
  ),
);

// T-OBS-1
describe('twenty broken Applications have one verdict everywhere, and a next step:', () => {
  it.each(brokenApplications)('$what', async ({ make, call, verdict, cause, reason, next }) => {
    let isOn = false;
    const metrics = new PromMetrics();
    prepare(at);
    const { controller } = at.world.replica({ dest: { before: (text) => (isOn ? call?.(text) : undefined) } });
    const facts = factsOf(controller, at.clock);
    new ReadApi({ clock: at.clock, peers: () => [], facts }).exposeVerdicts(metrics);
    await at.clock.advance(5000);
    expect(await explained(facts)).toMatchObject({ verdict: 'healthy', row: { verdict: { cause: 'fine' } } });
    isOn = true;
    make(at);
    await at.clock.advance(1_200_000);
    const seen = await explained(facts);
    expect({ cause: seen.page.application.verdict.cause, reason: seen.reason, next: seen.next }).toEqual({
      cause,
      reason: expect.stringContaining(reason),
      next: expect.stringContaining(next),
    });
    expect(seen.verdict).toBe(verdict);
    expect(verdictExitCodes[seen.verdict]).toBe(verdict === 'broken' ? 4 : 3);
    expect(seen.row?.verdict).toMatchObject({ verdict, cause });
    expect(seen.row?.attention).toContain(reason);
    const series = `driftless_application_verdicts{verdict="${verdict}",cause="${cause}"} 1`;
    expect(await metrics.expose()).toContain(series);
    expect(rows.get(cause)?.verdict).toBe(verdict);
  });

  it('are twenty, and the docs describe every cause', () => {
    expect(brokenApplications.length).toBe(20);
    const causes = Object.entries(verdictCauses).filter(([, verdict]) => verdict !== 'healthy');
    expect([...rows].map(([cause, { verdict }]) => [cause, verdict])).toEqual(causes);
  });
});
