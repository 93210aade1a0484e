import { DriftlessError } from '#base';
import type { KubeClient } from '#kube';

/** A write was tried where none may be: a fault of this program. */
export class WriteRefused extends DriftlessError {
  constructor(verb: string, server: string) {
    super('PREFLIGHT_WRITE', `refused to ${verb} on ${server}: preflight only reads`, { retry: 'never' });
  }
}

/**
 * A client that cannot write, whoever holds it: everything that changes something is refused before a request is made. Acting as another user
 * is refused too; only writes need it.
 */
export function readOnly(client: KubeClient): KubeClient {
  const refuse = (verb: string) => (): Promise<never> => Promise.reject(new WriteRefused(verb, client.server));
  return {
    server: client.server,
    get: (...args) => client.get(...args),
    list: (...args) => client.list(...args),
    watch: (...args) => client.watch(...args),
    discover: (...args) => client.discover(...args),
    version: (...args) => client.version(...args),
    create: refuse('create'),
    replace: refuse('replace'),
    patch: refuse('patch'),
    delete: refuse('delete'),
    impersonate: () => {
      throw new WriteRefused('impersonate', client.server);
    },
    updateCredentials: (connection) => client.updateCredentials(connection),
    close: () => client.close(),
  };
}
