import type { Application } from '#model';

/** Synced, Healthy and without pending work. */
export function isSettled(app: Application): boolean {
  const status = app.status;
  return status?.sync?.status === 'Synced' && status.health?.status === 'Healthy' && app.operation === undefined;
}

/** Why an Application is not settled, in one line. */
export function reasonOf(app: Application): string {
  const status = app.status;
  const parts = [
    `sync ${status?.sync?.status ?? 'not compared yet'}`,
    `health ${status?.health?.status ?? 'unknown'}`,
    ...(status?.operationState === undefined
      ? []
      : [`operation ${status.operationState.phase}: ${status.operationState.message ?? ''}`]),
    ...(status?.conditions ?? []).map((condition) => `${condition.type}: ${condition.message}`),
  ];
  return `${app.metadata.name ?? ''}: ${parts.join('; ')}`;
}
