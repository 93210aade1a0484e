import { execFile } from 'node:child_process';
import process from 'node:process';
import type { CommandRequest, CommandResult } from './command-types.ts';

const maxOutputBytes = 1024 * 1024;

/**
 * {@link RunCommand} as a child of this process. Only for small processes: a fork blocks a large
 * one in proportion to its size (decision D14).
 */
export function runChild(request: CommandRequest, signal: AbortSignal): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    // eslint-disable-next-line no-restricted-properties -- a child inherits our environment
    const env = { ...process.env, ...request.env };
    execFile(
      request.command,
      request.args,
      { env, signal, killSignal: 'SIGKILL', maxBuffer: maxOutputBytes, windowsHide: true },
      (error, stdout, stderr) => {
        if (signal.aborted) reject(signal.reason as Error);
        else if (error === null) resolve({ code: 0, stdout, stderr });
        else if (typeof error.code === 'number') resolve({ code: error.code, stdout, stderr });
        else if (error.killed === true || typeof error.signal === 'string') resolve({ code: null, stdout, stderr });
        else reject(Object.assign(new Error(error.message, { cause: error }), { code: error.code }));
      },
    );
  });
}
