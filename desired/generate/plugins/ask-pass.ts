import { chmod, mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { sendUnaryData, Server, ServerUnaryCall } from '@grpc/grpc-js';
import type { RandomSource } from '#base';
import { grpc, serviceMethods } from '../../remote/grpc.ts';

const askPassService = {
  nested: {
    askpass: {
      nested: {
        CredentialsRequest: { fields: { nonce: { type: 'string', id: 1 } } },
        CredentialsResponse: { fields: { username: { type: 'string', id: 1 }, password: { type: 'string', id: 2 } } },
        AskPassService: {
          methods: { GetCredentials: { requestType: 'CredentialsRequest', responseType: 'CredentialsResponse' } },
        },
      },
    },
  },
};

/** Its method. Test clients use it too. */
export const askPassMethods = serviceMethods(askPassService, 'askpass.AskPassService', { defaults: true });

export interface GitLogin {
  readonly username: string;
  readonly password: string;
}

/**
 * Lends the credentials of a repository to a plugin that sets provideGitCreds (Argo CD:
 * util/askpass). The plugin gets a nonce that is valid for one call; the askpass program in its
 * container exchanges it for user and password over a socket. The socket exists only while
 * credentials are lent.
 */
export class AskPass {
  readonly #socket: string;
  readonly #random: RandomSource;
  readonly #logins = new Map<string, GitLogin>();
  #server: Promise<Server> | undefined;

  constructor(socket: string, random: RandomSource) {
    this.#socket = socket;
    this.#random = random;
  }

  /** Runs the body with the environment that lets git request the credentials. */
  async lend<T>(login: GitLogin, body: (env: Readonly<Record<string, string>>) => Promise<T>): Promise<T> {
    const nonce = this.#random.uuid();
    this.#logins.set(nonce, login);
    try {
      this.#server ??= this.#listen();
      await this.#server;
      return await body({
        GIT_ASKPASS: 'argocd',
        GIT_TERMINAL_PROMPT: '0',
        ARGOCD_BINARY_NAME: 'argocd-git-ask-pass',
        ARGOCD_ASK_PASS_SOCK: this.#socket,
        ARGOCD_GIT_ASKPASS_NONCE: nonce,
      });
    } finally {
      this.#logins.delete(nonce);
      if (this.#logins.size === 0) await this.#close();
    }
  }

  async #listen(): Promise<Server> {
    await mkdir(dirname(this.#socket), { recursive: true });
    await rm(this.#socket, { force: true });
    const server = new (grpc().Server)();
    server.addService(askPassMethods(), {
      GetCredentials: (call: ServerUnaryCall<{ readonly nonce: string }, GitLogin>, done: sendUnaryData<GitLogin>) => {
        const login = this.#logins.get(call.request.nonce);
        if (login === undefined)
          done({ code: grpc().status.NOT_FOUND, details: 'there are no credentials for this number' });
        else done(null, login);
      },
    });
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${this.#socket}`, grpc().ServerCredentials.createInsecure(), (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
    // Containers of the pod may run as other users; without a nonce they learn nothing.
    await chmod(this.#socket, 0o666);
    return server;
  }

  async #close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    (await server?.catch(() => undefined))?.forceShutdown();
    await rm(this.#socket, { force: true });
  }
}
