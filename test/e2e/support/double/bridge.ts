import { resolve } from 'node:path';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { ApiAccess } from '#support';

export interface BridgeAnswer {
  /** 0: nobody answered. */
  readonly status: number;
  readonly text: string;
}

/**
 * HTTP calls that return when they are done, like a function: the controllers of sim/workloads are written for a store in their own
 * process. A worker thread makes the call while this one waits; a few milliseconds each, which a test can spare.
 */
export class Bridge {
  readonly #worker: Worker;
  readonly #flag = new Int32Array(new SharedArrayBuffer(4));

  constructor(access: ApiAccess) {
    const file = resolve('test/e2e/support/double/bridge-worker.mjs');
    this.#worker = new Worker(file, { workerData: { access, flag: this.#flag.buffer } });
    this.#worker.unref();
  }

  call(method: string, path: string, body?: unknown): BridgeAnswer {
    const { port1, port2 } = new MessageChannel();
    Atomics.store(this.#flag, 0, 0);
    this.#worker.postMessage({ port: port2, method, path, ...(body === undefined ? {} : { body }) }, [port2]);
    const woken = Atomics.wait(this.#flag, 0, 0, 30_000);
    const received = receiveMessageOnPort(port1) as { message: BridgeAnswer } | undefined;
    port1.close();
    return received?.message ?? { status: 0, text: `no answer (${woken})` };
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
