import { createServer, connect } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { selfSigned } from '../testing/self-signed.ts';
import { withSharedContext } from './tls-context.ts';

const { cert, key } = selfSigned();
const common = { rejectUnauthorized: true, keepAlive: true, keepAliveInitialDelay: 1000 };

/** Connects to a server that wants a client certificate, without `ca`, `cert` and `key`. */
function subjectSeenBy(secureContext: ReturnType<typeof withSharedContext>['secureContext']): Promise<string> {
  return new Promise((resolve, reject) => {
    const server = createServer({ cert, key, ca: cert, requestCert: true }, (socket) => {
      const { subject } = socket.getPeerCertificate();
      resolve(`${String(subject.CN)} ${socket.authorized}`);
      socket.destroy();
      server.close();
    });
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      const socket = connect({
        port,
        host: '127.0.0.1',
        servername: 'localhost',
        ...(secureContext && { secureContext }),
      });
      socket.on('error', (error: Error) => {
        server.close();
        reject(error);
      });
    });
  });
}

describe('withSharedContext', () => {
  it('holds the CA and the client certificate', async () => {
    const { secureContext } = withSharedContext({ ...common, ca: cert, cert, key });
    expect(secureContext).toBeDefined();
    expect(await subjectSeenBy(secureContext)).toBe('localhost true');
  });

  it('trusts nothing but the CA', async () => {
    const { secureContext } = withSharedContext({ ...common, ca: selfSigned('another').cert });
    await expect(subjectSeenBy(secureContext)).rejects.toThrow();
  });

  it('leaves a broken certificate to the connection, which reports it', () => {
    const broken = { ...common, cert: 'no certificate', key: 'no key' };
    expect(withSharedContext(broken)).toBe(broken);
  });
});
