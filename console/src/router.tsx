/** Which page is at which address. A page is one folder, and one file of the build that is loaded when it is opened. */
import { createBrowserRouter, type RouteObject } from 'react-router'
import { prefixOf } from './frame/address'

const page = (load: () => Promise<{ default: () => React.ReactNode }>): RouteObject['lazy'] => async () => ({ Component: (await load()).default })

export const router = createBrowserRouter([
  { path: '/playground', HydrateFallback: () => null, lazy: page(() => import('./pages/playground')) },
  {
    path: '/',
    HydrateFallback: () => null,
    lazy: page(() => import('./frame/Frame')),
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
], { basename: prefixOf(location.pathname) || '/' })
