import type { Access, BackendTarget, RelayedRequest, User } from '../../runtime/call/index.ts';
import { authenticationMetrics } from '../../runtime/gate/authenticate/authentication-metrics.ts';
import { issuerVerifiers } from '../../runtime/gate/authenticate/issuer-verifier.ts';
import { tokenVerifier } from '../../runtime/gate/authenticate/verify-token.ts';
import { Decisions } from '../../runtime/gate/policy/callers.ts';
import { policyMetrics } from '../../runtime/gate/policy/policy-metrics.ts';
import { openPolicySet } from '../../runtime/gate/policy/policy-set.ts';
import { memberAt } from '../../runtime/json/index.ts';
import { createMetrics } from '../../runtime/observe/index.ts';
import { median } from '../paths.ts';
import { postOf } from '../requests.ts';
import { AUDIENCE, claimsOf, type Issuer } from './issuer.ts';
import { policies } from './policies.ts';

/** Medians in microseconds, in this process. */
export interface Cold {
  /** One decision about a call of `echo`, for a caller whose claims are like those of no other. */
  readonly decisionMicros: number;
  /** The same about `large`, which all policies that read something concern. */
  readonly longestMicros: number;
  /** The same for the arguments of a known caller. */
  readonly argumentsMicros: number;
  /** From a token that was never seen to its user, one after the other. */
  readonly tokenMicros: number;
}

export const measureCold = async (issuer: Issuer, times: number): Promise<Cold> => ({
  decisionMicros: coldDecision(times, (index) => newUser(issuer, 'echo', index)),
  longestMicros: coldDecision(times, (index) => newUser(issuer, 'large', index)),
  argumentsMicros: coldArguments(issuer, times),
  tokenMicros: await coldToken(issuer, Math.ceil(times / 10)),
});

type Kind = 'echo' | 'large';

interface Asked {
  readonly user: User;
  readonly kind: Kind;
  readonly path: string;
}

const newUser = ({ url }: Issuer, kind: Kind, index: number): Asked => ({
  user: userOf(url, index),
  kind,
  path: '/srv/report.txt',
});

const coldArguments = ({ url }: Issuer, times: number): number => {
  const user = userOf(url, 0);
  return coldDecision(times, (index) => ({ user, kind: 'echo', path: `/srv/${index}.txt` }));
};

/** As many decisions again come first, uncounted. */
const coldDecision = (times: number, asked: (index: number) => Asked): number => {
  const failed = (): never => {
    throw new Error('Cedar has failed');
  };
  const set = openPolicySet({ policies, entitiesJson: '[]', server: 'vmcp' }, { onFailure: failed });
  const decisions = new Decisions(set, policyMetrics(createMetrics().meter, steadyNow));
  const decide = (index: number): number => {
    const call = asked(index);
    const { user, kind } = call;
    const access = callOf(call);
    const target = TARGETS[kind];
    const start = performance.now();
    const { isAllowed } = decisions.decide(access, target, { user, claims: user.claims });
    const micros = (performance.now() - start) * 1_000;
    if (!isAllowed) throw new Error('the policies of the benchmark have refused a call');
    return micros;
  };
  const all = Array.from({ length: 2 * times }, (_, index) => decide(index));
  set.close();
  return median(all.slice(times));
};

const userOf = (issuer: string, index: number): User => ({
  kind: 'user',
  issuer,
  subject: `user-${index}`,
  claims: { iss: issuer, ...claimsOf(index) },
  token: '',
  expiresAt: undefined,
  upstreamToken: async () => undefined,
});

const targetOf = (kind: Kind): BackendTarget => {
  const bytes = Buffer.from(`{"name":"${kind}","inputSchema":{"type":"object"}}`);
  const keySpan = memberAt(bytes, 0, 'name') ?? { start: 0, end: 0 };
  return {
    kind: 'backend',
    backend: 'bench',
    ownName: Buffer.from(`"${kind}"`),
    listed: { key: kind, bytes, keySpan },
  };
};

const TARGETS: Readonly<Record<Kind, BackendTarget>> = { echo: targetOf('echo'), large: targetOf('large') };

const callOf = ({ user: caller, kind, path }: Asked): Access => {
  const work = {
    url: '',
    era: 'legacy',
    kind: 'echo',
    prefix: 'bench_',
    moreArguments: { path, mode: 'append' },
  } as const;
  const bytes = Buffer.from(postOf(work).body);
  const request: RelayedRequest = {
    bytes,
    id: Buffer.from('7'),
    target: { start: 0, end: 0 },
    params: memberAt(bytes, 0, 'params'),
    meta: undefined,
  };
  return { caller, method: 'tools/call', name: `bench_${kind}`, names: 'tool', origin: 'client', request };
};

const coldToken = async (issuer: Issuer, times: number): Promise<number> => {
  const verifier = tokenVerifier(
    [
      {
        issuer: issuer.url,
        audiences: [AUDIENCE],
        issuerKeys: issuer.jwks,
        jwksUrl: undefined,
        jwksAllowPrivateIp: false,
        insecureAllowHttp: true,
        caBundlePath: undefined,
        scopes: [],
        claimMapping: {},
        introspection: undefined,
      },
    ],
    {
      now: Date.now,
      takeVerifier: issuerVerifiers({
        now: Date.now,
        log: { warn: console.warn, info: console.info },
        readSecret: unused,
        fetchUnder: () => ({ fetch: unused, close: async () => {} }),
        onKeysChanged: () => {},
        metrics: authenticationMetrics(createMetrics().meter, steadyNow),
      }),
    },
  );
  const all: number[] = [];
  for (const token of await issuer.tokens(2 * times)) {
    const start = performance.now();
    const { kind } = await verifier.verify(token);
    all.push((performance.now() - start) * 1_000);
    if (kind !== 'valid') throw new Error('a token of the benchmark is not valid');
  }
  await verifier.close();
  return median(all.slice(times));
};

const steadyNow = (): number => performance.now();

const unused = (): never => {
  throw new Error('nothing is fetched: the keys are fixed');
};
