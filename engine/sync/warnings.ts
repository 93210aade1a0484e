import { messageOf } from '#base';
import { refOf } from '#model';
import type { KubeObject } from '#model';
import { changedWriter } from '#sync';
import type { ApplyResult, ClusterWriter } from '#sync';
import type { SyncInputs, SyncWarning } from './types.ts';

/** The warnings of a sync, each one once: dry runs and applies bring the same ones. */
export class SyncWarnings {
  readonly #onWarning: SyncInputs['onWarning'];
  readonly #warn: (message: string) => void;
  readonly #reported = new Set<string>();

  /** @param warn receives what no `onWarning` of the caller takes */
  constructor(onWarning: SyncInputs['onWarning'], warn: (message: string) => void) {
    this.#onWarning = onWarning;
    this.#warn = warn;
  }

  /** A fault of the caller's function must not leave a sync half done. */
  report(warning: SyncWarning): void {
    const text = textOf(warning);
    if (this.#reported.has(text)) return;
    this.#reported.add(text);
    if (this.#onWarning === undefined) {
      this.#warn(text);
      return;
    }
    try {
      this.#onWarning(text, warning);
    } catch (error) {
      this.#warn(`onWarning failed: ${messageOf(error)}`);
    }
  }

  /** The writer; reports what the server warns about. */
  reporting(writer: ClusterWriter): ClusterWriter {
    const reported = (sent: KubeObject, result: ApplyResult): ApplyResult => {
      for (const message of result.warnings ?? []) this.report({ source: 'server', message, object: refOf(sent) });
      return result;
    };
    return changedWriter(writer, {
      apply: async (target, live, how, signal) => reported(target, await writer.apply(target, live, how, signal)),
      create: async (object, signal) => reported(object, await writer.create(object, signal)),
    });
  }
}

function textOf({ message, object }: SyncWarning): string {
  if (object === undefined) return message;
  const { kind, namespace, name } = object;
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}: ${message}`;
}
