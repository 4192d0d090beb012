/** What is kept of grants in the store of the authorization server. */
export const GRANTS = 'grants:';
