import { bytesToRead } from '../fetch/files/snapshot.ts';
import type { FileNode } from '../fetch/files/tree.ts';
import type { InputBudget } from '../inputs/input-budget.ts';
import type { RenderJob } from './plan.ts';

/** Files of a source that this process reads itself. */
export interface WantedFiles {
  readonly job: RenderJob;
  readonly inputs: InputBudget;
  readonly nodes: readonly FileNode[];
}

/**
 * Reads files once there is memory for them. They count as held until `body` ends, which must not
 * hold others.
 */
export async function withFiles<T>(
  { job, inputs, nodes }: WantedFiles,
  signal: AbortSignal,
  body: (contents: ReadonlyMap<string, Uint8Array>) => Promise<T> | T,
): Promise<T> {
  const { request, snapshot, segments } = job;
  if (nodes.length === 0) return body(new Map());
  const bytes = await bytesToRead(snapshot, nodes, signal);
  const near = { folder: segments, areDeciding: false };
  return inputs.run({ project: request.project, bytes }, signal, async () =>
    body(await snapshot.read(nodes, signal, near)),
  );
}
