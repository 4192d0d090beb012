import { readFile } from 'node:fs/promises';
import { Agent } from 'undici';
import type { Dispatcher } from 'undici';

/** One API server and how to prove who we are to it. */
export interface Connection {
  /** `https://host:port`. */
  readonly origin: string;
  /** Path before `/api`, mostly empty. */
  readonly pathPrefix: string;
  /** Of the pod, or of the current context; `default` when neither says. */
  readonly namespace: string;
  /** Shared by every request and watch: one pool, one TLS session cache. */
  readonly dispatcher: Dispatcher;
  /** Value of the `Authorization` header; asked anew now and then, because tokens of service accounts rotate. */
  authorization(): Promise<string | undefined>;
  close(): Promise<void>;
}

const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount';

interface Tls {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/**
 * Connects as the pod when `path` is undefined and the environment is a pod's, else by kubeconfig: `path`,
 * `KUBECONFIG`,
 * `~/.kube/config`. Throws when neither exists.
 */
export const connect = async (
  path: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Connection> => {
  const host = env['KUBERNETES_SERVICE_HOST'];
  if (path === undefined && host !== undefined && host !== '') {
    return connectInCluster(host, env['KUBERNETES_SERVICE_PORT'] ?? '443');
  }
  return connectByKubeconfig(path);
};

const connectInCluster = async (host: string, port: string): Promise<Connection> => {
  const text = (name: string): Promise<string> => readFile(`${serviceAccount}/${name}`, 'utf8');
  const origin = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return {
    ...endpoint(origin, { ca: await text('ca.crt') }),
    namespace: (await text('namespace')).trim(),
    authorization: async () => `Bearer ${(await text('token')).trim()}`,
  };
};

/** The library is loaded only here: in a pod it would cost start-up time and memory for nothing. */
const connectByKubeconfig = async (path: string | undefined): Promise<Connection> => {
  const { KubeConfig } = await import('@kubernetes/client-node/dist/config.js');
  const config = new KubeConfig();
  if (path === undefined) {
    config.loadFromDefault();
  } else {
    loadFile(config, path);
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw new Error('the kubeconfig has no current context with a cluster');
  }
  const options: Tls & { headers?: Record<string, string>; auth?: string } = {};
  await config.applyToHTTPSOptions(options);
  return {
    ...endpoint(cluster.server, {
      ...options,
      ...(cluster.tlsServerName === undefined ? {} : { servername: cluster.tlsServerName }),
    }),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? 'default',
    authorization: async () => {
      const fresh: { headers?: Record<string, string>; auth?: string } = {};
      await config.applyToHTTPSOptions(fresh);
      return fresh.auth === undefined
        ? fresh.headers?.['Authorization']
        : `Basic ${Buffer.from(fresh.auth).toString('base64')}`;
    },
  };
};

const loadFile = (config: { loadFromFile(path: string): void }, path: string): void => {
  try {
    config.loadFromFile(path);
  } catch (error) {
    throw new Error(
      `the kubeconfig ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  }
};

const endpoint = (server: string, tls: Tls): Pick<Connection, 'origin' | 'pathPrefix' | 'dispatcher' | 'close'> => {
  const url = new URL(server);
  const { ca, cert, key, servername, rejectUnauthorized } = tls;
  const given = Object.entries({ ca, cert, key, servername, rejectUnauthorized });
  const dispatcher = new Agent({
    // One connection per watch and request in flight: a cut connection then ends one watch and not all of them.
    allowH2: false,
    keepAliveTimeout: 30_000,
    connect: { timeout: 10_000, ...Object.fromEntries(given.filter(([, value]) => value !== undefined)) },
  });
  return {
    origin: url.origin,
    pathPrefix: url.pathname.replace(/\/$/, ''),
    dispatcher,
    close: () => dispatcher.destroy(),
  };
};
