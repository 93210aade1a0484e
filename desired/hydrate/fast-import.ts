import type { BranchFile } from './branch-files.ts';

/** The author and committer of a commit, and its time. */
export interface CommitIdentity {
  readonly name: string;
  readonly email: string;
  readonly seconds: number;
}

export interface ImportedCommit {
  /** A ref of the local repository, free to use. */
  readonly ref: string;
  readonly message: string;
  readonly identity: CommitIdentity;
  /** The parent, or the commit of the stream before this one; undefined: a root commit. */
  readonly from: string | undefined;
  readonly files?: readonly BranchFile[];
  /** A note for a commit, in a commit of notes. */
  readonly note?: { readonly commit: string; readonly text: string };
}

/**
 * The input of `git fast-import` for commits, which prints the ID of each. Everything that tenants
 * write travels here, as data with a length, and never in arguments.
 */
export function importStream(commits: readonly ImportedCommit[]): string {
  const parts = commits.map((commit, i) => commitLines(commit, i + 1));
  return `feature done\n${parts.join('')}done\n`;
}

/** How a later commit of a stream names an earlier one. */
export function markOf(index: number): string {
  return `:${index + 1}`;
}

function commitLines({ ref, message, identity, from, files = [], note }: ImportedCommit, mark: number): string {
  const who = `${identity.name} <${identity.email}> ${identity.seconds} +0000`;
  return [
    `reset ${ref}\n`,
    `\ncommit ${ref}\nmark :${mark}\nauthor ${who}\ncommitter ${who}\n`,
    data(message),
    from === undefined ? '' : `from ${from}\n`,
    ...files.map(({ path, mode, content }) => `M ${mode} inline ${quotedPath(path)}\n${data(content)}`),
    note === undefined ? '' : `N inline ${note.commit}\n${data(note.text)}`,
    `\nget-mark :${mark}\n`,
  ].join('');
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

function quotedPath(path: string): string {
  return `"${path.replace(/["\\]/g, '\\$&')}"`;
}

/** A name or address without the characters that end it (as git removes them). */
export function identityText(text: string, other: string): string {
  const clean = text.replace(/[\u0000-\u001f<>]/g, '').trim();
  return clean === '' ? other : clean;
}
