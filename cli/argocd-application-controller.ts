#!/usr/bin/env node
// The name under which Argo CD's manifests start the controller. Same flags as `driftless run`.
import { main } from './driftless.ts';

process.exitCode = await main(['run', ...process.argv.slice(2)]);
