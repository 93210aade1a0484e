import { request as httpRequest } from 'node:http';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { messageOf } from '#base';
import type { ApiAddress } from '#sharding';
import { ApiFault } from '../fault.ts';
import { fingerprintOf } from '../http/certificate.ts';
import type { ApiCertificate } from '../http/certificate.ts';

/** A longer answer is none of ours. */
const maxAnswerBytes = 16 * 1024 * 1024;

/**
 * Asks another replica for a page, with this replica's certificate. Nothing is sent before the
 * other side has proved that it has the published certificate.
 */
export async function askPeer(
  { address, fingerprint }: ApiAddress,
  own: ApiCertificate,
  target: string,
  signal: AbortSignal,
): Promise<unknown> {
  const socket = await connectPinned(address, fingerprint, own, signal);
  try {
    return await get(socket, target, signal);
  } finally {
    socket.destroy();
  }
}

function connectPinned(
  address: string,
  fingerprint: string,
  { certificate, key }: ApiCertificate,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const fail = (message: string): void => {
      socket.destroy();
      reject(signal.aborted ? (signal.reason as Error) : new ApiFault(502, message));
    };
    const onAbort = (): void => fail('aborted');
    const socket = connect({
      host,
      port: Number(address.slice(colon + 1)),
      cert: certificate,
      key,
      minVersion: 'TLSv1.2',
      // The certificate is self-signed: its fingerprint is compared below.
      rejectUnauthorized: false,
    });
    socket.once('error', (error) => fail(`no connection: ${messageOf(error)}`));
    socket.once('secureConnect', () => {
      signal.removeEventListener('abort', onAbort);
      const der: unknown = socket.getPeerCertificate().raw;
      const isPeer = Buffer.isBuffer(der) && fingerprintOf(der) === fingerprint;
      if (isPeer) resolve(socket);
      else fail('another certificate than the published one answers at its address');
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}

function get(socket: TLSSocket, target: string, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void =>
      reject(signal.aborted ? (signal.reason as Error) : new ApiFault(502, messageOf(error)));
    const headers = { host: 'driftless', accept: 'application/json', connection: 'close' };
    const outgoing = httpRequest({ path: target, headers, signal, createConnection: () => socket }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('error', fail);
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) response.destroy(new ApiFault(502, 'its answer is too long'));
        else chunks.push(chunk);
      });
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        if (response.statusCode === 404) reject(new ApiFault(404, messageIn(text)));
        else if (response.statusCode === 200) parse(text, resolve, fail);
        else fail(new ApiFault(502, `it answered with status ${response.statusCode ?? 0}`));
      });
    });
    outgoing.on('error', fail).end();
  });
}

/** The message of an error's body. */
function messageIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    if (typeof message === 'string') return message.slice(0, 300);
  } catch {
    // No JSON.
  }
  return 'it answered with status 404';
}

function parse(text: string, resolve: (value: unknown) => void, fail: (error: unknown) => void): void {
  try {
    resolve(JSON.parse(text));
  } catch {
    fail(new ApiFault(502, 'its answer is no JSON'));
  }
}
