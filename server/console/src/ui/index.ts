// The components. A view imports from here only.
export * from './chart';
export * from './code';
export * from './combobox';
export * from './controls';
export * from './data';
export * from './dialog';
export * from './draglist';
export * from './fields';
export * from './followed';
export * from './icons';
export * from './menu';
export * from './states';
export * from './text';
