import type { Repository, SourceAddress } from '#model';
import { DesiredError, RepositoryError } from '../../errors.ts';
import type { CommandResult } from '../../command/types.ts';
import { digestOf } from '../files/archive-cache.ts';

/** Runs one command on the server of an ssh URL, with the credentials of the repository. */
export type RunOnServer = (command: string, remote: ServerCommand, signal: AbortSignal) => Promise<CommandResult>;

export interface ServerCommand {
  readonly url: SourceAddress;
  readonly repository: Repository;
  readonly stdin?: string;
  /** Upper bound on the output. */
  readonly maxBytes?: number;
}

/** An ssh server that transfers files itself, because it has no git-lfs-authenticate. */
export interface LfsSshServer {
  readonly at: SourceAddress;
  readonly repository: Repository;
  /** A word of the command on the server. */
  readonly path: string;
  /** The error of git-lfs-authenticate. */
  readonly refusal: RepositoryError;
}

interface LfsObject {
  readonly digest: string;
  readonly size: number;
}

/** Files of one connection: their output is held in memory. */
const maxConnectionBytes = 64 * 1024 * 1024;
const maxAnswerBytes = 4 * 1024 * 1024;

/**
 * Downloads files by the protocol of git-lfs-transfer, version 1 (git-lfs:
 * docs/proposals/ssh_adapter.md): one connection asks for all files, further ones fetch them.
 * @throws RepositoryError, DesiredError if a file differs from its pointer
 */
export async function transferOverSsh(
  server: LfsSshServer,
  objects: readonly LfsObject[],
  runOnServer: RunOnServer,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Buffer>> {
  const { at: url, repository, path } = server;
  const ask = async (commands: readonly string[], maxBytes: number): Promise<AnswerReader> => {
    const stdin = `${packet('version 1')}0000${commands.join('')}${packet('quit')}0000`;
    const remote = { url, repository, stdin, maxBytes };
    return readerOf(await runOnServer(`git-lfs-transfer '${path}' download`, remote, signal), server);
  };
  const lines = objects.map(({ digest, size }) => packet(`${digest} ${size}`)).join('');
  const batch = `${packet('batch')}${packet('transfer=ssh')}${packet('hash-algo=sha256')}0001${lines}0000`;
  const offered = offersIn((await ask([batch], maxAnswerBytes)).answer('batch').lines);
  const found = new Map<string, Buffer>();
  for (const group of groupsOf(objects)) {
    const commands = group.map(({ digest }) => {
      const extra = offered.get(digest);
      if (extra === undefined)
        throw new RepositoryError(`the LFS server of the repository does not have the file ${digest}`);
      return `${packet(`get-object ${digest}`)}${extra.map(packet).join('')}0000`;
    });
    const total = group.reduce((sum, { size }) => sum + size, 0);
    const answers = await ask(commands, total + Math.ceil(total / 256) + maxAnswerBytes);
    for (const object of group) found.set(object.digest, contentOf(answers.answer(object.digest).data, object));
  }
  return found;
}

function contentOf(data: Buffer, { digest, size }: LfsObject): Buffer {
  if (data.length === size && digestOf(data) === digest) return data;
  throw new DesiredError('DESIRED_ARCHIVE', `the LFS file ${digest} does not match its pointer`);
}

/** A line in the framing of Git. */
function packet(line: string): string {
  return `${(Buffer.byteLength(line) + 5).toString(16).padStart(4, '0')}${line}\n`;
}

/** Arguments by digest that fetch a file: the server's own `id` and `token`. */
function offersIn(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const offers = new Map<string, readonly string[]>();
  for (const line of lines) {
    const [digest = '', , action, ...values] = line.split(' ');
    if (action === 'download')
      offers.set(
        digest,
        values.filter((value) => /^(?:id|token)=\S{1,4096}$/.test(value)),
      );
  }
  return offers;
}

function groupsOf(objects: readonly LfsObject[]): readonly (readonly LfsObject[])[] {
  const groups: LfsObject[][] = [];
  let held = Infinity;
  for (const object of objects) {
    if (held + object.size > maxConnectionBytes) {
      groups.push([]);
      held = 0;
    }
    groups.at(-1)?.push(object);
    held += object.size;
  }
  return groups;
}

interface ServerAnswer {
  readonly lines: readonly string[];
  readonly data: Buffer;
}

/** @throws RepositoryError if the server has no such command, or another version of it */
function readerOf({ exitCode, stdout, stderr }: CommandResult, { refusal }: LfsSshServer): AnswerReader {
  const reader = new AnswerReader(Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength));
  if (!reader.isAt('version=1')) {
    const reason = stderr.trim().split('\n').at(-1) ?? '';
    const why = exitCode === 0 ? 'it does not answer in version 1 of the protocol' : reason || 'no reason';
    throw new RepositoryError(`${refusal.message}; nor does git-lfs-transfer transfer files: ${why}`);
  }
  reader.answer('version 1');
  return reader;
}

/** Reads the answers of a connection, in the order of the commands. */
class AnswerReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Takes the capabilities of the server; reports whether one of them is this. */
  isAt(capability: string): boolean {
    const lines: string[] = [];
    try {
      for (let packetOf = this.#packet(); packetOf !== 'flush'; packetOf = this.#packet())
        if (packetOf !== 'delimiter') lines.push(lineOf(packetOf));
    } catch (error) {
      if (error instanceof RepositoryError) return false;
      throw error;
    }
    return lines.includes(capability);
  }

  /** @throws RepositoryError if the server refuses the command or the connection ended */
  answer(command: string): ServerAnswer {
    const first = this.#packet();
    const status = typeof first === 'string' ? '' : /^status (\d{3})$/.exec(lineOf(first))?.[1];
    if (status === undefined || status === '') throw malformed();
    const parts: Buffer[] = [];
    let isData = false;
    for (let next = this.#packet(); next !== 'flush'; next = this.#packet()) {
      if (next === 'delimiter') isData = true;
      else if (isData) parts.push(next);
    }
    const lines = parts.length > 65_536 ? [] : parts.map(lineOf);
    if (status !== '200')
      throw new RepositoryError(
        `the LFS server refuses ${command} with status ${status}: ${lines.join(' ').slice(0, 256) || 'no reason'}`,
      );
    return { lines, data: Buffer.concat(parts) };
  }

  #packet(): Buffer | 'flush' | 'delimiter' {
    const head = this.#bytes.toString('latin1', this.#at, this.#at + 4);
    if (!/^[\da-f]{4}$/i.test(head)) throw malformed();
    const length = Number.parseInt(head, 16);
    this.#at += Math.max(4, length);
    if (length === 0) return 'flush';
    if (length === 1) return 'delimiter';
    if (length < 4 || this.#at > this.#bytes.length) throw malformed();
    return this.#bytes.subarray(this.#at - length + 4, this.#at);
  }
}

function lineOf(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/\n$/, '');
}

function malformed(): RepositoryError {
  return new RepositoryError('the ssh server of the repository ended git-lfs-transfer early, or broke its protocol');
}
