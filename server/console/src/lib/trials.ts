// Names of clones that settings are tried on.
export const TRIAL = 'lamina-trial-';
export const isTrial = (name: string) => name.startsWith(TRIAL);
