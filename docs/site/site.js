// What a page of the manual does: tabs and copies of code, the search, light and dark, the list of pages on a telephone.
(() => {
  const root = document.body.dataset.root, all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const stored = (name, value) => { try { return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value); } catch { return null; } };

  // A server that shows this manual is the one of the examples, and searches the manual itself.
  const own = document.querySelector('meta[name=lamina]');
  if (own && stored('colours')) document.documentElement.dataset.colours = stored('colours');
  if (own) for (const code of all('pre code')) code.textContent = code.textContent.replaceAll('http://127.0.0.1:7700', location.origin);

  const NAMES = { javascript: 'JavaScript', python: 'Python', json: 'JSON', sql: 'SQL', html: 'HTML', css: 'CSS', yaml: 'YAML', toml: 'TOML' };
  const nameOf = code => {
    const [, language = ''] = code.className.match(/language-(\w+)/) ?? [];
    if (language !== 'sh') return NAMES[language] ?? language;
    if (code.classList.contains('cli')) return 'Command line';
    return code.textContent.includes('curl') ? 'curl' : 'Shell';
  };
  const copyButton = text => {
    const button = Object.assign(document.createElement('button'), { className: 'copy', textContent: 'Copy' });
    button.onclick = async () => {
      try { await navigator.clipboard.writeText(text()); button.textContent = 'Copied'; }
      catch { button.textContent = 'Select it and press Ctrl-C'; }
      setTimeout(() => (button.textContent = 'Copy'), 1500);
    };
    return button;
  };
  const isExample = pre => pre?.matches('pre') && pre.firstElementChild?.matches('code[class*=language-]:not(.result)');
  const groups = [];
  const choose = name => groups.forEach(group => group(name));
  for (const pre of all('main pre')) {
    if (!pre.isConnected || pre.closest('.tabs, .code')) continue;
    const blocks = [pre];
    while (isExample(blocks[0]) && isExample(blocks.at(-1).nextElementSibling)) blocks.push(blocks.at(-1).nextElementSibling);
    const names = blocks.map(block => nameOf(block.firstElementChild));
    const isTabbed = blocks.length > 1 && new Set(names).size === blocks.length;
    const box = document.createElement('div');
    box.className = isTabbed ? 'tabs' : 'code';
    pre.before(box);
    if (!isTabbed) {
      if (pre.firstElementChild?.classList.contains('result')) {
        box.classList.add('result');
        box.append(Object.assign(document.createElement('span'), { className: 'of', textContent: 'Response' }));
      }
      box.append(pre, copyButton(() => pre.innerText.trimEnd()));
      continue;
    }
    const list = document.createElement('div');
    list.setAttribute('role', 'tablist');
    box.append(list);
    const show = name => {
      const place = Math.max(0, names.indexOf(name));
      if (!names.includes(name) && groups.length) return;
      blocks.forEach((block, i) => (block.hidden = i !== place));
      all('[role=tab]', list).forEach((tab, i) => { tab.setAttribute('aria-selected', i === place); tab.tabIndex = i === place ? 0 : -1; });
    };
    names.forEach(name => {
      const tab = Object.assign(document.createElement('button'), { textContent: name });
      tab.setAttribute('role', 'tab');
      tab.onclick = () => { stored('tab', name); choose(name); };
      tab.onkeydown = event => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step) { const next = list.children[(names.indexOf(name) + step + names.length) % names.length]; next.click(); next.focus(); }
      };
      list.append(tab);
    });
    box.append(...blocks, copyButton(() => blocks.find(block => !block.hidden).innerText.trimEnd()));
    blocks.forEach((block, i) => (block.hidden = i > 0));
    show(names[0]);
    groups.push(show);
  }
  const chosen = stored('tab');
  if (chosen) choose(chosen);
  if (self.hljs) all('pre code[class*=language-]').forEach(code => hljs.highlightElement?.(code) ?? hljs.highlightBlock(code));

  const colours = document.getElementById('colours');
  colours.onclick = () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === 'dark' ||
      (!document.documentElement.dataset.colours && matchMedia('(prefers-color-scheme: dark)').matches);
    document.documentElement.dataset.colours = isDark ? 'light' : 'dark';
    stored('colours', document.documentElement.dataset.colours);
  };
  const menu = document.getElementById('menu'), pages = document.getElementById('pages');
  menu.onclick = () => menu.setAttribute('aria-expanded', pages.classList.toggle('open'));
  const here = pages.querySelector('[aria-current]');
  if (here && here.offsetTop > pages.clientHeight - 80) pages.scrollTop = here.offsetTop - pages.clientHeight / 2;

  // The heading that is in sight, in the list beside the page.
  const links = new Map(all('#on-this-page a').map(link => [decodeURIComponent(link.hash.slice(1)), link]));
  if (links.size) {
    const seen = new IntersectionObserver(entries => {
      for (const entry of entries) if (entry.isIntersecting) { links.forEach(link => link.removeAttribute('aria-current')); links.get(entry.target.id)?.setAttribute('aria-current', 'true'); }
    }, { rootMargin: '-60px 0px -70% 0px' });
    links.forEach((_, id) => { const heading = document.getElementById(id); if (heading) seen.observe(heading); });
  }

  const dialog = document.querySelector('dialog.search'), input = dialog.querySelector('input'), list = dialog.querySelector('ol');
  const load = name => new Promise((done, failed) => {
    const script = Object.assign(document.createElement('script'), { src: root + name, onload: done, onerror: failed });
    document.head.append(script);
  });
  let search;
  const askServer = async query => {
    const answer = await fetch(`${root}search?q=${encodeURIComponent(query)}`).catch(() => null);
    return answer?.ok ? (await answer.json()).hits.map(hit => ({ ...hit, id: hit.path })) : [];
  };
  const ready = async () => {
    if (search) return;
    if (own) { search = askServer; return; }
    await Promise.all(['minisearch.js', 'find.js', 'search-index.js'].map(load));
    const find = manual(MiniSearch.loadJSON(self.manualIndex, SETUP));
    search = query => find(query).map(hit => ({ ...hit, page: hit.of }));
  };
  const show = async () => {
    if (!search) return;
    const query = input.value, hits = await search(query);
    // The answer to an earlier text comes too late.
    if (query !== input.value) return;
    list.replaceChildren(...hits.map((hit, i) => {
      const item = document.createElement('li'), link = Object.assign(document.createElement('a'), { href: root + hit.id });
      link.setAttribute('aria-selected', i === 0);
      const title = document.createElement('b'), kind = document.createElement('small'), lead = document.createElement('span');
      title.textContent = hit.title === hit.page ? hit.page : `${hit.page}: ${hit.title}`;
      kind.textContent = hit.kind; lead.textContent = hit.lead;
      link.append(kind, title, lead); item.append(link);
      return item;
    }));
    if (input.value && !list.children.length) list.append(Object.assign(document.createElement('li'), { className: 'faint', textContent: 'Nothing in the manual has these words.' }));
  };
  const open = async () => { if (!dialog.open) dialog.showModal(); input.select(); await ready(); await show(); };
  document.getElementById('find').onclick = open;
  input.oninput = show;
  dialog.onclick = event => { if (event.target === dialog || event.target.closest('a')) dialog.close(); };
  dialog.onkeydown = event => {
    const links = all('a', list), at = links.findIndex(link => link.getAttribute('aria-selected') === 'true');
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && links.length) {
      event.preventDefault();
      const next = links[(at + step + links.length) % links.length];
      links.forEach(link => link.setAttribute('aria-selected', link === next));
      next.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' && links[at]) { event.preventDefault(); links[at].click(); }
  };
  document.addEventListener('keydown', event => {
    const isTyped = event.target.closest?.('input, textarea, [contenteditable]');
    if ((event.key === '/' && !isTyped) || (event.key === 'k' && (event.ctrlKey || event.metaKey))) { event.preventDefault(); open(); }
  });
  const asked = new URLSearchParams(location.search).get('q');
  if (asked) { input.value = asked; open(); }
})();
