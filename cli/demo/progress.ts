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
