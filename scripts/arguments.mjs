import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * Reads the arguments of a script, like `parseArgs` of node:util. `--help` prints the comment at the
 * top of the script; a wrong argument ends it with exit code 2, and says which.
 * @param url `import.meta.url` of the script
 * @param config the options of `parseArgs`; those of type `number` are texts of numbers from 0
 */
export function scriptArguments(url, config = {}) {
  const options = Object.entries({ ...config.options, help: { type: 'boolean', short: 'h' } });
  const known = options.map(([name, option]) => [
    name,
    option.type === 'number' ? { ...option, type: 'string' } : option,
  ]);
  try {
    const parsed = parseArgs({ ...config, options: Object.fromEntries(known) });
    for (const [name, { type }] of options) if (type === 'number') checkNumber(name, parsed.values[name]);
    if (parsed.values.help !== true) return parsed;
    process.stdout.write(`${helpOf(url)}\n`);
  } catch (error) {
    process.stderr.write(`driftless: ${error.message}\n\n${helpOf(url)}\n`);
    process.exit(2);
  }
  process.exit(0);
}

function checkNumber(name, value) {
  if (value === undefined || /^\d+(\.\d+)?$/.test(value)) return;
  throw new Error(`--${name} ${value} is not a number`);
}

function helpOf(url) {
  const lines = readFileSync(fileURLToPath(url), 'utf8').split('\n');
  const first = lines.findIndex((line) => line.startsWith('//'));
  const end = lines.findIndex((line, i) => i > first && !line.startsWith('//'));
  return lines
    .slice(first, end)
    .map((line) => line.replace(/^\/\/ ?/, ''))
    .join('\n');
}
