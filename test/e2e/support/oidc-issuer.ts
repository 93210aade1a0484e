import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { CertificateAuthority } from './certificates.ts';

/** The claims about a user in the issuer's tokens. */
export interface OidcUser {
  readonly email: string;
  readonly groups: readonly string[];
}

export interface OidcIssuer {
  readonly url: string;
  /** The certificate of its authority. */
  readonly caFile: string;
  /** The user who signs in next; no password is asked for. */
  user: OidcUser;
  close(): Promise<void>;
}

interface Grant {
  readonly nonce: string | null;
  readonly user: OidcUser;
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Starts an issuer of OpenID Connect on loopback with the code flow, for one client. */
export async function startOidcIssuer(folder: string, clientId: string): Promise<OidcIssuer> {
  const authority = await CertificateAuthority.create(folder);
  await authority.server('issuer');
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = publicKey.export({ format: 'jwk' });
  const kid = createHash('sha256').update(JSON.stringify(jwk)).digest('hex').slice(0, 16);
  const grants = new Map<string, Grant>();

  const tokenOf = ({ nonce, user }: Grant): string => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer.url, aud: clientId, sub: user.email, iat: now, exp: now + 3600, nonce, ...user };
    const signed = `${base64url({ alg: 'RS256', typ: 'JWT', kid })}.${base64url({ ...claims, email_verified: true })}`;
    return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
  };
  const answer = async (request: IncomingMessage): Promise<object | URL> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', issuer.url);
    if (pathname === '/keys') return { keys: [{ ...jwk, kid, alg: 'RS256', use: 'sig' }] };
    if (pathname === '/authorize') {
      const code = randomUUID();
      grants.set(code, { nonce: searchParams.get('nonce'), user: issuer.user });
      const back = new URL(searchParams.get('redirect_uri') ?? '');
      back.searchParams.set('code', code);
      back.searchParams.set('state', searchParams.get('state') ?? '');
      return back;
    }
    if (pathname === '/token') {
      const grant = grants.get(new URLSearchParams(await textOf(request)).get('code') ?? '');
      if (grant === undefined) return { error: 'invalid_grant' };
      return { access_token: randomUUID(), token_type: 'Bearer', expires_in: 3600, id_token: tokenOf(grant) };
    }
    return {
      issuer: issuer.url,
      authorization_endpoint: `${issuer.url}/authorize`,
      token_endpoint: `${issuer.url}/token`,
      jwks_uri: `${issuer.url}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    };
  };
  const reply = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await answer(request);
    if (body instanceof URL) response.writeHead(302, { location: body.href }).end();
    else {
      const code = 'error' in body ? 400 : 200;
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }
  };
  const server = createServer(
    { cert: authority.read('issuer.crt'), key: authority.read('issuer.key') },
    (request, response) => void reply(request, response).catch(() => response.destroy()),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer: OidcIssuer = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caFile: authority.path('ca.crt'),
    user: { email: '', groups: [] },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return issuer;
}
