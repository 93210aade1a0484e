import type { ConfigOf, OptionSpec } from './args.ts';
import { help } from './common-options.ts';
import { connectionOptions } from './connection-options.ts';
import { controllerOptions } from './controller-options.ts';
import { driftlessOptions } from './driftless-options.ts';
import { inertOptions } from './inert-options.ts';
import { renderingOptions } from './rendering-options.ts';
import { redisOptions } from './redis-options.ts';
import { sourceOptions } from './source-options.ts';

/**
 * The table of `driftless run`: every flag and environment variable of Argo CD's application
 * controller with its default (source: cmd/argocd-application-controller of the pinned commit),
 * then those of Driftless. Parser, --help, docs/options.md and the golden test are derived from it.
 */
export const runOptions = {
  ...controllerOptions,
  ...sourceOptions,
  ...renderingOptions,
  ...redisOptions,
  ...connectionOptions,
  ...inertOptions,
  ...driftlessOptions,
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;

export type RunConfig = ConfigOf<typeof runOptions>;
