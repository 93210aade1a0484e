#!/usr/bin/env node
import { main } from './driftless.ts';

process.exitCode = await main(process.argv.slice(2));
