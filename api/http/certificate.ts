import { createHash, webcrypto } from 'node:crypto';

/** The certificate and key of this replica's API, and how peers recognise it. */
export interface ApiCertificate {
  /** PEM. */
  readonly certificate: string;
  /** PEM (PKCS 8). */
  readonly key: string;
  /** SHA-256 of the DER form, as lower-case hex digits. */
  readonly fingerprint: string;
}

const lifetimeMs = 5 * 365 * 24 * 3_600_000;
/** Machines whose clocks are late must accept it, too. */
const backdatedMs = 3_600_000;

/**
 * Makes a key and a self-signed certificate for the life of this process. Trust does not depend on
 * its name: peers know its fingerprint, and a caller sends a token that the API server checks.
 */
export async function createCertificate(name: string, now: number): Promise<ApiCertificate> {
  // Loaded only when it is needed: it takes a few megabytes.
  await import('reflect-metadata');
  const { X509CertificateGenerator, SubjectAlternativeNameExtension } = await import('@peculiar/x509');
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const dnsName = name.replace(/[^A-Za-z0-9.-]/g, '-').slice(0, 60);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${dnsName}`,
      notBefore: new Date(now - backdatedMs),
      notAfter: new Date(now + lifetimeMs),
      keys,
      signingAlgorithm: algorithm,
      extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: dnsName }])],
    },
    webcrypto,
  );
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return {
    certificate: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`,
    fingerprint: fingerprintOf(Buffer.from(certificate.rawData)),
  };
}

/** SHA-256 of a certificate in DER form. */
export function fingerprintOf(der: Buffer): string {
  return createHash('sha256').update(der).digest('hex');
}
