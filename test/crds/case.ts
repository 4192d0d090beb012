/** One manifest and what must become of it, at the API server and in `parseResource` alike. */
export interface Case {
  /** Ids of the rules it proves. */
  readonly proves: readonly string[];
  readonly kind: string;
  /** What was changed in the smallest legal manifest of the kind. */
  readonly change: Change;
  readonly name?: string;
  readonly expected: Expected;
}

/** Path inside `spec` → value; undefined removes the field. An empty path replaces the whole spec. */
export type Change = Readonly<Record<string, unknown>>;

export type Expected =
  /** Accepted; afterwards these paths of `spec` hold these values (undefined: absent). */
  | { readonly stored: Readonly<Record<string, unknown>> }
  /** Refused, pointing at this path, in these words of the API server. */
  | { readonly at: string; readonly words: string };

export const title = ({ kind, name, change, expected }: Case): string => {
  const text = JSON.stringify(change, (_, value: unknown) => (value === undefined ? '(removed)' : value));
  const short = text.length > 160 ? `${text.slice(0, 160)}…` : text;
  const object = name === undefined ? kind : `${kind} ${name}`;
  return 'at' in expected ? `${object} ${short} is refused at ${expected.at}` : `${object} ${short} is accepted`;
};

interface Row {
  readonly of?: string | readonly string[];
  readonly set?: Change;
  readonly name?: string;
}

/** The smallest legal manifest of each kind that the changes start from. */
const minimal: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  VirtualMCPServer: { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } },
  MCPExternalAuthConfig: { type: 'unauthenticated' },
  MCPGroup: {},
  MCPServerEntry: {
    groupRef: { name: 'tools' },
    remoteUrl: 'https://mcp.example.com/mcp',
    transport: 'streamable-http',
  },
  MCPServer: { image: 'registry.example.com/server:1' },
  MCPRemoteProxy: { remoteUrl: 'https://mcp.example.com/mcp' },
  MCPOIDCConfig: { type: 'inline', inline: { issuer: 'https://login.example.com' } },
  MCPToolConfig: {},
  MCPTelemetryConfig: {},
  EmbeddingServer: {},
  VirtualMCPCompositeToolDefinition: { name: 'report', steps: [{ id: 'a', tool: 'github.search' }] },
};

/** Makes cases of one kind. */
export const casesOf = (kind: string) => ({
  accepts: (row: Row, stored: Readonly<Record<string, unknown>> = {}): Case => ({
    ...caseOf(kind, row),
    expected: { stored },
  }),
  refuses: (row: Row, at: string, words: string): Case => ({ ...caseOf(kind, row), expected: { at, words } }),
});

const caseOf = (kind: string, { of = [], set = {}, name }: Row) => ({
  kind,
  proves: typeof of === 'string' ? [of] : of,
  change: set,
  ...(name === undefined ? {} : { name }),
});

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
}

export const manifestOf = ({ kind, name = 'sample', change }: Case): Manifest => {
  const object: Record<string, unknown> = {
    apiVersion: 'vmcp.dev/v1beta1',
    kind,
    metadata: { name },
    spec: structuredClone(minimal[kind] ?? {}),
  };
  for (const [path, value] of Object.entries(change)) setAt(object, ['spec', ...stepsOf(path)], value);
  // As JSON: what is undefined is not there.
  return JSON.parse(JSON.stringify(object)) as Manifest;
};

const stepsOf = (path: string): readonly string[] => (path === '' ? [] : path.split('.'));

const setAt = (target: Record<string, unknown>, [step = '', ...rest]: readonly string[], value: unknown): void => {
  if (rest.length === 0) {
    if (value === undefined) delete target[step];
    else target[step] = value;
    return;
  }
  const next = target[step] ?? {};
  target[step] = next;
  setAt(next as Record<string, unknown>, rest, value);
};

/** Value at `a.b[0].c` inside `spec`. */
export const valueAt = (object: { readonly [field: string]: unknown }, path: string): unknown =>
  path
    .split(/[.[\]]+/)
    .filter((step) => step !== '')
    .reduce<unknown>((value, step) => (value as Readonly<Record<string, unknown>> | undefined)?.[step], object['spec']);
