import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Played } from './play.ts';

const folder = 'test/conformance/recorded';

/** The answers of a real API server to one group of scenarios, and which server that was. */
export interface Recording {
  readonly server: string;
  readonly scenarios: Readonly<Record<string, readonly Played[]>>;
}

/** @throws Error that says how to record when there is nothing */
export function readRecording(group: string): Recording {
  const path = join(folder, `${group}.json`);
  if (!existsSync(path)) throw new Error(`${path} is missing: record it with npm run e2e -- conformance --record`);
  return JSON.parse(readFileSync(path, 'utf8')) as Recording;
}

export function writeRecording(group: string, recording: Recording): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${group}.json`), `${JSON.stringify(recording, null, 1)}\n`);
}
