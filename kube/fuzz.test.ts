import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseJson } from '#base';
import { fuzz } from '#support';
import type { FuzzTarget } from '#support';
import { readError, isKubeObject } from './requests/answers.ts';
import { connectionFromKubeconfig } from './config/config.ts';
import { discover } from './discovery/discovery.ts';
import { readValue } from './requests/head.ts';
import { LineSplitter, ListSplitter, textIn } from './requests/list-splitter.ts';

const object =
  '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u","managedFields":[{"fieldsV1":{"f:a":{}}}]}}';
/** Deeper than the runtime can serialize. */
const deep = `{"type":"ADDED","object":{"metadata":{"labels":${'['.repeat(20_000)}${']'.repeat(20_000)}}}}\n`;
const kubeconfig =
  'apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: "https://h:1", insecure-skip-tls-verify: true}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: x}}]\n';
const folder = mkdtempSync(join(tmpdir(), 'kube-fuzz-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/**
 * Splits the input into at most 2,000 pieces, of a length derived from it: the result must not
 * depend on the boundaries, and splitting must not dominate the measured time.
 */
function* pieces(input: Buffer): Generator<Buffer> {
  const step = Math.max(1 + ((input[0] ?? 0) % 97), Math.ceil(input.length / 2000));
  for (let at = 0; at < input.length; at += step) yield input.subarray(at, at + step);
}

const targets: readonly FuzzTarget[] = [
  {
    name: 'a list',
    seeds: [`{"kind":"PodList","metadata":{"resourceVersion":"1","continue":"c"},"items":[${object},${object}]}`],
    read: (input) => {
      const found: unknown[] = [];
      const splitter = new ListSplitter((bytes) => found.push(isKubeObject(readValue(textIn(bytes)).value)));
      for (const piece of pieces(input)) splitter.push(piece);
      return splitter.end();
    },
  },
  {
    name: 'a watch',
    seeds: [
      `{"type":"ADDED","object":${object}}\n{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2"}}}\n`,
      deep,
      `${deep.slice(0, -9)}a))*b${deep.slice(-9)}`,
    ],
    read: (input) => {
      const lines = new LineSplitter(60_000);
      for (const piece of pieces(input)) for (const line of lines.push(piece)) readValue(textIn(line), 'object');
      return lines.rest();
    },
  },
  {
    name: 'an error of an API server',
    seeds: [
      '{"kind":"Status","status":"Failure","code":409,"reason":"Conflict","details":{"retryAfterSeconds":1}}',
      '<html>',
    ],
    read: (input) => {
      const headers = {
        'retry-after': input
          .toString('latin1')
          .replace(/[^ -~]/g, '')
          .slice(0, 60),
      };
      const asked = { request: 'GET /x', verb: 'get', kind: 'ConfigMap', hidden: ['hidden'] };
      return readError({ status: 400 + (input.length % 200), headers, body: bodyOf(input) }, asked, 0);
    },
  },
  {
    name: 'discovery',
    seeds: [
      '{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"a","responseKind":{"kind":"A"},"scope":"Namespaced","verbs":["list"]}]}]}]}',
      '{"kind":"APIVersions","versions":["v1"]}',
    ],
    read: (input) => {
      const document = parseJson(input.toString());
      return discover(() => Promise.resolve(document));
    },
  },
  {
    name: 'a kubeconfig',
    seeds: [kubeconfig, kubeconfig.replace('token: x', 'exec: {command: /bin/x, apiVersion: v1}')],
    read: async (input) => {
      const path = join(folder, 'config');
      writeFileSync(path, input);
      return connectionFromKubeconfig(path);
    },
  },
];

async function* bodyOf(input: Buffer): AsyncGenerator<Buffer> {
  yield* pieces(await Promise.resolve(input));
}

describe('readers of API server responses', () => {
  it.each(targets)(
    '$name: an answer or an error of ours, in time',
    async (target) => {
      expect((await fuzz(target)).inputs).toBeGreaterThan(0);
    },
    120_000,
  );
});
