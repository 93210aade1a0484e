/** Functions that we evaluate, with their numbers of arguments. */
export const evaluatedFunctions: Readonly<Record<string, readonly number[]>> = {
  select: [1],
  test: [1, 2],
  startswith: [1],
  endswith: [1],
  contains: [1],
  inside: [1],
  has: [1],
  any: [0, 1, 2],
  all: [0, 1, 2],
  first: [0, 1],
  last: [0],
  not: [0],
  length: [0],
  type: [0],
  keys: [0],
  tostring: [0],
  ascii_downcase: [0],
  ascii_upcase: [0],
  ltrimstr: [1],
  rtrimstr: [1],
  getpath: [1],
  recurse: [0],
  empty: [0],
};

/** Functions that are defined by other expressions (gojq builtin.jq). */
export const definedFunctions: Readonly<Record<string, string>> = {
  values: 'select(. != null)',
  nulls: 'select(. == null)',
  booleans: 'select(type == "boolean")',
  numbers: 'select(type == "number")',
  strings: 'select(type == "string")',
  arrays: 'select(type == "array")',
  objects: 'select(type == "object")',
  iterables: 'select(type == "array" or type == "object")',
  scalars: 'select(type != "array" and type != "object")',
};

/** Functions that may yield paths of their input, and that we do not evaluate. */
const pathCalls = new Set(
  'last/1 limit/2 skip/2 nth/1 nth/2 until/2 while/2 repeat/1 recurse/1 recurse/2 walk/1 error/0 error/1 finites/0 normals/0 debug/1 pick/1'.split(
    ' ',
  ),
);

/** Functions that yield values, never paths of their input: all others of gojq 0.12.19. */
const valueCalls = new Set(
  (
    'IN/1 IN/2 INDEX/1 INDEX/2 JOIN/2 JOIN/3 JOIN/4 abs/0 acos/0 acosh/0 add/0 add/1 asin/0 asinh/0 atan/0 ' +
    'atan2/2 atanh/0 bsearch/1 builtins/0 capture/1 capture/2 cbrt/0 ceil/0 combinations/0 combinations/1 copysign/2 cos/0 ' +
    'cosh/0 del/1 delpaths/1 drem/2 env/0 erf/0 erfc/0 exp/0 exp10/0 exp2/0 explode/0 expm1/0 fabs/0 fdim/2 flatten/0 ' +
    'flatten/1 floor/0 fma/3 fmax/2 fmin/2 fmod/2 format/1 frexp/0 from_entries/0 fromdate/0 fromdateiso8601/0 fromjson/0 ' +
    'fromstream/1 gamma/0 gmtime/0 group_by/1 gsub/2 gsub/3 halt/0 halt_error/0 halt_error/1 hypot/2 implode/0 in/1 index/1 ' +
    'indices/1 infinite/0 input/0 inputs/0 isempty/1 isfinite/0 isinfinite/0 isnan/0 isnormal/0 j0/0 j1/0 jn/2 join/1 ldexp/2 ' +
    'lgamma/0 localtime/0 log/0 log10/0 log1p/0 log2/0 logb/0 ltrim/0 map/1 map_values/1 match/1 match/2 max/0 ' +
    'max_by/1 min/0 min_by/1 mktime/0 modf/0 modulemeta/0 nan/0 nearbyint/0 nextafter/2 nexttoward/2 now/0 path/1 paths/0 ' +
    'paths/1 pow/2 range/1 range/2 range/3 remainder/2 reverse/0 rindex/1 rint/0 round/0 rtrim/0 scalb/2 scalbln/2 ' +
    'scan/1 scan/2 setpath/2 significand/0 sin/0 sinh/0 sort/0 sort_by/1 split/1 split/2 splits/1 splits/2 sqrt/0 ' +
    'strflocaltime/1 strftime/1 strptime/1 sub/2 sub/3 tan/0 tanh/0 tgamma/0 to_entries/0 toboolean/0 todate/0 ' +
    'todateiso8601/0 tojson/0 tonumber/0 tostream/0 transpose/0 trim/0 trimstr/1 trunc/0 truncate_stream/1 unique/0 ' +
    'unique_by/1 utf8bytelength/0 with_entries/1 y0/0 y1/0 yn/2'
  ).split(' '),
);

/** The results of a known call that we do not evaluate. Undefined: no such function. */
export function knownCall(name: string, args: number): 'places' | 'values' | undefined {
  const call = `${name}/${args}`;
  if (pathCalls.has(call)) return 'places';
  return valueCalls.has(call) ? 'values' : undefined;
}
