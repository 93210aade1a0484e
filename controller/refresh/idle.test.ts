import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#telemetry';
import { automated, configMap } from '../testing/fake-world.ts';
import { stage } from '../testing/stage.ts';

const sha = 'a'.repeat(40);

const at = stage(({ git }) =>
  git.push(sha, [configMap('one'), configMap('two'), configMap('three'), configMap('four')]),
);

describe('an idle Application', () => {
  it('is not written, even after hours without a change: reconciledAt may be old', async () => {
    at.world.application(automated);
    at.world.replica();
    await at.clock.advance(5000);
    const before = at.world.writes().length;
    const comparedAt = at.world.app.status?.reconciledAt;
    await at.clock.advance(3_600_000);
    expect(at.world.writes()).toHaveLength(before);
    expect(at.world.app.status?.reconciledAt).toBe(comparedAt);
  });

  it('a replica does not take a status that it wrote itself for that of a former owner', async () => {
    const reasons: unknown[] = [];
    const destination = {
      write: (line: string) => void reasons.push((JSON.parse(line) as { readonly reason?: unknown }).reason),
    };
    at.world.owner = 1;
    at.world.application(automated);
    at.world.replica({ index: 1 });
    at.world.replica({ index: 0, logger: createLogger({ level: 'info', format: 'json', destination }) });
    await at.clock.advance(5000);
    at.world.handOver(0);
    await at.clock.advance(5000);
    at.world.git.push('b'.repeat(40), [configMap('one', '2')]);
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await at.clock.advance(30_000);
    expect(at.world.app.status?.sync).toMatchObject({ status: 'Synced', revision: 'b'.repeat(40) });
    expect(reasons).toContain('this replica became the owner');
    expect(reasons).not.toContain('the former owner wrote its status late');
  });
});
