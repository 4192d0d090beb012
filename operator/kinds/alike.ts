import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import { lookalikes } from '../plan/server/uniqueness.ts';
import type { Source } from '../read/source.ts';
import { SERVED_KINDS } from '../resolve.ts';

/** Objects of `kind` that have something in common with the one that changed, which each should have alone. */
export const alikeOf = (kind: string, source: Source, changed: KubeObject): readonly ObjectKey[] =>
  (SERVED_KINDS as readonly string[]).includes(changed.kind)
    ? lookalikes(changed, source.list(kind, keyOf(changed).namespace)).map(keyOf)
    : [];
