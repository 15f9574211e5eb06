// Light, dark, or as the system has it.
import { effect } from '@preact/signals';
import { preference } from './preferences';

export type Theme = 'system' | 'light' | 'dark';
export const theme = preference<Theme>('theme', 'system');

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme.value;
});

export const isDark = () => theme.value === 'dark' || (theme.value === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
export function switchTheme() {
  theme.value = isDark() ? 'light' : 'dark';
}
