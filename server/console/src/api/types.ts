// What the HTTP API answers, as far as the console reads it. docs/reference/http-api.md has all of it.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export interface ListOf<T> { results: T[]; offset?: number; limit?: number; total?: number }

export interface IndexInfo { uid: string; primaryKey: string | null; createdAt: string; updatedAt: string }
export interface IndexStats {
  numberOfDocuments: number;
  numberOfEmbeddedDocuments?: number;
  rawDocumentDbSize?: number;
  avgDocumentSize?: number;
  isIndexing: boolean;
  fieldDistribution: Record<string, number>;
}
export interface Stats { databaseSize: number; usedDatabaseSize?: number; lastUpdate: string | null; indexes: Record<string, IndexStats> }
export interface Alias { alias: string; indexUid: string }

export interface ErrorBody { message: string; code: string; type: string; link: string }
export type TaskStatus = 'enqueued' | 'processing' | 'succeeded' | 'failed' | 'canceled';
export interface Task {
  uid: number;
  batchUid?: number | null;
  indexUid: string | null;
  type: string;
  status: TaskStatus;
  error: ErrorBody | null;
  canceledBy?: number | null;
  details?: JsonObject | null;
  duration?: string | null;
  enqueuedAt: string;
  startedAt?: string | null;
  finishedAt?: string | null;
}
/** The answer to a write: the task that carries it out, before it does. */
export interface Enqueued { taskUid?: number; uid?: number; indexUid: string | null; status: TaskStatus; type: string; enqueuedAt: string; error?: ErrorBody | null }
export interface Batch {
  uid: number;
  progress: { steps: { currentStep: string; finished: number; total: number }[]; percentage: number } | null;
  details: JsonObject;
  stats: { totalNbTasks: number; status: Partial<Record<TaskStatus, number>>; types: Record<string, number>; indexUids: Record<string, number> };
  duration: string | null;
  startedAt: string;
  finishedAt: string | null;
}

export interface Embedder { source: string; [name: string]: Json }
export interface Settings {
  displayedAttributes?: string[];
  searchableAttributes?: string[];
  filterableAttributes?: Json[];
  sortableAttributes?: string[];
  rankingRules?: Json[];
  synonyms?: Record<string, string[]>;
  stopWords?: string[];
  embedders?: Record<string, Embedder> | null;
  faceting?: { maxValuesPerFacet?: number };
  pagination?: { maxTotalHits?: number };
  [name: string]: unknown;
}

export interface SearchQuery {
  q?: string;
  limit?: number;
  offset?: number;
  filter?: string | (string | string[])[];
  facets?: string[];
  sort?: string[];
  hybrid?: { embedder: string; semanticRatio?: number; [name: string]: Json | undefined };
  attributesToHighlight?: string[];
  highlightPreTag?: string;
  highlightPostTag?: string;
  showRankingScore?: boolean;
  showRankingScoreDetails?: boolean;
  [name: string]: unknown;
}
export type Hit = JsonObject & { _formatted?: JsonObject; _rankingScore?: number; _rankingScoreDetails?: JsonObject };
export interface SearchAnswer {
  hits: Hit[];
  query: string;
  processingTimeMs: number;
  estimatedTotalHits?: number;
  totalHits?: number;
  semanticHitCount?: number;
  facetDistribution?: Record<string, Record<string, number>>;
  facetStats?: Record<string, { min: number; max: number }>;
}

export interface Key {
  uid: string;
  key: string;
  name: string | null;
  description: string | null;
  actions: string[];
  indexes: string[];
  expiresAt: string | null;
  createdAt: string;
  updatedAt: string;
}
export interface Rule { uid: string; description?: string; active?: boolean; priority?: number | null; conditions?: JsonObject; actions?: JsonObject[] }
export interface Version { commitSha: string; commitDate: string; pkgVersion: string }

/** What the server keeps of its last hours: a list for each series, with a value for each step. */
export interface History {
  window: string;
  stepSeconds: number;
  at: string[];
  requestsPerSecond: number[];
  failuresPerSecond: number[];
  searchesPerSecond: number[];
  requestP50Ms: (number | null)[];
  requestP99Ms: (number | null)[];
  searchP50Ms: (number | null)[];
  searchP99Ms: (number | null)[];
  memoryBytes: number[];
  heapBytes: number[];
  diskBytes: number[];
  waitingTasks: number[];
}
