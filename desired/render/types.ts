import type { Runnable } from '#base';
import type { CommandResult } from '../command/types.ts';

/**
 * A program that the renderer runs. `parse` is our own parser of big files ({@link ParseProcess}).
 */
export type RenderProgram = 'helm' | 'kustomize' | 'jsonnet' | 'parse';

/** The checkout in a staging folder. Messages show paths relative to it. */
export const checkoutFolder = 'repo';

/**
 * A file of the staging folder. `path` is relative, uses `/`, and has no `.`, `..` or empty
 * segments.
 */
export interface RenderFile {
  readonly path: string;
  readonly content: Uint8Array;
}

/** A symbolic link of the staging folder. `target` is relative and stays inside the folder. */
export interface RenderLink {
  readonly path: string;
  readonly target: string;
}

/** One run of a program. Steps run in order; the first failure ends the request. */
export interface RenderStep {
  readonly program: RenderProgram;
  /**
   * A binary that administrators configured (`kustomize.path.<version>`), by its path in the
   * renderer's file system.
   */
  readonly binary?: string;
  /**
   * Contains no absolute path of the controller, and no tenant's text in an argument that the
   * program splits.
   */
  readonly args: readonly string[];
  /** Relative to the staging folder; `''` for the folder itself. */
  readonly cwd: string;
  /** Added to the renderer's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array;
  /** Adds `--helm-command` with the renderer's helm, so that kustomize can inflate charts. */
  readonly withHelm?: boolean;
}

/** The unit of fair scheduling: slots are shared by project first, then by repository. */
export interface RenderShare {
  readonly project: string;
  readonly repository: string;
}

/**
 * Everything that one render may see. The renderer gets no credential, address or path besides it.
 */
export interface RenderRequest {
  readonly files: readonly RenderFile[];
  readonly links: readonly RenderLink[];
  readonly steps: readonly RenderStep[];
  readonly share: RenderShare;
  /** The limit for each step. */
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly maxMemoryBytes: number;
}

/** The files of a request, and its steps if they have an input. */
export type RenderInput = Pick<RenderRequest, 'files' | 'links'> & Partial<Pick<RenderRequest, 'steps'>>;

/** A request that waits for a slot. Its files are read when it has one. */
export interface WaitingRender extends Omit<RenderRequest, 'files' | 'links'> {
  /** Memory that the input takes. */
  readonly inputBytes: number;
  /** Runs once the memory is granted, before the wait for a slot: downloads. */
  readonly prepare?: ((signal: AbortSignal) => Promise<void>) | undefined;
  readonly readInput: (signal: AbortSignal) => Promise<RenderInput>;
}

export interface RenderResult {
  /** The results of the steps that ran, in order. Only the last can have a non-zero exit code. */
  readonly steps: readonly CommandResult[];
}

/**
 * Runs programs over tenants' files in a place with nothing to steal. A request leaves nothing
 * behind. Errors: CommandError (time, output, memory), RendererUnavailable (retried by the caller's
 * queue). Aborting the signal kills the programs of the request.
 */
export interface Renderer extends Runnable {
  render(request: RenderRequest, signal: AbortSignal): Promise<RenderResult>;
  /** The version that a program reports; undefined if the renderer does not have it. */
  version(program: RenderProgram, binary: string | undefined, signal: AbortSignal): Promise<string | undefined>;
}
