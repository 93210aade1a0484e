// Lets the files `fuzz.test.ts` run without a test runner: they hand their readers to targets.mjs.
import { register } from 'node:module';

const targets = new URL('./targets.mjs', import.meta.url).href;
const hook = `export const resolve = (name, context, next) =>
  name === '@jest/globals' ? { url: ${JSON.stringify(targets)}, shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
