import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { createLogger, PromMetrics } from '#telemetry';
import { configMap, FakeWorld, server } from '../testing/fake-world.ts';

/** Runs a controller in a world of its own while `use` inspects it. */
async function running(
  spec: object,
  options: Parameters<FakeWorld['replica']>[0],
  use: (world: FakeWorld) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  const world = new FakeWorld(clock);
  world.git.push('a'.repeat(40), [configMap('one')]);
  world.application({ syncPolicy: { automated: {} }, ...spec });
  const replica = world.replica(options);
  await clock.advance(5000);
  try {
    await use(world);
  } finally {
    const ended = replica.stop();
    await clock.advance(2000);
    await ended;
  }
}

function samples(text: string, name: string): string[] {
  return text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name}_count{`));
}

describe('metrics of Applications', () => {
  it.each([
    ['a name', { name: 'dest', namespace: 'apps' }, server],
    ['a server', { server, namespace: 'apps' }, server],
    ['nothing that could be resolved', { name: 'nowhere', namespace: 'apps' }, ''],
  ])('dest_server is the resolved server where the destination is %s', async (_what, destination, expected) => {
    const metrics = new PromMetrics();
    await running({ destination }, { metrics }, async () => {
      const text = await metrics.expose();
      const families = ['argocd_app_info', 'argocd_app_reconcile'];
      if (expected !== '') families.push('argocd_app_sync_total', 'argocd_app_sync_duration_seconds_total');
      for (const family of families) {
        const found = samples(text, family);
        expect(found).not.toEqual([]);
        for (const line of found) expect(line).toContain(`dest_server="${expected}"`);
      }
    });
  });

  it('logs a pattern of application.namespaces that matches nothing', async () => {
    const lines: string[] = [];
    const logger = createLogger({
      level: 'warn',
      format: 'json',
      destination: { write: (line: string) => void lines.push(line) },
    });
    const applicationNamespaces = ['/^(a+)+(b+)+(c+)+$/', '/(?!x)y/', 'team-*'];
    await running({}, { logger, config: { applicationNamespaces } }, () => Promise.resolve());
    const said = lines.filter((line) => line.includes('application.namespaces'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('/(?!x)y/');
  });
});
