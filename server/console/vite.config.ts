import { readFileSync } from 'node:fs';
import { minify } from 'terser';
import { defineConfig, type Plugin } from 'vite';

// After the first frame: the empty frame of the page is seen while the script is still read. A page that nobody sees has no frames.
const soon = (script: string) => `(document.hidden?setTimeout:requestAnimationFrame)(()=>setTimeout(()=>{${script}}))`;

// No `pure_getters`: to read a signal is to be called when it changes, and a read whose value is not used would be left out.
const small = async (script: string) => (await minify(script, { ecma: 2020, module: true, compress: { passes: 3, unsafe_arrows: true, inline: 1 }, format: { comments: false } })).code ?? '';

// The tokens by short names. Those that scripts name as well keep theirs.
function shortened(style: string, script: string): string {
  const names = [...new Set(style.match(/--[a-z][a-z0-9-]*/g))].filter(name => !script.includes(name));
  return style.replace(/--[a-z][a-z0-9-]*/g, name => { const place = names.indexOf(name); return place < 0 ? name : '--' + place.toString(36); });
}

// One file: the server allows its style and its script by their hashes, and nothing else.
function oneFile(): Plugin {
  return {
    name: 'one-file',
    enforce: 'post',
    async generateBundle(_, bundle) {
      const parts = Object.values(bundle);
      const script = await small(soon(parts.flatMap(one => one.type === 'chunk' ? [one.code] : []).join('\n')));
      const style = parts.flatMap(one => one.type === 'asset' && one.fileName.endsWith('.css') ? [String(one.source)] : []).join('\n');
      const page = readFileSync(new URL('index.html', import.meta.url), 'utf8')
        .replace('</head>', () => '<style>' + shortened(style.trim(), script) + '</style>\n</head>')
        .replace(/<script [^>]*><\/script>/, () => '<script>' + script.replaceAll('</script', '<\\/script') + '</script>');
      for (const name of Object.keys(bundle)) delete bundle[name];
      this.emitFile({ type: 'asset', fileName: 'index.html', source: page });
    },
  };
}

const OWN = /^\/(?:$|\?|src\/|@|node_modules\/)/;
const server = process.env.LAMINA_URL ?? 'http://127.0.0.1:7700';

export default defineConfig({
  plugins: [oneFile()],
  esbuild: { jsx: 'transform', jsxFactory: 'h', jsxFragment: 'Fragment', jsxInject: "import { h, Fragment } from 'preact'", legalComments: 'none' },
  build: {
    target: 'es2022',
    minify: false,
    cssMinify: true,
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: { output: { format: 'iife', inlineDynamicImports: true } },
  },
  // In development everything but the sources comes from a running server.
  server: { proxy: { '/': { target: server, bypass: request => OWN.test(request.url ?? '') ? request.url : undefined } } },
});
