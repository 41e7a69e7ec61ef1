/** A page that breaks does not take the frame with it. */
import { Button } from '@mantine/core'
import { Component, type ErrorInfo, type ReactNode } from 'react'
import { t } from '@/i18n'
import { Failure } from '@/parts/Page'

export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown }

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error }
  }

  override componentDidCatch(error: unknown, info: ErrorInfo): void {
    console.error(error, info.componentStack)
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children
    return (
      <div role="alert">
        <Failure error={this.state.error} />
        <Button ml="md" variant="default" onClick={() => location.reload()}>{t('Load the page again')}</Button>
      </div>
    )
  }
}
