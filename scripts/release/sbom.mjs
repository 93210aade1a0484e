// `npm run sbom`: writes build/sbom.json, the SBOM of the image as CycloneDX JSON: the production
// packages of the lock file, Node, helm, kustomize and jsonnet. It reads the lock file itself,
// because `npm sbom --omit dev` omits packages that a development package needs too, and so that
// the same lock file gives the same bytes with any npm.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tools } from '../e2e/tools.mjs';
import { nodeVersion } from '../image/node.mjs';
import { root } from '../root.mjs';

const text = readFileSync(join(root, 'package-lock.json'), 'utf8');
const { packages } = JSON.parse(text);
const shipped = Object.keys(packages).filter((path) => path !== '' && isShipped(packages[path]));
const helpers = [
  {
    ref: `node@${nodeVersion}`,
    name: 'node',
    version: nodeVersion,
    license: 'MIT',
    purl: `pkg:generic/node@${nodeVersion}`,
  },
  ...['helm', 'kustomize', 'jsonnet'].map(helper),
];

const components = [
  ...new Map(shipped.map((path) => [refOf(path), packageComponent(path)])).values(),
  ...helpers.map(component),
];
const main = packages[''];
const bom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  serialNumber: serialNumber(text + JSON.stringify(helpers)),
  version: 1,
  metadata: {
    component: component({
      ref: `${main.name}@${main.version}`,
      type: 'application',
      name: main.name,
      version: main.version,
      license: main.license,
      purl: purl(main.name, main.version),
    }),
  },
  components: components.sort((a, b) => compare(a['bom-ref'], b['bom-ref'])),
  dependencies: dependencies(),
};
mkdirSync(join(root, 'build'), { recursive: true });
writeFileSync(join(root, 'build', 'sbom.json'), `${JSON.stringify(bom, null, 2)}\n`);
process.stdout.write(`build/sbom.json: ${components.length} components\n`);

function isShipped({ dev, devOptional, link }) {
  return dev !== true && devOptional !== true && link !== true;
}

function nameOf(path) {
  return path === '' ? main.name : path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function refOf(path) {
  return `${nameOf(path)}@${packages[path].version}`;
}

function purl(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function packageComponent(path) {
  const { version, license, integrity } = packages[path];
  return component({
    ref: refOf(path),
    name: nameOf(path),
    version,
    license,
    integrity,
    purl: purl(nameOf(path), version),
  });
}

function helper(wanted) {
  const { name, version, go } = tools.find((tool) => tool.name === wanted);
  return {
    ref: `${name}@${version}`,
    name,
    version,
    license: 'Apache-2.0',
    purl: `pkg:golang/${go.module.path}@${go.module.version}`,
  };
}

function component({ ref, type = 'library', name, version, license, integrity, purl }) {
  const hashes = (integrity ?? '').split(' ').flatMap((one) => {
    const [, bits, content] = /^sha(\d+)-(.+)$/.exec(one) ?? [];
    return bits === undefined ? [] : [{ alg: `SHA-${bits}`, content: Buffer.from(content, 'base64').toString('hex') }];
  });
  return {
    'bom-ref': ref,
    type,
    name,
    version,
    purl,
    ...(hashes.length > 0 ? { hashes } : {}),
    ...(typeof license === 'string' ? { licenses: [licenseOf(license)] } : {}),
  };
}

/** CycloneDX distinguishes a licence identifier from an expression of several licences. */
function licenseOf(license) {
  return /[\s(]/.test(license) ? { expression: license } : { license: { id: license } };
}

/** The dependency graph. As in Node, a name resolves to the nearest node_modules folder above. */
function dependencies() {
  const needs = new Map();
  for (const path of ['', ...shipped]) {
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = packages[path];
    const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    const found = names.map((name) => find(path, name)).filter((target) => target !== undefined);
    const of = needs.get(refOf(path)) ?? new Set();
    for (const target of found) of.add(refOf(target));
    needs.set(refOf(path), of);
  }
  for (const { ref } of helpers) needs.get(refOf('')).add(ref);
  for (const { ref } of helpers) needs.set(ref, new Set());
  return [...needs].sort(([a], [b]) => compare(a, b)).map(([ref, on]) => ({ ref, dependsOn: [...on].sort(compare) }));
}

function find(path, name) {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const target = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (packages[target] !== undefined && isShipped(packages[target])) return target;
    if (at === '') return undefined;
  }
}

/** A UUID derived from the content. */
function serialNumber(content) {
  const hash = createHash('sha256').update(content).digest('hex');
  const variant = ((Number.parseInt(hash[16], 16) & 0x3) | 0x8).toString(16);
  const groups = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    variant + hash.slice(17, 20),
    hash.slice(20, 32),
  ];
  return `urn:uuid:${groups.join('-')}`;
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
