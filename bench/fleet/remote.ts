import { fork } from 'node:child_process';
import { messageOf } from '#base';

type Method = (...args: never[]) => unknown;

/** The methods `M` of an object in another process. Arguments and results are plain JSON. */
export type Remote<T, M extends keyof T> = {
  readonly [K in M]: T[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never;
};

interface RemoteCall {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

interface RemoteReply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

interface PendingCall {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A child process that serves an object with {@link serveObject}. */
export interface RemoteProcess<R> {
  readonly remote: R;
  readonly pid: number;
  /** Ends the process, and rejects the calls that have no answer yet. */
  end(): Promise<void>;
}

/** Starts `programPath`, which calls {@link serveObject} with an object that has these methods. */
export function forkObject<T, M extends keyof T & string>(
  programPath: string,
  methods: readonly M[],
): RemoteProcess<Remote<T, M>> {
  // A CPU profiler of this process also profiles the child, into its own file.
  const execArgv = process.execArgv.filter((arg) => arg.startsWith('--cpu-prof'));
  const child = fork(programPath, [], { execArgv });
  const pending = new Map<number, PendingCall>();
  let last = 0;
  child.on('message', (reply: RemoteReply) => {
    const call = pending.get(reply.id);
    pending.delete(reply.id);
    if (reply.error === undefined) call?.resolve(reply.result);
    else call?.reject(new Error(reply.error));
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      for (const { reject } of pending.values())
        reject(new Error(`the process of the simulated servers has ended (${signal ?? code ?? 'unknown'})`));
      resolve();
    });
  });
  const call = (method: string, args: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      last += 1;
      pending.set(last, { resolve, reject });
      child.send({ id: last, method, args } satisfies RemoteCall);
    });
  const entries = methods.map((method) => [method, (...args: readonly unknown[]) => call(method, args)] as const);
  return {
    remote: Object.fromEntries(entries) as unknown as Remote<T, M>,
    pid: child.pid ?? 0,
    end: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

/** Answers the calls of the parent process; ends this process when the parent disconnects. */
export function serveObject(target: object): void {
  process.on('message', ({ id, method, args }: RemoteCall) => {
    const answer = async (): Promise<unknown> =>
      Reflect.apply(Reflect.get(target, method) as Method, target, args) as unknown;
    void answer().then(
      (result) => process.send?.({ id, result } satisfies RemoteReply),
      (error: unknown) => process.send?.({ id, error: messageOf(error) } satisfies RemoteReply),
    );
  });
  // Servers and timers of the object would keep this process alive without its parent.
  process.once('disconnect', () => process.exit());
}
