import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { lstat, mkdir, readdir } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { ConcurrencyLimiter, messageOf } from '#base';
import type { Clock, RandomSource } from '#base';
import type { Logger } from '#telemetry';
import { createInProcessRunner } from '../command/in-process.ts';
import type { CommandResult, CommandRunner } from '../command/types.ts';
import { CommandError, RendererUnavailable, UnsafeInput } from '../errors.ts';
import type { RenderCommand, RenderPrograms } from './environment.ts';
import { VersionCache } from './in-process.ts';
import { createMemoryMeter } from './memory-meter.ts';
import type { RenderHeader } from './messages.ts';
import { BrokenProtocol } from './frames.ts';
import { removeFolder, runSteps, StagingWriter } from './staging.ts';
import type { StagedStep, StagingOwner } from './staging.ts';
import type { RenderProgram } from './types.ts';
import { insideFolders } from './wall-scripts.ts';
import { droppedRights, unprivilegedUser, Wall, wallLevels } from './wall.ts';
import type { WallBind, WallCell, WallNamespace } from './wall.ts';

export interface RenderServiceDeps {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  /**
   * The parent of the staging folders, for this process alone. Leftovers of a previous process are
   * removed.
   */
  readonly folder: string;
  readonly programs: RenderPrograms;
  /** Concurrent requests; others wait. */
  readonly parallelism: number;
  /** Memory of all programs together. Above it, the biggest program is killed. */
  readonly memoryBytes: number;
  /**
   * Memory of one program, which also limits what a request may ask for: a controller in another
   * container does not know the memory of this one. Absent: the request decides.
   */
  readonly maxProgramBytes?: number;
  readonly isRoot: boolean;
  /** Levels of isolation to try, best first. */
  readonly levels?: readonly (readonly WallNamespace[])[];
}

/** A request whose files are arriving. */
export interface StagedRequest {
  /**
   * Writes the next bytes of the files, then of the steps' input.
   * @throws BrokenProtocol for more bytes than announced
   */
  write(bytes: Buffer): void;
  /** @throws BrokenProtocol if bytes are missing */
  complete(): void;
  run(signal: AbortSignal): Promise<{ readonly steps: readonly CommandResult[] }>;
  remove(): Promise<void>;
}

const maxBinaries = 16;

/**
 * Runs the programs of requests. Each request has its own staging folder and, if the kernel allows
 * it, its own namespaces.
 */
export class RenderService {
  readonly #deps: RenderServiceDeps;
  readonly #running: ConcurrencyLimiter;
  /** Requests whose cell is not empty yet. */
  readonly #unfinished = new Set<Promise<void>>();
  readonly #commands: CommandRunner;
  #owner: StagingOwner | undefined;
  /**
   * Walls by the files that programs see through them. A new one is built when a program was
   * installed, or when a request names a configured binary for the first time.
   */
  readonly #walls = new Map<string, Wall>();
  #level: readonly WallNamespace[] = [];
  #slots = 0;

  constructor(deps: RenderServiceDeps) {
    this.#deps = deps;
    this.#running = new ConcurrencyLimiter(deps.parallelism);
    this.#owner = deps.isRoot ? unprivilegedUser : undefined;
    const meter = createMemoryMeter(deps.memoryBytes);
    this.#commands = createInProcessRunner({ clock: deps.clock, env: {}, meter });
  }

  /**
   * Removes leftovers of a previous process, and probes which namespaces are possible. Logs the
   * result.
   */
  async open(signal: AbortSignal): Promise<void> {
    const { folder, levels = wallLevels, logger } = this.#deps;
    await mkdir(folder, { recursive: true, mode: 0o711 });
    const found = await lstat(folder);
    if (!found.isDirectory() || (process.getuid !== undefined && found.uid !== process.getuid()))
      throw new RendererUnavailable(`its staging folder ${folder} belongs to the user ${found.uid}: remove it`);
    for (const name of await readdir(folder)) await removeFolder(join(folder, name));
    await mkdir(join(folder, 'incoming'), { mode: 0o711 });
    const refused: string[] = [];
    const binds = this.#binds('');
    for (const level of levels) {
      if (level.length === 0) break;
      const wall = this.#wallFor(binds, level);
      try {
        await wall.open(signal);
        this.#walls.set(JSON.stringify(binds), wall);
        this.#level = level;
        break;
      } catch (error) {
        signal.throwIfAborted();
        await wall.close();
        refused.push(`${level.join('+')}: ${messageOf(error)}`);
      }
    }
    if (this.#level.length === 0) await this.#probeOpenCell(signal);
    const namespaces = this.#level.length === 0 ? 'none' : this.#level.join(', ');
    const details = {
      namespaces,
      user: this.#userName(),
      ...(refused.length === 0 ? {} : { refused: refused.join('; ') }),
    };
    if (this.#level.includes('mount')) logger.info('Programs run behind a wall', details);
    else logger.warn('Programs run without a wall of their own: only the container separates them', details);
  }

  /** Kills all programs behind walls, and removes the staging folders. */
  async close(): Promise<void> {
    await Promise.all(this.#unfinished);
    for (const wall of this.#walls.values()) await wall.close();
    this.#walls.clear();
    await removeFolder(this.#deps.folder);
  }

  /** Opens a staging folder. @throws UnsafeInput for paths outside it */
  async stage(header: RenderHeader): Promise<StagedRequest> {
    const parent = join(this.#deps.folder, 'incoming');
    mkdirSync(parent, { recursive: true, mode: 0o711 });
    const incoming = new IncomingFiles(join(parent, this.#deps.random.uuid()), header, this.#owner);
    try {
      incoming.open();
    } catch (error) {
      await incoming.remove();
      throw error;
    }
    return {
      write: (bytes) => incoming.write(bytes),
      complete: () => incoming.complete(),
      run: (signal) => this.#run(header, incoming, signal),
      remove: () => incoming.remove(),
    };
  }

  /** Undefined if the program is not installed. @throws CommandError */
  async version(program: RenderProgram, binary: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    if (this.#programs(program, binary) === undefined) return undefined;
    return this.#inCell(binary ?? '', signal, async (cell, programs) => {
      mkdirSync(cell.folder, { recursive: true, mode: 0o711 });
      return new VersionCache({ commands: cell.commands, programs }).of(program, binary, signal);
    });
  }

  async #run(
    header: RenderHeader,
    incoming: IncomingFiles,
    signal: AbortSignal,
  ): Promise<{ readonly steps: readonly CommandResult[] }> {
    const binaries = [...new Set(header.steps.flatMap(({ binary = '' }) => (binary === '' ? [] : [binary])))];
    if (binaries.length > 1) throw new CommandError('COMMAND_FAILED', 'the steps of one request name two binaries');
    return this.#inCell(binaries[0] ?? '', signal, async ({ folder, root, commands }, programs) => {
      renameSync(incoming.files, folder);
      const { timeoutMs, maxOutputBytes } = header;
      const maxMemoryBytes = Math.min(header.maxMemoryBytes, this.#deps.maxProgramBytes ?? Infinity);
      const steps = header.steps.map((step, i): StagedStep => withInput(step, incoming.inputs.get(i)));
      const bounds = { timeoutMs, maxOutputBytes, maxMemoryBytes };
      return { steps: await runSteps({ root, commands, programs }, { steps, ...bounds }, signal) };
    });
  }

  /**
   * Gives the result as soon as the body has it. The slot is free once the cell is empty, so no
   * other request meets the files of this one.
   */
  #inCell<T>(
    binary: string,
    signal: AbortSignal,
    body: (cell: WallCell, programs: RenderPrograms) => Promise<T>,
  ): Promise<T> {
    return new Promise<T>((resolve) => {
      let hasBegun = false;
      const work = this.#running.run(signal, async () => {
        const binds = this.#binds(binary);
        const wall = this.#level.length === 0 ? undefined : await this.#wallOf(binds, signal);
        const cell = wall === undefined ? this.#openCell() : await wall.acquire(signal);
        const result = body(cell, this.#programsBehind(binds));
        hasBegun = true;
        resolve(result);
        await result.catch(() => undefined);
        if (wall === undefined) await removeFolder(cell.folder);
        else await wall.release(cell);
      });
      const settled = work.catch((error: unknown) => {
        if (hasBegun) this.#deps.logger.warn('The folder of a request cannot be emptied', { error });
        else resolve(work as Promise<never>);
      });
      this.#unfinished.add(settled);
      void settled.finally(() => this.#unfinished.delete(settled));
    });
  }

  async #wallOf(binds: readonly WallBind[], signal: AbortSignal): Promise<Wall> {
    const key = JSON.stringify(binds);
    const known = this.#walls.get(key);
    if (known?.isWhole() === true) return known;
    if (known !== undefined) {
      this.#walls.delete(key);
      await known.close();
    }
    if (this.#walls.size > maxBinaries)
      throw new CommandError(
        'COMMAND_FAILED',
        `more than ${maxBinaries} binaries are named in kustomize.path.<version>`,
      );
    const wall = this.#wallFor(binds, this.#level);
    await wall.open(signal);
    const built = this.#walls.get(key);
    if (built !== undefined) {
      await wall.close();
      return built;
    }
    this.#walls.set(key, wall);
    return wall;
  }

  #wallFor(binds: readonly WallBind[], namespaces: readonly WallNamespace[]): Wall {
    const folder = join(this.#deps.folder, `wall-${this.#slots}`);
    this.#slots += 1;
    const { clock } = this.#deps;
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    return new Wall({ clock, folder, binds, commands: this.#commands, namespaces, owner: this.#owner });
  }

  /** The fallback without namespaces: a folder, and no rights of root. */
  #openCell(): WallCell {
    this.#slots += 1;
    const folder = join(this.#deps.folder, `open-${this.#slots}`);
    const drop = this.#owner === undefined ? [] : ['/usr/bin/setpriv', ...droppedRights(this.#owner)];
    const commands: CommandRunner = {
      runCommand: (argv, options) => this.#commands.runCommand([...drop, ...argv], options),
    };
    return { folder, root: folder, commands };
  }

  /**
   * Keeps our own user if the unprivileged one cannot reach the staging folder, or we may not
   * switch to it.
   */
  async #probeOpenCell(signal: AbortSignal): Promise<void> {
    if (this.#owner === undefined) return;
    const { folder, commands } = this.#openCell();
    mkdirSync(folder, { mode: 0o755 });
    const options = { cwd: '/', env: {}, timeoutMs: 10_000, maxBytes: 4096, signal };
    const result = await commands
      .runCommand(['/bin/sh', '-c', 'cd "$1"', 'sh', folder], options)
      .catch(() => undefined);
    if (result?.exitCode !== 0) this.#owner = undefined;
    await removeFolder(folder);
  }

  #programs(program: RenderProgram, binary: string | undefined): RenderCommand | undefined {
    if (binary !== undefined && (!isAbsolute(binary) || /(?:^|\/)\.\.?(?:\/|$)|\0/.test(binary)))
      throw new UnsafeInput(`the binary ${JSON.stringify(binary)} is not an absolute path`);
    return this.#deps.programs(program, binary);
  }

  /** Finds the command of a program, with the paths that it has behind the wall. */
  #programsBehind(binds: readonly WallBind[]): RenderPrograms {
    const targets = new Map(binds.map(({ source, target }) => [source, target]));
    return (program, binary) => {
      const command = this.#programs(program, binary);
      if (command === undefined || !this.#level.includes('mount')) return command;
      const [path, ...args] = command.map((word) => insidePath(word, targets));
      return path === undefined ? undefined : [path, ...args];
    };
  }

  /** Each program has its own path behind the wall. The parser is bound with its modules. */
  #binds(binary: string): readonly WallBind[] {
    const binds: WallBind[] = [];
    const add = (source: string | undefined, name: string): void => {
      if (source !== undefined && existsSync(source) && !binds.some((bind) => bind.source === source))
        binds.push({ source, target: `${insideFolders.programs}/${name}` });
    };
    for (const program of ['helm', 'kustomize', 'jsonnet'] as const) add(this.#deps.programs(program)?.[0], program);
    if (binary !== '') add(binary, 'named');
    const parser = this.#deps.programs('parse');
    add(parser?.[0], 'node');
    const main = parser?.at(-1);
    if (main === undefined) return binds;
    // The parser's modules: <package>/dist/desired/parse-main.js, beside package.json and
    // node_modules.
    const dist = dirname(dirname(main));
    add(dist, 'driftless/dist');
    add(join(dirname(dist), 'package.json'), 'driftless/package.json');
    add(join(dirname(dist), 'node_modules'), 'driftless/node_modules');
    return binds;
  }

  #userName(): string {
    return this.#owner === undefined ? 'own' : `${this.#owner.uid}`;
  }
}

/** Translates a path in a bound folder to its path behind the wall. */
function insidePath(word: string, targets: ReadonlyMap<string, string>): string {
  for (const [source, target] of targets)
    if (word === source || word.startsWith(`${source}/`)) return `${target}${word.slice(source.length)}`;
  return word;
}

function withInput(
  { program, binary, args, cwd, env, withHelm }: RenderHeader['steps'][number],
  stdinFile: string | undefined,
): StagedStep {
  return {
    program,
    args,
    cwd,
    ...(binary === undefined ? {} : { binary }),
    ...(env === undefined ? {} : { env }),
    ...(withHelm === undefined ? {} : { withHelm }),
    ...(stdinFile === undefined ? {} : { stdinFile }),
  };
}

/** Writes the bytes of a request: file after file, then the input of its steps. */
class IncomingFiles {
  /** The folder that programs will see. */
  readonly files: string;
  /** Files with the input of steps, by the index of the step. */
  readonly inputs = new Map<number, string>();
  readonly #header: RenderHeader;
  readonly #writer: StagingWriter;
  readonly #todo: { readonly bytes: number; readonly create: () => number }[] = [];
  #file: number | undefined;
  #missing = 0;

  constructor(files: string, header: RenderHeader, owner: StagingOwner | undefined) {
    this.files = files;
    this.#header = header;
    this.#writer = new StagingWriter(this.files, owner);
  }

  open(): void {
    mkdirSync(this.files, { mode: 0o700 });
    this.#writer.open();
    for (const { path, bytes } of this.#header.files)
      this.#todo.push({ bytes, create: () => this.#writer.openNewFile(path) });
    for (const [i, { stdinBytes }] of this.#header.steps.entries()) {
      if (stdinBytes === 0) continue;
      const path = `${this.files}.input-${i}`;
      this.inputs.set(i, path);
      this.#todo.push({ bytes: stdinBytes, create: () => openSync(path, 'wx', 0o600) });
    }
    this.#todo.reverse();
    this.#next();
  }

  write(bytes: Buffer): void {
    for (let from = 0; from < bytes.length;) {
      if (this.#file === undefined) throw new BrokenProtocol('a request has more bytes than it announced');
      const part = bytes.subarray(from, from + this.#missing);
      writeFileSync(this.#file, part);
      from += part.length;
      this.#missing -= part.length;
      if (this.#missing === 0) this.#next();
    }
  }

  complete(): void {
    if (this.#file !== undefined) throw new BrokenProtocol('a request has fewer bytes than it announced');
    for (const link of this.#header.links) this.#writer.makeLink(link);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** Removes what no program has taken over. */
  async remove(): Promise<void> {
    this.close();
    for (const path of this.inputs.values()) rmSync(path, { force: true });
    if (existsSync(this.files)) await removeFolder(this.files);
  }

  /** Opens the next file that has bytes, and creates empty ones on the way. */
  #next(): void {
    this.close();
    for (let next = this.#todo.pop(); next !== undefined; next = this.#todo.pop()) {
      const file = next.create();
      if (next.bytes > 0) {
        [this.#file, this.#missing] = [file, next.bytes];
        return;
      }
      closeSync(file);
    }
  }
}
