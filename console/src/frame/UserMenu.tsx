import { ActionIcon, Menu, useMantineColorScheme, type MantineColorScheme } from '@mantine/core'
import { IconCheck, IconDeviceDesktop, IconKeyboard, IconLanguage, IconLogout, IconMoon, IconSun, IconUserCircle } from '@tabler/icons-react'
import { ApiError, call } from '@/api/client'
import { LANGUAGES, setLanguage, t, useLanguage, type Language } from '@/i18n'
import { tellFailure } from '@/parts/notify'
import { EVERYWHERE, useSession } from './session'

const SCHEMES: [MantineColorScheme, string, typeof IconSun][] = [
  ['light', 'Light', IconSun],
  ['dark', 'Dark', IconMoon],
  ['auto', 'As the system', IconDeviceDesktop],
]

export function UserMenu({ help }: { help: () => void }) {
  const { caller, namespace } = useSession()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const language = useLanguage()
  const role = caller.roles[namespace] ?? caller.roles[EVERYWHERE] ?? ''
  const signOut = async () => {
    try {
      await call('DELETE /session', {})
    } catch (error) {
      // It has ended already: that is what was wanted.
      if (!(error instanceof ApiError && error.status === 401)) {
        tellFailure(error)
        return
      }
    }
    location.assign('/sign-in')
  }
  return (
    <Menu position="bottom-end" width={230}>
      <Menu.Target>
        <ActionIcon aria-label={t('You, and how this looks')}><IconUserCircle size={18} stroke={1.7} /></ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{caller.name} · {t(role)}</Menu.Label>
        <Menu.Divider />
        {SCHEMES.map(([scheme, name, Icon]) => (
          <Menu.Item key={scheme} leftSection={<Icon size={14} />} rightSection={colorScheme === scheme ? <IconCheck size={14} /> : null} onClick={() => setColorScheme(scheme)}>
            {t(name)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        {(Object.keys(LANGUAGES) as Language[]).map((each) => (
          <Menu.Item key={each} leftSection={<IconLanguage size={14} />} rightSection={language === each ? <IconCheck size={14} /> : null} onClick={() => void setLanguage(each)} lang={each}>
            {LANGUAGES[each]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<IconKeyboard size={14} />} rightSection={<kbd>?</kbd>} onClick={help}>{t('Keys')}</Menu.Item>
        {caller.session_id && <Menu.Item leftSection={<IconLogout size={14} />} onClick={() => void signOut()}>{t('Sign out')}</Menu.Item>}
      </Menu.Dropdown>
    </Menu>
  )
}
