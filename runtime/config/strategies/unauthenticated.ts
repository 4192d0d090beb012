/** No block: the backend learns nothing about the caller. */
export const unauthenticated = { type: 'unauthenticated', isSupported: true } as const;
