import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A self-signed TLS identity for 127.0.0.1 (or `hosts`): its certificate is also its CA. Undefined
 * without openssl.
 */
export function selfSigned(
  folder: string,
  name: string,
  hosts = 'IP:127.0.0.1',
): { readonly key: string; readonly cert: string } | undefined {
  const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)];
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '3650'];
  const what = ['-keyout', key, '-out', cert, '-subj', `/CN=${name}`, '-addext', `subjectAltName=${hosts}`];
  try {
    execFileSync('openssl', [...args, ...what], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}
