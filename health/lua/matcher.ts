/**
 * Lua's pattern matching, written in Lua (part of prelude.ts, which defines `byte`, `sub`, `find`
 * and `charge`). The library's matcher is C code that nothing can interrupt: a pattern with four
 * repetitions keeps it busy for hours on a text of 1,000 characters. This one is about 50 times
 * slower and used only for such patterns; the instruction counter sees every step.
 */
export const matcher = String.raw`
-- The matcher for patterns that may explode: Lua 5.1's, byte by byte, so that the instruction counter sees every step.
local classEnd, single, matchHere
classEnd = function(p, at)
  local c = byte(p, at)
  at = at + 1
  if c == 37 then
    if at > #p then error('malformed pattern (ends with \'%\')', 0) end
    return at + 1
  end
  if c == 91 then
    if byte(p, at) == 94 then at = at + 1 end
    repeat
      local d = byte(p, at)
      if d == nil then error('malformed pattern (missing \']\')', 0) end
      at = at + 1
      if d == 37 then at = at + 1 end
    until byte(p, at) == 93
    return at + 1
  end
  return at
end
single = function(s, i, p, at, stop)
  if i > #s then return false end
  local c = byte(p, at)
  if c == 46 then return true end
  if c == 37 or c == 91 then return find(sub(s, i, i), '^' .. sub(p, at, stop - 1)) ~= nil end
  return c == byte(s, i)
end
local function capture(state, l)
  local from, size = state.from[l], state.size[l]
  if size == -2 then return from end
  return sub(state.s, from, from + size - 1)
end
matchHere = function(state, i, at)
  local s, p = state.s, state.p
  while true do
    if at > #p then return i end
    local c = byte(p, at)
    if c == 40 then
      local l = state.level + 1
      local position = byte(p, at + 1) == 41
      state.from[l], state.size[l], state.level = i, position and -2 or -1, l
      local found = matchHere(state, i, position and at + 2 or at + 1)
      if found == nil then state.level = l - 1 end
      return found
    elseif c == 41 then
      local l = state.level
      while l > 0 and state.size[l] ~= -1 do l = l - 1 end
      if l == 0 then error('invalid pattern capture', 0) end
      state.size[l] = i - state.from[l]
      local found = matchHere(state, i, at + 1)
      if found == nil then state.size[l] = -1 end
      return found
    elseif c == 36 and at == #p then
      return i == #s + 1 and i or nil
    elseif c == 37 and (byte(p, at + 1) or 0) == 98 then
      local open, close, depth, k = byte(p, at + 2), byte(p, at + 3), 1, i + 1
      if close == nil then error('missing arguments to \'%b\'', 0) end
      if byte(s, i) ~= open then return nil end
      while depth > 0 do
        local d = byte(s, k)
        if d == nil then return nil end
        if d == close then depth = depth - 1 elseif d == open then depth = depth + 1 end
        k = k + 1
      end
      i, at = k, at + 4
    elseif c == 37 and (byte(p, at + 1) or 0) == 102 then
      error('\'%f\' is not supported in this pattern', 0)
    elseif c == 37 and (byte(p, at + 1) or 0) >= 48 and (byte(p, at + 1) or 0) <= 57 then
      local l = byte(p, at + 1) - 48
      if state.size[l] == nil or state.size[l] < 0 then error('invalid capture index', 0) end
      local part = capture(state, l)
      charge(#part)
      if sub(s, i, i + #part - 1) ~= part then return nil end
      i, at = i + #part, at + 2
    else
      local stop = classEnd(p, at)
      local q = byte(p, stop)
      if q == 63 then
        if single(s, i, p, at, stop) then
          local found = matchHere(state, i + 1, stop + 1)
          if found ~= nil then return found end
        end
        at = stop + 1
      elseif q == 42 or q == 43 then
        local k = i
        while single(s, k, p, at, stop) do k = k + 1 end
        local least = q == 43 and i + 1 or i
        while k >= least do
          local found = matchHere(state, k, stop + 1)
          if found ~= nil then return found end
          k = k - 1
        end
        return nil
      elseif q == 45 then
        while true do
          local found = matchHere(state, i, stop + 1)
          if found ~= nil then return found end
          if not single(s, i, p, at, stop) then return nil end
          i = i + 1
        end
      else
        if not single(s, i, p, at, stop) then return nil end
        i, at = i + 1, stop
      end
    end
  end
end
local function captures(state, from, to, whole)
  local out = {}
  for l = 1, state.level do
    if state.size[l] == -1 then error('unfinished capture', 0) end
    out[l] = capture(state, l)
  end
  if state.level == 0 and whole then out[1] = sub(state.s, from, to) end
  return out
end
local function search(s, p, from)
  local anchored = byte(p, 1) == 94
  local state = { s = s, p = anchored and sub(p, 2) or p, level = 0, from = {}, size = {} }
  for i = from, #s + 1 do
    state.level = 0
    local stop = matchHere(state, i, 1)
    if stop ~= nil then return i, stop - 1, state end
    if anchored then break end
  end
  return nil
end
`;
