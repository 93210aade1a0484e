import type { Clock, Random } from '#base';
import type { Logger } from '#telemetry';
import type { CommandRunner } from '../command/types.ts';
import { UnsupportedSource } from '../errors.ts';
import type { DesiredSource } from '../types.ts';
import type { DesiredLimits } from './limits.ts';

export interface DesiredSourceDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly cacheDir: string;
  readonly commands: CommandRunner;
  readonly limits?: Partial<DesiredLimits>;
}

export function createDesiredSource(deps: DesiredSourceDeps): DesiredSource {
  void deps;
  return {
    name: 'desired',
    run: () => Promise.resolve(),
    manifests: () => Promise.reject(new UnsupportedSource('everything')),
    resolve: () => Promise.reject(new UnsupportedSource('everything')),
  };
}
