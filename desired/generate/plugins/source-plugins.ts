import { DesiredError } from '../../errors.ts';
import { textOf } from '../options.ts';
import type { RenderJob, RenderPlan } from '../plan.ts';

/** The plugins of a plan. Programs without plugins load none of their packages. */
export interface SourcePlugins {
  /** The plugin that supports a source without an explicit type; undefined if none does. */
  discover(job: RenderJob, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Plans the rendering by the plugin that the source names, or that supports it.
   * @throws DesiredError, PluginFailed
   */
  plan(job: RenderJob, signal: AbortSignal): Promise<RenderPlan>;
  /** The names of the plugins that may support a source. */
  names(): Promise<readonly string[]>;
  /** Closes connections when the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Removes what an earlier process left. */
  clear(): Promise<void>;
}

/** No plugins: a source that needs one is refused. */
export const noPlugins: SourcePlugins = {
  discover: () => Promise.resolve(undefined),
  plan: ({ source }) => Promise.reject(pluginMissing(textOf(source.plugin ?? {}, 'name'))),
  names: () => Promise.resolve([]),
  run: () => Promise.resolve(),
  clear: () => Promise.resolve(),
};

/** The error of Argo CD; without a name it is about plugins that discover their sources. */
export function pluginMissing(name = ''): DesiredError {
  const plugin = name === '' ? 'plugin' : `cmp-server plugin with name "${name}"`;
  return new DesiredError('DESIRED_PLUGIN_MISSING', `could not find ${plugin} supporting the given repository`);
}
