/// <reference types="vitest/config" />
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const OUTPUT = process.env['SEXTON_CONSOLE_OUTPUT'] ?? resolve(import.meta.dirname, '../src/sexton/api/static/console')
// What a compressed copy is worth: below this it saves nothing.
const SMALLEST = 1024

/** Beside each file its compressed copies, so that the server compresses nothing while it serves. */
function compressed(): Plugin {
  return {
    name: 'sexton-compressed',
    apply: 'build',
    // Not `closeBundle`: that is also called of a build that failed, and would hide why.
    writeBundle() {
      const folder = join(OUTPUT, 'assets')
      for (const name of readdirSync(folder)) {
        if (!/\.(js|css|svg)$/.test(name)) continue
        const content = readFileSync(join(folder, name))
        if (content.length < SMALLEST) continue
        writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }))
        const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 }
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content, { params: quality }))
      }
    },
  }
}

export default defineConfig({
  plugins: [react(), compressed()],
  resolve: { alias: { '@': resolve(import.meta.dirname, 'src') } },
  build: {
    outDir: OUTPUT,
    emptyOutDir: true,
    target: 'es2022',
    // Fonts and icons as files: the policy of the page allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    rollupOptions: {
      output: { entryFileNames: 'assets/[name]-[hash].js', chunkFileNames: 'assets/[name]-[hash].js', assetFileNames: 'assets/[name]-[hash][extname]' },
    },
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries(
      ['/api', '/docs', '/openapi.json', '/sign-in', '/sign-out', '/metrics', '/healthz', '/readyz'].map((path) => [
        path,
        { target: process.env['SEXTON_URL'] ?? 'http://127.0.0.1:7390' },
      ]),
    ),
  },
  test: { environment: 'happy-dom', include: ['src/**/*.test.{ts,tsx}'] },
})
