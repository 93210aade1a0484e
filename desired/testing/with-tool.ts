import { env } from 'node:process';
import { describe, it } from '@jest/globals';
import type { ToolName } from '../generate/tools.ts';
import { machineTools } from './repository.ts';

/**
 * Tests that need a program. They are skipped if it is missing, and the title explains why;
 * `npm run test:tools` lets them fail instead.
 */
export function describeWithTool(tool: ToolName | 'sops', title: string, body: () => void): void {
  if (isLeftOut(tool)) describe.skip(leftOut(tool, title), body);
  else describe(title, body);
}

/** One test that needs another program than its suite. */
export function itWithTool(tool: ToolName | 'sops', title: string, body: () => Promise<void>): void {
  if (isLeftOut(tool)) it.skip(leftOut(tool, title), body);
  else it(title, body);
}

function isLeftOut(tool: ToolName | 'sops'): boolean {
  return machineTools(tool) === undefined && env['DRIFTLESS_TOOLS'] !== 'required';
}

function leftOut(tool: ToolName | 'sops', title: string): string {
  return `${title} (left out: no ${tool} on PATH or in the cache of npm run e2e:setup)`;
}
