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
  readonly at: string;
}

/** Everything that changes something, and nothing else: reads and watches would only bury it. */
export const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: Metadata
    verbs: [create, update, patch, delete, deletecollection]
  - level: None
`;

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: Partial<Record<'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'name', string>>;
  readonly responseStatus?: { readonly code?: number };
  readonly stageTimestamp: string;
}

/**
 * The write requests so far, oldest first. The API server writes the line before it ends its answer, so a write that was
 * answered is in here.
 */
export async function readWrites(path: string, user: string | undefined): Promise<AuditedWrite[]> {
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n').slice(0, -1);
  const writes = lines.map((line) => asWrite(JSON.parse(line) as AuditEvent));
  return user === undefined ? writes : writes.filter((write) => write.user === user);
}

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
    at: event.stageTimestamp,
  };
}
