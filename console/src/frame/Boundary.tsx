/** A page that breaks does not take the frame with it. */
import { Component, type ErrorInfo, type ReactNode } from 'react'
import { Broken } from './Broken'

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
    return <Broken error={this.state.error} />
  }
}
