import {
  isObject,
  isText,
  type KeyTest,
  memberAt,
  replacedMember,
  withMembers,
  withoutMembers,
} from '../json/index.ts';
import { RESERVED_PREFIX, TASK_NOTIFICATION } from '../mcp/index.ts';

/** A notification on a stream of `subscriptions/listen`; `tag` is JSON text of the member of `_meta` that names it. */
export const notification = (method: string, params: object, tag: string): Buffer => {
  const members = JSON.stringify(params).slice(1, -1);
  return Buffer.from(
    `{"jsonrpc":"2.0","method":"${method}","params":{${members === '' ? '' : `${members},`}"_meta":{${tag}}}}`,
  );
};

/** A task notification as its backend wrote it, under the id of this stream. */
export const taskTold = (params: Buffer, tag: string): Buffer => {
  const isTag: KeyTest = (bytes, keyAt) => isText(bytes, keyAt, `${RESERVED_PREFIX}subscriptionId`);
  const tagged = memberAt(params, 0, '_meta')
    ? replacedMember(params, '_meta', (meta) =>
        isObject(meta, 0) ? withMembers(withoutMembers(meta, isTag), [tag]) : Buffer.from(`{${tag}}`),
      )
    : withMembers(params, [`"_meta":{${tag}}`]);
  return Buffer.concat([
    Buffer.from(`{"jsonrpc":"2.0","method":"${TASK_NOTIFICATION}","params":`),
    tagged,
    Buffer.from('}'),
  ]);
};
