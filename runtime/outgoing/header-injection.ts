import type { BlockInFile } from '../config/index.ts';
import { proveWith, withHeader } from './credential-source.ts';
import { credentialRefused } from './refusals.ts';
import { rotatingSecret } from './rotating-secret.ts';
import type { Strategy, StrategyDeps } from './strategy.ts';

/** Strategy `header_injection`: a header whose value is the same for all callers, the gateway's own probes included. */
export const headerInjection = (block: BlockInFile<'headerInjection'>, deps: StrategyDeps): Strategy => {
  const { headerName, headerValue, headerValueEnv, headerValueFile } = block;
  const of = { backend: deps.backend.name, strategy: 'header_injection' };
  const secret = rotatingSecret(
    { literal: headerValue, source: { file: headerValueFile, environment: headerValueEnv } },
    { of, what: `the value of header ${headerName}`, form: 'header value' },
    deps,
  );
  return {
    dependsOnCaller: false,
    prove: proveWith<string>({
      of,
      current: secret.current,
      renewed: (_caller, refused) => secret.renewed(refused),
      addTo: (request, value) => withHeader(request, headerName, value),
      refusal: (caller) => credentialRefused(of, caller),
      measures: deps.measures,
    }),
    close: async () => {},
  };
};
