
// What people do, and the beginning.
async function start() {
  at('signin').hidden = true;
  document.body.classList.remove('signing');
  document.querySelector('main').hidden = false;
  at('signout').hidden = !sessionStorage.getItem('key');
  await shown(indexes);
  tasks();
  listen();
}

at('signin').onsubmit = event => {
  event.preventDefault();
  sessionStorage.setItem('key', at('key').value);
  start();
};
at('signout').onclick = () => { sessionStorage.removeItem('key'); location.reload(); };
at('index').onchange = () => {
  state.chosen.clear();
  state.ranges.clear();
  state.filter = at('filter').value = '';
  state.limit = PAGE;
  choose(at('index').value);
};
at('sort').onchange = () => { state.sort = at('sort').value; search(); };
at('embedder').onchange = () => { state.embedder = at('embedder').value; search(); };
at('ratio').oninput = () => { at('share').textContent = at('ratio').value; search(); };
at('q').oninput = () => { state.limit = PAGE; search(); complete(); };
at('more').onclick = () => { state.limit += PAGE; search(); };
document.onvisibilitychange = () => { if (!document.hidden) tasks(); };
window.onpopstate = () => { readAddress(); start(); };
document.onkeydown = event => {
  const here = document.activeElement, types = /^(INPUT|SELECT|TEXTAREA)$/.test(here.tagName);
  const hits = [...at('hits').children], place = hits.indexOf(here);
  const go = element => { event.preventDefault(); element.focus(); };
  if (event.key === '/' && !types) go(at('q'));
  else if (event.key === 'Escape' && here === at('q')) { at('q').value = ''; at('q').oninput(); }
  else if (event.key === 'ArrowRight' && here === at('q') && here.selectionStart === here.value.length && !at('words').hidden) take(at('words').firstChild.textContent);
  else if (event.key === 'Escape') go(at('q'));
  else if (event.key === 'ArrowDown' && (here === at('q') || place >= 0) && hits[place + 1]) go(hits[place + 1]);
  else if (event.key === 'ArrowUp' && place >= 0) go(place ? hits[place - 1] : at('q'));
  else if (event.key === 'Enter' && place >= 0) {
    const why = here.querySelector('details');
    why.open = !why.open;
    here.querySelectorAll('.long').forEach(one => one.classList.toggle('open', why.open));
  }
};
// On a narrow screen hits come first, and filters when they are asked for.
at('filters').open = matchMedia('(min-width: 721px)').matches;
readAddress();
start();
