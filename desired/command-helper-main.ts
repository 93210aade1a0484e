/**
 * The helper process: a small program that starts other programs, so that the big one never forks (a fork stalls it in proportion to its
 * memory, decision D14). It is started before the controller grows. It answers `run` messages over the IPC channel, forgets a job on `kill`,
 * and ends with everything that it started as soon as the channel closes, which is what the death of its parent looks like.
 */
import { runProcess } from './command/run-process.ts';
import type { ProcessOutcome, ProcessRequest, RunningProcess } from './command/run-process.ts';

/** What the parent sends. */
type Order =
  | { readonly do: 'run'; readonly id: number; readonly request: ProcessRequest }
  | { readonly do: 'kill'; readonly id: number };

const running = new Map<number, RunningProcess>();
const inheritedEnv = definedOf(process.env);

process.on('message', (order: Order) => {
  if (order.do === 'kill') running.get(order.id)?.kill();
  else void serve(order.id, order.request);
});
process.on('disconnect', end);
process.on('SIGTERM', end);
// Ctrl-C reaches the whole terminal group: the parent decides when it is done with us.
process.on('SIGINT', () => undefined);

async function serve(id: number, request: ProcessRequest): Promise<void> {
  const job = runProcess({ ...request, env: { ...inheritedEnv, ...request.env } }, (delayMs, fire) => {
    const handle = setTimeout(fire, delayMs);
    return { cancel: () => clearTimeout(handle) };
  });
  running.set(id, job);
  const outcome: ProcessOutcome = await job.outcome;
  running.delete(id);
  // The parent may be gone by now; 'disconnect' then ends us.
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
