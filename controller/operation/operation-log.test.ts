import { describe, expect, it } from '@jest/globals';
import type { OperationState, ResourceResult } from '#model';
import { createLogger } from '#telemetry';
import type { Logger } from '#telemetry';
import type { PassStart } from '../application/operation-state.ts';
import { configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';
import { finishedFields, logStart, logStep } from './operation-log.ts';

const revision = 'a'.repeat(40);
const at = tidyStage(({ git }) => git.push(revision, [configMap('one'), configMap('two')]));

type Line = Readonly<Record<string, string>>;

function recorder(): { readonly lines: Line[]; readonly logger: Logger; readonly messages: () => unknown[] } {
  const lines: Line[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Line) };
  const logger = createLogger({ level: 'info', format: 'json', destination });
  return { lines, logger, messages: () => lines.map(({ msg }) => msg) };
}

const running: OperationState = {
  operation: { sync: { revision: 'sha1', manifests: ['a manifest'] }, initiatedBy: { username: 'me' } },
  phase: 'Running',
  startedAt: '2026-01-01T12:00:00Z',
};

function result(over: Partial<ResourceResult>): ResourceResult {
  return { group: 'apps', version: 'v1', kind: 'Deployment', namespace: 'ns', name: 'web', syncPhase: 'Sync', ...over };
}

function withResults(...resources: readonly ResourceResult[]): OperationState {
  return { ...running, syncResult: { revision: 'sha1', source: { repoURL: 'r' }, resources } };
}

describe('the lines of an operation', () => {
  it.each<[PassStart, string]>([
    [{ do: 'begin', state: running, timedOut: false }, 'Initialized new operation'],
    [
      { do: 'continue', state: { ...running, message: 'Retrying operation. Attempt #2' }, timedOut: false },
      'Retrying operation. Attempt #2',
    ],
    [
      { do: 'continue', state: { ...running, phase: 'Terminating' }, timedOut: true },
      'Terminating in-progress operation due to timeout. Started at: 2026-01-01T12:00:00Z, timeout: 1m0s',
    ],
    [
      { do: 'resume', state: { ...running, message: 'waiting' } },
      'Resuming in-progress operation. phase: Running, message: waiting',
    ],
    [
      { do: 'wait', ms: 5000, reason: 'retry 1' },
      'Skipping retrying in-progress operation. Attempting again at: 2026-01-01T12:00:05Z',
    ],
  ])('%j begins with "%s"', (start, message) => {
    const { logger, messages } = recorder();
    logStart(logger, start, Date.UTC(2026, 0, 1, 12), 60_000);
    expect(messages()).toEqual([message]);
  });

  it('name who asked for which revisions, and no manifest', () => {
    const { logger, lines } = recorder();
    logStart(logger, { do: 'begin', state: running, timedOut: false }, 0, 0);
    const automated = { ...running, operation: { sync: { revisions: ['a', 'b'] }, initiatedBy: { automated: true } } };
    logStart(logger, { do: 'begin', state: automated, timedOut: false }, 0, 0);
    expect(lines).toMatchObject([
      { initiatedBy: 'me', revisions: ['sha1'] },
      { initiatedBy: 'automated', revisions: ['a', 'b'] },
    ]);
    expect(JSON.stringify(lines)).not.toContain('manifest');
  });

  it('tell what changed in each result and in the phase', () => {
    const { logger, lines } = recorder();
    const before = withResults(
      result({ status: 'Synced', hookPhase: 'Running', message: 'created' }),
      result({ name: 'same' }),
    );
    const after: OperationState = {
      ...withResults(
        result({ status: 'Synced', hookPhase: 'Succeeded', message: 'created' }),
        result({ name: 'same' }),
        result({ name: 'new', status: 'SyncFailed', hookPhase: 'Failed', message: 'boom' }),
        result({ name: 'web', syncPhase: 'PostSync', hookPhase: 'Running' }),
      ),
      phase: 'Failed',
      message: 'one failed',
    };
    logStep(logger, before, after);
    expect(lines.map(({ msg, name, phase }) => [msg, name, phase])).toEqual([
      [
        "Updating resource result, status: 'Synced' -> 'Synced', phase 'Running' -> 'Succeeded', message 'created' -> 'created'",
        'web',
        'Sync',
      ],
      ["Adding resource result, status: 'SyncFailed', phase: 'Failed', message: 'boom'", 'new', 'Sync'],
      ["Adding resource result, status: '', phase: 'Running', message: ''", 'web', 'PostSync'],
      ["Updating operation state. phase: Running -> Failed, message: '' -> 'one failed'", undefined, undefined],
    ]);
    lines.length = 0;
    logStep(logger, after, after);
    expect(lines).toEqual([]);
  });

  it('end with the state', () => {
    expect(finishedFields(undefined)).toEqual({});
    const startedAt = Date.UTC(2026, 0, 1, 12) / 1000;
    expect(finishedFields(running)).toEqual({ phase: 'Running', retryCount: 0, startedAt, revisions: [] });
    const ended = { ...withResults(), phase: 'Failed', retryCount: 2, finishedAt: '2026-01-01T12:00:09Z' } as const;
    expect(finishedFields(ended)).toMatchObject({ retryCount: 2, finishedAt: startedAt + 9, revisions: ['sha1'] });
  });

  it('report a sync and a deletion in the order of Argo CD, with the Application in each', async () => {
    const { logger, lines, messages } = recorder();
    at.world.application({}, { operation: { sync: { revision }, initiatedBy: { username: 'me' } } });
    await at.start({ logger });
    const expected = [
      'Initialized new operation',
      "updated 'argocd/demo' operation (phase: Running)",
      "Adding resource result, status: 'Synced', phase: 'Running', message: 'configmap/one created'",
      "Updating operation state. phase: Running -> Succeeded, message: '' -> 'successfully synced (all tasks run)'",
      "updated 'argocd/demo' operation (phase: Succeeded)",
      'Finished processing requested app operation',
    ];
    const own = (): unknown[] => messages().filter((message) => expected.includes(String(message)));
    expect([...new Set(own())]).toEqual(expected);
    const finished = lines.findLast(({ msg }) => msg === 'Finished processing requested app operation');
    expect(finished).toMatchObject({ phase: 'Succeeded', revisions: [revision], time_ms: expect.any(Number) });
    expect(finished).toMatchObject({ sync_app_state_ms: expect.any(Number), retryCount: 0 });
    const start = lines.length;
    at.setDeleting(['resources-finalizer.argocd.argoproj.io']);
    await at.pass(20);
    const deletion = [
      'Deleting resources',
      "Deleting application's resources with Foreground propagation policy",
      'Successfully deleted 2 resources',
    ];
    expect([...new Set(messages().slice(start))].filter((message) => deletion.includes(String(message)))).toEqual(
      deletion,
    );
    const about = lines.filter(({ msg = '' }) => [...expected, ...deletion].includes(msg));
    expect(new Set(about.map(({ application, project }) => `${application ?? ''} ${project ?? ''}`))).toEqual(
      new Set(['demo default']),
    );
  });
});
