import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import type { RenderCommand } from './environment.ts';

/** The built program that parses big manifest files and indexes. */
const parserProgram = fileURLToPath(new URL('../parse-main.js', import.meta.url));

/** The command that starts it. */
export function parserCommand(program: string = parserProgram): RenderCommand {
  return [execPath, '--max-old-space-size=1024', program];
}
