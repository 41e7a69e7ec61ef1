import { MantineProvider } from '@mantine/core'
import '@fontsource-variable/inter/index.css'
import '@mantine/core/styles.css'
import { Notifications } from '@mantine/notifications'
import '@mantine/notifications/styles.css'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { RouterProvider } from 'react-router'
import { isRefused } from './api/client'
import { preferredLanguage, setLanguage, useLanguage } from './i18n'
import { ConfirmProvider } from './parts/Confirm'
import { router } from './router'
import './styles/global.css'
import { theme } from './theme'

/** The server makes one for each page; styles that scripts add need it. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''
setNonce(nonce)

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => !isRefused(error) && count < 3,
    },
  },
})

function Console() {
  // Everything is drawn anew when the language changes.
  const language = useLanguage()
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queries}>
        <Notifications position="bottom-right" limit={4} />
        <ConfirmProvider>
          <RouterProvider key={language} router={router} />
        </ConfirmProvider>
      </QueryClientProvider>
    </MantineProvider>
  )
}

await setLanguage(preferredLanguage())
const root = document.getElementById('root')
if (root) createRoot(root).render(<StrictMode><Console /></StrictMode>)
