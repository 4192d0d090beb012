import { once } from 'node:events';
import { connect } from 'node:net';
import type { Processes } from '../processes.ts';

/** A Redis with a password, as the storage of an authorization server has one. */
export interface LockedRedis {
  readonly address: string;
  readonly usedBytes: () => Promise<number>;
}

export const startLockedRedis = async ({ redis }: Pick<Processes, 'redis'>, password: string): Promise<LockedRedis> => {
  const address = await redis();
  await said(address, `CONFIG SET requirepass ${password}`);
  return {
    address,
    usedBytes: async () => {
      const info = await said(address, `AUTH ${password}\r\nINFO memory`);
      return Number(/used_memory:(\d+)/.exec(info)?.[1]);
    },
  };
};

/** What Redis answers to commands without binary values. */
const said = async (address: string, commands: string): Promise<string> => {
  const [host = '', port] = address.split(':');
  const socket = connect(Number(port), host);
  await once(socket, 'connect');
  socket.end(`${commands}\r\nQUIT\r\n`);
  const answer = Buffer.concat(await socket.toArray()).toString();
  if (answer.includes('-ERR')) throw new Error(answer);
  return answer;
};
