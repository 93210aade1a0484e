import { request as httpRequest } from 'node:http';
import type { RequestListener, ServerResponse } from 'node:http';
import { apiVersion } from '#api';
import { controllerNamespace } from './objects.ts';
import type { ReplicaProcesses } from './replicas.ts';

export interface DemoGuide {
  readonly kubeconfig: string;
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  readonly repository: (name: string) => string;
  /** The program, as a shell starts it. */
  readonly program: string;
  /** Folders with helm, kustomize and jsonnet that are not on PATH. */
  readonly toolFolders: readonly string[];
}

/** Suggestions as lines to paste into a shell. */
export function hints(guide: DemoGuide): string[] {
  const cluster = guide.clusters[0]?.name ?? 'sim-0';
  const app = `guestbook-${cluster}`;
  return [
    `  export KUBECONFIG=${guide.kubeconfig}`,
    ...(guide.toolFolders.length === 0 ? [] : [`  export PATH="$PATH:${guide.toolFolders.join(':')}"`]),
    `  alias driftless='${guide.program}'`,
    `  kubectl get applications -A`,
    `  driftless explain ${app}`,
    `  driftless top apps`,
    `  driftless preflight --allow-local-sources`,
    `  # make drift, and see it healed`,
    `  kubectl --context ${cluster} -n guestbook delete deployment --all`,
    `  kubectl --context ${cluster} -n guestbook get deployments`,
    `  # change Git, then ask for a refresh, or sync at once`,
    `  git clone ${guide.repository('guestbook')}`,
    `  driftless refresh ${app} --wait`,
    `  driftless sync ${app} --wait`,
    `  # delete an Application and all that it brought`,
    `  kubectl -n ${controllerNamespace} delete application ${app}`,
  ];
}

/** Headers of a browser that the read API understands. */
const forwardedHeaders = ['accept', 'last-event-id'] as const;

/**
 * Forwards requests of the page to the read API of a replica that runs, over its Unix socket, which
 * needs no token. When the replica dies, the page asks again and gets the answer of another one.
 */
export function forwardToReplica(replicas: Pick<ReplicaProcesses, 'states'>): RequestListener {
  return (request, response) => {
    const sockets = replicas.states().flatMap(({ socket }) => socket ?? []);
    const headers = Object.fromEntries(
      forwardedHeaders.flatMap((name) => (request.headers[name] === undefined ? [] : [[name, request.headers[name]]])),
    );
    const ask = (candidates: readonly string[]): void => {
      const [socketPath, ...others] = candidates;
      if (socketPath === undefined) {
        refuse(response);
        return;
      }
      const outgoing = httpRequest({ socketPath, path: request.url, method: request.method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        // A replica that dies in the middle of an answer.
        answer.on('error', () => response.destroy());
        answer.on('close', () => {
          if (!answer.complete) response.destroy();
        });
      });
      outgoing.on('error', () => {
        if (response.headersSent) response.destroy();
        else ask(others);
      });
      response.on('close', () => outgoing.destroy());
      outgoing.end();
    };
    ask(sockets);
  };
}

function refuse(response: ServerResponse): void {
  const error = { apiVersion, kind: 'Error', code: 503, message: 'no replica answers yet' };
  response.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify(error));
}
