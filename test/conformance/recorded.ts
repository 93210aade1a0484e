import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlayedStep } from './play.ts';

const folder = 'test/conformance/recorded';

/** Answers of a real API server to a group of scenarios, with the server's version. */
export interface ConformanceRecording {
  readonly server: string;
  readonly scenarios: Readonly<Record<string, readonly PlayedStep[]>>;
}

/** @throws Error that explains how to record if there is no recording */
export function readRecording(group: string): ConformanceRecording {
  const path = join(folder, `${group}.json`);
  if (!existsSync(path)) throw new Error(`${path} is missing: record it with npm run e2e -- conformance --record`);
  return JSON.parse(readFileSync(path, 'utf8')) as ConformanceRecording;
}

export function writeRecording(group: string, recording: ConformanceRecording): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${group}.json`), `${JSON.stringify(recording, null, 1)}\n`);
}
