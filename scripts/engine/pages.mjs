import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { root } from '../root.mjs';
import { packageFolder } from './doors.mjs';

const pages = 'docs/engine';
const examples = 'examples/engine';

/** Where each page and example of the repository lies in the package. */
export const places = new Map([
  [`${pages}/README.md`, 'README.md'],
  ...namesIn(pages, '.md')
    .filter((name) => name !== 'README.md')
    .map((name) => [`${pages}/${name}`, `docs/${name}`]),
  ...namesIn(examples, '.mjs').map((name) => [`${examples}/${name}`, `examples/${name}`]),
  ['docs/health.md', 'docs/health-checks.md'],
  ['LICENSE', 'LICENSE'],
]);

/** Writes the pages and the examples into the package. */
export function writePages() {
  for (const [source, place] of places) {
    const target = join(packageFolder, place);
    mkdirSync(dirname(target), { recursive: true });
    if (place.endsWith('.md'))
      writeFileSync(target, withLinks(source, place, readFileSync(join(root, source), 'utf8')));
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

/**
 * The text of a page with links that work in the package. Fails on a link that leads nowhere there:
 * pack what it names, or write the sentence without it.
 */
export function withLinks(source, place, text) {
  return text.replace(/\[([^\]]*)\]\(([^)#]*)(#[^)]*)?\)/g, (whole, label, link, anchor = '') => {
    if (/^[a-z]+:/.test(link)) return whole;
    const path = link === '' ? source : posix.join(posix.dirname(source), link);
    const inside = places.get(path);
    if (inside === undefined) throw new Error(`${source} refers to ${path}, which is not in the package`);
    if (anchor !== '' && !anchorsOf(path).includes(anchor.slice(1)))
      throw new Error(`${source} refers to ${path}${anchor}, which has no such heading`);
    return link === '' ? whole : `[${label}](${posix.relative(posix.dirname(place), inside)}${anchor})`;
  });
}

/** As GitHub makes them of headings. */
function anchorsOf(path) {
  const headings = readFileSync(join(root, path), 'utf8').matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, text]) =>
    text
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

function namesIn(folder, ending) {
  return readdirSync(join(root, folder)).filter((name) => name.endsWith(ending));
}
