import type { Application, ApplicationOperation, ApplicationResponse } from '../application-types.ts';
import { verdictOf } from '../verdict/verdict.ts';
import type { VerdictTerms } from '../verdict/verdict.ts';

export const noon = '2026-11-25T12:00:00.000Z';

/** A time so many seconds before noon; negative: after it. */
export function before(seconds: number): string {
  return new Date(Date.parse(noon) - seconds * 1000).toISOString();
}

/** An automated sync that has run for 40 seconds. */
export const runningSync: ApplicationOperation = {
  type: 'sync',
  phase: 'Running',
  message: '',
  startedAt: before(40),
  initiatedBy: 'automated sync',
  revisions: ['a'.repeat(40)],
  retries: 0,
  resources: [],
};

const calm: Omit<Application, 'verdict'> = {
  namespace: 'argocd',
  name: 'guestbook',
  project: 'default',
  owner: 'driftless-1',
  shard: 1,
  server: 'https://dest',
  clusterName: 'prod',
  destinationNamespace: 'web',
  repositories: ['https://git.example.com/a.git'],
  revisions: ['a'.repeat(40)],
  labels: {},
  images: [],
  sync: 'Synced',
  health: 'Healthy',
  operation: 'Succeeded',
  isAutomated: true,
  isDeleting: false,
  comparedAt: before(3),
  ownership: {
    replica: 'driftless-1',
    shard: 1,
    since: before(1200),
    reason: 'the number of replicas changed from 2 to 3',
    part: 0,
    parts: 1,
    epoch: 7,
  },
  lastPass: {
    at: before(3),
    durationMs: 12,
    queuedMs: 2,
    priority: 'live',
    level: 1,
    isHard: false,
    cause: {
      type: 'object',
      message: 'a live object changed',
      objects: [{ group: 'apps', kind: 'Deployment', namespace: 'web', name: 'web' }],
      objectsTotal: 1,
    },
    stages: { sources: 3, comparison: 5 },
    result: 'completed',
  },
  resources: { synced: 3, outOfSync: 0, unknown: 0 },
  differences: [],
  differencesTotal: 0,
  ignored: [],
  healthDetails: { status: 'Healthy', message: '' },
  sources: [],
  links: [],
  automatedSync: { decision: 'skip', reason: 'it is Synced', checks: [] },
  conditions: [],
  degraded: [],
  recent: [],
  cost: { name: 'argocd/guestbook', cpuMs: 1, passes: 1, renders: 0, apiRequests: 0, watchEvents: 1, bytes: 0 },
};

/** The answer for a calm Application at noon, with these changes. */
export function answerWith(changes: Partial<Application> = {}, terms: Partial<VerdictTerms> = {}): ApplicationResponse {
  const application = { ...calm, ...changes };
  const verdict = verdictOf(application, {
    now: Date.parse(noon),
    resyncMs: 180_000,
    controllerNamespace: 'argocd',
    hasArgoServer: false,
    ...terms,
  });
  return {
    apiVersion: 'driftless.io/v1',
    kind: 'Application',
    time: noon,
    replica: 'driftless-1',
    incomplete: [],
    application: { ...application, verdict },
  };
}
