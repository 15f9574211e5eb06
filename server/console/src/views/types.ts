// What a view is. The shell knows nothing else of it.
import type { ComponentType } from 'preact';
import type { IconName } from '../ui/icons';

export type Group = 'Data' | 'Relevance' | 'Operate';
export interface Action {
  id: string;
  /** A verb and what it is done to: "Create an index". */
  title: string;
  icon?: IconName;
  run: () => unknown;
}
export interface View {
  /** Its name in the address, and of its folder. */
  id: string;
  title: string;
  group: Group;
  icon: IconName;
  /** Shown only with an index; without one, the shell offers to load the first documents. */
  needsIndex?: boolean;
  /** Other words by which the palette finds it. */
  words?: string;
  component: ComponentType;
  /** What the palette offers, wherever people are. It is asked each time that the palette opens. */
  actions?: () => readonly Action[];
}
