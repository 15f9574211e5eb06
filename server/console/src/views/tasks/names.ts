// What the types of tasks are called.
export const TYPES: Record<string, string> = {
  documentAdditionOrUpdate: 'Documents added', documentDeletion: 'Documents deleted', documentEdition: 'Documents edited', settingsUpdate: 'Settings changed',
  indexCreation: 'Index created', indexUpdate: 'Index changed', indexDeletion: 'Index deleted', indexSwap: 'Indexes swapped', indexClone: 'Index cloned', indexCompaction: 'Index compacted',
  indexRestoration: 'State restored', indexAttachment: 'Index attached', aliasUpdate: 'Alias changed', dsrUpdate: 'Rule changed', dsrClear: 'Rules removed',
  snapshotCreation: 'Snapshot', dumpCreation: 'Dump', export: 'Export', taskCancelation: 'Tasks canceled', taskDeletion: 'Tasks deleted', upgradeDatabase: 'Database upgraded', networkTopologyChange: 'Network changed',
};
export const titleOfType = (type: string) => (Object.hasOwn(TYPES, type) ? TYPES[type] : undefined) ?? type;
