/**
 * The helper process: a small program that starts others, so that the controller never forks (a
 * fork blocks it in proportion to its memory). It is started before the controller grows. It
 * answers `run` messages over the IPC channel, kills a job on `kill`, and exits with everything
 * that it started when the channel closes, because its parent has died.
 */
import { runProcess } from './command/run-process.ts';
import type { ProcessOutcome, ProcessRequest, RunningProcess } from './command/run-process.ts';

/** A message of the parent. */
type HelperMessage =
  | { readonly do: 'run'; readonly id: number; readonly request: ProcessRequest }
  | { readonly do: 'kill'; readonly id: number };

const running = new Map<number, RunningProcess>();
const inheritedEnv = definedOf(process.env);

process.on('message', (order: HelperMessage) => {
  if (order.do === 'kill') running.get(order.id)?.kill();
  else void serve(order.id, order.request);
});
process.on('disconnect', end);
process.on('SIGTERM', end);
// Ctrl-C reaches the whole process group of the terminal; the parent decides when to stop us.
process.on('SIGINT', () => undefined);

async function serve(id: number, request: ProcessRequest): Promise<void> {
  const job = runProcess({ ...request, env: { ...inheritedEnv, ...request.env } }, (delayMs, fire) => {
    const handle = setTimeout(fire, delayMs);
    return { cancel: () => clearTimeout(handle) };
  });
  running.set(id, job);
  const outcome: ProcessOutcome = await job.outcome;
  running.delete(id);
  // The parent may have died; 'disconnect' then stops us.
  process.send?.({ id, outcome }, undefined, {}, () => undefined);
}

function end(): void {
  for (const job of running.values()) job.kill();
  process.exit(0);
}

function definedOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined) result[name] = value;
  return result;
}
