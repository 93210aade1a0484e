import type { SourceOptionNames } from '#desired';
import { runOptions } from '../options/run-options.ts';

/** How messages name the options of a command that runs a replica. */
export interface OptionNames {
  readonly sources: SourceOptionNames;
  /** Advice for messages: how to make a cluster take less memory. */
  readonly memoryRemedy: string;
}

const flagOf = (name: keyof typeof runOptions): string => `--${runOptions[name].flag}`;

export const controllerOptionNames: OptionNames = {
  sources: {
    localRepositories: flagOf('allowLocalRepositories'),
    localSources: flagOf('allowLocalSources'),
    deniedNetworks: flagOf('deniedNetworks'),
    inputMemory: flagOf('renderInput'),
  },
  memoryRemedy: `raise ${flagOf('clusterMemory')}, or exclude kinds with resource.exclusions`,
};
