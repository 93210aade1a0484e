import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import type { ApplicationSource } from '#model';
import { fuzz } from '#support';
import type { FuzzTarget } from '#support';
import { parseBatch } from './fetch/git/blob-batches.ts';
import { answerOfIndex } from './fetch/charts/chart-index.ts';
import { unpack } from './fetch/files/archive.ts';
import { pointerOf } from './fetch/git/lfs.ts';
import { parseRefs, resolveInRefs } from './fetch/git/refs.ts';
import { highestMatch, parseConstraint, parseVersion } from './fetch/shared/semver.ts';
import { Tree, walk } from './fetch/files/tree.ts';
import { checkAppPath, checkRevision, checkUrl } from './fetch/shared/input-checks.ts';
import { isSkipped, objectsOf } from './generate/documents.ts';
import { compilePathGlob } from './generate/path-glob.ts';
import { withOverride } from './generate/override-files.ts';
import { defaultLimits } from './limits.ts';
import { ParsedAnswers } from './remote/answers.ts';
import { methodOf } from './remote/protocol.ts';
import { chartArchive } from './testing/archive.ts';

const sha = 'a1'.repeat(20);
const manifest =
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: &l {x: "1"}\ndata: {<<: *l, n: 0x1F}\n';
const source: ApplicationSource = { repoURL: 'https://h/r.git', path: 'a' };
const versions = ['1.0.0', '1.2.3-rc.1', 'v2.0.0', '2.10.0+meta', 'x'];
const index = 'apiVersion: v1\nentries:\n  web:\n  - {version: 1.0.0, urls: [a.tgz], digest: "sha256:AB"}\n  zoo: []\n';
const answer = methodOf('GenerateManifest');

const targets: readonly FuzzTarget[] = [
  {
    name: 'a file of manifests',
    seeds: [
      manifest,
      `--- \n${manifest}---\n{"apiVersion":"v1","kind":"List","items":[{"kind":"A","apiVersion":"v1"}]}`,
    ],
    read: (content) => {
      isSkipped(content);
      return objectsOf({ path: 'a/b.yaml', name: 'b.yaml', content });
    },
  },
  {
    name: 'a file of JSON manifests',
    seeds: ['{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"n":12345678901234567890}}\n{}'],
    read: (content) => objectsOf({ path: 'a/b.json', name: 'b.json', content, strict: true }),
  },
  { name: 'the index of a chart repository', seeds: [index], read: (content) => answerOfIndex(content, 'web') },
  {
    name: 'a version constraint',
    seeds: ['>=1.2.3 <2 || ~3.x', '^1.0.0-0', '1.2 - 2.3', '*', '!=1.0', `>${'1'.repeat(66)}`, `${' '.repeat(60)}x`],
    read: (text) => {
      parseVersion(text.toString());
      parseConstraint(text.toString());
      return highestMatch(text.toString(), versions);
    },
  },
  {
    name: 'the list of refs of a remote',
    seeds: [`${sha}\tHEAD\n${sha}\trefs/heads/main\n${sha}\trefs/tags/v1.0.0\n${sha}\trefs/tags/v1.0.0^{}\n`],
    read: (text) => resolveInRefs('1.x', parseRefs(text.toString())),
  },
  {
    name: 'the listing of a commit',
    seeds: [
      `040000 tree ${sha}       -\ta\u0000100644 blob ${sha}       3\ta/b.yaml\u0000120000 blob ${sha}      12\tl\u0000160000 commit ${sha}       -\ts\u0000`,
    ],
    read: async (listing) => {
      const tree = await Tree.parse(listing, { maxTreeEntries: 1000 });
      tree.outOfBoundsLink();
      tree.lookup(['a', '..', 'l', 'b']);
      return [...walk(tree.root, true)].length;
    },
  },
  {
    name: 'what git prints of files',
    seeds: [`${sha} blob 3\nabc\n`, `${sha} missing\n`],
    read: (output) => parseBatch(output, new Map([[sha, 3]])),
  },
  {
    name: 'an archive',
    seeds: [chartArchive('web', '1.0.0'), gzipSync(Buffer.alloc(3000))],
    read: (packed) => unpack(packed, { maxCheckoutBytes: 1_000_000, maxCheckoutFiles: 100 }),
  },
  {
    name: '.argocd-source.yaml',
    seeds: [
      'helm:\n  parameters: [{name: a, value: b}]\n  valuesObject: {a: [1]}\n',
      'kustomize: {images: [a=b:1]}\npath: ../x\n',
    ],
    read: (text) => withOverride(source, '.argocd-source.yaml', text.toString()),
  },
  {
    name: 'a pattern of paths',
    seeds: ['**/{a,b}/*.y?ml', '[!a-z]{x,{y,z}}', '{a,{b,{c,{d,{e,f}}}}}*'],
    read: (text) => compilePathGlob(text.toString().slice(0, 1000))('a/b/c/some-file.yaml'),
  },
  {
    name: 'the address, revision and path of a source',
    seeds: [
      'https://u:p@h:1/a.git?x=%20#f',
      'git@h:a/b',
      'file:///proc/self',
      'ext::sh -c x',
      '--upload-pack=x',
      '../../x',
    ],
    read: (text) => {
      const said = text.toString();
      const failures: unknown[] = [];
      for (const check of [() => checkUrl(said, '/cache'), () => checkRevision(said), () => checkAppPath(said)]) {
        try {
          check();
        } catch (error) {
          failures.push(error);
        }
      }
      for (const failure of failures)
        if (!(failure instanceof DriftlessError && failure.code.startsWith('DESIRED_'))) throw failure;
    },
  },
  {
    name: 'an LFS pointer',
    seeds: [`version https://git-lfs.github.com/spec/v1\noid sha256:${'ab'.repeat(32)}\nsize 12\n`],
    read: pointerOf,
  },
  {
    name: 'an answer of the repo-server',
    seeds: [answer.responseSerialize({ manifests: ['{"kind":"A"}'], revision: sha, sourceType: 'Helm' })],
    read: (bytes) => answer.responseDeserialize(bytes),
    // Callers turn these into the status INTERNAL, like any error of the wire format.
    refuses: (error) => error instanceof Error && !/stack/i.test(error.message),
  },
  {
    name: 'a manifest of the repo-server or of a plugin',
    seeds: [
      '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}]}',
      '{}',
      'null',
    ],
    read: (text) => new ParsedAnswers(defaultLimits.cacheBytes).objectsOf([text.toString()], ''),
  },
];

describe('parsers of repositories, charts and renderer messages', () => {
  it.each(targets)(
    '$name: an answer or an error of ours, in time',
    async (target) => {
      expect((await fuzz(target)).inputs).toBeGreaterThan(0);
    },
    120_000,
  );
});
