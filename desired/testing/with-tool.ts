import { describe, it } from '@jest/globals';
import type { ToolName } from '../generate/tools.ts';
import { machineTools } from './repository.ts';

/** Tests that run a program. Where it is nowhere they are left out, and their title says why. */
export function describeWithTool(tool: ToolName, title: string, body: () => void): void {
  if (machineTools(tool) === undefined) describe.skip(leftOut(tool, title), body);
  else describe(title, body);
}

/** One test that needs a program beside that of its suite. */
export function itWithTool(tool: ToolName, title: string, body: () => Promise<void>): void {
  if (machineTools(tool) === undefined) it.skip(leftOut(tool, title), body);
  else it(title, body);
}

function leftOut(tool: ToolName, title: string): string {
  return `${title} (left out: no ${tool} on PATH or in the cache of npm run e2e:setup)`;
}
