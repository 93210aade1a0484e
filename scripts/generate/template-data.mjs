// Writes the outputs of desired/hydrate/go-templates.cases.json: what Go's text/template with
// Sprig makes of each template of the file. To add a case, add its template and run this. Needs go;
// `--check` only compares.
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { goRun } from '../e2e/go-build.mjs';
import { put } from './generated.mjs';
import { root } from '../root.mjs';

const say = (text) => process.stderr.write(`template data: ${text}\n`);
const path = join(root, 'desired', 'hydrate', 'go-templates.cases.json');
const module = { path: 'github.com/Masterminds/sprig/v3', version: 'v3.3.0' };

const [output] = await goRun({ module, sources: join(root, 'scripts', 'generate', 'template-data') }, [[path]], say);
const text = await format(output, { ...(await resolveConfig(path)), parser: 'json' });
put(path, text);
