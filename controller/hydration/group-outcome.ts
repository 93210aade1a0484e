import { stringifyJson } from '#base';
import type { HydratedPath } from '#desired';
import type { AppKey } from '#model';
import type { HydrationResult } from './hydration-status.ts';

/** The findings of one run about a group. */
export class GroupOutcome {
  readonly errors = new Map<string, string>();
  readonly rendered = new Map<AppKey, HydratedPath>();
  drySha = '';
  result: HydrationResult | undefined;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Keeps manifests for the commit. JSON has up to three times the bytes of YAML (`\e`). */
  add(key: AppKey, path: HydratedPath): void {
    this.#bytes += Buffer.byteLength(stringifyJson(path.objects));
    if (this.#bytes <= 3 * this.#maxBytes) this.rendered.set(key, path);
    else
      this.fail(key, `the manifests of the group have more than ${this.#maxBytes} bytes: hydrate to several branches`);
  }

  fail(key: AppKey, error: string): void {
    this.errors.set(key, error);
  }
}
