// `node scripts/release/provenance.mjs VERSION REVISION`: writes build/release/provenance.json, an
// in-toto statement with SLSA provenance (v1) about each file of the release: chart, package, SBOM
// and image. The image also carries the provenance that BuildKit writes. Signing it is up to you.
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../root.mjs';

export const provenanceFile = 'provenance.json';

/**
 * The statement about the files of a release.
 * @param facts the files with their SHA-256, the version and the commit, what the build took in
 */
export function provenanceOf({ files, version, revision, materials, finishedAt }) {
  const subject = [...files].sort((a, b) => (a.name < b.name ? -1 : 1)).map(named);
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject,
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://driftless.io/release/v1',
        externalParameters: { version },
        internalParameters: { node: process.versions.node },
        resolvedDependencies: [
          { uri: `git+file:.@v${version}`, digest: { gitCommit: revision } },
          ...materials.map(({ name, sha256 }) => ({ uri: `file:${name}`, digest: { sha256 } })),
        ],
      },
      runDetails: {
        builder: { id: 'https://driftless.io/scripts/release/release.mjs' },
        metadata: { invocationId: `${version}-${revision}`, finishedOn: finishedAt },
      },
    },
  };
}

/** Reasons why a statement does not hold for the files of a release; none if it does. */
export function provenanceFaults(statement, files) {
  const stated = new Map(statement.subject.map(({ name, digest }) => [name, digest.sha256]));
  return [
    ...files
      .filter(({ name, sha256 }) => stated.get(name) !== sha256)
      .map(({ name }) => `${name} ${stated.has(name) ? 'differs from' : 'is not in'} the statement`),
    ...[...stated.keys()]
      .filter((name) => !files.some((file) => file.name === name))
      .map((name) => `${name} is in the statement, and missing`),
  ];
}

function named({ name, sha256 }) {
  return { name, digest: { sha256 } };
}

/** The image archive may not fit into memory. */
async function hashOf(path) {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}

async function hashesOf(folder, names) {
  return Promise.all(names.map(async (name) => ({ name, sha256: await hashOf(join(folder, name)) })));
}

async function main(version, revision) {
  const folder = join(root, 'build', 'release');
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== provenanceFile)
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const files = await hashesOf(folder, names);
  const materials = await hashesOf(root, ['package-lock.json', 'Dockerfile']);
  const finishedAt = new Date().toISOString();
  const path = join(folder, provenanceFile);
  const statement = provenanceOf({ files, version, revision, materials, finishedAt });
  writeFileSync(path, `${JSON.stringify(statement, null, 2)}\n`);
  const faults = provenanceFaults(JSON.parse(readFileSync(path, 'utf8')), files);
  for (const fault of faults) process.stderr.write(`provenance: ${fault}\n`);
  process.stdout.write(`build/release/${provenanceFile}: ${files.length} files\n`);
  return faults.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [version = '', revision = ''] = process.argv.slice(2);
  process.exitCode = await main(version, revision);
}
