import { describe, expect, it } from '@jest/globals';
import { KubeApiError } from '#kube';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { createLogger, PromMetrics } from '#telemetry';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';
import { eventLabels, EventRecorder, isEventEnabled } from './events.ts';
import type { AppEvent } from './events.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one')]));

type LogLine = Readonly<Record<string, unknown>>;

/** A logger whose lines the test reads. */
function recordedLog(): { readonly lines: LogLine[]; readonly logger: ReturnType<typeof createLogger> } {
  const lines: LogLine[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) };
  return { lines, logger: createLogger({ level: 'info', format: 'json', destination }) };
}

const writtenEvents = (): readonly KubeObject[] =>
  [...at.world.hub.objects.values()].filter(({ kind }) => kind === 'Event');
const reasonsOf = (events: readonly KubeObject[]): readonly unknown[] => [
  ...new Set(events.map((event) => event['reason'])),
];

describe('the filter of --enable-k8s-event', () => {
  it.each<[readonly string[], boolean, boolean]>([
    [['all'], true, true],
    [['none'], false, false],
    [[], false, false],
    [['OperationStarted'], true, false],
    [['StatusRefreshed', 'OperationStarted'], true, false],
    // The first all or none decides, whatever else is listed before or after it.
    [['OperationStarted', 'none'], false, false],
    [['OperationStarted', 'all'], true, true],
    [['none', 'all'], false, false],
    [['all', 'none'], true, true],
    // Names are compared letter by letter.
    [['ALL'], false, false],
    [['None', 'OperationStarted'], true, false],
    [['operationstarted'], false, false],
    [['Operation*'], false, false],
  ])('%j: OperationStarted %s, ResourceUpdated %s', (list, started, updated) => {
    expect([isEventEnabled(list, 'OperationStarted'), isEventEnabled(list, 'ResourceUpdated')]).toEqual([
      started,
      updated,
    ]);
  });
});

describe('labels of Events', () => {
  const app = { team: 'a', 'example.com/tier': 'web', secret: 'x' };
  const project = { team: 'p', cost: '7' };
  it.each<[string, readonly string[], readonly string[], Record<string, string>]>([
    ['nothing is included by default', [], [], {}],
    ['an exact key', ['cost'], [], { cost: '7' }],
    ["the Application's value wins over the project's", ['team'], [], { team: 'a' }],
    ['a glob crosses slashes', ['example*'], [], { 'example.com/tier': 'web' }],
    ['everything but what is excluded', ['*'], ['sec*', 'cost'], { team: 'a', 'example.com/tier': 'web' }],
    ['exclude wins over an exact include', ['team'], ['*'], {}],
    ['exclude alone includes nothing', [], ['team'], {}],
  ])('%s', (_title, include, exclude, labels) => {
    expect(eventLabels(app, project, { include, exclude })).toEqual(labels);
  });

  it('works without any labels', () => {
    expect(eventLabels(undefined, undefined, { include: ['*'], exclude: [] })).toEqual({});
  });
});

describe('Events of a controller', () => {
  it('writes each Event, and logs it with its type and reason and the fields of Argo CD', async () => {
    const { lines, logger } = recordedLog();
    at.world.application(automated);
    await at.start({ logger });
    const events = writtenEvents();
    expect([...reasonsOf(events)].sort()).toEqual(['OperationCompleted', 'OperationStarted', 'ResourceUpdated']);
    const logged = lines.filter((line) => line['type'] !== undefined);
    expect(logged.map(({ type, reason, msg }) => [type, reason, msg])).toEqual(
      events.map((event) => [event['type'], event['reason'], event['message']]),
    );
    for (const line of logged)
      expect(line).toMatchObject({
        level: 'info',
        application: 'demo',
        'app-namespace': 'argocd',
        project: 'default',
        'dest-server': 'https://dest',
        'dest-namespace': 'apps',
      });
  });

  it('none: writes and logs no Event through refreshes, syncs and failures', async () => {
    const { lines, logger } = recordedLog();
    at.world.application(automated);
    await at.start({ logger, config: { enabledEvents: ['none'] } });
    at.world.dest.delete('ConfigMap', 'one');
    await at.clock.advance(300_000);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(at.world.hub.calls.filter((call) => call.includes('Event'))).toEqual([]);
    expect(lines.filter((line) => line['type'] !== undefined)).toEqual([]);
  });

  it('a list of reasons: only those are written and logged', async () => {
    const { lines, logger } = recordedLog();
    at.world.application(automated);
    await at.start({ logger, config: { enabledEvents: ['OperationCompleted'] } });
    expect(reasonsOf(writtenEvents())).toEqual(['OperationCompleted']);
    expect(lines.filter((line) => line['type'] !== undefined).map((line) => line['reason'])).toEqual([
      'OperationCompleted',
    ]);
  });

  it('copies the labels of Application and project that argocd-cm includes', async () => {
    const labels = { team: 'a', internal: 'yes' };
    at.world.settings = { ...defaultSettings, eventLabelKeys: { include: ['*'], exclude: ['internal'] } };
    at.world.application(automated, { metadata: { labels } });
    const project = at.world.hub.get('AppProject', 'default');
    if (project === undefined) throw new Error('the world has no project');
    at.world.hub.put({ ...project, metadata: { ...project.metadata, labels: { team: 'p', cost: '7' } } });
    await at.start();
    const events = writtenEvents();
    expect(events.length).toBeGreaterThan(2);
    for (const event of events) expect(event.metadata.labels).toEqual({ team: 'a', cost: '7' });
  });

  it('writes Events without labels of a project that the Application may not use', async () => {
    at.world.settings = { ...defaultSettings, eventLabelKeys: { include: ['*'], exclude: [] } };
    at.world.application({ project: 'gone' }, { metadata: { labels: { team: 'a' } } });
    await at.start();
    const events = writtenEvents();
    expect(events.length).toBeGreaterThan(0);
    for (const event of events) expect(event.metadata.labels).toEqual({ team: 'a' });
  });

  it('logs refused Events as an error once until one is accepted, and counts all', async () => {
    const { lines, logger } = recordedLog();
    const metrics = new PromMetrics();
    let isRefused = true;
    const before = (call: string): void => {
      if (isRefused && call.startsWith('create Event'))
        throw new KubeApiError({ code: 403, reason: 'Forbidden', message: 'events is forbidden' }, 'fake');
    };
    const errors = (): readonly LogLine[] => lines.filter((line) => line['level'] === 'error');
    at.world.application(automated);
    await at.start({ logger, metrics, hub: { before } });
    expect(errors()).toHaveLength(1);
    expect(errors()[0]).toMatchObject({
      msg: expect.stringMatching(/^Unable to create audit event: .*events is forbidden/),
      reason: 'ResourceUpdated',
      type: 'Normal',
      application: 'demo',
    });
    const failures = lines.filter((line) => line['type'] !== undefined && line['level'] === 'info').length;
    expect(failures).toBeGreaterThan(2);
    expect(await metrics.expose()).toContain(`driftless_event_write_failures_total ${failures}\n`);
    const drift = async (): Promise<void> => {
      at.world.dest.delete('ConfigMap', 'one');
      await at.pass(400);
    };
    await drift();
    expect(errors()).toHaveLength(1);
    isRefused = false;
    await drift();
    isRefused = true;
    await drift();
    expect(errors()).toHaveLength(2);
  });
});

describe('Events that wait', () => {
  const app = {
    apiVersion: 'v1',
    kind: 'Application',
    metadata: { name: 'a', namespace: 'n' },
    spec: { destination: {} },
  };
  const eventOf = (message: string): AppEvent => ({ type: 'Normal', reason: 'ResourceUpdated', message });
  const life = new AbortController().signal;

  /** A recorder whose API server answers when the test says so. */
  function waitingRecorder(): {
    readonly recorder: EventRecorder;
    readonly sent: readonly unknown[];
    readonly answer: () => Promise<void>;
    readonly metrics: PromMetrics;
    readonly lines: readonly LogLine[];
    readonly clock: FakeClock;
  } {
    const sent: unknown[] = [];
    const open: (() => void)[] = [];
    const hub = {
      create: (_resource: unknown, object: KubeObject) => {
        sent.push(object['message']);
        return new Promise<KubeObject>((resolve) => open.push(() => resolve(object)));
      },
    };
    const answer = async (): Promise<void> => {
      for (const one of open.splice(0)) one();
      await new Promise((resolve) => void setImmediate(resolve));
    };
    const { lines, logger } = recordedLog();
    const [metrics, clock] = [new PromMetrics(), new FakeClock()];
    const settings = (): typeof defaultSettings => defaultSettings;
    const deps = { hub, clock, logger, metrics, settings, projectLabels: () => undefined };
    return { recorder: new EventRecorder(deps, ['all']), sent, answer, metrics, lines, clock };
  }

  it('are sent 32 at a time, in order', async () => {
    const { recorder, sent, answer } = waitingRecorder();
    const messages = Array.from({ length: 80 }, (_, i) => `message ${i}`);
    for (const message of messages) recorder.record(app, eventOf(message), life);
    expect(sent).toEqual(messages.slice(0, 32));
    await answer();
    expect(sent).toEqual(messages.slice(0, 64));
    await answer();
    await answer();
    expect(sent).toEqual(messages);
  });

  it('are dropped beyond 30,000, which is counted, and logged once until all are written', async () => {
    const { recorder, sent, answer, metrics, lines } = waitingRecorder();
    const errors = (): readonly unknown[] => lines.filter(({ level }) => level === 'error').map(({ msg }) => msg);
    for (let i = 0; i < 30_034; i += 1) recorder.record(app, eventOf('x'), life);
    expect(await metrics.expose()).toContain('driftless_event_write_failures_total 2\n');
    expect(errors()).toEqual([
      'Unable to create audit event: 30000 Events wait for the API server. Some are dropped until all are written',
    ]);
    while (sent.length < 30_032) await answer();
    await answer();
    for (let i = 0; i < 30_033; i += 1) recorder.record(app, eventOf('x'), life);
    expect(errors()).toHaveLength(2);
  });

  it('are dropped after ten minutes, and when the controller stops', async () => {
    const { recorder, sent, answer, metrics, clock } = waitingRecorder();
    const stop = new AbortController();
    for (let i = 0; i < 33; i += 1) recorder.record(app, eventOf('old'), life);
    await clock.advance(600_001);
    recorder.record(app, eventOf('new'), life);
    recorder.record(app, eventOf('never'), stop.signal);
    stop.abort();
    await answer();
    expect(sent).toEqual([...Array.from({ length: 32 }, () => 'old'), 'new']);
    expect(await metrics.expose()).toContain('driftless_event_write_failures_total 1\n');
  });
});
