import { UsageError } from '#base';
import { costSubjects } from '../../api/types.ts';
import { explainedKinds } from '../explain/targets.ts';
import type { Command, CommandContext } from '../process/command.ts';

/** A command of the program, to be completed. */
export interface CompletedCommand {
  readonly name: string;
  readonly help: string;
  readonly load: () => Promise<Command>;
}

interface CommandWords {
  readonly name: string;
  readonly help: string;
  /** Subcommands and other words after the name. */
  readonly words: readonly string[];
  readonly flags: readonly string[];
}

const shells = ['bash', 'zsh', 'fish'] as const;
const usage = `usage: driftless completion ${shells.join('|')}

  bash: source <(driftless completion bash)
  zsh:  source <(driftless completion zsh)
  fish: driftless completion fish | source`;

/** Words that follow a command and are no flags. */
const subcommands: Readonly<Record<string, readonly string[]>> = {
  admin: ['diff-reconcile-results', 'get-reconcile-results'],
  completion: shells,
  explain: explainedKinds,
  shards: ['plan', 'stats', 'watch'],
  top: costSubjects,
};

/** `driftless completion`: a script that completes commands and flags in a shell. */
export function completionOf(commands: () => readonly CompletedCommand[]): Command {
  return async (context) => {
    const { argv, output } = context;
    const [shell, ...more] = argv;
    if (shell === '--help' || shell === '-h') {
      output.out(usage);
      return 0;
    }
    const known = shells.find((name) => name === shell);
    if (known === undefined || more.length > 0) throw new UsageError(`usage: driftless completion ${shells.join('|')}`);
    const found: CommandWords[] = [];
    for (const command of commands()) found.push(await wordsOf(command, context));
    output.out(scripts[known](found));
    return 0;
  };
}

/** Flags are read from the help of a command and its subcommands, so that none is forgotten. */
async function wordsOf({ name, help, load }: CompletedCommand, context: CommandContext): Promise<CommandWords> {
  const words = subcommands[name] ?? [];
  if (name === 'completion') return { name, help, words, flags: ['--help'] };
  const command = await load();
  const flags = new Set<string>();
  const texts: string[] = [];
  const output = { ...context.output, out: (text: string) => void texts.push(text) };
  const forms = name === 'explain' || name === 'top' ? [[]] : [[], ...words.map((word) => [word])];
  for (const form of forms) await command({ ...context, argv: [...form, '--help'], output });
  for (const [, flag = ''] of texts.join('\n').matchAll(/^ {2}(?:-\w, | {4})(--[a-z0-9-]+)/gm)) flags.add(flag);
  return { name, help, words, flags: [...flags].sort() };
}

const scripts: Readonly<Record<(typeof shells)[number], (commands: readonly CommandWords[]) => string>> = {
  bash: (commands) => `# Completion of driftless for bash.
_driftless() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${[...names(commands), 'help', 'version'].join(' ')}"
  else
    case "\${COMP_WORDS[1]}" in
${commands.map(({ name, words, flags }) => `      ${name}) words="${[...words, ...flags].join(' ')}" ;;`).join('\n')}
      help) words="${names(commands).join(' ')}" ;;
    esac
  fi
  COMPREPLY=()
  if [ -n "$words" ]; then while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current"); fi
}
complete -o default -F _driftless driftless`,
  zsh: (commands) => `#compdef driftless
# Completion of driftless for zsh.
_driftless() {
  if (( CURRENT == 2 )); then
    local -a commands=(
${commands.map(({ name, help }) => `      ${quoted(`${name}:${help.replaceAll(':', '\\:')}`)}`).join('\n')}
    )
    _describe command commands
    return
  fi
  case "\${words[2]}" in
${commands.map(({ name, words, flags }) => `    ${name}) compadd -- ${[...words, ...flags].join(' ')} ;;`).join('\n')}
    help) compadd -- ${names(commands).join(' ')} ;;
  esac
  _files
}
compdef _driftless driftless`,
  fish: (commands) =>
    [
      '# Completion of driftless for fish.',
      ...commands.map(
        ({ name, help }) => `complete -c driftless -n __fish_use_subcommand -a ${name} -d ${quoted(help)}`,
      ),
      ...commands.flatMap(({ name, words, flags }) => [
        ...(words.length === 0
          ? []
          : [`complete -c driftless -n '__fish_seen_subcommand_from ${name}' -a '${words.join(' ')}'`]),
        ...flags.map((flag) => `complete -c driftless -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`),
      ]),
    ].join('\n'),
};

function names(commands: readonly CommandWords[]): readonly string[] {
  return commands.map(({ name }) => name);
}

/** A word in single quotes of every shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
