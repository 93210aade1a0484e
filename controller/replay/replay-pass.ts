import { DriftlessError, isObject, messageOf, seededRandom } from '#base';
import type { Json, JsonObject } from '#base';
import type { TreeRoot } from '#compare';
import { KubeApiError } from '#kube';
import type { ClusterClients } from '#kube';
import { keyOf } from '#model';
import type { Application, KubeObject, OperationState, ResourceKey } from '#model';
import { changedWriter } from '#sync';
import type { ApplyResult, ClusterWriter } from '#sync';
import { PromMetrics, silentLogger } from '#telemetry';
import type { DueRefresh, FreshnessFacts, RefreshRequest } from '../application/freshness.ts';
import { refreshDue } from '../application/freshness.ts';
import { redactedState, startPass } from '../application/operation-state.ts';
import { refreshAnnotation } from '../application/refresh-annotation.ts';
import type { ContestEntry } from '../comparison/contest.ts';
import { AppMemories } from '../comparison/memory.ts';
import type { MemoryChange } from '../comparison/memory.ts';
import { decideRefresh } from '../decide/decide-refresh.ts';
import { endStep, failedStep } from '../decide/operation-step.ts';
import { Syncer } from '../operation/syncer.ts';
import type { SyncDeps } from '../operation/syncer.ts';
import type { CapturedCall, CapturedError } from '../recorder/capture.ts';
import { capturedError } from '../recorder/pass-log.ts';
import { capturingWriter } from '../recorder/step-capture.ts';
import { refreshDecisions, stepDecisions } from '../recorder/decisions.ts';
import { RecordingMask } from '../recorder/mask.ts';
import { captureRefresh } from '../refresh/pass.ts';
import type { RefreshPass } from '../refresh/pass.ts';
import { PassReader } from '../refresh/read-pass.ts';
import { SourceOutages } from '../refresh/source-outage.ts';
import { PassTimes } from '../report/pass-times.ts';
import { kubeTime } from '../shared/kube-time.ts';
import { KubectlMetrics } from '../write/kubectl-metrics.ts';
import { WriteSlots } from '../write/write-slots.ts';
import { decisionDifferences } from './differences.ts';
import type { DecisionDifference } from './differences.ts';
import { entriesOf, listOf, objectOf, readRecording, RecordingError, textOf } from './read-recording.ts';
import type { ReadHeader, ReadPass, RecordedValues } from './read-recording.ts';
import { RecordedWorld, waveFrom } from './recorded-pass.ts';
import type { ReplayTools } from './recorded-pass.ts';

/** A pass, decided again. */
export interface ReplayedPass {
  readonly type: ReadPass['type'];
  readonly now: number;
  readonly line: number;
  readonly recorded: JsonObject;
  readonly replayed: JsonObject;
  readonly differences: readonly DecisionDifference[];
  readonly inexact: readonly string[];
}

export type ReplayItem =
  | { readonly kind: 'header'; readonly header: ReadHeader }
  | { readonly kind: 'gap'; readonly message: string }
  | { readonly kind: 'pass'; readonly pass: ReplayedPass };

/**
 * Decides each pass of a recording again, with the rules of this version.
 * @throws RecordingError with the line that cannot be read or replayed
 */
export async function* replayRecording(
  lines: AsyncIterable<string>,
  tools: ReplayTools,
  signal: AbortSignal,
): AsyncGenerator<ReplayItem, void> {
  for await (const item of readRecording(lines)) {
    signal.throwIfAborted();
    yield item.kind === 'pass' ? { kind: 'pass', pass: await replayPass(item.pass, tools, signal) } : item;
  }
}

/**
 * Decides a recorded pass again, with the rules of this version.
 * @throws RecordingError if the recording cannot be understood
 */
async function replayPass(pass: ReadPass, tools: ReplayTools, signal: AbortSignal): Promise<ReplayedPass> {
  let decided: JsonObject;
  try {
    const world = new RecordedWorld(pass, tools);
    decided =
      pass.type === 'refresh' ? await replayRefresh(pass, world, signal) : await replayStep(pass, world, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RecordingError) throw new RecordingError(`line ${pass.line}: ${error.message}`);
    // A recording may be written by hand: whatever its values break is its own fault.
    throw new RecordingError(`line ${pass.line}: it cannot be replayed: ${messageOf(error)}`);
  }
  // As the texts of a recording: nothing is masked twice.
  const replayed = new RecordingMask('').plain(decided) as JsonObject;
  const differences = decisionDifferences(pass.decisions, replayed);
  const { type, now, line, decisions, inexact } = pass;
  return { type, now, line, recorded: decisions, replayed, differences, inexact };
}

/** A step of a comparison that nobody measures. */
const unmeasured = { stage: <T>(_stage: string, work: () => Promise<T>): Promise<T> => work() };

async function replayRefresh(
  { inputs, values, header, now, startedAt }: ReadPass,
  world: RecordedWorld,
  signal: AbortSignal,
): Promise<JsonObject> {
  const before = values.application(inputs['before']);
  const refresh = refreshFrom(inputs);
  const policies = world.policies();
  const tree = world.tree();
  const { key, clock } = world;
  const memories = new AppMemories();
  memories.note(key, refreshMemory(objectOf(inputs, 'memory')));
  const reader = new PassReader(
    {
      validate: (app) => policies.validate(app),
      policyFacts: (app) => policies.facts(app),
      comparer: world,
      trees: { read: () => Promise.resolve(tree ?? { managed: [], orphaned: [], machines: [] }) },
      claims: world.claims(),
      peek: () => (tree === undefined ? undefined : world.cluster()),
      lookup: () => undefined,
      outage: new SourceOutages({ clock, memories }, { ...header.config, jitterMs: 0 }),
      work: unmeasured,
      clock,
      random: seededRandom(1),
    },
    header.config,
  );
  const memory = memories.of(key);
  const begun = { key, before, refresh, memory, now, startedAt };
  const pass: RefreshPass = {
    ...begun,
    note: (change) => memories.note(key, change),
    asked: inputs['isAsked'] === true ? (refreshAnnotation(before) ?? someAnnotation) : undefined,
    time: kubeTime(now),
    times: new PassTimes(clock),
    logger: silentLogger,
    stages: {},
    capture: captureRefresh(begun),
  };
  const due = replayDue(inputs, values);
  try {
    const facts = await reader.read(pass, undefined, signal);
    const decided = facts === undefined ? undefined : decideRefresh(facts);
    return refreshDecisions({ due, decided, error: undefined });
  } catch (error) {
    return refreshDecisions({ due, decided: undefined, error: replayedError(error) });
  }
}

const someAnnotation = { type: 'normal', value: 'normal', timestamp: undefined, marked: false } as const;

/** @throws RecordingError as it is: it is no decision */
function replayedError(error: unknown): CapturedError {
  const found = error instanceof RecordingError ? undefined : capturedError(error);
  if (found === undefined || found.code === 'INTERNAL') throw error;
  return found;
}

function replayDue(inputs: JsonObject, values: ReadPass['values']): DueRefresh | undefined {
  const { due } = inputs;
  if (!isObject(due)) return undefined;
  const facts: unknown = { comparedAt: undefined, ...objectOf(due, 'facts') };
  const request = isObject(due['request']) ? (withResources(due['request']) as RefreshRequest) : undefined;
  return refreshDue(values.application(due['app']), request, facts as FreshnessFacts);
}

function refreshFrom(inputs: JsonObject): DueRefresh {
  return withResources(objectOf(inputs, 'refresh')) as DueRefresh;
}

function withResources(recorded: JsonObject): unknown {
  if (recorded['resources'] === undefined) return recorded;
  return { ...recorded, resources: new Set(listOf(recorded, 'resources').map(String)) };
}

function refreshMemory(recorded: JsonObject): MemoryChange {
  const { driftSeenAt, sourceFailedAt } = recorded;
  const contests = new Map(entriesOf(recorded, 'contests') as readonly (readonly [string, unknown])[]);
  const roots: unknown = recorded['roots'] === undefined ? undefined : listOf(recorded, 'roots');
  return {
    driftSeenAt: typeof driftSeenAt === 'number' ? driftSeenAt : undefined,
    sourceFailedAt: typeof sourceFailedAt === 'number' ? sourceFailedAt : undefined,
    contests: contests.size === 0 ? undefined : (contests as Map<ResourceKey, ContestEntry>),
    roots: roots as readonly TreeRoot[] | undefined,
  };
}

async function replayStep(pass: ReadPass, world: RecordedWorld, signal: AbortSignal): Promise<JsonObject> {
  const { inputs, values, header, now } = pass;
  const app = values.application(inputs['app']);
  const start = startPass(app, now, header.config.syncTimeoutMs);
  const nothing = { calls: [], next: undefined, history: undefined, error: undefined };
  if (start.do === 'wait' || start.do === 'end') return stepDecisions({ start, ...nothing });
  if (inputs['begun'] === undefined) return stepDecisions({ start, ...nothing });
  const begun = values.application(inputs['begun']);
  const calls: CapturedCall[] = [];
  const outcome = await stepOutcome(pass, world, { begun, state: start.state, calls }, signal);
  if ('error' in outcome) return stepDecisions({ start, ...nothing, calls, error: outcome.error });
  const endedAt = typeof inputs['endedAt'] === 'number' ? inputs['endedAt'] : now;
  const { state: next, history } = endStep(start, begun, outcome.state, endedAt);
  return stepDecisions({ start, calls, next, history, error: undefined });
}

interface ReplayedStep {
  readonly begun: Application;
  readonly state: OperationState;
  readonly calls: CapturedCall[];
}

/** As `OperationProcessor` runs a step: errors of the Application become its state. */
async function stepOutcome(
  pass: ReadPass,
  world: RecordedWorld,
  { begun, state, calls }: ReplayedStep,
  signal: AbortSignal,
): Promise<{ readonly state: OperationState } | { readonly error: CapturedError }> {
  const syncer = new Syncer(syncDeps(pass, world), { waveDelayMs: pass.header.config.syncWaveDelayMs });
  const tap = {
    comparison: {},
    claimed: () => undefined,
    writer: (writer: ClusterWriter) => capturingWriter(recordedWriter(writer, pass.inputs, pass.values), calls),
  };
  try {
    const after = await syncer.step(world.policies().ofOperation(begun), state, { signal, place: undefined, tap });
    return { state: redactedState(after) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RecordingError) throw error;
    const found = capturedError(error);
    const recorded: Json | undefined = pass.decisions['error'];
    if (found?.code === 'CLUSTER_NOT_READY' && isObject(recorded)) return { error: found };
    return { state: failedStep(state, error) };
  }
}

function syncDeps({ inputs }: ReadPass, world: RecordedWorld): SyncDeps {
  const { clock } = world;
  const memories = new AppMemories();
  memories.note(world.key, { wave: waveFrom(inputs) });
  // Every call goes to the recorded writer: a client that is asked is a fault.
  const client = { server: world.cluster().server, impersonate: () => client };
  const clients: unknown = { of: () => client };
  const deps = {
    comparer: world,
    clients: clients as ClusterClients,
    peek: () => world.cluster(),
    toCluster: () => Promise.reject(new RecordingError('a replay sends nothing')),
    claims: world.claims(),
    slots: new WriteSlots(clock, 0),
    jq: { answer: () => Promise.resolve() },
    memories,
    work: unmeasured,
    metrics: { requested: () => undefined },
    kubectl: new KubectlMetrics(new PromMetrics(), ''),
    clock,
    logger: silentLogger,
  };
  return deps;
}

interface RecordedCall {
  readonly method: string;
  readonly key: string;
  readonly answer: JsonObject;
  isUsed: boolean;
}

/** Answers the calls of a step from the recording; a call that it does not have fails. */
function recordedWriter(writer: ClusterWriter, inputs: JsonObject, values: RecordedValues): ClusterWriter {
  const calls = listOf(inputs, 'calls').map((call): RecordedCall => {
    if (!isObject(call) || !isObject(call['answer'])) throw new RecordingError('a call has no answer');
    return { method: textOf(call, 'method'), key: textOf(call, 'key'), answer: call['answer'], isUsed: false };
  });
  const answerTo = (method: CapturedCall['method'], object: KubeObject): JsonObject => {
    const key = keyOf(object);
    const call = calls.find((one) => !one.isUsed && one.method === method && one.key === key);
    if (call === undefined) throw new DriftlessError('NOT_RECORDED', `the recording has no ${method} of ${key}`);
    call.isUsed = true;
    const { error } = call.answer;
    if (isObject(error)) throw errorFrom(error);
    return call.answer;
  };
  const objectIn = (answer: JsonObject): KubeObject => values.object(answer['object']);
  const written = (answer: JsonObject): ApplyResult => ({
    object: objectIn(answer),
    message: textOf(answer, 'message'),
  });
  const answering =
    <T>(method: CapturedCall['method'], read: (answer: JsonObject) => T) =>
    (object: KubeObject): Promise<T> =>
      Promise.resolve().then(() => read(answerTo(method, object)));
  return changedWriter(writer, {
    get: answering('get', (answer) => (answer['object'] === null ? null : objectIn(answer))),
    apply: answering('apply', written),
    create: answering('create', written),
    delete: answering('delete', (answer) => (answer['deletion'] === 'changed' ? 'changed' : 'accepted')),
    patchMetadata: answering('patchMetadata', objectIn),
  });
}

function errorFrom(error: JsonObject): Error {
  const [code, message] = [textOf(error, 'code'), textOf(error, 'message')];
  const { status, reason } = error;
  if (typeof status !== 'number') return new DriftlessError(code, message);
  return new KubeApiError({ code: status, reason: typeof reason === 'string' ? reason : '', message }, 'recorded');
}
