import { outsideText } from '#base';
import type { CommandResult } from '../../command/types.ts';
import { CommandError } from '../../errors.ts';

/** Author, time and first line of the message of a commit. Tenants may write anything there. */
export interface CommitFacts {
  /** Name and e-mail address; at most 200 characters. */
  readonly author: string;
  /** RFC 3339. */
  readonly at: string;
  /** At most 500 characters. */
  readonly subject: string;
}

/** Fields are separated by NUL, which no commit contains. */
const format = '--format=%an <%ae>%x00%at%x00%s';
const maxDescribed = 2000;
/** A commit with more is not described: its message alone may have megabytes. */
export const maxCommitBytes = 65_536;
const maxAuthorLength = 200;
const maxSubjectLength = 500;
const maxEpochSeconds = 253_402_300_799;

export function describeArgs(commit: string): readonly string[] {
  return ['log', '-1', '--no-show-signature', format, commit];
}

/** The commits that were described last, by mirror; a commit never changes. */
export class DescribedCommits {
  readonly #facts = new Map<string, CommitFacts>();

  /** Undefined if git fails: the mirror lacks the commit, or it is too large. */
  async of(key: string, read: () => Promise<CommandResult>): Promise<CommitFacts | undefined> {
    const known = this.#facts.get(key);
    if (known !== undefined) return known;
    const facts = await readFacts(read);
    if (facts === undefined) return undefined;
    const [oldest] = this.#facts.keys();
    if (this.#facts.size >= maxDescribed && oldest !== undefined) this.#facts.delete(oldest);
    this.#facts.set(key, facts);
    return facts;
  }
}

async function readFacts(read: () => Promise<CommandResult>): Promise<CommitFacts | undefined> {
  try {
    const { exitCode, stdout } = await read();
    return exitCode === 0 ? parseCommit(Buffer.from(stdout).toString('utf8')) : undefined;
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

/** Parses the output of {@link describeArgs}; undefined if it is not that. */
export function parseCommit(output: string): CommitFacts | undefined {
  const [author, seconds = '', subject] = output.split('\0');
  if (author === undefined || subject === undefined || !/^\d{1,12}$/.test(seconds)) return undefined;
  const epoch = Math.min(Number(seconds), maxEpochSeconds);
  return {
    author: oneLine(author, maxAuthorLength),
    at: new Date(epoch * 1000).toISOString().replace('.000Z', 'Z'),
    subject: oneLine(subject, maxSubjectLength),
  };
}

function oneLine(text: string, limit: number): string {
  return outsideText('field', text).trim().replace(/\s+/g, ' ').slice(0, limit);
}
