import { answerTo, type Ask, messageIn, objectPaths, type ResourceOf } from './resources.ts';
import { until } from './until.ts';

/**
 * Like `kubectl apply --server-side --force-conflicts`, in the namespace `default` where an object names none; ends with
 * the first object that is refused.
 */
export type Apply = (...objects: readonly object[]) => Promise<void>;

/** Like `kubectl patch <kind> <name> --namespace <namespace> --type <type>`, which leaves out unknown fields. */
export type Patch = (
  named: readonly [kind: string, name: string, namespace?: string],
  type: 'json' | 'merge',
  change: object,
) => Promise<void>;

/** Like `kubectl delete <kind> <name> --namespace <namespace>`, which waits until the object is gone. */
export type Remove = (kind: string, name: string, namespace?: string) => Promise<void>;

export interface Writers {
  readonly apply: Apply;
  readonly patch: Patch;
  readonly remove: Remove;
  /** A token of the service account, with exactly its rights. */
  readonly tokenFor: (serviceAccount: string, namespace: string) => Promise<string>;
}

interface Written {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid?: string };
}

/** Writes with all rights; what is refused throws in the API server's words. */
export const writersOf = (ask: Ask, resourceOf: ResourceOf): Writers => {
  const objectPath = objectPaths(resourceOf);
  return {
    apply: async (...objects) => {
      for (const object of objects as readonly Written[]) {
        const { kind, metadata } = object;
        const path = await objectPath(kind, metadata.name, metadata.namespace);
        await answerTo(ask, `${path}?fieldManager=kubectl&force=true&fieldValidation=Strict`, {
          method: 'PATCH',
          contentType: 'application/apply-patch+yaml',
          body: JSON.stringify(object),
        });
      }
    },
    patch: async (named, type, change) =>
      void (await answerTo(ask, `${await objectPath(...named)}?fieldManager=kubectl-patch`, {
        method: 'PATCH',
        contentType: `application/${type}-patch+json`,
        body: JSON.stringify(change),
      })),
    tokenFor: async (serviceAccount, namespace) => {
      const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
      const answer = await answerTo(ask, `${await objectPath('serviceaccount', serviceAccount, namespace)}/token`, {
        method: 'POST',
        contentType: 'application/json',
        body: JSON.stringify(asked),
      });
      return (JSON.parse(answer) as { readonly status: { readonly token: string } }).status.token;
    },
    remove: async (...named) => {
      const path = await objectPath(...named);
      const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' };
      const before = JSON.parse(
        await answerTo(ask, path, { method: 'DELETE', contentType: 'application/json', body: JSON.stringify(options) }),
      ) as Partial<Written> & { readonly details?: { readonly uid: string } };
      const uid = before.details?.uid ?? before.metadata?.uid;
      await until(`the end of ${named.join(' ')}`, async () => {
        const { status, text } = await ask(path);
        if (status === 404) return true;
        if (status !== 200) throw new Error(messageIn(text));
        return (JSON.parse(text) as Written).metadata.uid === uid ? undefined : true;
      });
    },
  };
};
