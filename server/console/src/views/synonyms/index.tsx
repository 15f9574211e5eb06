import '../settings/settings.css';
import './synonyms.css';
import { useEffect, useState } from 'preact/hooks';
import { get, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { Json, JsonObject, Settings } from '../../api/types';
import { isObject } from '../../lib/json';
import { count, messageOf, plural } from '../../lib/text';
import { param, setParams } from '../../state/address';
import { uid } from '../../state/indexes';
import { Button, Card, Checkbox, Chip, Chips, Dialog, Empty, IconButton, Loaded, PageHead, Segments, Switch, Table, Tabs, TextArea, TextField } from '../../ui';
import { DraftBar, WhatChanges } from '../settings/Bar';
import { fieldOptions, texts } from '../settings/controls';
import { change, draftOf, refusal } from '../settings/draft';
import { loadMeta, titleOfSetting } from '../settings/known';
import { over } from '../settings/patch';
import type { View } from '../types';
import { rowsOf, withoutRow, withRow, wordsOf, type Row, type Synonyms } from './words';

const TABS = [{ id: 'synonyms', title: 'Synonyms' }, { id: 'stop', title: 'Stop words' }, { id: 'forms', title: 'Word forms' }] as const;
type Tab = typeof TABS[number]['id'];
const PAGE = 100;

function Words() {
  const index = uid.value, tab: Tab = TABS.find(one => one.id === param('tab'))?.id ?? 'synonyms';
  const found = useResource(signal => get<Settings>(route('indexes', index, 'settings'), { signal }), [index]);
  useEffect(() => { void loadMeta(); }, []);
  return (
    <>
      <PageHead title="Synonyms" about="Synonyms, stop words and word forms. Changes apply without reindexing." />
      <Loaded of={found} lines={8}>{settings => {
        const all = over(settings, draftOf(index)), synonyms = pairsOf(all.synonyms);
        const counts = { synonyms: Object.keys(synonyms).length, stop: texts(all.stopWords).length, forms: undefined };
        const set = (name: string, value: Json) => change(index, settings, name, value);
        return (
          <>
            <Tabs<Tab> label="Kinds of words" value={tab} options={TABS.map(one => ({ ...one, count: counts[one.id] }))} onChange={now => setParams({ tab: now === 'synonyms' ? null : now, s: null })}>
              <div class="words">
                <div class="stack">
                  <Refused index={index} tab={tab} />
                  {tab === 'synonyms' ? <SynonymTable all={synonyms} onChange={now => set('synonyms', now)} /> : tab === 'stop' ? <StopWords words={texts(all.stopWords)} onChange={now => set('stopWords', now)} />
                    : <Forms value={isObject(all['wordForms']) ? all['wordForms'] : {}} onChange={now => set('wordForms', now)} />}
                </div>
                <Card><WhatChanges index={index} settings={settings} draft={draftOf(index)} /></Card>
              </div>
            </Tabs>
            <DraftBar index={index} settings={settings} />
          </>
        );
      }}</Loaded>
    </>
  );
}

export const pairsOf = (value: unknown): Synonyms => isObject(value) ? Object.fromEntries(Object.entries(value).map(([word, finds]) => [word, texts(finds)])) : {};

function Refused({ index, tab }: { index: string; tab: Tab }) {
  const refused = refusal.value, name = { synonyms: 'synonyms', stop: 'stopWords', forms: 'wordForms' }[tab];
  if (refused?.index !== index || refused.name !== name) return null;
  return <p class="wrong" role="alert">{titleOfSetting(name)}: {messageOf(refused.error)}</p>;
}

const Find = ({ label }: { label: string }) => <TextField label={label} hideLabel type="search" isSearch placeholder={label} value={param('s')} onInput={now => setParams({ s: now })} />;

function SynonymTable({ all, onChange }: { all: Synonyms; onChange: (all: Synonyms) => void }) {
  const asked = param('word'), [edited, setEdited] = useState<Row | null>(() => asked ? rowsOf(all).find(row => row.word === asked) ?? { word: asked, finds: wordsOf(param('finds')), isBoth: false } : null), words = param('s').toLowerCase(), [most, setMost] = useState(PAGE);
  const close = () => { setEdited(null); setParams({ word: null, finds: null }); };
  const rows = rowsOf(all).filter(row => !words || row.word.toLowerCase().includes(words) || row.finds.some(one => one.toLowerCase().includes(words)));
  return (
    <>
      <div class="row"><div class="grow"><Find label="Find a word" /></div><Button kind="primary" icon="plus" onClick={() => setEdited({ word: '', finds: [], isBoth: true })}>Add synonyms</Button></div>
      {rows.length === 0 ? <Empty icon="synonyms" title={words ? `No synonym matches “${words}”` : 'There are no synonyms yet.'}>{!words && 'For example, let “movie” also find “film”.'}</Empty> : (
        <Table label="Synonyms" rows={rows.slice(0, most)} keyOf={row => row.word} onPick={setEdited} columns={[
          { id: 'word', title: 'Word', cell: row => <strong dir="auto">{row.word}</strong> },
          { id: 'way', title: 'Way', hideTitle: true, cell: row => <span class="way" title={row.isBoth ? 'Both find each other' : 'One way'}><span aria-hidden="true">{row.isBoth ? '↔' : '→'}</span><span class="unseen">{row.isBoth ? 'both ways' : 'one way'}</span></span> },
          { id: 'finds', title: 'Also finds', grow: true, cell: row => <span class="chips">{row.finds.slice(0, 30).map(one => <Chip key={one}>{one}</Chip>)}{row.finds.length > 30 && <span class="muted">and {row.finds.length - 30} more</span>}</span> },
          { id: 'do', title: 'Actions', hideTitle: true, cell: row => <IconButton size="s" icon="trash" label={`Remove the synonyms of ${row.word}`} onClick={() => onChange(withoutRow(all, row))} /> },
        ]} />
      )}
      {rows.length > most && <div class="row centre"><Button onClick={() => setMost(most + PAGE)}>Show more of {count(rows.length)}</Button></div>}
      {edited && <Edit row={edited} all={all} onClose={close} onDone={now => { onChange(now); close(); }} />}
    </>
  );
}

function Edit({ row, all, onClose, onDone }: { row: Row; all: Synonyms; onClose: () => void; onDone: (all: Synonyms) => void }) {
  const [word, setWord] = useState(row.word), [finds, setFinds] = useState(row.finds), [isBoth, setBoth] = useState(row.isBoth), isNew = !Object.hasOwn(all, row.word), there = isNew && Object.hasOwn(all, word.trim());
  const off = !word.trim() ? 'Enter the word first.' : !finds.length ? 'Enter what it also finds.' : false;
  return (
    <Dialog title={isNew ? 'Add synonyms' : 'Change synonyms'} onClose={onClose} actions={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" off={off} onClick={() => {
      const name = word.trim(), base = !isNew && name !== row.word ? withoutRow(all, row) : all;
      onDone(withRow(base, { word: name, finds: there ? [...(all[name] ?? []), ...finds] : finds, isBoth }));
    }}>{isNew ? 'Add' : 'Change'}</Button></>}>
      <TextField label="A search for" value={word} onInput={setWord} placeholder="film" autoFocus={isNew} hint={there ? 'It has synonyms already; these are added.' : undefined} />
      <Chips label="Also finds" values={finds} options={[]} free placeholder="movie, motion picture" onChange={setFinds} hint="Press Enter or type a comma after each word or phrase." />
      <Switch label="Both ways" checked={isBoth} onChange={setBoth} hint="These words also find the first one." />
    </Dialog>
  );
}

function StopWords({ words, onChange }: { words: string[]; onChange: (words: string[]) => void }) {
  const [isPaste, setPaste] = useState(false), [text, setText] = useState(''), [typed, setTyped] = useState(''), find = param('s').toLowerCase(), [most, setMost] = useState(PAGE * 3);
  const shown = find ? words.filter(one => one.toLowerCase().includes(find)) : words;
  const add = (more: string[]) => onChange([...new Set([...words, ...more])]);
  return (
    <>
      <div class="row">
        <div class="grow"><TextField label="Add stop words" hideLabel placeholder="Add stop words: the, of, a" value={typed} onInput={setTyped} onEnter={() => { add(wordsOf(typed)); setTyped(''); }} /></div>
        <Button off={!typed.trim() && 'Enter a word first.'} onClick={() => { add(wordsOf(typed)); setTyped(''); }}>Add</Button><Button icon="copy" onClick={() => setPaste(true)}>Paste a list</Button>
      </div>
      {words.length === 0 ? <Empty icon="synonyms" title="There are no stop words.">Queries ignore stop words: with “the” as one, “the matrix” finds the same as “matrix”.</Empty> : <>
        {words.length > 30 && <Find label="Find a stop word" />}
        <Card title={find ? `${count(shown.length)} of ${plural(words.length, 'stop word')}` : plural(words.length, 'stop word')} actions={<Button size="s" kind="quiet" onClick={() => onChange([])}>Remove all</Button>}>
          <div class="chips">{shown.slice(0, most).map(one => <Chip key={one} label={one} onRemove={() => onChange(words.filter(other => other !== one))}>{one}</Chip>)}</div>
          {shown.length > most && <p><Button size="s" onClick={() => setMost(most * 3)}>Show more</Button></p>}
        </Card>
      </>}
      {isPaste && <Dialog title="Paste stop words" onClose={() => setPaste(false)} actions={<><Button onClick={() => setPaste(false)}>Cancel</Button><Button kind="primary" off={!wordsOf(text).length && 'Paste words first.'} onClick={() => { add(wordsOf(text)); setText(''); setPaste(false); }}>Add {plural(wordsOf(text).length, 'word')}</Button></>}>
        <TextArea label="Words" rows={10} value={text} onInput={setText} hint="One per line, or separated by commas." />
      </Dialog>}
    </>
  );
}

const LANGUAGES = ['ara', 'dan', 'deu', 'ell', 'eng', 'fin', 'fra', 'hun', 'ita', 'nld', 'nob', 'por', 'ron', 'rus', 'spa', 'swe', 'tam', 'tur'], inEnglish = new Intl.DisplayNames('en', { type: 'language' });

function Forms({ value, onChange }: { value: JsonObject; onChange: (value: JsonObject) => void }) {
  const set = (name: string, now: Json) => onChange({ ...value, [name]: now }), forms = pairsOf(value['dictionary']), [edited, setEdited] = useState<Row | null>(null);
  const state = value['enabled'] === true ? 'on' : value['enabled'] === false ? 'off' : 'any';
  return (
    <>
      <Card title="Plurals and other word forms">
        <div class="stack">
          <div><Segments label="Word forms" value={state} options={[{ id: 'any', title: 'Strategy “any”' }, { id: 'on', title: 'Always' }, { id: 'off', title: 'Never' }]} onChange={now => set('enabled', now === 'any' ? null : now === 'on')} />
            <p class="hint">{{ any: 'Word forms match only in searches with the matching strategy “any”.', on: '“libraries” also finds “library”, ranked below exact matches.', off: 'Words match only as written.' }[state]}</p></div>
          {state !== 'off' && <>
            <Chips label="Languages" values={texts(value['languages'])} options={LANGUAGES.map(value => ({ value, title: inEnglish.of(value), about: value }))} placeholder="Detect automatically" onChange={now => set('languages', now)} />
            <Chips label="Words without forms" values={texts(value['exceptions'])} options={[]} free placeholder="Such as news" onChange={now => set('exceptions', now)} />
            <Chips label="Exact words only in these fields" values={texts(value['disableOnAttributes'])} options={fieldOptions()} free placeholder="Add a field" onChange={now => set('disableOnAttributes', now)} />
            <Checkbox label="Also in phrases" checked={value['inPhrases'] === true} onChange={on => set('inPhrases', on)} />
          </>}
        </div>
      </Card>
      {state !== 'off' && <Card title="Irregular forms" actions={<Button size="s" icon="plus" onClick={() => setEdited({ word: '', finds: [], isBoth: false })}>Add forms</Button>} flush={Object.keys(forms).length > 0}>
        {Object.keys(forms).length === 0 ? <p class="muted">For example, “mice” for “mouse”.</p> : <Table label="Forms" rows={rowsOf(forms).slice(0, 1000)} keyOf={row => row.word} onPick={setEdited} columns={[
          { id: 'word', title: 'Word', cell: row => <strong dir="auto">{row.word}</strong> },
          { id: 'forms', title: 'Its forms', grow: true, cell: row => <span class="chips">{row.finds.map(one => <Chip key={one}>{one}</Chip>)}</span> },
          { id: 'do', title: 'Actions', hideTitle: true, cell: row => <IconButton size="s" icon="trash" label={`Remove the forms of ${row.word}`} onClick={() => { const { [row.word]: _, ...rest } = forms; set('dictionary', rest); }} /> },
        ]} />}
      </Card>}
      {edited && <EditForms row={edited} onClose={() => setEdited(null)} onDone={row => { const { [edited.word]: _, ...rest } = forms; set('dictionary', { ...rest, [row.word]: row.finds }); setEdited(null); }} />}
    </>
  );
}

function EditForms({ row, onClose, onDone }: { row: Row; onClose: () => void; onDone: (row: Row) => void }) {
  const [word, setWord] = useState(row.word), [finds, setFinds] = useState(row.finds);
  const off = !word.trim() || /\s/.test(word.trim()) ? 'Enter one word.' : !finds.length ? 'Enter its forms.' : false;
  return (
    <Dialog title="Irregular forms" onClose={onClose} actions={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" off={off} onClick={() => onDone({ word: word.trim(), finds, isBoth: false })}>{row.word ? 'Change' : 'Add'}</Button></>}>
      <TextField label="Word" value={word} placeholder="mouse" onInput={setWord} autoFocus />
      <Chips label="Its forms" values={finds} options={[]} free placeholder="mice" onChange={setFinds} hint="All of them match each other." />
    </Dialog>
  );
}

export const view: View = { id: 'synonyms', title: 'Synonyms', group: 'Relevance', icon: 'synonyms', needsIndex: true, words: 'stop words forms dictionary plural stemming', component: Words };
