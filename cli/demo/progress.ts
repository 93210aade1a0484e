import type { Application, KubeObject } from '#model';
import { asApplication } from '#model';
import { isSettled, reasonOf } from '../process/application-state.ts';
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

const maxUnsettled = 8;
/** Longer messages, such as those of programs, are in the log and in `driftless explain`. */
const maxReasonLength = 300;

/** The Applications that are not settled after the timeout, in at most ten lines. */
export function unsettledLines(apps: readonly Application[], timeoutMs: number): readonly string[] {
  const unsettled = apps.filter((app) => !isSettled(app));
  const rest = unsettled.length - maxUnsettled;
  return [
    `${unsettled.length} of ${apps.length} Applications are not Synced and Healthy after ${timeoutMs / 1000} s:`,
    ...unsettled.slice(0, maxUnsettled).map((app) => `  ${shortReason(reasonOf(app))}`),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ];
}

function shortReason(reason: string): string {
  const line = reason.replaceAll(/\s+/g, ' ');
  return line.length <= maxReasonLength ? line : `${line.slice(0, maxReasonLength - 1)}…`;
}
