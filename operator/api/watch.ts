import { apiErrorOf } from './errors.ts';
import { collectionPath } from './resources.ts';
import type { Resource } from './resources.ts';
import { acceptOf, typed } from './selection.ts';
import type { Selection } from './selection.ts';
import type { Transport } from './transport.ts';
import type { KubeObject } from '../object.ts';

/** One line of a watch. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  /** Of a bookmark only `metadata.resourceVersion` means something. */
  readonly object: KubeObject;
}

interface WatchRequest {
  readonly resource: Resource;
  readonly selection: Selection;
  /** Absent: first of all what there is, until a bookmark that says so (`isEndOfList`). */
  readonly resourceVersion?: string;
}

/** Servers send a bookmark about every minute, so a longer silence is a dead connection. */
const idleTimeoutMs = 150_000;

/** Servers end a watch by then; the informer just goes on where it was. */
const watchSeconds = 600;

/**
 * The events of one watch, as they come. Ends when the server ends it, at the latest after ten minutes; throws
 * `ApiError`, also where the server reports an error in the stream, and after 150 s of silence.
 */
export async function* watchEvents(
  transport: Transport,
  request: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const { resource, selection, resourceVersion } = request;
  const body = await transport.stream(
    {
      verb: 'watch',
      kind: resource.kind,
      method: 'GET',
      path: collectionPath(resource, selection.namespace),
      query: {
        watch: true,
        allowWatchBookmarks: true,
        timeoutSeconds: watchSeconds,
        ...(resourceVersion === undefined
          ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
          : { resourceVersion }),
        labelSelector: selection.labelSelector,
      },
      accept: acceptOf(selection, 'PartialObjectMetadata'),
      timeoutMs: idleTimeoutMs,
    },
    signal,
  );
  for await (const line of lines(body)) {
    const event = (await transport.read(line, { signal })) as
      | WatchEvent
      | { readonly type: 'ERROR'; readonly object: { code?: number } };
    if (event.type === 'ERROR') {
      throw apiErrorOf(event.object.code ?? 500, JSON.stringify(event.object), undefined);
    }
    yield { type: event.type, object: typed(event.object, resource) };
  }
}

/** KEP-3157 */
export const isEndOfList = ({ type, object }: WatchEvent): boolean =>
  type === 'BOOKMARK' && object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';

/** Splits on newlines; a piece without one at the end was cut off and is dropped. */
export async function* lines(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    const end = text.lastIndexOf('\n');
    if (end < 0) {
      rest += text;
      continue;
    }
    const whole = rest + text.slice(0, end);
    rest = text.slice(end + 1);
    yield* whole.split('\n').filter((line) => line !== '');
  }
}
