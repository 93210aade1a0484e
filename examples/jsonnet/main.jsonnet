local web = import 'lib/web.libsonnet';

[
  web.config('fruit', { best: 'apple', second: 'pear' }),
  web.deployment('fruit', replicas=2),
]
