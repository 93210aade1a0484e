import { loadavg } from 'node:os';
import { systemClock } from '#base';
import { quantile } from '../fleet/measure.ts';
import type { ControllerProcess } from './controllers.ts';
import type { SideFigures } from './figures.ts';
import type { BesideHub } from './hub.ts';

/** How long the steps of the script may take and wait. */
export interface ScriptLimits {
  /** Limit of a step over all Applications, such as the first sync. */
  readonly allMs: number;
  /** Limit of one drift, of the push, and of one Application's return to Synced. */
  readonly oneMs: number;
  /** How long the controller is left alone, and then measured at rest. */
  readonly restMs: number;
}

export interface ScriptParts {
  readonly hub: BesideHub;
  readonly controller: ControllerProcess;
  readonly limits: ScriptLimits;
  /** Prints a line of progress. */
  readonly print: (line: string) => void;
}

const progressMs = 10_000;
/** Follow-up writes of a refresh, such as the removal of a mark, are over by then. */
const followUpMs = 2000;
const mostDrifts = 50;
const mostPushed = 20;

/** Application names of each step: no step meets an Application that an earlier one has changed. */
export function divideNames(names: readonly string[]): {
  readonly drifted: readonly string[];
  readonly pushed: readonly string[];
  readonly last: string;
} {
  const drifts = Math.min(mostDrifts, Math.floor(names.length * 0.6));
  const pushes = Math.min(mostPushed, Math.max(1, Math.floor(names.length * 0.2)));
  const last = names[names.length - 1];
  if (last === undefined || drifts < 1 || drifts + pushes >= names.length)
    throw new Error(`${names.length} Applications are not enough for the script: choose a --size of at least 5`);
  return { drifted: names.slice(0, drifts), pushed: names.slice(drifts, drifts + pushes), last };
}

/** First sync, rest, refresh of all, drifts, push, restart. */
export async function playScript(parts: ScriptParts): Promise<SideFigures> {
  const { hub, limits, print } = parts;
  const { drifted, pushed, last } = divideNames(hub.names);
  const first = await step(parts, { what: 'first sync', done: () => hub.syncedCount() }, async () => {
    await Promise.all([hub.createApplications(), hub.untilSynced(limits.allMs)]);
  });
  print(`calm for ${limits.restMs / 1000} s`);
  await systemClock.sleep(limits.restMs, hub.signal);
  const rest = parts.controller.memory();
  const resting = await step(parts, { what: `at rest for ${limits.restMs / 1000} s` }, () =>
    systemClock.sleep(limits.restMs, hub.signal),
  );
  const begin = systemClock.now();
  const size = hub.names.length;
  let askedSeconds = 0;
  const refresh = await step(parts, { what: 'refresh of all', done: () => size - hub.refreshingCount() }, async () => {
    askedSeconds = await hub.refresh(hub.names, limits.allMs);
  });
  await systemClock.sleep(followUpMs, hub.signal);
  const writes = hub.applicationWritesSince(begin);
  const repairs: number[] = [];
  await step(parts, { what: 'drifts', done: () => repairs.length }, async () => {
    for (const name of drifted) {
      repairs.push(await hub.drift(name, limits.oneMs));
      await hub.untilCalm(name, limits.oneMs);
    }
  });
  const push = await step(parts, { what: 'push' }, () => hub.push(pushed, limits.oneMs));
  await Promise.all(pushed.map((name) => hub.untilCalm(name, limits.oneMs)));
  const restartSeconds = await restart(parts, last);
  return {
    first_sync_seconds: first.seconds,
    first_sync_cpu_seconds: first.cpuSeconds,
    first_sync_controller_cpu_seconds: first.controllerCpuSeconds,
    rest_rss_bytes: rest.rssBytes,
    rest_pss_bytes: rest.pssBytes,
    rest_all_pss_bytes: rest.allPssBytes,
    rest_cpu_seconds: resting.cpuSeconds,
    rest_controller_cpu_seconds: resting.controllerCpuSeconds,
    refresh_seconds: refresh.seconds,
    refresh_asked_seconds: askedSeconds,
    refresh_cpu_seconds: refresh.cpuSeconds,
    refresh_controller_cpu_seconds: refresh.controllerCpuSeconds,
    refresh_patches_per_application_count: writes / size,
    drift_p50_ms: quantile(repairs, 0.5),
    drift_p99_ms: quantile(repairs, 0.99),
    push_seconds: push.seconds,
    push_cpu_seconds: push.cpuSeconds,
    restart_seconds: restartSeconds,
  };
}

/** Seconds from kill -9 and an immediate start until a drift of the meantime is repaired. */
async function restart({ hub, controller, limits, print }: ScriptParts, name: string): Promise<number> {
  const begin = systemClock.monotonic();
  await controller.kill();
  await withTicks(
    (seconds) => print(`restart: ${seconds} s`),
    () => hub.drift(name, limits.allMs, () => controller.startAgain()),
  );
  const seconds = (systemClock.monotonic() - begin) / 1000;
  print(`restart: repaired after ${seconds.toFixed(1)} s`);
  return seconds;
}

interface StepCost {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly controllerCpuSeconds: number;
}

/** Runs one step and measures it. A failure includes the end of the controller's log. */
async function step(
  { controller, print }: ScriptParts,
  { what, done }: { readonly what: string; readonly done?: () => number },
  body: () => Promise<void>,
): Promise<StepCost> {
  const [begin, cpuBefore] = [systemClock.monotonic(), controller.cpu()];
  await withTicks((seconds) => print(`${what}: ${done === undefined ? '' : `${done()} done, `}${seconds} s`), body);
  const cpu = controller.cpu();
  const cost = {
    seconds: (systemClock.monotonic() - begin) / 1000,
    cpuSeconds: cpu.all - cpuBefore.all,
    controllerCpuSeconds: cpu.controller - cpuBefore.controller,
  };
  const load = (loadavg()[0] ?? 0).toFixed(1);
  print(`${what}: ended after ${cost.seconds.toFixed(1)} s, ${cost.cpuSeconds.toFixed(1)} s of CPU, load ${load}`);
  return cost;
}

/** Calls `tick` every ten seconds until `body` has ended. */
async function withTicks(tick: (seconds: number) => void, body: () => Promise<unknown>): Promise<void> {
  const begin = systemClock.monotonic();
  const next = (): { cancel(): void } =>
    systemClock.timer(progressMs, () => {
      tick(Math.round((systemClock.monotonic() - begin) / 1000));
      timer = next();
    });
  let timer = next();
  try {
    await body();
  } finally {
    timer.cancel();
  }
}
