/**
 * @driftless/engine/desired: renders sources to objects, as an Application's source: directories of
 * YAML, JSON and Jsonnet, Helm charts and Kustomizations, from Git, chart repositories, registries
 * or a folder. Programs run in processes of their own, without credentials and within limits.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OpenedRenderer } from './desired/opened-renderer.ts';
import { checkRendererOptions } from './desired/renderer-checks.ts';
import type { RendererOptions, SourceRenderer } from './desired/types.ts';

export type {
  RenderedSource,
  RendererOptions,
  RenderInputs,
  RenderLimits,
  RenderSource,
  RepositoryLogin,
  SourceRenderer,
} from './desired/types.ts';
export type { KubeObject } from '#model';

/**
 * Starts the helper processes. Call it early: a fork stalls a big process for longer.
 * @throws an error with `code` `USAGE` for an invalid option
 */
export async function openRenderer(options: RendererOptions): Promise<SourceRenderer> {
  checkRendererOptions(options, 'options');
  const { cacheDir } = options;
  const folder = cacheDir ?? (await mkdtemp(join(tmpdir(), 'driftless-desired-')));
  return new OpenedRenderer({ ...options, cacheDir: folder, isTemporary: cacheDir === undefined });
}
