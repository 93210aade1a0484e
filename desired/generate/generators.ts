import type { Logger } from '#telemetry';
import { repositoryKey } from '../fetch/shared/repository-key.ts';
import type { SourceType } from '../types.ts';
import { planDirectory } from './directory/directory.ts';
import { planHelm } from './helm/helm.ts';
import { planKustomize } from './kustomize/kustomize.ts';
import type { GeneratorDeps, RenderJob, RenderPlan } from './plan.ts';
import type { SourcePlugins } from './plugins/source-plugins.ts';
import { explicitType, sourceTypeOf } from './source-type.ts';

export interface GeneratorsDeps extends GeneratorDeps {
  readonly plugins: SourcePlugins;
  readonly logger: Logger;
}

/** All generators: decides the type of a source, and plans its rendering. */
export class Generators {
  readonly #deps: GeneratorsDeps;

  constructor(deps: GeneratorsDeps) {
    this.#deps = deps;
  }

  /** Closes connections when the signal aborts. Requests work without it. */
  run(signal: AbortSignal): Promise<void> {
    return this.#deps.plugins.run(signal);
  }

  /** Removes what an earlier process left. */
  clear(): Promise<void> {
    return this.#deps.plugins.clear();
  }

  /** The names of the plugins that may support a source. */
  plugins(): Promise<readonly string[]> {
    return this.#deps.plugins.names();
  }

  /** A plugin that supports the source takes precedence over the files of its directory. */
  async typeOf(job: RenderJob, signal: AbortSignal): Promise<SourceType> {
    const hasNoType = explicitType(job.source) === undefined;
    if (hasNoType && (await this.#deps.plugins.discover(job, signal)) !== undefined) return 'Plugin';
    return sourceTypeOf(job.source, job.directory, job.request.options.enabledTypes);
  }

  async plan(type: SourceType, job: RenderJob, signal: AbortSignal): Promise<RenderPlan> {
    const share = { project: job.request.project, repository: repositoryKey(job.repository) };
    const deps = { ...this.#deps, reader: this.#deps.reader.forShare(share) };
    switch (type) {
      case 'Directory':
        return planDirectory(job, deps, signal);
      case 'Kustomize':
        return planKustomize(job, deps, signal);
      case 'Helm':
        return planHelm(job, deps, signal);
      case 'Plugin':
        return deps.plugins.plan(job, signal);
    }
  }
}
