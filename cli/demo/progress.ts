import type { Application, KubeObject } from '#model';
import { asApplication } from '#model';
import { controllerNamespace } from './objects.ts';

export interface ApplicationCounts {
  readonly applications: number;
  readonly synced: number;
  readonly healthy: number;
}

interface ObjectStore {
  list(group: string, kind: string, namespace?: string): readonly KubeObject[];
}

export function demoApplications(hub: ObjectStore): Application[] {
  return hub.list('argoproj.io', 'Application', controllerNamespace).map(asApplication);
}

export function count(apps: readonly Application[]): ApplicationCounts {
  return {
    applications: apps.length,
    synced: apps.filter((app) => app.status?.sync?.status === 'Synced').length,
    healthy: apps.filter((app) => app.status?.health?.status === 'Healthy').length,
  };
}

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
