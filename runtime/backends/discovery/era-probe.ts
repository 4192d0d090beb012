import { VmcpError } from '../../errors.ts';
import { smallMember } from '../../json/index.ts';
import type { BackendResponse, Fetch } from '../../outgoing/index.ts';
import { isModernError, MODERN_REVISION } from '../../mcp/index.ts';
import { deadline, withIdleTimeout } from '../messages/idle-timeout.ts';
import type { Clock } from '../../process/index.ts';
import { capabilitiesOf, isUndecided } from '../session/handshake.ts';
import type { BackendCapabilities } from '../messages/backend-call.ts';
import { MODERN_HEADERS } from '../stateless/stateless-client.ts';
import { ownMeta } from '../messages/request-edits.ts';
import { invalidAnswer } from '../session/answer.ts';
import { isAnswerTo, readServerMessage } from '../messages/server-message.ts';

/** Result of a probe. */
export type ProbedEra =
  | { readonly era: 'modern'; readonly capabilities: BackendCapabilities }
  | { readonly era: 'legacy' }
  /** The backend cannot answer at the moment and must be probed again. */
  | { readonly era: 'undecided' };

export interface ProbeSettings {
  readonly backend: string;
  readonly path: string;
  /** JSON text. */
  readonly clientInfo: string;
}

/** How the probe is sent, and for how long it waits. */
export interface ProbeBounds {
  readonly clock: Clock;
  readonly fetch: Fetch;
  readonly idleTimeoutMs: number;
  /** Its abort reason becomes the error. */
  readonly signal: AbortSignal;
}

const ID = Buffer.from('"vmcp-discover"');

/**
 * Asks `server/discover`, which every server of 2026-07-28 knows. Throws `backend_unreachable` when there is no
 * connection.
 */
export const probeEra = async (settings: ProbeSettings, bounds: ProbeBounds): Promise<ProbedEra> => {
  try {
    return eraOf(await ask(settings, bounds));
  } catch (error) {
    if (error instanceof VmcpError && error.code === 'backend_unreachable') throw error;
    return { era: 'undecided' };
  }
};

/** Probes a backend of 2026-07-28 again. Throws VmcpError when the backend does not answer properly. */
export const checkModern = async (
  settings: ProbeSettings,
  bounds: ProbeBounds,
): Promise<Exclude<ProbedEra, { era: 'undecided' }>> => {
  const response = await ask(settings, bounds);
  const probed = eraOf(response);
  if (probed.era === 'undecided') throw invalidAnswer(settings.backend, response.status);
  return probed;
};

const ask = (settings: ProbeSettings, { clock, fetch, idleTimeoutMs, signal }: ProbeBounds): Promise<BackendResponse> =>
  withIdleTimeout(clock, {
    backend: settings.backend,
    idleTimeoutMs,
    signal,
    work: (idleTimeout) =>
      fetch({
        method: 'POST',
        path: settings.path,
        headers: [...MODERN_HEADERS, 'mcp-method', 'server/discover'],
        body: discover(settings),
        idleTimeout: deadline(idleTimeout),
        onMessage: (bytes) => (isAnswerTo(bytes, ID) ? 'answer' : 'other'),
      }),
  });

const discover = ({ clientInfo }: ProbeSettings): Buffer =>
  Buffer.from(
    `{"jsonrpc":"2.0","id":${ID.toString()},"method":"server/discover","params":{"_meta":${ownMeta(clientInfo)}}}`,
  );

const eraOf = ({ status, body }: BackendResponse): ProbedEra => {
  const message = readServerMessage(body);
  if (message?.kind === 'error' && isModernError(body.subarray(message.error.start, message.error.end)))
    return modernWith(undefined);
  if (isUndecided(status)) return { era: 'undecided' };
  if (message?.kind !== 'response') return { era: 'legacy' };
  const { start } = message.result;
  const supported = smallMember(body, start, 'supportedVersions');
  const versions: readonly unknown[] = Array.isArray(supported) ? supported : [];
  return versions.includes(MODERN_REVISION) ? modernWith(smallMember(body, start, 'capabilities')) : { era: 'legacy' };
};

const modernWith = (capabilities: unknown): ProbedEra => ({
  era: 'modern',
  capabilities: capabilitiesOf(capabilities),
});
