import type { RenderedManifests, RenderJob } from '../plan.ts';

/** Plugins that stand beside another renderer, which renders the sources that need them. */
export interface RemotePlugins {
  /** In messages and cache keys. */
  readonly address: string;
  /** The last known names of its plugins, without waiting. Undefined: not known yet. */
  knownNames(): readonly string[] | undefined;
  /** The names of its plugins, at most a minute old. */
  names(signal: AbortSignal): Promise<readonly string[]>;
  /** Whether one of its plugins supports a source that names none. */
  supports(job: RenderJob, signal: AbortSignal): Promise<boolean>;
  render(job: RenderJob, signal: AbortSignal): Promise<RenderedManifests>;
  /** Closes its connections when the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}
