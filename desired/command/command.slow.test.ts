import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath, kill } from 'node:process';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { transformFile } from '@swc/core';
import { Shutdown, systemClock } from '#base';
import { eventually, FakeClock } from '#support';
import { createLogger, silentLogger } from '#telemetry';
import { CommandError, createInProcessRunner, startCommandHelper } from '../index.ts';
import type { CommandHelper, CommandOptions, CommandRunner } from '../index.ts';
import type { CommandHelperDeps } from './helper.ts';

const never = new AbortController().signal;
const options = (more: Partial<CommandOptions> = {}): CommandOptions => ({
  timeoutMs: 20_000,
  maxBytes: 10_000_000,
  signal: never,
  ...more,
});
const node = (script: string): string[] => [execPath, '-e', script];
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof CommandError) return error.code;
    throw error;
  }
  return 'no error';
}
const alive = (pid: number): boolean => {
  try {
    kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

let built = '';
beforeAll(async () => {
  // The helper runs from JavaScript: build its two files as `npm run build` does.
  built = mkdtempSync(join(tmpdir(), 'helper-'));
  writeFileSync(join(built, 'package.json'), '{"type":"module"}');
  await mkdir(join(built, 'command'));
  for (const file of ['command-helper-main', 'command/run-process']) {
    const { code } = await transformFile(join(import.meta.dirname, '..', `${file}.ts`), {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
      module: { type: 'es6' },
    });
    writeFileSync(join(built, `${file}.js`), code.replaceAll(".ts'", ".js'").replaceAll('.ts"', '.js"'));
  }
});
afterAll(() => rmSync(built, { recursive: true, force: true }));

const helpers: AbortController[] = [];
const ends: Promise<void>[] = [];
function helper(extraEnv: Record<string, string> = {}, more: Partial<CommandHelperDeps> = {}): CommandHelper {
  const started = startCommandHelper({
    logger: silentLogger,
    env: { ...env, ...extraEnv },
    script: join(built, 'command-helper-main.js'),
    ...more,
  });
  const stop = new AbortController();
  helpers.push(stop);
  ends.push(started.run(stop.signal));
  return started;
}
afterEach(async () => {
  for (const stop of helpers.splice(0)) stop.abort(new Shutdown());
  await Promise.all(ends.splice(0));
});

const runners: readonly (readonly [string, () => CommandRunner])[] = [
  ['in process', () => createInProcessRunner({ clock: systemClock, env })],
  ['in the helper process', () => helper()],
];

describe.each(runners)('a program run %s', (_name, runner) => {
  it('gets SIGTERM at its timeout if it has a delay to end, and is killed after that', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'delay-'));
    const marker = join(folder, 'ended');
    const script = (end: string): string[] => ['sh', '-c', `trap '${end}' TERM; while :; do sleep 0.05; done`];
    const soft = options({ timeoutMs: 300, killDelayMs: 60_000 });
    expect(await codeOf(runner().runCommand(script(`echo x > ${marker}; exit 0`), soft))).toBe('COMMAND_TIMEOUT');
    expect(existsSync(marker)).toBe(true);
    const stubborn = options({ timeoutMs: 300, killDelayMs: 300 });
    expect(await codeOf(runner().runCommand(script(''), stubborn))).toBe('COMMAND_TIMEOUT');
    rmSync(folder, { recursive: true, force: true });
  });

  it('gets its exact argv, input and environment, and returns output and exit code', async () => {
    const script = `process.stdin.on('data', d => process.stdout.write(JSON.stringify([String(d), process.argv.slice(1), process.env.A, process.cwd()])));
      process.stdin.on('end', () => { process.stderr.write('careful'); process.exitCode = 3; })`;
    const strange = '$(id) `id` ; "quoted" \n *';
    const result = await runner().runCommand(
      [...node(script), '--', strange],
      options({ stdin: 'in', env: { A: 'b' }, cwd: tmpdir() }),
    );
    expect(JSON.parse(textOf(result.stdout))).toEqual(['in', [strange], 'b', expect.any(String)]);
    expect(result.exitCode).toBe(3);
    expect(result.stderr).toBe('careful');
  });

  it('passes bytes unchanged in both directions, many at once', async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7) % 256));
    const one = runner();
    const results = await Promise.all(
      Array.from({ length: 8 }, () => one.runCommand(['cat'], options({ stdin: bytes }))),
    );
    for (const result of results) expect(Buffer.compare(result.stdout, bytes)).toBe(0);
  });

  it('inherits only allowed variables', async () => {
    const result = await runner().runCommand(node('process.stdout.write(Object.keys(process.env).join())'), options());
    const names = textOf(result.stdout).split(',');
    expect(names).toContain('PATH');
    expect(names).not.toContain('HOME');
    expect(names.filter((name) => /^(?:npm|NODE|JEST)/.test(name) && name !== 'NODE_CHANNEL_FD')).toEqual([]);
  });

  it('reports what went wrong', async () => {
    const one = runner();
    expect(await codeOf(one.runCommand(['no-such-program-anywhere'], options()))).toBe('COMMAND_NOT_FOUND');
    expect(await codeOf(one.runCommand(['cat', 'a\u0000b'], options()))).toBe('COMMAND_FAILED');
    expect(
      await codeOf(
        one.runCommand(node('for(;;) process.stdout.write("x".repeat(9999))'), options({ maxBytes: 100_000 })),
      ),
    ).toBe('COMMAND_OUTPUT');
    expect(await codeOf(one.runCommand(['sleep', '600'], options({ timeoutMs: 50 })))).toBe('COMMAND_TIMEOUT');
  });

  it('kills the program and its children when the caller aborts', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'kill-'));
    const file = join(directory, 'pids');
    const stop = new AbortController();
    const script = `const c = require('child_process').spawn('sleep', ['600'], {stdio: 'inherit'});
      require('fs').writeFileSync(${JSON.stringify(file)}, process.pid + ' ' + c.pid); setInterval(() => {}, 1000)`;
    const running = runner().runCommand(node(script), options({ signal: stop.signal }));
    const pids = await eventually(() => {
      const read = readFileSync(file, 'utf8').split(' ').map(Number);
      expect(read).toHaveLength(2);
      return read;
    });
    stop.abort(new Shutdown('enough'));
    await expect(running).rejects.toThrow('enough');
    await eventually(() => expect(pids.map(alive)).toEqual([false, false]));
    rmSync(directory, { recursive: true });
  });

  it('does not start for a caller that has already aborted', async () => {
    const stop = new AbortController();
    stop.abort(new Shutdown('gone'));
    await expect(runner().runCommand(['true'], options({ signal: stop.signal }))).rejects.toThrow('gone');
  });
});

describe('the in-process runner', () => {
  it('measures the time limit with the injected clock, and leaves no timer', async () => {
    const clock = new FakeClock();
    const one = createInProcessRunner({ clock, env });
    const running = codeOf(one.runCommand(['sleep', '600'], options({ timeoutMs: 5000 })));
    await clock.advance(4999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(await running).toBe('COMMAND_TIMEOUT');
    expect((await one.runCommand(['true'], options())).exitCode).toBe(0);
    expect(clock.pending).toBe(0);
  });
});

describe('the command helper', () => {
  it('is another process, which exits when it is stopped', async () => {
    const one = helper();
    const { pid } = one;
    expect(pid).toBeGreaterThan(0);
    const parent = await one.runCommand(node('process.stdout.write(String(process.ppid))'), options());
    expect(Number(textOf(parent.stdout))).toBe(pid);
    helpers.pop()?.abort(new Shutdown());
    await ends.pop();
    expect(alive(pid ?? 0)).toBe(false);
    expect(await codeOf(one.runCommand(['true'], options()))).toBe('COMMAND_FAILED');
  });

  it('fails its commands when it dies, and restarts for the next command', async () => {
    const one = helper();
    const first = one.pid ?? 0;
    const running = codeOf(one.runCommand(['sleep', '3'], options()));
    kill(first, 'SIGKILL');
    expect(await running).toBe('COMMAND_FAILED');
    const result = await one.runCommand(['echo', 'back'], options());
    expect(textOf(result.stdout)).toBe('back\n');
    expect(one.pid).not.toBe(first);
  });

  it('exits with everything it started when its parent is killed', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'orphan-'));
    const file = join(directory, 'pids');
    const grandchild = `require('fs').writeFileSync(${JSON.stringify(file)}, process.ppid + ' ' + process.pid + ' ' + process.argv[1]); setInterval(() => {}, 1000)`;
    const parent = `const { fork } = require('child_process');
      const child = fork(${JSON.stringify(join(built, 'command-helper-main.js'))}, [], { serialization: 'advanced' });
      child.send({ do: 'run', id: 1, request: { argv: [process.execPath, '-e', ${JSON.stringify(grandchild)}, String(process.pid)], env: {}, timeoutMs: 60000, maxBytes: 1000 } });`;
    const outer = new AbortController();
    const running = createInProcessRunner({ clock: systemClock, env }).runCommand(
      node(parent),
      options({ signal: outer.signal }),
    );
    const pids = await eventually(() => {
      const read = readFileSync(file, 'utf8').split(' ').map(Number);
      expect(read).toHaveLength(3);
      return read;
    });
    kill(pids[2] ?? 0, 'SIGKILL');
    await eventually(() => expect(pids.map(alive)).toEqual([false, false, false]));
    outer.abort(new Shutdown('over'));
    await running.catch(() => undefined);
    rmSync(directory, { recursive: true });
  });

  it('shows programs only the allowed part of the environment', async () => {
    const one = helper({ AWS_SECRET_ACCESS_KEY: 'x', https_proxy: 'http://proxy:1' });
    const result = await one.runCommand(node('process.stdout.write(JSON.stringify(process.env))'), options());
    expect(JSON.parse(textOf(result.stdout))).toMatchObject({ https_proxy: 'http://proxy:1' });
    expect(textOf(result.stdout)).not.toContain('AWS_SECRET_ACCESS_KEY');
  });

  it('with an idle limit starts with the first command, ends after the last one, and starts again', async () => {
    const clock = new FakeClock();
    const lines: string[] = [];
    const logger = createLogger({ level: 'warn', format: 'json', destination: { write: (line) => lines.push(line) } });
    const one = helper({}, { idle: { clock, limitMs: 10_000 }, logger });
    expect(one.pid).toBeUndefined();
    await one.runCommand(['true'], options());
    const first = one.pid ?? 0;
    await clock.advance(9999);
    const stop = new AbortController();
    const running = codeOf(one.runCommand(['sleep', '600'], options({ signal: stop.signal })));
    await clock.advance(60_000);
    expect([one.pid, alive(first)]).toEqual([first, true]);
    stop.abort(new CommandError('COMMAND_FAILED', 'enough'));
    await running;
    await clock.advance(10_000);
    expect(one.pid).toBeUndefined();
    await eventually(() => expect(alive(first)).toBe(false));
    expect(textOf((await one.runCommand(['echo', 'back'], options())).stdout)).toBe('back\n');
    helpers.pop()?.abort(new Shutdown());
    await ends.pop();
    expect([clock.pending, lines]).toEqual([0, []]);
  });
});
