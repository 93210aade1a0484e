import { resolve } from 'node:path';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { ApiAccess } from '#support';

export interface BridgeAnswer {
  /** 0 if there was no answer. */
  readonly status: number;
  readonly text: string;
}

/**
 * Synchronous HTTP calls: the controllers of sim/workloads expect a store in their own process. A
 * worker thread sends the request while this thread blocks for a few milliseconds.
 */
export class HttpBridge {
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
