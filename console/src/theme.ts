import { Alert, Button, createTheme, type MantineColorsTuple } from '@mantine/core'

/** Bronze, as bells are: the one accent. Shade 7 on white and 4 on the dark page both have more than 4.5:1. */
const bronze: MantineColorsTuple = [
  '#fdf6ec', '#f8e9d2', '#f0d2a4', '#e8bb75', '#e0a458', '#c98535', '#b06f22', '#96590f', '#7a490d', '#5e370a',
]
const ink: MantineColorsTuple = [
  '#f8f8f6', '#f1f0ed', '#e5e3de', '#d3d0c9', '#a9a69f', '#7c7972', '#5f5c56', '#484641', '#33312d', '#1f1e1b',
]
const dark: MantineColorsTuple = [
  '#e9e7e2', '#c9c6bf', '#a5a29b', '#7d7b76', '#4a4a49', '#353638', '#2a2b2e', '#1f2023', '#18191b', '#121315',
]

export const theme = createTheme({
  primaryColor: 'bronze',
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  luminanceThreshold: 0.3,
  colors: { bronze, gray: ink, dark },
  black: '#1f1e1b',
  fontFamily: "'Inter Variable', ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', 'Cascadia Mono', 'JetBrains Mono', Menlo, Consolas, monospace",
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  defaultRadius: 6,
  cursorType: 'pointer',
  respectReducedMotion: true,
  focusRing: 'auto',
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '1.25rem', lineHeight: '1.3' }, h2: { fontSize: '1rem', lineHeight: '1.4' }, h3: { fontSize: '0.875rem', lineHeight: '1.4' } } },
  components: {
    Button: Button.extend({
      defaultProps: { size: 'xs' },
      // The accent is bright on the dark page: its text is dark there.
      vars: (_theme, props) => ({ root: (props.variant ?? 'filled') === 'filled' && !props.color ? { '--button-color': 'var(--on-accent)' } : {} }),
    }),
    ActionIcon: { defaultProps: { size: 'md', variant: 'subtle', color: 'gray' } },
    TextInput: { defaultProps: { size: 'xs' } },
    Textarea: { defaultProps: { size: 'xs' } },
    NumberInput: { defaultProps: { size: 'xs' } },
    Select: { defaultProps: { size: 'xs', comboboxProps: { shadow: 'md' } } },
    Autocomplete: { defaultProps: { size: 'xs' } },
    NativeSelect: { defaultProps: { size: 'xs' } },
    Checkbox: { defaultProps: { size: 'xs' } },
    Switch: { defaultProps: { size: 'xs' } },
    SegmentedControl: { defaultProps: { size: 'xs' } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300, fz: 'xs' } },
    Menu: { defaultProps: { shadow: 'md', width: 200 } },
    Modal: { defaultProps: { centered: true, radius: 8, transitionProps: { duration: 120 } } },
    Tabs: { defaultProps: { variant: 'default' } },
    Badge: { defaultProps: { variant: 'light', radius: 4, tt: 'none', fw: 500 } },
    Alert: Alert.extend({
      defaultProps: { variant: 'light', p: 'sm' },
      vars: (_theme, { color }) => {
        const tone = { red: 'bad', yellow: 'warn', green: 'good', blue: 'info' }[String(color)]
        return { root: tone ? { '--alert-bg': `var(--${tone}-soft)`, '--alert-color': `var(--${tone})` } : { '--alert-bg': 'var(--soft)', '--alert-color': 'var(--ink)' } }
      },
    }),
  },
})
