import type { Application } from '#model';
import type { Tracer } from '#telemetry';
import type { StatusWrite } from '../application/application-writes.ts';
import type { DueRefresh } from '../application/freshness.ts';
import { tracePass } from '../shared/pass-spans.ts';

/** Traces a refresh: why it runs, how deep, and what it found. */
export function traceRefresh(
  tracer: Tracer | undefined,
  app: Application,
  { level, reason }: DueRefresh,
  work: () => Promise<StatusWrite>,
): Promise<StatusWrite> {
  const more = (): Readonly<Record<string, string | number>> => ({
    'argocd.app.comparison_level': level,
    'argocd.app.refresh_reason': reason,
  });
  return tracePass(tracer, { name: 'controller.Refresh', app, more }, async (span) => {
    const written = await work();
    const { status } = written.app;
    span.set({
      'argocd.app.sync_status': status?.sync?.status ?? '',
      'argocd.app.health': status?.health?.status ?? '',
    });
    return written;
  });
}
