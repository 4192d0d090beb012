import { parseArgs } from 'node:util';

export interface LocalOptions {
  readonly directory: string;
  /** Backend name → URL where it really runs. */
  readonly backends: Readonly<Record<string, string>>;
}

export const LOCAL_USAGE = `usage: vmcp-operator local <dir> [--backend NAME=URL …]

Serves the VirtualMCPServers of <dir> on loopback and follows changes of its files. --backend says where a backend really
runs; <dir>/local.yaml can say the same (backends: {NAME: URL}, ports: {SERVER: 4483}), a flag wins.
`;

/** What the command line says, or what is wrong with it. */
export const localOptions = (
  args: readonly string[],
): { readonly ok: true; readonly options: LocalOptions } | { readonly ok: false; readonly problem: string } => {
  const parsed = parse(args);
  if (typeof parsed === 'string') return { ok: false, problem: parsed };
  const [directory, ...rest] = parsed.positionals;
  if (directory === undefined) return { ok: false, problem: 'name the directory with the manifests' };
  if (rest.length > 0) return { ok: false, problem: `one directory only, not also ${rest.join(' ')}` };
  const pairs = parsed.backends.map(splitBackend);
  const wrong = parsed.backends.find((_text, index) => pairs[index] === undefined);
  if (wrong !== undefined) return { ok: false, problem: `--backend ${wrong}: write NAME=URL, with an http(s) URL` };
  const backends = Object.fromEntries(pairs.filter((pair) => pair !== undefined));
  return { ok: true, options: { directory, backends } };
};

const parse = (args: readonly string[]): { positionals: readonly string[]; backends: readonly string[] } | string => {
  try {
    const options = { backend: { type: 'string', multiple: true } } as const;
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
    return { positionals, backends: values.backend ?? [] };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const splitBackend = (text: string): readonly [string, string] | undefined => {
  const at = text.indexOf('=');
  const [name, url] = [text.slice(0, at), text.slice(at + 1)];
  return at > 0 && /^https?:\/\//.test(url) && URL.canParse(url) ? [name, url] : undefined;
};
