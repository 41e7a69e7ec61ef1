/** Which page is at which address. A page is one folder, and one file of the build that is loaded when it is opened. */
import { createBrowserRouter, type RouteObject } from 'react-router'
import { prefixOf } from './frame/address'
import { BrokenRoute } from './frame/Broken'
import { Root } from './frame/Root'

const page = (load: () => Promise<{ default: () => React.ReactNode }>): RouteObject['lazy'] => async () => ({ Component: (await load()).default })

export const router = createBrowserRouter([
  {
    path: '/',
    HydrateFallback: () => null,
    Component: Root,
    ErrorBoundary: BrokenRoute,
    children: [
      // It is open to all, and may have no frame.
      { path: 'playground', ErrorBoundary: BrokenRoute, lazy: page(() => import('./pages/playground')) },
      {
        // The frame stays where the file of a page cannot be loaded: after an upgrade of the server the files of the old one are gone.
        lazy: async () => ({ ErrorBoundary: (await import('./frame/Lost')).Lost }),
        children: [
          { index: true, lazy: page(() => import('./pages/overview')) },
          { path: 'jobs', lazy: page(() => import('./pages/jobs')) },
          { path: 'jobs/new', lazy: page(() => import('./pages/job-form')) },
          { path: 'jobs/:job', lazy: page(() => import('./pages/job')) },
          { path: 'jobs/:job/edit', lazy: page(() => import('./pages/job-form')) },
          { path: 'runs', lazy: page(() => import('./pages/runs')) },
          { path: 'runs/:run', lazy: page(() => import('./pages/run')) },
          { path: 'dead', lazy: page(() => import('./pages/dead')) },
          { path: 'dead/:run', lazy: page(() => import('./pages/dead-letter')) },
          { path: 'queues', lazy: page(() => import('./pages/queues')) },
          { path: 'cluster', lazy: page(() => import('./pages/cluster')) },
          { path: 'calendar', lazy: page(() => import('./pages/calendar')) },
          { path: 'content/*', lazy: page(() => import('./pages/content')) },
          { path: 'notifications/*', lazy: page(() => import('./pages/notifications')) },
          { path: 'settings', lazy: page(() => import('./pages/settings')) },
          { path: '*', lazy: page(() => import('./pages/missing')) },
        ],
      },
    ],
  },
], { basename: prefixOf(location.pathname) || '/' })
