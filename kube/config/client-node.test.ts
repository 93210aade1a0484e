import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { KubeConfig } from './client-node.ts';

const bundle = fileURLToPath(new URL('../../dist/kube/config/client-node.js', import.meta.url));
const kubeconfig = `apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c1, cluster: {server: 'https://c1:6443', certificate-authority-data: Y2E=, tls-server-name: c1.example}}
- {name: c2, cluster: {server: 'https://c2', insecure-skip-tls-verify: true, proxy-url: 'http://proxy:8080'}}
users:
- {name: u1, user: {token: abc}}
- {name: u2, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}}
- {name: u3, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, args: [a]}}}
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: apps}}
- {name: two, context: {cluster: c2, user: u3}}
`;

function read(Config: typeof KubeConfig): unknown {
  const config = new Config();
  config.loadFromString(kubeconfig);
  const { clusters, users, contexts, currentContext } = config;
  return JSON.parse(JSON.stringify({ clusters, users, contexts, currentContext }));
}

describe('the bundle of client-node', () => {
  it('reads a kubeconfig as the library does', async () => {
    const bundled = (await import(pathToFileURL(bundle).href)) as { readonly KubeConfig: typeof KubeConfig };
    expect(bundled.KubeConfig).not.toBe(KubeConfig);
    expect(read(bundled.KubeConfig)).toEqual(read(KubeConfig));
  });

  it('is less than a fiftieth of the library', () => {
    expect(statSync(join(bundle)).size).toBeLessThan(500_000);
  });
});
