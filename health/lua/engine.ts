import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { prelude } from './prelude.ts';

/** Limits of one run of a script. */
export interface LuaLimits {
  /** Instructions of the Lua virtual machine. */
  readonly instructions: number;
  /** Run time by the injected clock. */
  readonly milliseconds: number;
  /** Memory of the whole Lua state, in bytes. */
  readonly memory: number;
}

/**
 * Argo CD gives a script one second. Half of it here, because the time check may be delayed by a
 * few library calls.
 */
export const defaultLuaLimits: LuaLimits = { instructions: 20_000_000, milliseconds: 500, memory: 32 * 2 ** 20 };

/**
 * Result of a run. `limit` marks an error that every further run would hit again at the same cost.
 */
export type LuaOutcome =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'status'; readonly status: string; readonly message: string }
  | { readonly kind: 'error'; readonly text: string; readonly limit: boolean };

/**
 * `monotonic` bounds the time of a run, in milliseconds; `now` is what `os.time()` returns to a
 * script.
 */
export interface LuaClock {
  now(): number;
  monotonic(): number;
}

/** One compiled script. */
export type LuaScript = (object: JsonObject) => LuaOutcome;

/** The part of emscripten's module that we use: Lua's C API, called directly. */
interface LuaApi {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU32: Uint32Array;
  addFunction(fn: ((...args: number[]) => number) | ((...args: number[]) => void), signature: string): number;
  _malloc(size: number): number;
  _realloc(at: number, size: number): number;
  _free(at: number): void;
  _lua_newstate(allocate: number, data: number): number;
  _luaL_openlibs(state: number): void;
  _luaL_loadbufferx(state: number, at: number, size: number, name: number, mode: number): number;
  _luaL_ref(state: number, table: number): number;
  _luaL_unref(state: number, table: number, reference: number): void;
  _lua_pcallk(state: number, args: number, results: number, handler: number, context: number, next: number): number;
  _lua_sethook(state: number, hook: number, mask: number, count: number): void;
  _lua_error(state: number): number;
  _lua_settop(state: number, index: number): void;
  _lua_checkstack(state: number, size: number): number;
  _lua_type(state: number, index: number): number;
  _lua_tolstring(state: number, index: number, size: number): number;
  _lua_pushlstring(state: number, at: number, size: number): number;
  _lua_pushnumber(state: number, value: number): void;
  _lua_pushinteger(state: number, value: bigint): void;
  _lua_pushboolean(state: number, value: number): void;
  _lua_createtable(state: number, list: number, map: number): void;
  _lua_rawset(state: number, index: number): void;
  _lua_rawseti(state: number, index: number, key: bigint): void;
  _lua_rawgeti(state: number, index: number, key: bigint): number;
}

const registryIndex = -1_001_000;
const countHookMask = 8;
const hookInterval = 500;
const maxNestingDepth = 100;
/** Characters plus members of an object. The API server stores no object of this size. */
const maxObjectSize = 4_000_000;
const maxSourceLength = 512 * 1024;
const scratchSize = 64 * 1024;
const maxCachedKeys = 8_192;
const maxCompiledChunks = 1_024;
const luaTypeString = 4;

/** Loads the engine: about 10 MB of memory and 20 ms. */
export async function createLuaEngine(clock: LuaClock, limits: LuaLimits = defaultLuaLimits): Promise<LuaEngine> {
  const { LuaFactory } = await import('wasmoon');
  const { module } = await new LuaFactory().getLuaModule();
  return new LuaEngine(module as unknown as LuaApi, clock, limits);
}

/**
 * Runs Lua health scripts in WebAssembly: one state, scripts compiled once, a fresh environment for
 * each run (see prelude.ts). Lua never holds a JavaScript value: objects are copied in, two strings
 * are copied out. Limits of instructions, time and memory end a run whatever the script does; the
 * error names the limit.
 *
 * Argo CD: util/lua/lua.go (gopher-lua). Differences: Lua 5.4 instead of 5.1 with goto. Scripts
 * written for 5.1 run, but a number made by a division prints as in 5.4 when joined with `..`;
 * `io`, and all of `os` except time and date, are missing.
 */
export class LuaEngine {
  readonly #wasm: LuaApi;
  readonly #clock: LuaClock;
  readonly #limits: LuaLimits;
  readonly #state: number;
  readonly #scratch: number;
  readonly #hook: number;
  readonly #chunks = new Map<string, bigint>();
  readonly #keys = new Map<string, bigint>();
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder();
  #run = 0n;
  #collect = 0n;
  #used = 0;
  #refused = 0;
  #limited = false;
  #ticks = 0;
  #deadline = 0;
  #sizeBudget = 0;
  #broken = '';
  #exhausted = '';

  constructor(wasm: LuaApi, clock: LuaClock, limits: LuaLimits) {
    this.#wasm = wasm;
    this.#clock = clock;
    this.#limits = limits;
    this.#scratch = wasm._malloc(scratchSize);
    this.#hook = wasm.addFunction((state: number) => this.#tick(state), 'vii');
    const allocate = wasm.addFunction((_data, at = 0, old = 0, size = 0) => this.#allocate(at, old, size), 'iiiii');
    this.#state = wasm._lua_newstate(allocate, 0);
    wasm._luaL_openlibs(this.#state);
    const failure = this.#load(prelude, '=prelude');
    if (failure !== undefined || wasm._lua_pcallk(this.#state, 0, 2, 0, 0, 0) !== 0)
      throw new Error(`the Lua prelude does not run: ${failure ?? this.#text(-1)}`);
    this.#collect = BigInt(wasm._luaL_ref(this.#state, registryIndex));
    this.#run = BigInt(wasm._luaL_ref(this.#state, registryIndex));
    this.#limited = true;
  }

  /**
   * Registers a script. `openLibs` is `useOpenLibs`: with string, math, coroutine and load;
   * otherwise only the basic functions and `table`. It compiles at the first run; a compile error
   * is returned by every run.
   */
  compile(source: string, openLibs: boolean): LuaScript {
    return (object) => {
      if (this.#broken !== '') return { kind: 'error', text: this.#broken, limit: true };
      const chunk = this.#chunks.get(source) ?? this.#compiled(source);
      return typeof chunk === 'string'
        ? { kind: 'error', text: chunk, limit: false }
        : this.#evaluate(chunk, object, openLibs);
    };
  }

  /**
   * Evicts the oldest chunk: settings change for months, and Lua's memory is bounded (upstream: an
   * LRU of 1,024).
   */
  #compiled(source: string): bigint | string {
    if (source.length > maxSourceLength) return `the script is longer than ${maxSourceLength} characters`;
    this.#limited = false;
    const failure = this.#load(source, '=<string>');
    const chunk = failure === undefined ? BigInt(this.#wasm._luaL_ref(this.#state, registryIndex)) : undefined;
    this.#limited = true;
    if (chunk === undefined) return failure ?? '';
    this.#chunks.set(source, chunk);
    for (const [oldest, reference] of this.#chunks) {
      if (this.#chunks.size <= maxCompiledChunks) break;
      this.#chunks.delete(oldest);
      this.#wasm._luaL_unref(this.#state, registryIndex, Number(reference));
    }
    return chunk;
  }

  #evaluate(chunk: bigint, object: JsonObject, openLibs: boolean): LuaOutcome {
    const wasm = this.#wasm;
    const state = this.#state;
    this.#refused = 0;
    this.#ticks = 0;
    this.#exhausted = '';
    this.#deadline = this.#clock.monotonic() + this.#limits.milliseconds;
    wasm._lua_sethook(state, this.#hook, countHookMask, hookInterval);
    try {
      wasm._lua_rawgeti(state, registryIndex, this.#run);
      wasm._lua_rawgeti(state, registryIndex, chunk);
      this.#limited = false;
      this.#sizeBudget = maxObjectSize;
      this.#push(object, 0);
      this.#limited = true;
      wasm._lua_pushboolean(state, openLibs ? 1 : 0);
      wasm._lua_pushinteger(state, BigInt(Math.floor(this.#clock.now() / 1000)));
      return this.#result(wasm._lua_pcallk(state, 4, 3, 0, 0, 0));
    } catch (error) {
      return this.#failed(error);
    } finally {
      this.#limited = true;
      this.#tidy();
    }
  }

  #result(code: number): LuaOutcome {
    const limit = this.#exhausted !== '';
    if (limit) return { kind: 'error', text: this.#exhausted, limit };
    if (code !== 0) {
      const isText = this.#wasm._lua_type(this.#state, -1) === luaTypeString;
      const text = isText ? this.#text(-1) : 'the script raised an error that is not a string';
      return { kind: 'error', text, limit: code === 4 || text.includes('too much work in library calls') };
    }
    if (this.#wasm._lua_type(this.#state, -3) !== luaTypeString) return { kind: 'nothing' };
    if (this.#text(-3) === 'error') return { kind: 'error', text: this.#text(-2), limit: false };
    return { kind: 'status', status: this.#text(-2), message: this.#text(-1) };
  }

  /**
   * After a failure of the virtual machine itself (stack or memory exhausted) its state is unknown,
   * so stop using it.
   */
  #failed(error: unknown): LuaOutcome {
    if (error instanceof ScriptInputTooLarge) return { kind: 'error', text: error.message, limit: false };
    this.#broken = 'the Lua engine broke down while it ran a script; it works again after a restart';
    return { kind: 'error', text: this.#broken, limit: true };
  }

  #tidy(): void {
    if (this.#broken !== '') return;
    const wasm = this.#wasm;
    wasm._lua_sethook(this.#state, 0, 0, 0);
    wasm._lua_settop(this.#state, 0);
    if (this.#used < this.#limits.memory / 2) return;
    wasm._lua_rawgeti(this.#state, registryIndex, this.#collect);
    wasm._lua_pcallk(this.#state, 0, 0, 0, 0, 0);
    wasm._lua_settop(this.#state, 0);
  }

  /**
   * Called by Lua every few hundred instructions. After a limit is hit, at every instruction, so
   * that pcall cannot swallow the error.
   */
  #tick(state: number): void {
    this.#ticks += 1;
    if (this.#exhausted === '') {
      if (this.#ticks * hookInterval > this.#limits.instructions)
        this.#exhausted = 'the script ran for too many instructions';
      else if (this.#clock.monotonic() > this.#deadline)
        this.#exhausted = `the script ran for longer than ${this.#limits.milliseconds} ms`;
      else if (this.#refused > 3) this.#exhausted = 'the script needs more memory than it may have';
      else return;
    }
    this.#wasm._lua_sethook(state, this.#hook, countHookMask, 1);
    this.#pushText(this.#exhausted);
    this.#wasm._lua_error(state);
  }

  #allocate(at: number, old: number, size: number): number {
    const held = at === 0 ? 0 : old;
    if (size === 0) {
      if (at !== 0) this.#wasm._free(at);
      this.#used -= held;
      return 0;
    }
    if (this.#limited && size > held && this.#used + size - held > this.#limits.memory) {
      this.#refused += 1;
      return 0;
    }
    const moved = at === 0 ? this.#wasm._malloc(size) : this.#wasm._realloc(at, size);
    if (moved !== 0) this.#used += size - held;
    return moved;
  }

  #load(source: string, name: string): string | undefined {
    const bytes = this.#encoder.encode(source);
    const nameBytes = this.#encoder.encode(`${name}\0t\0`);
    const at = this.#wasm._malloc(bytes.length + nameBytes.length);
    this.#wasm.HEAPU8.set(bytes, at);
    this.#wasm.HEAPU8.set(nameBytes, at + bytes.length);
    const mode = at + bytes.length + nameBytes.length - 2;
    const code = this.#wasm._luaL_loadbufferx(this.#state, at, bytes.length, at + bytes.length, mode);
    this.#wasm._free(at);
    if (code === 0) return undefined;
    const text = this.#text(-1);
    this.#wasm._lua_settop(this.#state, 0);
    return text;
  }

  /** Copies a value onto Lua's stack. As in Argo CD, null members of maps and lists are dropped. */
  #push(value: Json, depth: number): void {
    const wasm = this.#wasm;
    this.#sizeBudget -= typeof value === 'string' ? value.length + 8 : 8;
    if (this.#sizeBudget < 0) throw new ScriptInputTooLarge('the object is too large for a script');
    switch (typeof value) {
      case 'string':
        this.#pushText(value);
        return;
      case 'number':
        if (Number.isSafeInteger(value)) wasm._lua_pushinteger(this.#state, BigInt(value));
        else wasm._lua_pushnumber(this.#state, value);
        return;
      case 'boolean':
        wasm._lua_pushboolean(this.#state, value ? 1 : 0);
        return;
      case 'bigint':
        wasm._lua_pushnumber(this.#state, Number(value));
        return;
      default:
    }
    if (depth > maxNestingDepth) throw new ScriptInputTooLarge('the object is nested too deeply for a script');
    if (wasm._lua_checkstack(this.#state, 8) === 0)
      throw new ScriptInputTooLarge('the object is too large for a script');
    if (Array.isArray(value)) this.#pushList(value as readonly Json[], depth);
    else if (isObject(value)) this.#pushMap(value, depth);
    else wasm._lua_createtable(this.#state, 0, 0);
  }

  #pushList(list: readonly Json[], depth: number): void {
    this.#wasm._lua_createtable(this.#state, list.length, 0);
    let index = 0n;
    for (const item of list) {
      if (item === null) continue;
      index += 1n;
      this.#push(item, depth + 1);
      this.#wasm._lua_rawseti(this.#state, -2, index);
    }
  }

  #pushMap(map: JsonObject, depth: number): void {
    const keys = Object.keys(map);
    this.#wasm._lua_createtable(this.#state, 0, keys.length);
    for (const key of keys) {
      const item = map[key];
      if (item === null || item === undefined) continue;
      this.#pushKey(key);
      this.#push(item, depth + 1);
      this.#wasm._lua_rawset(this.#state, -3);
    }
  }

  /**
   * Field names repeat, so each is copied once; their number and length are bounded against
   * attackers.
   */
  #pushKey(key: string): void {
    const known = this.#keys.get(key);
    if (known !== undefined) {
      this.#wasm._lua_rawgeti(this.#state, registryIndex, known);
      return;
    }
    this.#sizeBudget -= key.length;
    this.#pushText(key);
    if (this.#keys.size >= maxCachedKeys || key.length > 64) return;
    const reference = BigInt(this.#wasm._luaL_ref(this.#state, registryIndex));
    this.#keys.set(key, reference);
    this.#wasm._lua_rawgeti(this.#state, registryIndex, reference);
  }

  #pushText(text: string): void {
    const maxBytes = text.length * 3;
    const at = maxBytes <= scratchSize ? this.#scratch : this.#wasm._malloc(maxBytes);
    const { written } = this.#encoder.encodeInto(text, this.#wasm.HEAPU8.subarray(at, at + maxBytes));
    this.#wasm._lua_pushlstring(this.#state, at, written);
    if (at !== this.#scratch) this.#wasm._free(at);
  }

  #text(index: number): string {
    const at = this.#wasm._lua_tolstring(this.#state, index, this.#scratch);
    if (at === 0) return '';
    const size = this.#wasm.HEAPU32[this.#scratch >> 2] ?? 0;
    return this.#decoder.decode(this.#wasm.HEAPU8.subarray(at, at + size));
  }
}

class ScriptInputTooLarge extends Error {}
