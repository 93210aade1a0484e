import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { messageOf } from '#base';
import { SimServers } from './servers.ts';

/** The interface of {@link SimServers}, local or in another process. */
export type ServersApi = {
  readonly [M in keyof SimServers]: (...args: Parameters<SimServers[M]>) => Promise<Awaited<ReturnType<SimServers[M]>>>;
};

interface ServerCall {
  readonly id: number;
  readonly method: keyof SimServers;
  readonly args: readonly unknown[];
}

interface ServerReply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

const serverMethods = [
  'start',
  'create',
  'settled',
  'requests',
  'ask',
  'sync',
  'drift',
  'touch',
  'overwrite',
  'close',
] as const;
const programPath = fileURLToPath(import.meta.url);

/** Servers in a separate process; in this one when run from sources (in the smoke tests). */
export function newServers(): ServersApi {
  return programPath.endsWith('.ts') ? localServers() : forkedServers();
}

function apiOf(call: (method: keyof SimServers, args: readonly unknown[]) => Promise<unknown>): ServersApi {
  const entries = serverMethods.map((method) => [method, (...args: readonly unknown[]) => call(method, args)] as const);
  return Object.fromEntries(entries) as unknown as ServersApi;
}

function localServers(): ServersApi {
  const servers = new SimServers();
  return apiOf((method, args) => callMethod(servers, method, args));
}

async function callMethod(servers: SimServers, method: keyof SimServers, args: readonly unknown[]): Promise<unknown> {
  return Reflect.apply(Reflect.get(servers, method) as (...given: readonly unknown[]) => unknown, servers, args);
}

function forkedServers(): ServersApi {
  // A CPU profiler of this process also profiles the child, into its own file.
  const child = fork(programPath, ['servers'], {
    execArgv: process.execArgv.filter((arg) => arg.startsWith('--cpu-prof')),
  });
  const waiting = new Map<
    number,
    { readonly done: (result: unknown) => void; readonly fail: (error: Error) => void }
  >();
  let last = 0;
  child.on('message', (reply: ServerReply) => {
    const waiter = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (reply.error === undefined) waiter?.done(reply.result);
    else waiter?.fail(new Error(reply.error));
  });
  child.on('exit', () => {
    for (const { fail } of waiting.values()) fail(new Error('the simulated servers have ended'));
  });
  const send = (method: keyof SimServers, args: readonly unknown[]): Promise<unknown> =>
    new Promise((done, fail) => {
      last += 1;
      waiting.set(last, { done, fail });
      child.send({ id: last, method, args } satisfies ServerCall);
    });
  return apiOf(async (method, args) => {
    const result = await send(method, args);
    if (method === 'close') child.disconnect();
    return result;
  });
}

if (process.argv[1] === programPath && process.argv[2] === 'servers') {
  const servers = new SimServers();
  process.on('message', ({ id, method, args }: ServerCall) => {
    void callMethod(servers, method, args).then(
      (result) => process.send?.({ id, result } satisfies ServerReply),
      (error: unknown) => process.send?.({ id, error: messageOf(error) } satisfies ServerReply),
    );
  });
}
