
// Other names of indexes, and rules that change the hits of some searches.
async function aliases() {
  const found = await ask('GET', '/aliases?limit=1000');
  const alias = entry('Alias'), target = entry('Index that it stands for');
  const put = button('Set', async () => {
    await write('PUT', route('aliases', alias.value), { indexUid: target.value });
    await view('indexes');
  });
  const rows = found.results.map(one => [one.alias, one.indexUid, button('Delete …', async () => {
    if (confirm('Delete the alias ' + one.alias + '? Searches that use it will be refused.')) { await write('DELETE', route('aliases', one.alias)); await view('indexes'); }
  })]);
  return [node('h2', 'Aliases'), named('p', 'row', alias, target, put), rows.length ? table(['alias', 'index', ''], rows) : named('p', 'faint', 'There is no alias.')];
}

const RULE = { description: '', conditions: { query: { words: 'red lamp' } }, actions: [{ selector: { indexUid: '', id: '1' }, action: { type: 'pin', position: 0 } }] };

pages.rules = async fill => {
  const found = await ask('POST', '/dynamic-search-rules', { limit: 1000 }).catch(error => {
    if (error.code !== 'feature_not_enabled') throw error;
    const on = button('Turn rules on', async () => { await ask('PATCH', '/experimental-features', { dynamicSearchRules: true }); await view('rules'); });
    fill(node('p', 'Dynamic search rules are turned off.'), on);
  });
  if (!found) return;
  const uid = entry('Name of the new rule');
  const usual = { ...RULE, actions: [{ ...RULE.actions[0], selector: { indexUid: state.index, id: '1' } }] };
  const text = entry('The new rule', JSON.stringify(usual, null, 1), 12);
  const save = (name, field) => button('Save', async () => { await write('PATCH', route('dynamic-search-rules', name()), JSON.parse(field.value)); await view('rules'); });
  const shownRules = found.results.map(({ uid, ...rule }) => {
    const field = entry('The rule ' + uid, JSON.stringify(rule, null, 1), 12);
    const remove = button('Delete …', async () => {
      if (confirm('Delete the rule ' + uid + '?')) { await write('DELETE', route('dynamic-search-rules', uid)); await view('rules'); }
    });
    return node('details', null, node('summary', uid + '  ' + (rule.description || '')), field, named('p', 'row', save(() => uid, field), remove));
  });
  const none = named('p', 'faint', 'There is no rule.');
  fill(node('p', 'A rule pins documents at places of the hits, in searches that meet its conditions.'), ...(shownRules.length ? shownRules : [none]),
    node('h2', 'Create'), named('p', 'row', uid), text, named('p', 'row', save(() => uid.value, text)));
};
