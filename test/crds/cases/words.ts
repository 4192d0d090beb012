/** How the API server words its refusals. */
export const REQUIRED = 'Required value';
export const ENUM = 'Unsupported value';
export const PATTERN = 'should match';
export const EMPTY = 'should be at least 1 chars long';
export const TEXT = 'must be of type string';
