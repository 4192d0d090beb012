import { createRequire } from 'node:module';
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';

type Engine = typeof Cedar;

/** Cedar has failed by itself, which says nothing about the policies or the request. */
export class CedarFailure extends Error {
  override readonly name = 'CedarFailure';
}

/** Not bundled: in the images the package lies beside the program, with its WebAssembly (Dockerfile.vmcp). */
const packages = createRequire(import.meta.url);
const PACKAGE = '@cedar-policy/cedar-wasm/nodejs';

let loaded: Engine | undefined;
/** Counts the engines that were loaded. */
let generation = 0;

/** Loads Cedar at its first use: where there are no policies it costs neither time nor memory. */
const engine = (): Engine => {
  if (loaded === undefined) {
    loaded = packages(PACKAGE) as Engine;
    generation += 1;
  }
  return loaded;
};

/** After an exception the memory of the WebAssembly instance may be inconsistent, so that a new one takes its place. */
const dropEngine = (): void => {
  loaded = undefined;
  delete packages.cache[packages.resolve(PACKAGE)];
};

/** Runs something with Cedar. Throws CedarFailure. */
export const withCedar = <T>(run: (cedar: Engine) => T): T => {
  try {
    return run(engine());
  } catch (cause) {
    dropEngine();
    throw new CedarFailure('Cedar has failed', { cause });
  }
};

/** Loads Cedar now, where that is not to be part of the first decision. Throws CedarFailure. */
export const loadCedar = (): void => withCedar(() => {});

/** A request to Cedar, with the entities it concerns. */
export type PolicyRequest = Pick<
  Cedar.StatefulAuthorizationCall,
  'principal' | 'action' | 'resource' | 'context' | 'entities'
>;

/** Cedar's answer: the policies that decide, and those whose evaluation failed. */
export interface PolicyAnswer {
  readonly decision: 'allow' | 'deny';
  readonly reason: readonly string[];
  readonly failed: readonly string[];
}

/** Policies that Cedar has parsed. */
export interface PreparedPolicies {
  /** Throws CedarFailure, also once the policies are released. */
  readonly authorize: (request: PolicyRequest) => PolicyAnswer;
  readonly release: () => void;
}

/**
 * Cedar keeps parsed policies by an id for as long as the process lives, so ids are used again: there are as many as
 * sets of policies were in use at one moment.
 */
const freeIds: string[] = [];
let idsMade = 0;

const takeId = (): string => freeIds.pop() ?? `policies${(idsMade += 1)}`;

/** Lets Cedar parse policies (text by id). Throws CedarFailure where Cedar does not accept them. */
export const preparePolicies = (texts: Readonly<Record<string, string>>): PreparedPolicies => {
  const id = takeId();
  let preparedIn = -1;
  let isReleased = false;
  const prepare = (cedar: Engine): void => {
    if (preparedIn === generation) return;
    if (isReleased) throw new Error('the policies are released');
    const answer = cedar.preparsePolicySet(id, { staticPolicies: { ...texts } });
    if (answer.type === 'failure') throw new Error(answer.errors.map(({ message }) => message).join('; '));
    preparedIn = generation;
  };
  withCedar(prepare);
  return {
    authorize: (request) =>
      withCedar((cedar) => {
        prepare(cedar);
        return answerOf(cedar.statefulIsAuthorized({ ...request, preparsedPolicySetId: id }));
      }),
    release: () => {
      if (isReleased) return;
      isReleased = true;
      preparedIn = -1;
      freeIds.push(id);
      try {
        withCedar((cedar) => cedar.preparsePolicySet(id, { staticPolicies: {} }));
      } catch (error) {
        // The policies went with the engine that has failed.
        if (!(error instanceof CedarFailure)) throw error;
      }
    },
  };
};

const answerOf = (answer: Cedar.AuthorizationAnswer): PolicyAnswer => {
  if (answer.type === 'failure') throw new Error(answer.errors.map(({ message }) => message).join('; '));
  const { decision, diagnostics } = answer.response;
  return { decision, reason: diagnostics.reason, failed: diagnostics.errors.map(({ policyId }) => policyId) };
};
