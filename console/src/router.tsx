/** Which page is at which address. A page is one folder, and one file of the build that is loaded when it is opened. */
import { createBrowserRouter, type RouteObject } from 'react-router'
import { prefixOf } from './frame/address'
import { BrokenRoute } from './frame/Broken'
import { Root } from './frame/Root'

const page = (load: () => Promise<{ default: () => React.ReactNode }>): Pick<RouteObject, 'lazy' | 'ErrorBoundary'> => ({ lazy: async () => ({ Component: (await load()).default }), ErrorBoundary: BrokenRoute })

export const router = createBrowserRouter([
  {
    path: '/',
    HydrateFallback: () => null,
    Component: Root,
    ErrorBoundary: BrokenRoute,
    children: [
      { index: true, ...page(() => import('./pages/overview')) },
      { path: 'jobs', ...page(() => import('./pages/jobs')) },
      { path: 'jobs/new', ...page(() => import('./pages/job-form')) },
      { path: 'jobs/:job', ...page(() => import('./pages/job')) },
      { path: 'jobs/:job/edit', ...page(() => import('./pages/job-form')) },
      { path: 'runs', ...page(() => import('./pages/runs')) },
      { path: 'runs/:run', ...page(() => import('./pages/run')) },
      { path: 'dead', ...page(() => import('./pages/dead')) },
      { path: 'dead/:run', ...page(() => import('./pages/dead-letter')) },
      { path: 'queues', ...page(() => import('./pages/queues')) },
      { path: 'cluster', ...page(() => import('./pages/cluster')) },
      { path: 'calendar', ...page(() => import('./pages/calendar')) },
      { path: 'content/*', ...page(() => import('./pages/content')) },
      { path: 'notifications/*', ...page(() => import('./pages/notifications')) },
      { path: 'settings', ...page(() => import('./pages/settings')) },
      { path: 'playground', ...page(() => import('./pages/playground')) },
      { path: '*', ...page(() => import('./pages/missing')) },
    ],
  },
], { basename: prefixOf(location.pathname) || '/' })
