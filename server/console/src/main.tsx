import './tokens.css';
import './ui/ui.css';
import './shell/shell.css';
import { render } from 'preact';
import { resume } from './api/tasks';
import { App } from './shell/App';
import { watch } from './state/activity';
import { watchIndexes } from './state/indexes';
import './state/theme';

const place = document.getElementById('app');
if (place) {
  watchIndexes();
  watch();
  resume();
  // The empty frame of index.html has been seen by now.
  place.textContent = '';
  render(<App />, place);
}
