import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { messageOf } from '#base';
import { Servers } from './servers.ts';

/** What {@link Servers} can do, wherever they are. */
export type ServersApi = {
  readonly [M in keyof Servers]: (...args: Parameters<Servers[M]>) => Promise<Awaited<ReturnType<Servers[M]>>>;
};

interface Call {
  readonly id: number;
  readonly method: keyof Servers;
  readonly args: readonly unknown[];
}

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

const methods = ['start', 'create', 'settled', 'requests', 'ask', 'sync', 'drift', 'touch', 'close'] as const;
const program = fileURLToPath(import.meta.url);

/** Servers in a process of their own; in this one where that cannot be (what runs is not built: only the smoke tests do that). */
export function newServers(): ServersApi {
  return program.endsWith('.ts') ? here() : elsewhere();
}

function apiOf(call: (method: keyof Servers, args: readonly unknown[]) => Promise<unknown>): ServersApi {
  const entries = methods.map((method) => [method, (...args: readonly unknown[]) => call(method, args)] as const);
  return Object.fromEntries(entries) as unknown as ServersApi;
}

function here(): ServersApi {
  const servers = new Servers();
  return apiOf((method, args) => answer(servers, method, args));
}

async function answer(servers: Servers, method: keyof Servers, args: readonly unknown[]): Promise<unknown> {
  return Reflect.apply(Reflect.get(servers, method) as (...given: readonly unknown[]) => unknown, servers, args);
}

function elsewhere(): ServersApi {
  // What profiles this process profiles that one too, into a file of its own.
  const child = fork(program, ['servers'], {
    execArgv: process.execArgv.filter((arg) => arg.startsWith('--cpu-prof')),
  });
  const waiting = new Map<
    number,
    { readonly done: (result: unknown) => void; readonly fail: (error: Error) => void }
  >();
  let last = 0;
  child.on('message', (reply: Reply) => {
    const waiter = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (reply.error === undefined) waiter?.done(reply.result);
    else waiter?.fail(new Error(reply.error));
  });
  child.on('exit', () => {
    for (const { fail } of waiting.values()) fail(new Error('the simulated servers have ended'));
  });
  const send = (method: keyof Servers, args: readonly unknown[]): Promise<unknown> =>
    new Promise((done, fail) => {
      last += 1;
      waiting.set(last, { done, fail });
      child.send({ id: last, method, args } satisfies Call);
    });
  return apiOf(async (method, args) => {
    const result = await send(method, args);
    if (method === 'close') child.disconnect();
    return result;
  });
}

if (process.argv[1] === program && process.argv[2] === 'servers') {
  const servers = new Servers();
  process.on('message', ({ id, method, args }: Call) => {
    void answer(servers, method, args).then(
      (result) => process.send?.({ id, result } satisfies Reply),
      (error: unknown) => process.send?.({ id, error: messageOf(error) } satisfies Reply),
    );
  });
}
