import { matcher } from './matcher.ts';

/**
 * The environment of a health script, in Lua. It runs once, takes what it needs from the real
 * libraries, and hides them: a script gets copies behind read-only proxies, and fresh globals for
 * each run.
 *
 * The instruction counter does not see into a library call, so each call that may take long is
 * bounded here: `charge` deducts its estimated steps from a budget, and patterns that may explode
 * run in a matcher written in Lua, which the counter can stop. No `__gc` (finalisers run
 * uncounted), no `__mode` (slow collection), no binary chunks.
 */
export const prelude = String.raw`
local setupvalue, rawlen, load, collect = debug.setupvalue, rawlen, load, collectgarbage
local getmeta, setmeta, rawset, rawget, next, type, error, select, tostring, tonumber, pairs, ipairs, pcall, assert, rawequal =
  getmetatable, setmetatable, rawset, rawget, next, type, error, select, tostring, tonumber, pairs, ipairs, pcall, assert, rawequal
local S, T, M, O, C = string, table, math, os, coroutine
local find, sub, byte, len, gsub, match, gmatch, rep, format = S.find, S.sub, S.byte, S.len, S.gsub, S.match, S.gmatch, S.rep, S.format
local floor, mtype = M.floor, M.type
local longest, costly, allowance = 4194304, 10000000, 50000000
local budget, current, clock = 0, nil, 0

local function charge(steps)
  budget = budget - steps
  if budget < 0 then error('the script does too much work in library calls', 0) end
end

local function text(value, name)
  local kind = type(value)
  if kind == 'string' then return value end
  if kind == 'number' then return tostring(value) end
  error("bad argument to '" .. name .. "' (string expected, got " .. kind .. ')', 3)
end

${matcher}
-- Estimates the steps of the library's matcher: the length to the power of the repetitions. True if too many.
local function explosive(s, p)
  local steps, size = 1, len(s) + 1
  if byte(p, 1) ~= 94 then steps = size end
  for i = 1, #p do
    local c = byte(p, i)
    if c == 42 or c == 43 or c == 45 then steps = steps * size elseif c == 63 then steps = steps * 2 end
    if steps > costly then return true end
  end
  charge(steps)
  return false
end
local function start(s, init)
  init = floor(tonumber(init) or 1)
  if init < 0 then init = #s + init + 1 end
  return init < 1 and 1 or init
end

local strings = {}
function strings.find(s, p, init, plain)
  s, p = text(s, 'find'), text(p, 'find')
  if plain then
    if #s * #p > costly and #p > 1 then
      for i = start(s, init), #s - #p + 1 do
        if byte(s, i) == byte(p, 1) then
          charge(#p)
          if sub(s, i, i + #p - 1) == p then return i, i + #p - 1 end
        end
      end
      return nil
    end
    charge(#s)
    return find(s, p, start(s, init), true)
  end
  if #p > 10000 then error('the pattern is too long', 2) end
  if not explosive(s, p) then return find(s, p, start(s, init)) end
  local from, to, state = search(s, p, start(s, init))
  if from == nil then return nil end
  return from, to, T.unpack(captures(state, from, to, false))
end
function strings.match(s, p, init)
  s, p = text(s, 'match'), text(p, 'match')
  if #p > 10000 then error('the pattern is too long', 2) end
  if not explosive(s, p) then return match(s, p, start(s, init)) end
  local from, to, state = search(s, p, start(s, init))
  if from == nil then return nil end
  return T.unpack(captures(state, from, to, true))
end
function strings.gmatch(s, p)
  s, p = text(s, 'gmatch'), text(p, 'gmatch')
  if #p > 10000 then error('the pattern is too long', 2) end
  if not explosive(s, p) then return gmatch(s, p) end
  local at = 1
  return function()
    if at > #s + 1 then return nil end
    local from, to, state = search(s, p, at)
    if from == nil then at = #s + 2 return nil end
    at = to >= from and to + 1 or from + 1
    return T.unpack(captures(state, from, to, true))
  end
end
function strings.gsub(s, p, by, limit)
  s, p = text(s, 'gsub'), text(p, 'gsub')
  if #p > 10000 then error('the pattern is too long', 2) end
  if type(by) == 'number' then by = tostring(by) end
  local room = type(by) == 'string' and (#s + 1) * (#by + 1) or 0
  if not explosive(s, p) and room <= longest then return gsub(s, p, by, limit) end
  local out, size, at, count, most = {}, 0, 1, 0, limit or #s + 1
  local anchored = byte(p, 1) == 94
  while count < most and at <= #s + 1 do
    local from, to, state = search(s, p, at)
    if from == nil then break end
    count = count + 1
    local caught = captures(state, from, to, true)
    local whole = sub(s, from, to)
    local put
    if type(by) == 'table' then put = by[caught[1]]
    elseif type(by) == 'function' then put = by(T.unpack(caught))
    elseif type(by) == 'string' then
      put = gsub(by, '%%(.)', function(d)
        if d == '0' then return whole end
        if d == '%' then return '%' end
        return tostring(caught[tonumber(d)] or error('invalid capture index in replacement string', 0))
      end)
    else error("bad argument #3 to 'gsub' (string/function/table expected)", 2) end
    if not put then put = whole end
    out[#out + 1] = sub(s, at, from - 1)
    out[#out + 1] = tostring(put)
    size = size + #out[#out]
    if size > longest then error('gsub: the result is too large', 2) end
    at = to + 1
    if to < from then
      out[#out + 1] = sub(s, from, from)
      at = from + 1
    end
    if anchored then break end
  end
  out[#out + 1] = sub(s, at)
  return T.concat(out), count
end
function strings.rep(s, n)
  s, n = text(s, 'rep'), tonumber(n) or 0
  if n < 1 or #s == 0 then return '' end
  if #s * n > longest then error('resulting string too large', 2) end
  charge(#s * n)
  return rep(s, floor(n))
end
function strings.format(pattern, ...)
  local size = #text(pattern, 'format')
  for i = 1, select('#', ...) do
    local value = select(i, ...)
    if type(value) == 'string' then size = size + #value end
  end
  if size > longest then error('format: the result is too large', 2) end
  charge(size)
  return format(pattern, ...)
end
strings.len = len
strings.sub, strings.byte, strings.char = sub, byte, S.char
for _, name in ipairs({ 'lower', 'upper', 'reverse' }) do
  local real = S[name]
  strings[name] = function(s)
    s = text(s, name)
    charge(#s)
    return real(s)
  end
end

local function plain(t, name)
  if type(t) ~= 'table' then error("bad argument #1 to '" .. name .. "' (table expected, got " .. type(t) .. ')', 3) end
  if getmeta(t) ~= nil then error(name .. ': tables with a metatable are not supported', 3) end
  return t
end
local tables = {}
function tables.insert(t, ...)
  plain(t, 'insert')
  if select('#', ...) > 1 then charge(rawlen(t)) end
  return T.insert(t, ...)
end
function tables.remove(t, at)
  plain(t, 'remove')
  if at == nil then return T.remove(t) end
  charge(rawlen(t))
  return T.remove(t, at)
end
function tables.concat(t, sep, i, j)
  plain(t, 'concat')
  charge(rawlen(t) * (1 + #tostring(sep or '')))
  return T.concat(t, sep, i, j)
end
function tables.sort(t, before)
  plain(t, 'sort')
  local n = rawlen(t)
  charge(n * 40)
  return T.sort(t, before)
end
function tables.getn(t) return rawlen(t) end
function tables.maxn(t)
  local most = 0
  for key in next, t do
    if type(key) == 'number' and key > most then most = key end
  end
  return most
end
function tables.unpack(t, i, j) return T.unpack(plain(t, 'unpack'), i, j) end

local maths = {}
for _, name in ipairs({ 'abs', 'acos', 'asin', 'atan', 'ceil', 'cos', 'deg', 'exp', 'floor', 'fmod', 'huge', 'log', 'max', 'min', 'modf',
  'pi', 'rad', 'random', 'sin', 'sqrt', 'tan' }) do maths[name] = M[name] end
maths.pow = function(x, y) return x ^ y end
maths.mod = M.fmod
maths.log10 = function(x) return M.log(x, 10) end
maths.randomseed = function() end

local times = {
  time = function(t) if t == nil then return clock end return O.time(t) end,
  date = function(form, at) return O.date(form, at or clock) end,
}

local base = {
  assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, pcall = pcall, rawequal = rawequal, rawget = rawget,
  select = select, tonumber = tonumber, type = type, unpack = tables.unpack, _VERSION = 'Lua 5.1',
}
local guarded = {}
-- The handler of the real xpcall runs inside the error, which may be the counter's own: its steps would be uncounted.
local function handled(handler, good, ...)
  if good then return true, ... end
  return false, handler(...)
end
function base.xpcall(f, handler, ...) return handled(handler, pcall(f, ...)) end
function base.print() end
function base.collectgarbage() return 0 end
function base.rawset(t, key, value)
  if guarded[t] then error('attempt to change a library', 2) end
  return rawset(t, key, value)
end
function base.getmetatable(value)
  if type(value) == 'string' then return nil end
  return getmeta(value)
end
function base.setmetatable(t, meta)
  if type(meta) == 'table' then
    for _, field in ipairs({ '__gc', '__mode', '__close' }) do
      if rawget(meta, field) ~= nil then error('setmetatable: ' .. field .. ' is not supported', 2) end
    end
  end
  return setmeta(t, meta)
end
-- Whole numbers print without a decimal point, even after a division.
local function whole(value)
  return mtype(value) == 'float' and value == floor(value) and value > -1e15 and value < 1e15
end
function base.tostring(value)
  if type(value) == 'number' and whole(value) then return format('%d', value) end
  return tostring(value)
end

local function library(real)
  local proxy = setmeta({}, { __index = real, __metatable = false, __newindex = function() error('attempt to change a library', 2) end })
  guarded[proxy] = true
  return proxy
end
local safeTimes = library(times)
function base.require(name)
  if name == 'os' then return safeTimes end
  error("module '" .. tostring(name) .. "' not found", 2)
end
local function merged(...)
  local out = {}
  for i = 1, select('#', ...) do for key, value in next, (select(i, ...)) do out[key] = value end end
  return out
end
local function compile(source, name)
  if type(source) ~= 'string' or #source > 65536 then return nil, 'the chunk is too long' end
  return load(source, '=' .. sub(tostring(name or '<string>'), 1, 60), 't', current)
end
local narrow = merged(base, { table = library(merged(tables, times)) })
local wide = merged(base, {
  table = library(tables), string = library(strings), math = library(maths), os = safeTimes, load = compile, loadstring = compile,
  coroutine = library({ create = C.create, resume = C.resume, yield = C.yield, status = C.status, wrap = C.wrap, running = C.running }),
})
local narrowMeta, wideMeta = { __index = narrow, __metatable = false }, { __index = wide, __metatable = false }
local ofText = getmeta('')
ofText.__metatable = false

-- Interprets a result as Argo CD does: (nil) no health, ('status', status, message), ('error', text).
local function digest(count, ...)
  if count == 0 then return nil end
  local result = select(count, ...)
  if result == nil then return nil end
  if type(result) ~= 'table' then return 'error', 'expect table output from Lua script, not ' .. type(result) end
  local texts, others = false, false
  for key, value in next, result do
    if type(value) == 'function' or type(value) == 'thread' then return 'error', 'cannot encode ' .. type(value) .. ' to JSON' end
    if type(key) == 'string' then texts = true else others = true end
  end
  if texts and others then return 'error', 'cannot encode mixed or invalid key types' end
  if others and rawlen(result) == 0 then return 'error', 'cannot encode sparse array' end
  if not texts then return nil end
  local status, message = rawget(result, 'status'), rawget(result, 'message')
  if status == nil or message == nil then
    for key, value in next, result do
      if #key < 20 then
        local small = S.lower(key)
        if small == 'status' and status == nil then status = value elseif small == 'message' and message == nil then message = value end
      end
    end
  end
  if (status ~= nil and type(status) ~= 'string') or (message ~= nil and type(message) ~= 'string') then return nil end
  return 'status', sub(status or '', 1, 100), sub(message or '', 1, 16384)
end
-- A chunk keeps its globals alive: drop those of the previous run before the next one.
local last
local function forget()
  if last ~= nil then setupvalue(last, 1, nil) end
  last, current = nil, nil
end
local function run(chunk, object, open, now)
  forget()
  last, budget, clock = chunk, allowance, now
  current = setmeta({ obj = object, actionParams = {} }, open and wideMeta or narrowMeta)
  current._G = current
  ofText.__index = open and strings or nil
  setupvalue(chunk, 1, current)
  return digest((function(...) return select('#', ...), ... end)(chunk()))
end
return run, function() forget() collect() end
`;
