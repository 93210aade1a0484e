import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { TestServers } from '#support';
import { connectionFromFlags, connectionFromKubeconfig } from '../index.ts';
import type { ConnectionOverrides, LoadedConnection } from '../index.ts';
import { clientFor, noSignal } from '../testing/index.ts';
import { selfSigned } from '../testing/self-signed.ts';

const folder = mkdtempSync(join(tmpdir(), 'overrides-'));
const identity = selfSigned();
const other = selfSigned('client');
function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}
const ca = file('ca.crt', identity.cert);
const clientCert = file('client.crt', other.cert);
const clientKey = file('client.key', other.key);

const servers = new TestServers();
afterEach(() => servers.closeAll());
afterAll(() => rmSync(folder, { recursive: true }));

/** TLS properties of a request. */
interface Seen {
  readonly clientName: string;
  readonly sni: string | false;
}

async function api(): Promise<{ readonly host: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const options = { key: identity.key, cert: identity.cert, requestCert: true, rejectUnauthorized: false };
  const server = createServer(options, (request, response) => {
    const socket = request.socket as unknown as Pick<TLSSocket, 'getPeerCertificate'> & { servername: string | false };
    const { subject } = socket.getPeerCertificate() as { subject?: { CN?: string } };
    seen.push({ clientName: subject?.CN ?? '', sni: socket.servername });
    response.end('{"gitVersion":"v1"}');
  });
  return { host: `127.0.0.1:${await servers.listen(server)}`, seen };
}

async function send({ connection }: LoadedConnection): Promise<void> {
  const client = clientFor({ url: connection.server }, { connection, limits: { attempts: 1 } });
  await client.version({ signal: noSignal }).finally(() => client.close());
}

let made = 0;
function kubeconfig(server: string, cluster = ''): string {
  made += 1;
  return file(
    `config-${made}`,
    `current-context: main
contexts: [{name: main, context: {cluster: main, user: main}}]
clusters: [{name: main, cluster: {server: "${server}"${cluster}}}]
users: [{name: main, user: {token: t}}]
`,
  );
}

describe("kubectl's TLS flags, by the request sent", () => {
  it.each<[string, ConnectionOverrides, RegExp | undefined]>([
    ['none', {}, /self-signed|SELF_SIGNED/i],
    ['--certificate-authority', { certificateAuthority: ca }, undefined],
    ['--insecure-skip-tls-verify', { insecureSkipTlsVerify: true }, undefined],
    ['--insecure-skip-tls-verify=false', { insecureSkipTlsVerify: false }, /self-signed|SELF_SIGNED/i],
    ['another CA', { certificateAuthority: clientCert }, /self-signed|SELF_SIGNED|signature|certificate/i],
    ['--tls-server-name', { certificateAuthority: ca, tlsServerName: 'localhost' }, undefined],
    ['another --tls-server-name', { certificateAuthority: ca, tlsServerName: 'elsewhere' }, /elsewhere|altnames/i],
  ])('%s', async (_what, overrides, refusal) => {
    const { host, seen } = await api();
    const sent = send(await connectionFromKubeconfig(kubeconfig(`https://${host}`), undefined, overrides));
    if (refusal === undefined) await sent;
    else await expect(sent).rejects.toThrow(refusal);
    expect(seen.map(({ sni }) => sni)).toEqual(refusal === undefined ? [overrides.tlsServerName ?? false] : []);
  });

  it('--client-certificate and --client-key; without a scheme it is https if any TLS option is set', async () => {
    const { host, seen } = await api();
    const own = { clientCertificate: clientCert, clientKey };
    await send(await connectionFromFlags({ server: host, certificateAuthority: ca, ...own }));
    await send(await connectionFromFlags({ server: host, insecureSkipTlsVerify: true }));
    expect(seen.map(({ clientName }) => clientName)).toEqual(['client', '']);
  });

  it('--insecure-skip-tls-verify replaces the CA of a kubeconfig, --certificate-authority its "insecure"', async () => {
    const { host, seen } = await api();
    const wrong = kubeconfig(`https://${host}`, `, certificate-authority: ${clientCert}`);
    await send(await connectionFromKubeconfig(wrong, undefined, { insecureSkipTlsVerify: true }));
    expect(seen).toHaveLength(1);
    const lax = kubeconfig(`https://${host}`, ', insecure-skip-tls-verify: true');
    const strict = await connectionFromKubeconfig(lax, undefined, { certificateAuthority: clientCert });
    await expect(send(strict)).rejects.toThrow();
    expect(seen).toHaveLength(1);
  });

  it('--server takes the TLS server name of a kubeconfig with it', async () => {
    const { host, seen } = await api();
    const config = kubeconfig('https://127.0.0.1:1', `, tls-server-name: elsewhere, certificate-authority: ${ca}`);
    await send(await connectionFromKubeconfig(config, undefined, { server: `https://${host}` }));
    expect(seen).toEqual([{ clientName: '', sni: false }]);
    expect((await connectionFromKubeconfig(config)).connection.tlsServerName).toBe('elsewhere');
  });
});
