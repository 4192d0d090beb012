import type { Finding } from './explain.ts';
import { reservedHeaderProblem } from './header-fields.ts';
import { isRecord } from './schema-walk.ts';
import { everyStrategy } from './strategies/index.ts';

/** Headers that carry credentials to backends must be none that the connection or MCP sets. */
export function* credentialHeadersAreFree(file: Readonly<Record<string, unknown>>): Generator<Finding> {
  for (const { path, strategy } of strategiesIn(file['outgoingAuth'])) {
    for (const [block, { headers = [] }] of everyStrategy) {
      const said = strategy[block];
      for (const key of isRecord(said) ? headers : []) {
        const name = isRecord(said) ? said[key] : undefined;
        const problem = typeof name === 'string' ? reservedHeaderProblem(name) : undefined;
        if (problem) yield { path: [...path, block, key], ...problem };
      }
    }
  }
}

interface WrittenStrategy {
  readonly path: readonly PropertyKey[];
  readonly strategy: Readonly<Record<string, unknown>>;
}

/** `default` and every entry of `backends`, as written. */
export function* strategiesIn(outgoingAuth: unknown): Generator<WrittenStrategy> {
  if (!isRecord(outgoingAuth)) return;
  const { default: otherwise, backends } = outgoingAuth;
  if (isRecord(otherwise)) yield { path: ['outgoingAuth', 'default'], strategy: otherwise };
  for (const [name, strategy] of Object.entries(isRecord(backends) ? backends : {}))
    if (isRecord(strategy)) yield { path: ['outgoingAuth', 'backends', name], strategy };
}
