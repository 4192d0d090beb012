import { readFile } from 'node:fs/promises';

/** One write request, as the API server itself wrote it down. */
export interface AuditedWrite {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Who wrote: the impersonated user where there is one. */
  readonly user: string;
  readonly userAgent: string;
  readonly code: number;
  /** Nothing of it was stored. */
  readonly isDryRun: boolean;
  readonly at: string;
}

/** A request of any kind, and which rule of RBAC let it through. */
export interface AuditedRequest extends AuditedWrite {
  /** As the API server says it: the binding and the role. Empty when it was refused. */
  readonly allowedBy: string;
}

/** Everything that changes something, and all that an operator asks for; other reads and watches would only bury it. */
export const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: Metadata
    verbs: [create, update, patch, delete, deletecollection]
  - level: Metadata
    userGroups: ['system:serviceaccounts:vmcp-system']
  - level: None
`;

interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: Partial<Record<'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'name', string>>;
  readonly responseStatus?: { readonly code?: number };
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/**
 * The write requests so far, oldest first. The API server writes the line before it ends its answer, so a write that was
 * answered is in here.
 */
export async function readWrites(path: string, user: string | undefined): Promise<AuditedWrite[]> {
  const writes = (await eventsIn(path, user)).filter(({ verb }) => WRITES.has(verb)).map(asWrite);
  return user === undefined ? writes : writes.filter((write) => write.user === user);
}

/** What an account of `vmcp-system` asked for so far; a watch is in here once it has ended. */
export async function readRequests(path: string, user: string): Promise<AuditedRequest[]> {
  const requests = (await eventsIn(path, user)).map((event) => ({
    ...asWrite(event),
    allowedBy: event.annotations?.['authorization.k8s.io/reason'] ?? '',
  }));
  return requests.filter((request) => request.user === user);
}

/** Only lines that name the user are parsed: the log grows to many megabytes, and tests ask all the time. */
const eventsIn = async (path: string, user = ''): Promise<readonly AuditEvent[]> =>
  (await readFile(path, 'utf8').catch(() => ''))
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.includes(user))
    .map((line) => JSON.parse(line) as AuditEvent);

function asWrite(event: AuditEvent): AuditedWrite {
  const { apiGroup = '', resource = '', subresource = '', namespace = '', name = '' } = event.objectRef ?? {};
  return {
    verb: event.verb,
    group: apiGroup,
    resource,
    subresource,
    namespace,
    name,
    user: (event.impersonatedUser ?? event.user).username,
    userAgent: event.userAgent ?? '',
    code: event.responseStatus?.code ?? 0,
    isDryRun: new URL(event.requestURI, 'http://x').searchParams.has('dryRun'),
    at: event.stageTimestamp,
  };
}
