// Writes the table of docs/health.md from the table of checks in health/custom/. Needs
// `npm run build`. A test compares the page with the table.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../root.mjs';

const { checksTable, customChecks } = await import(pathToFileURL(join(root, 'dist', 'health', 'index.js')).href);
const path = join(root, 'docs', 'health.md');
const mark = '<!-- from here on: node scripts/generate/health-docs.mjs -->\n';
const [head] = readFileSync(path, 'utf8').split(mark);
writeFileSync(path, `${head}${mark}\n${checksTable(customChecks)}`);
