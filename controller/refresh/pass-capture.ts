import type { AppKey, Application } from '#model';
import type { DueRefresh } from '../application/freshness.ts';
import type { AppMemory } from '../comparison/memory.ts';
import type { RefreshCapture } from '../recorder/capture.ts';

interface BegunPass {
  readonly key: AppKey;
  readonly before: Application;
  readonly refresh: DueRefresh;
  readonly memory: AppMemory;
  readonly now: number;
  readonly startedAt: number;
}

/** The capture of a pass that begins, with the memory that it changes. */
export function captureRefresh({ key, before, refresh, memory, now, startedAt }: BegunPass): RefreshCapture {
  const { driftSeenAt, sourceFailedAt, contests, roots } = memory;
  const remembered = { driftSeenAt, sourceFailedAt, contests, roots };
  return { kind: 'refresh', key, now, startedAt, refresh, before, memory: remembered, comparison: {}, isAsked: false };
}
