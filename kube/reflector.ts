import type { Runnable } from '#base';
import type { ReflectorState } from './informer-types.ts';
import type { ReflectorOptions, ReflectorStats } from './reflector-types.ts';

export class Reflector implements Runnable {
  readonly name: string;
  constructor(options: ReflectorOptions) {
    this.name = options.resource.kind;
  }
  run(signal: AbortSignal): Promise<void> {
    throw new Error(`${this.name} ${typeof signal}`);
  }
  ready(signal: AbortSignal): Promise<void> {
    throw new Error(`${this.name} ${typeof signal}`);
  }
  state(): ReflectorState {
    throw new Error(`${this.name}`);
  }
  stats(): ReflectorStats {
    throw new Error(`${this.name}`);
  }
}
