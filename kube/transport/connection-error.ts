import { messageOf, outsideText } from '#base';
import { KubeConnectionError } from '../errors.ts';

/** No connection was established, so the server may be down: it may be restored or replaced. */
const unreachableCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** The request was never sent, so even a write is safe to repeat. */
const neverSentCodes = new Set([...unreachableCodes, 'ERR_HTTP2_GOAWAY_SESSION']);
const certificateCodes =
  /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_OSSL_|ERR_SSL_|HOSTNAME_MISMATCH|INVALID_CA)/;
const errorTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'the host name cannot be resolved now',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
};

/** Converts errors of undici, node:http2, node:tls and node:dns into one type. */
export function connectionError(server: string, error: unknown): KubeConnectionError {
  if (error instanceof KubeConnectionError) return error;
  const root = rootOf(error);
  const code = codeOf(root);
  const certificate = certificateCodes.test(code);
  return new KubeConnectionError(server, connectionErrorText(root), error, {
    neverSent: neverSentCodes.has(code) || certificate,
    permanent: certificate,
    unreachable: unreachableCodes.has(code),
  });
}

/** The text of a connection error. */
export function connectionErrorText(error: unknown): string {
  const code = codeOf(rootOf(error));
  const said = outsideText('system', messageOf(rootOf(error)));
  return errorTexts[code] ?? (said === '' ? code : said);
}

/** undici wraps the reason in `cause`; Node wraps the errors of several addresses in `errors`. */
function rootOf(error: unknown): unknown {
  let root = error;
  for (let depth = 0; depth < 5; depth += 1) {
    if (root instanceof AggregateError && root.errors.length > 0) root = root.errors[0];
    else if (root instanceof Error && root.cause instanceof Error) root = root.cause;
    else break;
  }
  return root;
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
