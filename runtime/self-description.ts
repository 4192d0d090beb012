import type { BackendSet, Backend } from './backends/index.ts';
import type { Catalog } from './catalog/index.ts';
import { clipped, compareText } from './text.ts';
import type { Config, LiveConfig } from './config/index.ts';
import type { AuthServerReport, BackendReport, SessionStoreReport, StatusReport } from './status/index.ts';
import { LIMITS } from './limits.ts';
import { VERSION } from './version.ts';

/**
 * The `instructions` of `initialize`: the backends, and how names are built (docs/decisions.md "What initialize says").
 */
export const instructionsOf = ({ backends, aggregation }: Config): string => {
  const names = backends.map(({ name }) => name).join(', ');
  return `This server joins the tools of: ${names || 'no backends yet'}. ${namingText(aggregation)}`;
};

const namingText = ({
  conflictResolution,
  conflictResolutionConfig: { prefixFormat },
}: Config['aggregation']): string => NAMING[conflictResolution](prefixFormat.replaceAll('{workload}', '<backend>'));

const NAMING: Readonly<Record<Config['aggregation']['conflictResolution'], (prefix: string) => string>> = {
  prefix: (prefix) => `A tool's name is "${prefix}" followed by the name its backend gives it.`,
  priority: () =>
    'A tool has the name its backend gives it; where several backends give the same name and none of them is preferred, "<backend>_" comes before it.',
  manual: () => 'A tool has the name its backend gives it.',
};

/** What this process has of its own, beside backends. */
interface OwnParts {
  readonly sessionStore: SessionStoreReport | undefined;
  readonly authServer: AuthServerReport | undefined;
}

/** Body of `GET /status`. */
export const statusReport = (
  config: LiveConfig,
  backends: BackendSet,
  catalog: Catalog,
  { sessionStore, authServer }: OwnParts,
): StatusReport => {
  const refused = config.refused();
  const mismatched = catalog.mismatched();
  const { metadata, withheld, backends: configured } = config.current();
  const metadataOf = new Map(configured.map((backend) => [backend.name, backend.metadata]));
  return {
    version: VERSION,
    config: { hash: config.hash(), ...(refused && { refused }) },
    ...(sessionStore && { sessionStore }),
    ...(authServer && { authServer }),
    ...(metadata && { metadata }),
    toolCount: catalog.lists.tools.size,
    backends: [
      ...backends.all().map((backend) => backendReport(backend, metadataOf.get(backend.name))),
      ...withheld.map(withheldReport),
    ].toSorted((a, b) => compareText(a.name, b.name)),
    collisions: reported(catalog.collisions),
    collisionCount: catalog.collisions.length,
    ...(catalog.unresolved.length > 0 && { unresolved: reported(catalog.unresolved) }),
    ...(catalog.unusual.length > 0 && { unusual: reported(catalog.unusual) }),
    ...(catalog.incomplete.length > 0 && { incomplete: catalog.incomplete.slice(0, LIMITS.reportedCollisions) }),
    ...(mismatched.length > 0 && { mismatched: mismatched.slice(0, LIMITS.reportedCollisions) }),
    ...(catalog.unmatched.length > 0 && { unmatched: catalog.unmatched.slice(0, LIMITS.reportedCollisions) }),
  };
};

/** The first entries, with clipped names: backends determine how many there are and how long their names are. */
const reported = <T extends { readonly name: string }>(list: readonly T[]): readonly T[] =>
  list.slice(0, LIMITS.reportedCollisions).map((each) => ({ ...each, name: clipped(each.name) }));

const backendReport = (backend: Backend, metadata: BackendReport['metadata']): BackendReport => ({
  ...reportOf(backend),
  ...(metadata && { metadata }),
});

/** Why it is not ready, and how many users it is not listed for. */
const messageOf = ({ state, usersWithoutCredential: users }: Backend): string | undefined => {
  const unlisted = users > 0 ? `needs sign-in: it could not be listed for ${users} of its users` : undefined;
  const said = [state.message, unlisted].filter((each) => each !== undefined);
  return said.length > 0 ? said.join('; ') : undefined;
};

const reportOf = (backend: Backend): BackendReport => {
  const { name, state, circuit } = backend;
  const message = messageOf(backend);
  return {
    name,
    status: state.status,
    ...(message !== undefined && { message }),
    ...(state.checkedAt !== undefined && { lastHealthCheck: new Date(state.checkedAt).toISOString() }),
    consecutiveFailures: state.consecutiveFailures,
    toolCount: state.lists?.tools.length ?? 0,
    ...(circuit && { circuitBreakerState: circuit.state }),
    ...(circuit?.changedAt !== undefined && { circuitLastChanged: new Date(circuit.changedAt).toISOString() }),
  };
};

const withheldReport = ({ name, message }: Config['withheld'][number]): BackendReport => ({
  name,
  status: 'unavailable',
  message,
  consecutiveFailures: 0,
  toolCount: 0,
});
