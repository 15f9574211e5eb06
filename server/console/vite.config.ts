import { readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';

// After the first frame: the empty frame of the page is seen while the script is still read. A page that nobody sees has no frames.
const soon = (script: string) => `(document.hidden?setTimeout:requestAnimationFrame)(()=>setTimeout(()=>{${script}}))`;

// One file: the server allows its style and its script by their hashes, and nothing else.
function oneFile(): Plugin {
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const parts = Object.values(bundle);
      const script = parts.flatMap(one => one.type === 'chunk' ? [one.code] : []).join('\n');
      const style = parts.flatMap(one => one.type === 'asset' && one.fileName.endsWith('.css') ? [String(one.source)] : []).join('\n');
      const page = readFileSync(new URL('index.html', import.meta.url), 'utf8')
        .replace('</head>', () => '<style>' + style.trim() + '</style>\n</head>')
        .replace(/<script [^>]*><\/script>/, () => '<script>' + soon(script.trim()).replaceAll('</script', '<\\/script') + '</script>');
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
    minify: 'terser',
    // No `pure_getters`: to read a signal is to be called when it changes, and a read whose value is not used would be left out.
    terserOptions: { ecma: 2020, module: true, compress: { passes: 3, unsafe_arrows: true }, format: { comments: false } },
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: { output: { format: 'iife', inlineDynamicImports: true } },
  },
  // In development everything but the sources comes from a running server.
  server: { proxy: { '/': { target: server, bypass: request => OWN.test(request.url ?? '') ? request.url : undefined } } },
});
