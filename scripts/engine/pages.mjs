import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { root } from '../root.mjs';
import { packageFolder } from './doors.mjs';

const pages = 'docs/engine';
const examples = 'examples/engine';

/** Where each page and example of the repository lies in the package. */
const places = new Map([
  [`${pages}/README.md`, 'README.md'],
  ...namesIn(pages, '.md')
    .filter((name) => name !== 'README.md')
    .map((name) => [`${pages}/${name}`, `docs/${name}`]),
  ...namesIn(examples, '.mjs').map((name) => [`${examples}/${name}`, `examples/${name}`]),
  ['LICENSE', 'LICENSE'],
]);

/**
 * Writes the pages and the examples into the package, with links that work there: a page that is not
 * in it is named by its address in the repository, or without a link if package.json has none.
 */
export function writePages() {
  const { repository, version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
  const outside = repository && `${repository.url.replace(/^git\+|\.git$/g, '')}/blob/v${version}/`;
  for (const [source, place] of places) {
    const target = join(packageFolder, place);
    mkdirSync(dirname(target), { recursive: true });
    if (place.endsWith('.md')) writeFileSync(target, withLinks(source, place, outside));
    else copyFileSync(join(root, source), target);
  }
  writeFileSync(join(packageFolder, 'THIRD-PARTY-LICENSES'), licencesOf(bundledPackages()));
}

/** The packages whose code is in the bundles: the parts of client-node that read a kubeconfig. */
function bundledPackages() {
  const text = readFileSync(join(root, 'dist', 'kube', 'config', 'client-node.js'), 'utf8');
  const found = text.matchAll(/^\/\/ ((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//gm);
  return [...new Set([...found].map(([, folder]) => folder))].sort();
}

function licencesOf(folders) {
  const texts = folders.map((name) => {
    const folder = join(root, name);
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    return `${name}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

function withLinks(source, place, outside) {
  const text = readFileSync(join(root, source), 'utf8');
  return text.replace(/\[([^\]]*)\]\(([^)#]+)(#[^)]*)?\)/g, (whole, label, link, anchor = '') => {
    if (/^[a-z]+:/.test(link)) return whole;
    const path = posix.join(posix.dirname(source), link);
    const inside = places.get(path);
    if (inside !== undefined) return `[${label}](${posix.relative(posix.dirname(place), inside)}${anchor})`;
    return outside === undefined ? label : `[${label}](${outside}${path}${anchor})`;
  });
}

function namesIn(folder, ending) {
  return readdirSync(join(root, folder)).filter((name) => name.endsWith(ending));
}
