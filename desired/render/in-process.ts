import { untilAborted } from '#base';
import type { RandomSource } from '#base';
import type { CommandRunner } from '../command/types.ts';
import { CommandError } from '../errors.ts';
import { versionArgumentsOf, versionIn, stepEnvironment } from './environment.ts';
import type { RenderPrograms } from './environment.ts';
import { runSteps, stageFiles, StagingRoot } from './staging.ts';
import type { Renderer, RenderProgram, RenderRequest, RenderResult } from './types.ts';

export interface InProcessRendererDeps {
  readonly commands: CommandRunner;
  readonly programs: RenderPrograms;
  /** The folder of the staging folders, for this renderer alone. */
  readonly folder: string;
  readonly random: RandomSource;
}

/** Runs programs as children of this process without isolation, for tests and benchmarks. */
export function createInProcessRenderer(deps: InProcessRendererDeps): Renderer {
  const staging = new StagingRoot({ root: deps.folder, random: deps.random });
  const { commands, programs } = deps;
  const versions = new VersionCache(deps);
  return {
    name: 'renderer',
    run: (signal) => untilAborted(signal),
    render: (request: RenderRequest, signal: AbortSignal): Promise<RenderResult> =>
      staging.run(async (root) => {
        stageFiles(root, request, signal);
        return { steps: await runSteps({ root, commands, programs }, request, signal) };
      }),
    version: (program, binary, signal) => versions.of(program, binary, signal),
  };
}

/** A renderer without programs. */
export const noRenderer: Renderer = {
  name: 'renderer',
  run: (signal) => untilAborted(signal),
  render: () => Promise.reject(new CommandError('COMMAND_NOT_FOUND', 'no renderer is configured')),
  version: () => Promise.resolve(undefined),
};

/** Caches the versions of programs for as long as they have the same path. */
export class VersionCache {
  readonly #deps: Pick<InProcessRendererDeps, 'commands' | 'programs'>;
  readonly #versions = new Map<string, string>();

  constructor(deps: Pick<InProcessRendererDeps, 'commands' | 'programs'>) {
    this.#deps = deps;
  }

  /** Undefined if the program is not installed. @throws CommandError if it cannot be run */
  async of(program: RenderProgram, binary: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    const { commands, programs } = this.#deps;
    const [command, args] = [programs(program, binary), versionArgumentsOf(program)];
    if (command === undefined || args === undefined) return undefined;
    const key = command.join('\0');
    const known = this.#versions.get(key);
    if (known !== undefined) return known;
    const { stdout } = await commands.runCommand([...command, ...args], {
      program: command[0],
      env: stepEnvironment('/nonexistent'),
      timeoutMs: 30_000,
      maxBytes: 64 * 1024,
      signal,
    });
    const version = versionIn(stdout);
    this.#versions.set(key, version);
    return version;
  }
}
