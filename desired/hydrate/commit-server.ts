import type { Client, ServiceError } from '@grpc/grpc-js';
import { outsideText, stringifyJson, untilAborted } from '#base';
import type { Clock } from '#base';
import type { Repository } from '#model';
import { RepoServerError, WrongRevision } from '../errors.ts';
import { isFullSha } from '../fetch/git/refs.ts';
import { ConnectionPool } from '../remote/connections.ts';
import { repositoryMessage } from '../remote/messages.ts';
import { codeName, grpc } from '../remote/grpc.ts';
import { commitMethod } from '../remote/protocol.ts';
import { checkBranch } from './branch-files.ts';
import { defaultReadmeTemplate } from './commit-texts.ts';
import type { DryCommit } from './dry-commit.ts';
import type { HydrationTexts } from './hydration-texts.ts';
import type { FencedCall, HydrationCommit, HydrationCommitter } from './types.ts';

export interface CommitServerDeps {
  readonly clock: Clock;
  /** `host:port` of Argo CD's commit server. */
  readonly address: string;
  readonly userAgent: string;
  readonly texts: HydrationTexts;
  /** Deadline of a commit. Default 5 minutes. */
  readonly timeoutMs?: number;
}

const maxMessageBytes = 100 * 1024 * 1024;
const maxReasonLength = 8192;

/** Commits through Argo CD's commit server, without TLS as Argo CD does. */
export function createCommitServerClient(deps: CommitServerDeps): HydrationCommitter {
  const { clock, address, userAgent } = deps;
  const options = { address, userAgent, maxMessageBytes, serviceConfigFromDns: false };
  return new CommitServerClient(deps, new ConnectionPool(options, clock));
}

class CommitServerClient implements HydrationCommitter {
  readonly name = 'commit server';
  readonly maxBytes = maxMessageBytes;
  readonly #deps: CommitServerDeps;
  readonly #connections: ConnectionPool;

  constructor(deps: CommitServerDeps, connections: ConnectionPool) {
    this.#deps = deps;
    this.#connections = connections;
  }

  get texts(): HydrationTexts {
    return this.#deps.texts;
  }

  async run(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#connections.close();
  }

  async commit(request: HydrationCommit, signal: AbortSignal): Promise<string> {
    checkBranch(request.syncBranch);
    checkBranch(request.targetBranch);
    signal.throwIfAborted();
    const message = messageOf(request);
    const send = (call: FencedCall): Promise<object> =>
      this.#connections.use(
        (client) => this.#call(client, message, call),
        (error) => !call.signal.aborted && isServiceError(error) && error.code === grpc().status.UNAVAILABLE,
      );
    const answer = await request.fenced(send).catch((error: unknown) => {
      if (isServiceError(error)) throw this.#asError(error, request.repository);
      throw error;
    });
    return checkedAnswer(answer);
  }

  #call(client: Client, message: object, { signal, beforeSend }: FencedCall): Promise<object> {
    const { path, requestSerialize, responseDeserialize } = commitMethod();
    const deadline = this.#deps.clock.now() + (this.#deps.timeoutMs ?? 300_000);
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      beforeSend();
      const onAbort = (): void => call.cancel();
      const done = (error: ServiceError | null, answer?: object): void => {
        signal.removeEventListener('abort', onAbort);
        if (error === null) resolve(answer ?? {});
        else reject(signal.aborted ? (signal.reason as Error) : error);
      };
      const serializers = [requestSerialize, responseDeserialize] as const;
      const call = client.makeUnaryRequest(path, ...serializers, message, { deadline }, done);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #asError({ code, details }: ServiceError, repository: Repository): RepoServerError {
    const hidden = Object.values(repository.secretData ?? {}).map((secret) => secret.reveal());
    const reason = outsideText('rpc', details, { hidden }).slice(0, maxReasonLength);
    if (code === grpc().status.DEADLINE_EXCEEDED)
      return new RepoServerError('DeadlineExceeded', 'context deadline exceeded');
    if (code === grpc().status.UNAVAILABLE || code === grpc().status.CANCELLED)
      return new RepoServerError(
        'Unavailable',
        `connection error: desc = "${reason}": commit-server ${this.#deps.address}`,
      );
    return new RepoServerError(
      codeName(code),
      reason === '' ? 'the commit server returned no readable reason: see its log' : reason,
    );
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error;
}

/** @throws WrongRevision for an answer that names no commit */
function checkedAnswer(answer: object): string {
  const sha = 'hydratedSha' in answer ? String(answer.hydratedSha) : '';
  if (isFullSha(sha)) return sha.toLowerCase();
  const what = sha === '' ? 'without a commit' : `with ${outsideText('rpc', sha).slice(0, 100)}, which is no commit`;
  throw new WrongRevision(`the commit server answered ${what}`);
}

function messageOf(request: HydrationCommit): object {
  const { repository, syncBranch, targetBranch, drySha, message, readmeTemplate, author, dryCommit } = request;
  return {
    repo: repositoryMessage(repository),
    syncBranch,
    targetBranch,
    drySha,
    commitMessage: message,
    paths: request.paths.map(({ path, objects, commands }) => ({
      path,
      commands,
      manifests: objects.map((object) => ({ manifestJSON: stringifyJson(object) })),
    })),
    dryCommitMetadata: dryCommitMessage(dryCommit),
    authorName: author.name,
    authorEmail: author.email,
    readmeMessage: readmeTemplate === '' ? defaultReadmeTemplate : readmeTemplate,
  };
}

function dryCommitMessage({ author, authoredAt, message, references }: DryCommit): object {
  return {
    author,
    message,
    ...(authoredAt === undefined ? {} : { date: { seconds: authoredAt } }),
    references: references.map(({ repoURL, ...commit }) => ({
      commit: { ...commit, ...(repoURL === undefined ? {} : { repoUrl: repoURL }) },
    })),
  };
}
