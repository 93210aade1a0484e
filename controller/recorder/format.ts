import type { Json, JsonObject } from '#base';
import type { SelfHealBackoff } from '../application/autosync.ts';

/** Version of the format. Within a version, members are added, and none changes its meaning. */
export const recordingFormat = 1;

/** Options of the controller that decisions depend on. */
export interface RecordedConfig {
  readonly namespace: string;
  readonly appResyncMs: number;
  readonly hardResyncMs: number;
  readonly repoErrorGraceMs: number;
  readonly persistResourceHealth: boolean;
  readonly selfHeal: SelfHealBackoff;
  readonly retryLatestRevision: boolean;
  readonly syncTimeoutMs: number;
  readonly syncWaveDelayMs: number;
  /** Absent: false. */
  readonly hydrates?: boolean;
}

/**
 * The first line of a recording, and of each part of it that another replica wrote: ids of values
 * begin again.
 */
export interface RecordedHeader {
  readonly type: 'header';
  readonly format: typeof recordingFormat;
  /** Release that recorded it. */
  readonly version: string;
  readonly replica: string;
  readonly application: string;
  readonly time: string;
  readonly config: RecordedConfig;
}

/** A value that later lines name by its id. */
export interface RecordedValue {
  readonly type: 'value';
  readonly id: string;
  readonly value: Json;
}

/** A pass: `refresh` or `operation`, with its inputs and decisions. */
export interface RecordedPass {
  readonly type: 'refresh' | 'operation';
  readonly now: number;
  readonly startedAt: number;
  readonly inputs: JsonObject;
  readonly decisions: JsonObject;
  /** Why a replay may decide otherwise although no rule changed. */
  readonly inexact: readonly string[];
}

/** Passes that are missing. */
export interface RecordedGap {
  readonly type: 'gap';
  readonly message: string;
}
