import { KubeConnectionError } from '#kube';
import type { KubeObject } from '#model';
import type { RequestTarget } from './api-server.ts';
import type { WatchFault } from '../faults.ts';
import type { NetworkProcess } from '../clock.ts';
import type { StoreEvent } from './store.ts';

export interface OpenWatchDeps {
  readonly process: NetworkProcess;
  readonly url: string;
  readonly target: RequestTarget;
  readonly signal: AbortSignal;
  /** Runs a delivery in the process, not before `from`; returns when. */
  readonly deliver: (from: number, run: () => void) => number;
  readonly onEnd: (watch: OpenWatch) => void;
}

/** One open watch: its events in order, and what disturbs them. */
export class OpenWatch {
  readonly process: NetworkProcess;
  readonly url: string;
  readonly target: RequestTarget;
  readonly #deps: OpenWatchDeps;
  readonly #lines: string[] = [];
  #lastAt = 0;
  #isSilent = false;
  #repeats = 0;
  #losses = 0;
  #reorders = false;
  #held: string | undefined;
  #ending: { readonly error?: Error } | undefined;
  #wake = (): void => undefined;

  constructor(deps: OpenWatchDeps) {
    this.#deps = deps;
    this.process = deps.process;
    this.url = deps.url;
    this.target = deps.target;
  }

  get isSilent(): boolean {
    return this.#isSilent;
  }

  event({ type, object, version }: StoreEvent): void {
    const stamped = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const line = lineOf(type, stamped);
    if (this.#losses > 0) {
      this.#losses -= 1;
      return;
    }
    if (this.#reorders && this.#held === undefined) {
      this.#held = line;
      return;
    }
    this.#push(line);
    if (this.#repeats > 0) this.#push(line);
    this.#repeats -= 1;
    if (this.#held !== undefined) this.#push(this.#held);
    this.#held = undefined;
    this.#reorders = false;
  }

  /** The objects that a watch with initial events begins with, and the bookmark after them. */
  initialEvents(objects: readonly KubeObject[], resourceVersion: string): void {
    for (const object of objects) this.#push(lineOf('ADDED', object));
    this.bookmark(resourceVersion, { 'k8s.io/initial-events-end': 'true' });
  }

  bookmark(resourceVersion: string, annotations?: Readonly<Record<string, string>>): void {
    const { kind } = this.target;
    this.#push(lineOf('BOOKMARK', { kind: kind?.kind, metadata: { resourceVersion, annotations } }));
  }

  disturb(fault: WatchFault): void {
    if (fault === 'silent') this.#isSilent = true;
    else if (fault === 'repeated') this.#repeats = 3;
    else if (fault === 'lossy') this.#losses = 1;
    else if (fault === 'reordered') this.#reorders = true;
    else if (fault === 'closed') this.end();
    else if (fault === 'cut') {
      this.#push('{"type":"MODIFIED","obj');
      this.end(new KubeConnectionError(this.url, 'connection reset', undefined));
    } else if (fault === 'garbled') this.#push('<html>\n');
    else if (fault === 'expired')
      this.#push(
        lineOf('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }),
      );
    else this.#push(lineOf('ADDED', strangeObject));
  }

  /** Ends what would disturb later events, and closes a silent stream, so that it is resumed. */
  revive(): void {
    const wasSilent = this.#isSilent;
    this.#isSilent = false;
    this.#losses = 0;
    this.#repeats = 0;
    this.#reorders = false;
    if (this.#held !== undefined) this.#push(this.#held);
    this.#held = undefined;
    if (wasSilent) this.end();
  }

  /** Ends the stream after what was sent. */
  end(error?: Error): void {
    if (this.#isSilent) return;
    this.#deliver(() => {
      this.#ending ??= error === undefined ? {} : { error };
    });
  }

  async *body(): AsyncGenerator<Uint8Array> {
    const { signal, onEnd } = this.#deps;
    const onAbort = (): void => this.#wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      for (;;) {
        for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift()) yield Buffer.from(line);
        if (signal.aborted) throw signal.reason as Error;
        if (this.#ending?.error !== undefined) throw this.#ending.error;
        if (this.#ending !== undefined) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      onEnd(this);
    }
  }

  #push(line: string): void {
    if (!this.#isSilent) this.#deliver(() => this.#lines.push(line));
  }

  #deliver(act: () => void): void {
    this.#lastAt = this.#deps.deliver(this.#lastAt, () => {
      act();
      this.#wake();
    });
  }
}

const strangeObject = {
  apiVersion: 'v1',
  kind: 'Stranger',
  metadata: { name: 'stranger', namespace: 'apps', uid: 'x', resourceVersion: '1' },
};

function lineOf(type: string, object: object): string {
  return `{"type":"${type}","object":${JSON.stringify(object)}}\n`;
}
