import assert from 'node:assert/strict';
import {
  type AuthServerGateway,
  type AuthServerOptions,
  startAuthServer,
  type TestBrowser,
} from '../../../fixtures/auth-server.ts';
import { answerStatus, type FixtureBackend, startBackend } from '../../../fixtures/backend.ts';

import { registerClient, type TestClient, textIn } from '../../../fixtures/signing-in.ts';

/** A gateway with the providers `corp` and `github`, each with a backend that gets its tokens, and one without. */
export interface LadderGateway extends AuthServerGateway {
  readonly corp: AuthServerGateway['providers'][number];
  readonly github: AuthServerGateway['providers'][number];
  /** The backends `plain`, `c` (tokens of `corp`) and `g` (tokens of `github`). */
  readonly backends: Readonly<Record<'plain' | 'c' | 'g', FixtureBackend>>;
  /** Tokens of `github` that `g` does not take. */
  readonly refused: Set<string>;
  readonly client: TestClient;
  /** The `Authorization` header of a user who has signed in wherever a login leads to. */
  readonly signedIn: (browser?: TestBrowser) => Promise<Readonly<{ authorization: string }>>;
}

const inject = (providerName: string) => ({ type: 'upstream_inject', upstreamInject: { providerName } });

/** `github` is signed in to on demand, unless the options say otherwise. */
export const startLadder = async (options: AuthServerOptions = {}): Promise<LadderGateway> => {
  const refused = new Set<string>();
  const [plain, c, g] = await Promise.all([
    startBackend(),
    startBackend(),
    startBackend({
      on: ({ recorded: { headers } }) => (refused.has(headers.authorization ?? '') ? answerStatus(401) : undefined),
    }),
  ]);
  const backends = { plain, c, g };
  const gateway = await startAuthServer({
    providers: ['corp', 'github'],
    ...options,
    more: {
      backends: Object.entries(backends).map(([name, { url }]) => ({ name, url, transport: 'streamable-http' })),
      outgoingAuth: { source: 'inline', backends: { c: inject('corp'), g: inject('github') } },
      extensions: { authServer: { upstreams: { github: { signIn: 'onDemand' } } } },
      ...options.more,
    },
  });
  const [corp, github] = gateway.providers;
  assert.ok(corp && github);
  const client = await registerClient(gateway);
  return {
    ...gateway,
    corp,
    github,
    backends,
    refused,
    client,
    signedIn: async (browser = gateway.browser()) => ({
      authorization: `Bearer ${textIn(await client.tokens({ browser }), 'access_token')}`,
    }),
    stop: async () => {
      await gateway.stop();
      await Promise.all(Object.values(backends).map((backend) => backend.close()));
    },
  };
};
